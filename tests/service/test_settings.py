"""Settings: precedence of sources, errors and their names, and complete documentation."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from scoring_model.configuration import ConfigurationError
from scoring_model.records.times import format_duration
from scoring_model.service.settings import (
    PREFIX,
    ServiceSettings,
    load_settings,
    masked,
    master_source,
    sqlite_path,
)

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "service-settings.md").read_text(encoding="utf-8")
REQUIRED: Final = {"bundle": "b", "database": "sqlite:///a.db"}
NAMES: Final = tuple(field.name for field in dataclasses.fields(ServiceSettings))
DURATIONS: Final = tuple(
    name for name in NAMES if name.endswith(("_timeout", "_wait", "_notice", "_grace", "_for"))
)


def loaded(flags: dict[str, object], environment: dict[str, str] | None = None) -> ServiceSettings:
    """Settings of flags and variables, with what is required."""
    return load_settings(flags={**REQUIRED, **flags}, environment=environment or {})


def refused(flags: dict[str, object], environment: dict[str, str], file: Path | None = None) -> str:
    """The error of invalid settings."""
    with pytest.raises(ConfigurationError) as caught:
        load_settings(flags=flags, environment=environment, file=file)
    return str(caught.value)


def written(folder: Path, **plain: object) -> Path:
    """A file of settings."""
    path = folder / "service.yaml"
    path.write_text(yaml.safe_dump(plain), encoding="utf-8")
    return path


def test_flags_beat_the_environment_and_it_beats_the_file(tmp_path: Path) -> None:
    """Each setting comes from its strongest source; an omitted flag or an empty variable does not count."""
    file = written(tmp_path, **REQUIRED, port=1, host="file", max_batch=5)
    variables = {"SCORING_MODEL_PORT": "2", "SCORING_MODEL_HOST": "variable", "SCORING_MODEL_MAX_BATCH": ""}
    settings = load_settings(flags={"port": 3, "host": None}, environment=variables, file=file)
    assert (settings.port, settings.host, settings.max_batch) == (3, "variable", 5)


def test_every_setting_can_come_from_every_source(tmp_path: Path) -> None:
    """A file and variables with the same texts give the same settings, for every setting."""
    plain = {
        "bundle": "x/b",
        "bundles": "y",
        "database": "postgresql://h/d",
        "master_key": "env:KEY",
        "host": "::1",
        "port": 0,
        "metrics_port": 9464,
        "workers": 3,
        "deliver": False,
        "development": True,
        "egress_proxy": "http://proxy:3128",
        "basic_auth": True,
        "public_key": "k.pem",
        "request_log": False,
        "scoring_timeout": "1s",
        "commit_timeout": "9s",
        "links_kept_for": "180d",
        "shutdown_notice": "5s",
        "shutdown_grace": "1m",
        "queue_wait": "3s",
        "queue_limit": 7,
        "max_batch": 2,
        "max_connections": 90,
        "max_connections_per_address": 9,
        "head_timeout": "3s",
        "body_timeout": "4s",
        "write_timeout": "5s",
    }
    networks = {"trusted_proxies": ["10.0.0.0/8", "::1"], "egress_networks": ["10.1.0.0/16", "fd00::/8"]}
    listed = {**plain, **networks}
    texts = {PREFIX + name.upper(): str(value) for name, value in plain.items()}
    texts |= {PREFIX + name.upper(): ", ".join(listed) for name, listed in networks.items()}
    of_file = load_settings(flags={}, environment={}, file=written(tmp_path, **listed))
    assert of_file == load_settings(flags={}, environment=texts)
    assert sorted(listed) == sorted(NAMES)
    defaults = ServiceSettings(bundle=Path("b"), database="sqlite:///a.db")
    assert all(getattr(of_file, name) != getattr(defaults, name) for name in NAMES)


def test_what_is_unknown_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    """All unknown keys of the file and variables with the prefix are errors; other variables are not."""
    file = written(tmp_path, **REQUIRED, wrokers=2)
    shown = refused({}, {"SCORING_MODEL_PROT": "1", "SCORING_MODEL_XYZZY": "", "PORT": "x"}, file)
    assert f"wrokers in {file}: unknown key; did you mean workers?" in shown
    assert "SCORING_MODEL_PROT: unknown variable; did you mean SCORING_MODEL_PORT?" in shown
    assert "SCORING_MODEL_XYZZY: unknown variable; known are SCORING_MODEL_BUNDLE" in shown
    assert "- PORT" not in shown


def test_a_problem_names_where_its_value_came_from(tmp_path: Path) -> None:
    """Wrong values of all three sources are reported together, each with its source."""
    file = written(tmp_path, **REQUIRED, queue_limit="many", max_batch=0)
    shown = refused({"port": "x"}, {"SCORING_MODEL_WORKERS": "none"}, file)
    for words in ("--port: ", "SCORING_MODEL_WORKERS: ", f"queue_limit in {file}: "):
        assert words in shown


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"port": 65536}, "--port: must be 0 to 65535, got 65536"),
        ({"port": -1}, "--port: must"),
        ({"metrics_port": 65536}, "--metrics-port: must be 0 to 65535"),
        ({"workers": 0}, "--workers: must be at least 1, got 0"),
        ({"queue_limit": 0}, "--queue-limit: must be at least 1"),
        ({"max_batch": 0}, "--max-batch: must be at least 1"),
        ({"max_connections": 0}, "--max-connections: must be at least 1"),
        (
            {"max_connections_per_address": 0},
            "--max-connections-per-address: must",
        ),
        ({"write_timeout": 30}, "--write-timeout: must be at least a millisecond"),
        ({"host": ""}, "--host: must be"),
        ({"scoring_timeout": "5s"}, "--scoring-timeout: must be below commit_timeout"),
        ({"scoring_timeout": 2}, "--scoring-timeout: must be at least a millisecond"),
        ({"shutdown_notice": 5}, "--shutdown-notice: must be at least a millisecond"),
        ({"shutdown_grace": "soon"}, "--shutdown-grace: a duration is a whole number"),
        ({"trusted_proxies": ["10.0.0.1/8"]}, "--trusted-proxies.0: must be an address"),
        ({"egress_networks": ["inside"]}, "--egress-networks.0: must be an address"),
        ({"egress_proxy": "proxy:3128"}, "--egress-proxy: must be a URL such as http://"),
        ({"egress_proxy": "https://proxy:3128"}, "--egress-proxy: must be"),
        ({"egress_proxy": "http://proxy:99999"}, "--egress-proxy: must be"),
        ({"egress_proxy": "http://proxy:0"}, "--egress-proxy: must be"),
        ({"egress_proxy": "http://proxy/path"}, "--egress-proxy: must be"),
        ({"database": "mysql://h/d"}, "--database: must be sqlite:///"),
        ({"database": "sqlite://"}, "--database: must name a file"),
        ({"database": "sqlite:///:memory:"}, "--database: must name a file"),
        ({"database": "postgresql://h/d"}, "master_key: is required with PostgreSQL"),
        ({"master_key": "vault:x"}, "--master-key: must be file:PATH"),
    ],
)
def test_values_out_of_range_are_refused(flags: dict[str, object], words: str) -> None:
    """Each rule is reported under its flag."""
    assert words in refused({**REQUIRED, **flags}, {})


def test_required_settings_are_asked_for() -> None:
    """A missing bundle and a missing database are both reported."""
    shown = refused({}, {})
    assert "bundle: Field required" in shown
    assert "database: Field required" in shown


def test_secrets_are_in_no_text() -> None:
    """Neither the representation of settings nor an error contains a password or a key command."""
    url = "postgresql://risk:s3cret@db/scoring?password=s3cret"
    proxy = "http://risk:s3cret@proxy:3128"
    settings = loaded({"database": url, "master_key": "command:show s3cret", "egress_proxy": proxy})
    assert "s3cret" not in repr(settings) + repr(settings.egress)
    assert settings.egress.proxy == proxy
    assert "s3cret" not in refused({**REQUIRED, "egress_proxy": "ftp://risk:s3cret@proxy"}, {})
    assert "s3cret" not in refused({"bundle": "b", "database": "mysql://risk:s3cret@db/x", "port": -1}, {})


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("postgresql://u:p@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:p@ss@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:a/b@h/d", "postgresql://u:***@h/d"),
        ("postgresql://:p@h/d", "postgresql://:***@h/d"),
        ("postgresql://h/d?user=u&password=p&x=1", "postgresql://h/d?user=u&password=***&x=1"),
        (
            "two: postgresql://u:p@h/d and postgresql://v:q@i/e",
            "two: postgresql://u:***@h/d and postgresql://v:***@i/e",
        ),
        ("postgresql://u@h:5432/d", "postgresql://u@h:5432/d"),
        ("sqlite:////var/lib/risk.db", "sqlite:////var/lib/risk.db"),
    ],
)
def test_passwords_are_masked(text: str, hidden: str) -> None:
    """Every form of password in a URL is hidden, and nothing else is."""
    assert masked(text) == hidden


def test_defaults_that_follow_from_other_settings() -> None:
    """By default the shelf is beside the bundle, the master key of SQLite beside the database."""
    settings = loaded({"bundle": "bundles/first", "database": "sqlite:////data/risk.db"})
    assert settings.shelf == Path("bundles").resolve()
    assert settings.master_source == "file:/data/risk.db.key"
    assert loaded({"bundles": "all"}).shelf == Path("all")
    assert loaded({"master_key": "env:KEY"}).master_source == "env:KEY"
    assert sqlite_path("sqlite:///risk.db") == Path("risk.db")
    assert sqlite_path("postgresql://h/d") is None
    assert master_source("postgresql://h/d", "file:k") == "file:k"


def test_settings_survive_the_way_to_a_worker() -> None:
    """Settings are equal after a round trip through JSON."""
    for flags in (
        {},
        {"bundles": "x", "public_key": "k", "trusted_proxies": ["10.0.0.0/8"], "development": True},
        {"deliver": False, "egress_networks": ["10.0.0.0/8"], "egress_proxy": "http://proxy:3128"},
    ):
        settings = loaded(flags)
        assert ServiceSettings.from_plain(json.loads(json.dumps(settings.to_plain()))) == settings


def test_one_process_serves_sqlite(tmp_path: Path) -> None:
    """More than one worker on SQLite is refused under the name of its source, and PostgreSQL is suggested."""
    words = "must be 1 with SQLite: use PostgreSQL for several processes"
    file = written(tmp_path, **REQUIRED, workers=2)
    assert f"workers in {file}: {words}" in refused({}, {}, file)
    assert f"SCORING_MODEL_WORKERS: {words}" in refused(dict(REQUIRED), {"SCORING_MODEL_WORKERS": "2"})
    assert f"--workers: {words}" in refused({**REQUIRED, "workers": 2}, {})
    served = {"database": "postgresql://h/d", "master_key": "env:KEY"}
    assert loaded({**served, "workers": 2}).workers == 2


def described() -> dict[str, str]:
    """The settings of the page's table, each with the cell of its default."""
    table = PAGE[PAGE.index("| Setting |") :].partition("\n\n")[0]
    return dict(re.findall(r"^\| `([a-z_]+)` \| .+? \| (.+?) \|", table, re.MULTILINE))


def test_the_page_documents_every_setting() -> None:
    """The table lists exactly the settings, in order, with their defaults."""
    documented = described()
    assert tuple(documented) == NAMES
    assert {name for name, default in documented.items() if default == "required"} == {"bundle", "database"}
    for field in dataclasses.fields(ServiceSettings):
        default: Any = field.default
        if default is dataclasses.MISSING or default is None:
            continue
        shown = format_duration(default) if field.name in DURATIONS else default
        assert documented[field.name].strip("`") == yaml.safe_dump(shown).split("\n")[0].strip("'"), (
            field.name
        )


def test_the_committed_file_holds_the_defaults() -> None:
    """The example has every setting; values not commented out are the defaults, except required ones."""
    path = ROOT / "configs" / "service.yaml"
    settings = load_settings(flags={}, environment={}, file=path)
    assert settings == ServiceSettings(bundle=settings.bundle, database=settings.database)
    shown = re.findall(r"^#? ?([a-z_]+):", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert tuple(shown) == NAMES
