"""The commands of the service on a real SQLite database and, where it takes one, beside a running service."""

import contextlib
import dataclasses
import json
import shutil
import socket
import sqlite3
import subprocess
import sys
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import typer

import program
from outside_client import new_credentials
from program import Captured, run
from running_service import Running, running
from scoring_model.cli.app import app
from scoring_model.service.keys.keyring import add_master_key, generate_master_key
from scoring_model.service.settings import ServiceSettings

ROOT: Final = Path(__file__).parents[2]
URL: Final = "sqlite:///scoring.db"
UNKNOWN: Final = "01890a5d-ac96-774b-bcce-b302099a8057"
SIGNALS: Final = {"vpn": True, "emailAgeDays": 3, "deviceId": "device-1"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@contextlib.contextmanager
def serving(folder: Path, sealed: Path, migrated: Path) -> Iterator[Running]:
    """A service on the database `URL`, its bundles in `shelf`."""
    shutil.copy(migrated, folder)
    with running(folder, "--bundle", sealed, "--bundles", "shelf", "--database", URL) as found:
        yield found


@pytest.fixture(scope="module")
def shared(sealed: Path, migrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One service for tests that look at clients and verifications of their own only."""
    with serving(tmp_path_factory.mktemp("shared"), sealed, migrated) as found:
        yield found


@pytest.fixture
def service(shared: Running, monkeypatch: pytest.MonkeyPatch) -> Running:
    """That service; its folder is the working directory."""
    monkeypatch.chdir(shared.log.parent)
    return shared


@pytest.fixture
def own(sealed: Path, migrated: Path, folder: Path) -> Iterator[Running]:
    """A service for a test that stops it, or that looks at all of its database; its folder is the working directory."""
    with serving(folder, sealed, migrated) as found:
        yield found


@pytest.fixture(scope="module")
def ended(sealed: Path, migrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a service that has ended, with one verification. Never to be changed."""
    folder = tmp_path_factory.mktemp("ended")
    with serving(folder, sealed, migrated) as service:
        scored(service, new_credentials(folder))
        assert service.stop() == 0
    return folder


@pytest.fixture
def left(ended: Path, folder: Path) -> Path:
    """A copy of it, the working directory."""
    return Path(shutil.copytree(ended, folder, dirs_exist_ok=True))


def done(capsys: Captured, *arguments: object) -> str:
    """Run a command that must succeed on the database; return its standard output."""
    code, said, error = run(capsys, *arguments, "--database", URL)
    assert code == 0, error
    return said


def refused(capsys: Captured, *arguments: object) -> str:
    """Run a command that must fail on the database; return its error."""
    return program.refused(capsys, *arguments, "--database", URL)


def new_client(capsys: Captured, *options: object) -> dict[str, str]:
    """The headers of a new client."""
    made = json.loads(done(capsys, "clients", "create", "Shop", "--json", *options))
    assert made.keys() == {"clientId", "apiKey"}
    return {"x-client-id": made["clientId"], "x-api-key": made["apiKey"]}


def scored(service: Running, client: dict[str, str]) -> str:
    """The id of a new verification."""
    status, answer = service.request("POST", "/scoring/v1/verifications", {"signals": SIGNALS}, client)
    assert (status, answer["status"]) == (201, "COMPLETED")
    return str(answer["id"])


def is_refused(service: Running, client: dict[str, str]) -> bool:
    """Return True if the credentials of a client are refused."""
    try:
        service.request("GET", "/scoring/v1/webhooks", headers=client)
    except urllib.error.HTTPError as error:
        return error.code == 401
    return False


def test_migrating_again_changes_nothing(capsys: Captured, folder: Path) -> None:
    """The first call creates the tables, the second keeps their content."""
    assert "up to date" in done(capsys, "database", "migrate")
    new_client(capsys)
    before = done(capsys, "clients", "list")
    done(capsys, "database", "migrate")
    assert done(capsys, "clients", "list") == before != ""
    assert (folder / "scoring.db").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["clients", "list"],
        ["clients", "create", "x"],
        ["keys", "rotate"],
        ["verifications", "replay", UNKNOWN],
        ["labels", "import", "labels.csv"],
    ],
)
def test_no_command_makes_a_database_by_the_way(capsys: Captured, folder: Path, words: list[str]) -> None:
    """A name that was misspelt is an error that names the command that makes one, and nothing is made."""
    (folder / "scoring.db.key").write_text(generate_master_key())
    (folder / "scoring.db.key").chmod(0o600)
    (folder / "labels.csv").write_text("verificationId,label,knownAt\n")
    assert "database migrate" in refused(capsys, *words)
    assert {path.name for path in folder.iterdir()} == {"scoring.db.key", "labels.csv"}


