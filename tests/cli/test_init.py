"""`init`, and the whole way from a company's export to an evaluation by configuration alone."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from company_export import write_export
from scoring_model.cli import main
from scoring_model.configuration import load_configuration
from scoring_model.records import SignalType

DAY = 86_400_000_000
PARAMETERS = """\
params: {learning_rate: 0.15, num_leaves: 15, min_data_in_leaf: 20, bagging_fraction: 0.8, bagging_freq: 1}
rounds: 30
"""


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The export of a company."""
    path = tmp_path_factory.mktemp("company") / "export.csv"
    write_export(path)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run the program in this process: exit code, standard output, standard error."""
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_init_understands_an_export(capsys: pytest.CaptureFixture[str], export: Path, tmp_path: Path) -> None:
    """Columns, labels, formats, signals and keys are found; what leaks or says nothing is left out, and reported."""
    out = tmp_path / "configs" / "mine.yaml"
    code, said, error = run(capsys, "init", export, "--out", out)
    assert code == 0, error
    assert re.search(r"\] \d+ columns are read: what each may be\n", error)
    assert "reading the records as proposed" in error
    assert re.search(
        r"^link key gerat_nr: [\d,]+ records have it, [\d,]+ of its [\d,]+ values recur$", said, re.MULTILINE
    )
    found = load_configuration(out)
    assert found.name == "mine"
    assert {
        name: column for name, column in found.records.columns.items() if not name.startswith("signals.")
    } == {
        "recordId": "Vorgang",
        "eventTime": "Zeitpunkt",
        "label": "Betrug",
        "firstName": "Vorname",
        "lastName": "Nachname",
        "dob": "Geburtsdatum",
        "address.line1": "Straße",
        "address.postalCode": "PLZ",
        "address.city": "Ort",
        "address.country": "Land",
    }
    assert found.use.identity_requires == ("firstName", "lastName", "dob", "address.country")
    assert (found.records.labels.fraud, found.records.labels.genuine) == (("ja",), ("nein",))
    assert found.records.labels.ignored == ("offen",)
    assert found.records.format.decimal == ","
    assert {"NULL", "N/A"} <= set(found.records.format.nulls)
    assert set(found.records.format.dates) == {"%d/%m/%Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S"}
    assert {name: signal.type for name, signal in found.signals.items()} == {
        "gerat_nr": SignalType.IDENTIFIER,
        "emailDomain": SignalType.CATEGORY,
        "mail_alter": SignalType.NUMBER,
        "Formularzeit": SignalType.NUMBER,
        "VPN": SignalType.BOOLEAN,
        "ip_land": SignalType.CATEGORY,
        "Kanal": SignalType.CATEGORY,
        "Geschlecht": SignalType.CATEGORY,
    }
    assert found.signals["Geschlecht"].protected == "sex"
    assert found.links.keys["gerat_nr"] == ("signals.gerat_nr",)
    assert {"person", "address"} <= found.links.keys.keys()
    assert found.links.windows[-1] > (found.records.labels.delay or 0)
    assert found.links.delayed_windows == (found.links.windows[-1],)
    assert found.feature_settings.links.specs["gerat_nr"].delay == found.records.labels.delay == 30 * DAY
    assert "30d after its event (records.labels.delay, assumed)" in out.read_text()
    assert "not used: Mandant: it is the same in every row" in said
    assert (
        "not used: Sperrgrund: it separates nearly all frauds from the others, or most have a value that only frauds"
        in said
    )
    for text in ("time zone", "labels became known", "offen"):
        assert text in said
        assert text in out.read_text()


def test_a_configuration_is_replaced_only_if_asked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The error names the option that helps."""
    export, out = tmp_path / "export.csv", tmp_path / "mine.yaml"
    export.write_text("created_at,is_fraud,amount\n2024-01-01,0,1\n2024-01-02,1,2\n")
    out.write_text("name: x\n")
    code, _, error = run(capsys, "init", export, "--out", out)
    assert (code, "--replace" in error, out.read_text()) == (1, True, "name: x\n")
    assert run(capsys, "init", export, "--out", out, "--replace")[0] == 0


@pytest.mark.usefixtures("undrawn")
def test_an_export_is_trained_on_by_configuration_alone(
    capsys: pytest.CaptureFixture[str], export: Path, tmp_path: Path
) -> None:
    """The output of `init` passes `check`, trains and evaluates once its listed decisions are made."""
    config, out = tmp_path / "mine.yaml", tmp_path / "bundle"
    assert run(capsys, "init", export, "--out", config)[0] == 0
    text = config.read_text()
    config.write_text(text.replace("  labels:", "    timezone: Europe/Berlin\n  labels:"))
    (tmp_path / "params.yaml").write_text(PARAMETERS)
    refused = tmp_path / "refused.csv"
    code, said, error = run(capsys, "check", export, "--config", config, "--json", "--refused", refused)
    assert code == 0, error
    found = json.loads(said)
    assert (found["bad"], found["problems"]) == (12, [{"field": "", "rule": "malformed_row", "rows": 12}])
    assert found["guessed"] == ["encoding cp1252", "semicolons between cells"]
    assert len(refused.read_text().splitlines()) == 13
    options = (
        "--config",
        config,
        "--params",
        tmp_path / "params.yaml",
        "--out",
        out,
        "--no-track",
        "--threads",
        1,
    )
    code, _, error = run(capsys, "train", export, *options)
    assert code == 0, error
    assert "guessed: encoding cp1252" in error
    assert "features can teach nothing and were left out: " in error
    assert "checks: SM001 clear; SM002 clear; " in error
    code, said, error = run(capsys, "evaluate", out, export, "--matured-only")
    assert code == 0, error
    assert "ROC" in said