def test_the_database_may_come_from_the_environment(
    capsys: Captured, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command without --database takes the variable; without either it is wrong usage."""
    assert run(capsys, "database", "migrate")[0] == 2
    monkeypatch.setenv("SCORING_MODEL_DATABASE", URL)
    assert run(capsys, "database", "migrate")[0] == 0
    assert (folder / "scoring.db").exists()


def test_a_password_is_never_said(capsys: Captured) -> None:
    """Neither errors nor tracebacks of a database that is away show the password of its URL."""
    url = "postgresql://risk:s3cret@127.0.0.1:1/scoring"
    for words in (["database", "migrate"], ["clients", "list"], ["--debug", "clients", "list"]):
        code, said, error = run(capsys, *words, "--database", url)
        assert code == 1, error
        assert "error: " in error
        assert "s3cret" not in said + error


def rotated(capsys: Captured, client: dict[str, str]) -> dict[str, str]:
    """The headers of a client with a further key."""
    code, said, notes = run(capsys, "clients", "rotate", client["x-client-id"], "--database", URL, "--json")
    assert (code, "shown only once" in notes) == (0, True)
    return {**client, "x-api-key": json.loads(said)["apiKey"]}


def test_a_client_from_its_first_key_to_its_end(capsys: Captured, service: Running) -> None:
    """A new key answers at once, and a rotated one beside it; no key is listed.

    After the end a key that was never used is refused at once. `test_revocation` waits for the end of one that was.
    """
    first = new_client(capsys)
    scored(service, first)
    second = rotated(capsys, first)
    assert second != first
    scored(service, first)
    scored(service, second)
    unused = rotated(capsys, first)
    done(capsys, "clients", "revoke", first["x-client-id"])
    assert is_refused(service, unused)
    listed = json.loads(done(capsys, "clients", "list", "--json"))
    mine = [client for client in listed if client["clientId"] == first["x-client-id"]]
    assert [client["revokedAt"] is not None for client in mine] == [True]
    everything = done(capsys, "clients", "list") + json.dumps(listed) + service.log.read_text()
    assert not any(client["x-api-key"] in everything for client in (first, second, unused))


def test_what_a_client_may_is_listed(capsys: Captured, folder: Path) -> None:
    """Permissions, quota and history scope are those that were given."""
    done(capsys, "database", "migrate")
    new_client(capsys, "--scopes", "webhooks,identities", "--quota", "10/1", "--history-scope", "group")
    (client,) = json.loads(done(capsys, "clients", "list", "--json"))
    assert (client["scopes"], client["quota"], client["pool"]) == (
        ["identities", "webhooks"],
        "10/1",
        "group",
    )
    said = done(capsys, "clients", "list")
    for words in (client["clientId"], "Shop", "identities,webhooks", "10/1", "history scope group", "1 key"):
        assert words in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["create", "x", "--scopes", "all"], "scope"),
        (["create", "x", "--quota", "many"], "quota"),
        (["create", " "], "name"),
        (["rotate", "cl_nobody"], "client"),
        (["revoke", "cl_nobody"], "client"),
        (["rotate", "cl_nobody", "--grace", "soon"], "duration"),
    ],
)
def test_what_can_not_be_done_with_a_client_is_named(
    capsys: Captured, folder: Path, words: list[str], message: str
) -> None:
    """The error names what is wrong."""
    done(capsys, "database", "migrate")
    assert message in refused(capsys, "clients", *words)


def test_unknown_signals(capsys: Captured, own: Running) -> None:
    """A service that ends leaves its counts; they are listed for people and programs, and deleted on request."""
    lenient, strict = new_client(capsys), new_client(capsys, "--strict-signals")
    listed = json.loads(done(capsys, "clients", "list", "--json"))
    assert [client["strictSignals"] for client in listed] == [False, True]
    assert [line.endswith("strict signals") for line in done(capsys, "clients", "list").splitlines()] == [
        False,
        True,
    ]
    signals = {**SIGNALS, "emailAgeDay": 3, "Grace Hopper": 1}
    status, _ = own.request("POST", "/scoring/v1/verifications", {"signals": signals}, lenient)
    assert status == 201
    with pytest.raises(urllib.error.HTTPError) as refusal:
        own.request("POST", "/scoring/v1/verifications", {"signals": signals}, strict)
    assert "did you mean emailAgeDays?" in refusal.value.read().decode()
    assert own.stop() == 0
    name = lenient["x-client-id"]
    others, near, last = done(capsys, "clients", "unknown-signals").splitlines()
    assert others.startswith(f"{name}  other signals: 1 time, last at ")
    assert near.startswith(f"{name}  emailAgeDay: did you mean emailAgeDays? 1 time, last at ")
    assert last == "2 counts"
    found = json.loads(done(capsys, "clients", "unknown-signals", "--json", "--delete"))
    assert [(row["signal"], row["nearest"], row["requests"]) for row in found] == [
        (None, None, 1),
        ("emailAgeDay", "emailAgeDays", 1),
    ]
    assert {row["clientId"] for row in found} == {name}
    assert done(capsys, "clients", "unknown-signals") == "0 counts\n"


def test_replay(capsys: Captured, service: Running) -> None:
    """A verdict is the same (0); with a changed row different (3); after erasure erased (4)."""
    client = new_client(capsys)
    verification = scored(service, client)
    replay = ["verifications", "replay", verification]
    assert done(capsys, *replay) == "same\n"
    assert json.loads(done(capsys, *replay, "--json")) == {"verificationId": verification, "replay": "same"}
    forge(
        f"UPDATE verifications SET score = score + 1 WHERE hex(id) = '{verification.replace('-', '').upper()}'"
    )
    assert run(capsys, *replay, "--database", URL)[:2] == (3, "different\n")
    service.request("DELETE", f"/scoring/v1/verifications/{verification}/signals", None, client)
    assert run(capsys, *replay, "--database", URL)[:2] == (4, "erased\n")


def test_replay_names_what_it_lacks(capsys: Captured, service: Running) -> None:
    """No such verification, no id at all, no bundle that decided: each is an error of its own."""
    verification = scored(service, new_client(capsys))
    assert "no such verification" in refused(capsys, "verifications", "replay", UNKNOWN)
    assert "UUID" in refused(capsys, "verifications", "replay", "x")
    elsewhere = ["verifications", "replay", verification, "--bundles", "elsewhere"]
    assert "elsewhere: bundles that served this database are missing: " in refused(capsys, *elsewhere)
    shelf = Path("shelf").resolve()
    shelf.rename("elsewhere")
    try:
        error = refused(capsys, "verifications", "replay", verification)
        assert f"{shelf}: bundles that served this database are missing: " in error
        assert "name the directory that holds them (--bundles)" in error
        assert done(capsys, *elsewhere) == "same\n"
    finally:
        Path("elsewhere").rename(shelf)


def test_replay_finds_bundles_wherever_it_is_called(
    capsys: Captured, service: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`serve --bundles shelf` was called in one folder, the replay is called in another one."""
    verification = scored(service, new_client(capsys))
    monkeypatch.chdir(tmp_path)
    database = f"sqlite:///{service.log.parent / 'scoring.db'}"
    code, said, error = run(capsys, "verifications", "replay", verification, "--database", database)
    assert (code, said) == (0, "same\n"), error


def test_labels(capsys: Captured, service: Running) -> None:
    """Labels of verifications that are there are imported once, and identifiers that are not are listed."""
    verification = scored(service, new_client(capsys))
    text = f"verificationId,label,knownAt\n{verification},fraud,2026-01-01T00:00:00Z\n{UNKNOWN},fraud,2026-01-01\n"
    Path("labels.csv").write_text(text)
    words = ["labels", "import", "labels.csv"]
    first, again = (json.loads(done(capsys, *words, "--json")) for _ in range(2))
    others = {"unknown": [UNKNOWN], "tooMany": [], "omitted": 0}
    assert first == {"imported": 1, "repeated": 0, **others}
    assert again == {"imported": 0, "repeated": 1, **others}
    said = done(capsys, *words)
    assert said == f"0 labels imported, 1 were known already\nunknown: {UNKNOWN}\n"


def test_operators_see_verifications_and_what_labels_are_worth(
    capsys: Captured, own: Running, folder: Path
) -> None:
    """Listed and shown without signals, with labels reported by a client whose scopes were changed."""
    client = new_client(capsys, "--scopes", "verifications")
    first, second = scored(own, client), scored(own, client)
    assert "labels,verifications" in done(
        capsys, "clients", "grant", client["x-client-id"], "labels,verifications"
    )
    (folder / "labels.csv").write_text(f"verificationId,label,knownAt\n{first},fraud,2026-01-01\n")
    done(capsys, "labels", "import", "labels.csv")
    listed = json.loads(done(capsys, "verifications", "list", "--json", "--status", "COMPLETED"))
    assert [one["id"] for one in listed] == [second, first]
    assert done(capsys, "verifications", "list", "--limit", 1).startswith(second)
    assert "must be one of" in refused(capsys, "verifications", "list", "--outcome", "failed")
    assert "RFC 3339" in refused(capsys, "verifications", "list", "--before", "yesterday")
    shown = json.loads(done(capsys, "verifications", "show", first, "--json"))
    (device,) = [one for one in shown["links"] if one["key"] == "device"]
    assert [one["fraud"] for one in device["latest"]] == [False, True]
    said = done(capsys, "verifications", "show", first)
    assert "label: fraud  known 2026-01-01T00:00:00.000000Z" in said
    assert "link key device: 2 records" in said
    assert str(SIGNALS["deviceId"]) not in said
    report = json.loads(done(capsys, "labels", "report", "--json"))
    assert (report["frauds"], report["conflicts"]) == (1, 0)
    assert "known frauds: 1 verification, the oldest" in done(capsys, "labels", "report")
    (folder / "rules.yaml").write_text(
        f"rules:\n- {{code: FARM, title: x, when: {{signals.deviceId: {{is: {SIGNALS['deviceId']}}}}}, then: FAILED}}\n"
    )
    done(capsys, "rules", "activate", "rules.yaml")
    said = done(capsys, "verifications", "show", scored(own, client))
    assert "\ndecidedBy: rule\npolicyOutcome: " in said
    assert "\ndecidedByCode: FARM\nruleHits: FARM\n" in said


def test_bad_labels_are_all_reported_and_none_is_imported(capsys: Captured, service: Running) -> None:
    """One bad row keeps the good ones out too."""
    verification = scored(service, new_client(capsys))
    good = f"{verification},fraud,2026-01-01\n"
    Path("labels.csv").write_text(
        f"verificationId,label,knownAt\n{good}x,fraud,2026-01-01\n{UNKNOWN},,2999-01-01\n"
    )
    error = refused(capsys, "labels", "import", "labels.csv")
    for words in ("row 1: verificationId: not_a_uuid", "row 2: label: missing", "row 2: knownAt: in_future"):
        assert words in error
    Path("labels.csv").write_text("verificationId,label,knownAt\n" + good)
    assert "1 label imported" in done(capsys, "labels", "import", "labels.csv")


def test_rotation_of_the_master_key(capsys: Captured, own: Running, folder: Path) -> None:
    """The file gets a key on top, all persons are wrapped anew beside the running service, and replay goes on."""
    client, key = new_client(capsys), folder / "scoring.db.key"
    verification, old = scored(own, client), key.read_text()
    assert done(capsys, "keys", "rotate") == "1 key of persons wrapped anew\n"
    new = key.read_text().splitlines()
    assert (len(new), new[1:]) == (2, old.splitlines())
    key.write_text(new[0])  # the old key is of no more use
    assert done(capsys, "verifications", "replay", verification) == "same\n"
    scored(own, client)


def test_a_rotation_that_was_interrupted_goes_on(capsys: Captured, left: Path) -> None:
    """Run again before it has ended, it adds no further key; ended, it does."""
    key = left / "scoring.db.key"
    add_master_key(key)
    code, _, notes = run(capsys, "keys", "rotate", "--database", URL)
    assert (code, "continuing it" in notes, len(key.read_text().split())) == (0, True, 2)
    done(capsys, "keys", "rotate")
    assert len(key.read_text().split()) == 3


def test_a_variable_must_give_the_new_key_itself(
    capsys: Captured, left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a new key first nothing is wrapped and it is said; with one everything is."""
    old = (left / "scoring.db.key").read_text()
    monkeypatch.setenv("KEYS", old)
    rotate = ["keys", "rotate", "--master-key", "env:KEYS", "--database", URL]
    code, said, notes = run(capsys, *rotate)
    assert (code, said, "put a new one before it" in notes) == (
        0,
        "0 keys of persons wrapped anew\n",
        True,
    )
    monkeypatch.setenv("KEYS", f"{generate_master_key()}\n{old}")
    assert run(capsys, *rotate)[1] == "1 key of persons wrapped anew\n"


def test_the_demonstration(sealed: Path, folder: Path) -> None:
    """With the bundle there it prints credentials and a curl command that works as it stands; a second start too."""
    shutil.copytree(sealed, folder / "runs" / "first")
    for _ in range(2):
        with demonstration(folder) as (process, printed):
            curl = printed[printed.index("curl ") :]
            answer = json.loads(subprocess.run(["bash", "-c", curl], capture_output=True, check=True).stdout)
            assert answer["status"] == "COMPLETED"
            process.terminate()
            assert process.wait(timeout=60) == 0


@contextlib.contextmanager
def demonstration(folder: Path) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Start it on a free port; process and what it printed until the service answered."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, str(ROOT / "pipelines" / "demo_service.py"), "--port", port]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        printed, last = "", f"http://127.0.0.1:{port}\n"
        while (line := process.stdout.readline()) != last:
            assert line, printed
            printed += line
        yield process, printed
    finally:
        process.kill()
        process.communicate()


def forge(statement: str) -> None:
    """Change the database behind the back of everybody."""
    with sqlite3.connect("scoring.db") as connection:
        connection.execute(statement)
    connection.close()


def test_every_setting_is_an_option_of_serve() -> None:
    """Flags and settings have the same names, and `--config` alone is no setting."""
    program: Any = typer.main.get_command(app)
    serve = program.commands["serve"]
    names = [parameter.name for parameter in serve.params if "--help" not in parameter.opts]
    assert sorted(names) == sorted(["config", *(field.name for field in dataclasses.fields(ServiceSettings))])