def test_what_init_cannot_know_is_left_to_a_person(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Without times and labels the configuration is still written and states what is missing."""
    path, out = tmp_path / "people.csv", tmp_path / "people.yaml"
    path.write_text("given_name,surname,note\n" + "".join(f"Ann{i},Lee,{i} x\n" for i in range(50)))
    code, said, _ = run(capsys, "init", path, "--out", out)
    assert code == 0
    assert load_configuration(out).records.columns == {"firstName": "given_name", "lastName": "surname"}
    assert "No column holds the time of the event" in said
    assert "No column holds labels" in said
    assert load_configuration(out).links.keys == {}
    assert "No column links records, so that nothing counts earlier ones: links.keys is empty." in said


def test_a_file_of_the_contract_needs_no_mapping(
    capsys: pytest.CaptureFixture[str], small: Path, tmp_path: Path
) -> None:
    """Columns that are named like fields and signals are these, and nothing is refused."""
    out = tmp_path / "small.yaml"
    code, said, error = run(capsys, "init", small, "--out", out)
    assert code == 0, error
    found = load_configuration(out)
    assert (found.records.columns, "refused" in said) == ({}, False)
    assert {name: signal.type.value for name, signal in found.signals.items()} == {
        "deviceId": "identifier",
        "ipCountry": "category",
        "emailDomain": "category",
        "channel": "category",
        "emailAgeDays": "number",
        "formSeconds": "number",
        "vpn": "boolean",
        "sex": "category",
    }
    assert found.signals["sex"].protected == "sex"
    assert found.records.labels.delay is None
    assert (found.links.delay, found.training.split.label_maturity) == (60 * DAY, 45 * DAY)
    assert found.links.delayed_windows
    assert "95% of 76 frauds in the file" in out.read_text()
    assert "findings:\n  SM006 clear" in run(capsys, "check", small, "--config", out)[1]
    assert set(found.links.keys) == {"person", "address", "image", "device"}


def test_texts_that_can_be_read_are_proposed_as_such(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Mail addresses, phone numbers and IP addresses get their types and keys; a country is left to a person."""
    path, out = tmp_path / "a.csv", tmp_path / "a.yaml"
    rows = [
        f"2024-01-{1 + i % 28:02}T00:00:00Z,{i % 2},m{i}@mail.example,0151 {2345670 + i},+4420794600{i:02},10.0.{i}.1"
        for i in range(60)
    ]
    path.write_text("\n".join(["time,fraud,email,mobile,contact,client", *rows]) + "\n")
    code, said, error = run(capsys, "init", path, "--out", out)
    assert code == 0, error
    found = load_configuration(out)
    assert {name: signal.type.value for name, signal in found.signals.items()} == {
        "email": "email",
        "mobile": "phone",
        "contact": "phone",
        "client": "ip",
    }
    assert found.links.keys == {
        "email": ("signals.email:mailbox",),
        "mobile": ("signals.mobile:digits",),
        "contact": ("signals.contact:e164",),
        "client_network": ("signals.client:net24",),
    }
    assert "signals.mobile.country" in said
    assert "signals.contact.country" not in said


def write_payments(path: Path, n: int = 600) -> None:
    """Payments in the columns of a public simulation: two clocks, and two columns that follow from the label."""
    draw = np.random.default_rng(3)
    minutes = np.sort(draw.integers(0, 60 * 24 * 60, n))
    fraud = (draw.random(n) < 0.1).astype(int)
    frame = pd.DataFrame(
        {
            "TRANSACTION_ID": np.arange(n) * 3 + 7,
            "TX_DATETIME": pd.Timestamp("2018-04-01") + pd.to_timedelta(minutes, unit="m"),
            "CUSTOMER_ID": draw.integers(0, 40, n),
            "TERMINAL_ID": draw.integers(0, 60, n),
            "TX_AMOUNT": np.round(draw.lognormal(3, 1, n), 2),
            "TX_TIME_SECONDS": minutes * 60,
            "TX_TIME_DAYS": minutes // (24 * 60),
            "TX_FRAUD": fraud,
            "TX_FRAUD_SCENARIO": fraud * draw.integers(1, 4, n),
            "LOSS": np.round(fraud * 100 + draw.random(n), 3),
        }
    )
    frame.to_csv(path, index=False)


def test_payments_need_only_their_delay(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A label by part of its name, amounts and the delay are used; clocks and what follows from the label are not."""
    path, out = tmp_path / "payments.csv", tmp_path / "payments.yaml"
    write_payments(path)
    code, said, error = run(capsys, "init", path, "--delay", "5d", "--out", out)
    assert code == 0, error
    found = load_configuration(out)
    assert found.records.columns == {
        "recordId": "TRANSACTION_ID",
        "eventTime": "TX_DATETIME",
        "label": "TX_FRAUD",
    }
    assert found.records.labels.fraud == ("1",)
    assert found.records.labels.delay == found.training.split.label_maturity == 5 * DAY
    assert found.signals.keys() == {"CUSTOMER_ID", "TERMINAL_ID", "TX_AMOUNT"}
    assert [(one.signal, one.decimals) for one in found.links.amounts] == [("TX_AMOUNT", 2)]
    assert found.use.event == "payment"
    for clock in ("TX_TIME_SECONDS", "TX_TIME_DAYS"):
        assert f"not used: {clock}: it runs with the time of the event" in said
    assert "not used: TX_FRAUD_SCENARIO: hardly any record has it but those whose label was found" in said
    assert "not used: LOSS: it separates nearly all frauds from the others" in said
    assert "TX_FRAUD is taken for the label by its name" in said
    assert "When labels became known" not in said
    assert "assumed" not in out.read_text()
    assert "findings:\n  SM006 clear" in run(capsys, "check", path, "--config", out)[1]


@pytest.mark.parametrize(("delay", "reason"), [("0d", "longer than 0"), ("a week", "such as 90d")])
def test_a_delay_is_a_duration(
    capsys: pytest.CaptureFixture[str], export: Path, tmp_path: Path, delay: str, reason: str
) -> None:
    """Another one is refused before anything is written."""
    out = tmp_path / "mine.yaml"
    code, _, error = run(capsys, "init", export, "--delay", delay, "--out", out)
    assert (code, reason in error, out.exists()) == (1, True, False)


TIMES = {
    "01/02/2024": (("%d/%m/%Y",), True),
    "1700000000": (("unix",), False),
    "1700000000000": (("unix_ms",), False),
    "2024-01-02T03:04:05+01:00": ((), False),
    "2024-01-02T03:04:05": ((), False),
}


@pytest.mark.parametrize(("time", "expected"), TIMES.items())
def test_times_are_found_in_every_form(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, time: str, expected: tuple[tuple[str, ...], bool]
) -> None:
    """Counts of seconds have a format; a person must decide where day and month are ambiguous."""
    path, out = tmp_path / "a.csv", tmp_path / "a.yaml"
    path.write_text("created_at,is_fraud,amount\n" + f"{time},0,1\n{time},1,2\n")
    _, said, _ = run(capsys, "init", path, "--out", out)
    found = load_configuration(out)
    assert found.records.columns["eventTime"] == "created_at"
    assert (found.records.format.dates, "the day or the month" in said) == expected
    assert ("no time zone" in said) == (time[-6:] != "+01:00" and not time.isdigit())


def test_features_of_a_configuration_are_listed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What is in use, and what is off and why, for people; names and inputs for programs."""
    config = tmp_path / "x.yaml"
    config.write_text("name: x\nfeatures: {families: [dates], exclude: ['link_*']}")
    code, said, _ = run(capsys, "features", "--config", config)
    assert code == 0
    assert "| `event_hour` | Hour of the event. |" in said
    assert "| `age` | Age at the event. | reads the protected attribute `age` |" in said
    found = json.loads(run(capsys, "features", "--config", config, "--json")[1])
    assert {"name": "event_hour", "reads": ["eventHour"]}.items() <= found[-2].items()
    assert not [feature for feature in found if feature["name"].startswith("link_")]


def test_init_asks_for_a_status_that_is_set_afterwards(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A column that half of the frauds alone have a word in is used, and asked for by `init` and `check`."""
    path, out = tmp_path / "small.csv", tmp_path / "mine.yaml"
    rows = ["time,fraud,ticket,amount"]
    for place in range(1_000):
        fraud = place % 20 == 0
        state = "closed" if fraud and place % 40 == 0 else ("open", "new")[place % 3 == 0]
        rows.append(
            f"2026-01-{1 + place // 36:02}T00:00:00Z,{'yes' if fraud else 'no'},{state},{place % 97}.5"
        )
    path.write_text("\n".join(rows))
    code, said, error = run(capsys, "init", path, "--out", out)
    assert code == 0, error
    asked = "is `signals.ticket` known at the decision? One of its values has 100% frauds"
    assert f"to decide: {asked}" in said
    assert asked in run(capsys, "check", path, "--config", out)[1]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "past.csv: a CSV file must begin with a header row"),
        (bytes(range(256)), "past.csv: not a readable .csv file"),
        (b"Eingang;Betrug\n", "past.csv: without a row nothing can be proposed"),
    ],
)
def test_a_file_without_anything_to_propose_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes, said: str
) -> None:
    """Which file it is, what is wrong with it, and no configuration."""
    path, out = tmp_path / "past.csv", tmp_path / "mine.yaml"
    path.write_bytes(content)
    code, _, error = run(capsys, "init", path, "--out", out)
    assert code == 1
    assert said in error
    assert not out.exists()
