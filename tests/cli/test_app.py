"""The program: every command, its exit codes, and its errors."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from identity_use import YAML, relaxed, write_configuration
from program import Captured, refused, run
from scoring_model.scorer import Scorer
from scoring_model.scorer.frames import AbsentColumns
from scoring_model.service.keys.keyring import parse_master_keys


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The configuration file, with bounds for a small history."""
    return write_configuration(tmp_path, relaxed())


@pytest.fixture(scope="module")
def few(invented: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first 400 records."""
    path = tmp_path_factory.mktemp("few") / "few.parquet"
    pq.write_table(pq.read_table(invented).slice(0, 400), path)
    return path


def spoiled(source: Path, path: Path, *, bad: int) -> Path:
    """Write the records with the birthdays of the first ones spoiled."""
    table = pq.read_table(source)
    births = pa.array(["canary"] * bad + table.column("dob").to_pylist()[bad:], pa.string())
    pq.write_table(table.set_column(table.schema.get_field_index("dob"), "dob", births), path)
    return path


def test_each_command_says_what_it_found(capsys: Captured, sealed: Path, few: Path, tmp_path: Path) -> None:
    """A bundle is signed and inspected, records are scored and evaluated; each command ends with code 0."""
    bundle, private, public = tmp_path / "bundle", tmp_path / "private.pem", tmp_path / "public.pem"
    assert run(capsys, "keys", "generate", private, public)[0] == 0
    thresholds = ("--step-up-from", 450, "--fail-from", 850)
    assert run(capsys, "policy", sealed, "--out", bundle, *thresholds, "--signing-key", private)[0] == 0
    code, said, _ = run(capsys, "inspect", bundle, "--json", "--public-key", public)
    assert (code, json.loads(said)["signed"], json.loads(said)["name"]) == (0, True, "identity")
    code, said, _ = run(capsys, "inspect", bundle)
    assert code == 0
    assert "golden rows are sound" in said
    out = tmp_path / "out.csv"
    code, said, _ = run(capsys, "score", bundle, few, "--out", out, "--threads", 1)
    assert (code, "400 records in" in said) == (0, True)
    assert len(pyarrow.csv.read_csv(out)) == 400
    report = tmp_path / "evaluation.json"
    code, said, _ = run(capsys, "evaluate", bundle, few, "--json", report, "--threads", 1)
    assert code == 0
    assert json.loads(report.read_text())["overall"]["records"] > 300
    assert "ROC AUC" in said


def test_wrong_usage_is_code_2(capsys: Captured, sealed: Path, tmp_path: Path) -> None:
    """Unknown commands and options, absent files and missing options are wrong usage."""
    absent = tmp_path / "absent.parquet"
    for arguments in (
        ["unheard"],
        ["score", sealed, absent, "--out", tmp_path / "out.csv"],
        ["score", sealed],
        ["synth", tmp_path / "x.parquet", "--unheard"],
        ["train", absent, "--config", absent],
    ):
        code, _, error = run(capsys, *arguments)
        assert code == 2, arguments
        assert "Usage:" in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("module", "extra"), [("alembic", "serve"), ("scipy", "train"), ("dask", "dask")])
def test_a_missing_extra_is_named(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch, module: str, extra: str
) -> None:
    """A command whose extra is not installed says what to install; a module of no extra is a fault."""

    def command(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr("scoring_model.cli.app._command", lambda: lambda _: command(module))
    code, _, error = run(capsys, "serve")
    assert (code, error) == (1, f"error: this needs {module}: pip install 'scoring-model[{extra}]'\n")
    monkeypatch.setattr("scoring_model.cli.app._command", lambda: lambda _: command("unheard"))
    with pytest.raises(ModuleNotFoundError):
        run(capsys, "serve")


def test_a_process_ends_with_the_code(sealed: Path, few: Path, tmp_path: Path) -> None:
    """The installed program behaves like `main`: exit codes 0, 1 and 2, results and errors on separate streams."""
    program = Path(sys.executable).with_name("scoring-model")
    endings: dict[int, list[object]] = {
        0: ["score", sealed, few, "--out", tmp_path / "out.jsonl"],
        1: ["inspect", tmp_path],
        2: ["inspect"],
    }
    for code, arguments in endings.items():
        done = subprocess.run(
            [program, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode == code, done.stderr
        assert bool(done.stdout) is (code == 0)
        assert "Traceback" not in done.stderr
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 400


def test_check_counts_rows_that_stand_twice(
    capsys: Captured, config: Path, few: Path, tmp_path: Path
) -> None:
    """Rows without a recordId that repeat an earlier one are copies; a row with its own recordId is none."""
    table = pq.read_table(few)
    twice = pa.concat_tables([table, table.slice(100, 20)]).drop_columns("recordId")
    pq.write_table(twice, tmp_path / "twice.parquet")
    code, said, error = run(capsys, "check", tmp_path / "twice.parquet", "--config", config)
    assert (code, "copies: 20\n" in said) == (0, True)
    assert "20 rows have the instant and all values of an earlier one" in error
    code, said, error = run(capsys, "check", few, "--config", config)
    assert (code, "copies: 0\n" in said, "all values of an earlier" in error) == (0, True, False)


def test_one_wrong_year_is_warned_of(
    capsys: Captured, sealed: Path, config: Path, few: Path, tmp_path: Path
) -> None:
    """An event of a day to come makes every record old enough to be genuine; an instant that is named does not."""
    table = pq.read_table(few)
    times = pa.array([*table["eventTime"].to_pylist()[:-1], datetime(2262, 1, 1, tzinfo=UTC)])
    place = table.column_names.index("eventTime")
    data = tmp_path / "future.parquet"
    pq.write_table(table.set_column(place, "eventTime", times.cast(table["eventTime"].type)), data)
    for command in (
        ["check", data, "--config", config],
        ["evaluate", sealed, data],
        ["monitor", sealed, data],
    ):
        _, _, error = run(capsys, *command)
        assert (
            "warning: the age of records is counted from 2262-01-01T00:00:00.000001Z, which has not" in error
        )
    _, _, error = run(capsys, "evaluate", sealed, data, "--as-of", "2025-01-01")
    assert "has not come" not in error


def test_check_reports_what_is_wrong(capsys: Captured, config: Path, few: Path, tmp_path: Path) -> None:
    """JSON with counts by field and rule, the quarantine by row; code 1 above the share, 0 below."""
    data, quarantine = spoiled(few, tmp_path / "bad.parquet", bad=5), tmp_path / "quarantine.csv"
    code, said, error = run(capsys, "check", data, "--config", config, "--json", "--quarantine", quarantine)
    found = json.loads(said)
    assert (code, found["rows"], found["good"], found["bad"]) == (1, 400, 395, 5)
    finding, late, control, columns = found["findings"]
    assert (columns["code"], columns["state"]) == ("SM019", "not applicable")
    assert late["code"] == "SM015"
    assert (control["code"], control["state"]) == ("SM017", "clear")
    assert "it is assumed that nobody was stopped" in found["applicants"]
    warning = finding["sentence"]
    assert (finding["code"], finding["state"]) == ("SM006", "found")
    assert "(1d) never hold a known fraud. Always 0 or missing: link_address_1d_frauds, " in warning
    assert found["problems"] == [{"field": "dob", "rule": "not_a_date", "rows": 5}]
    assert "1.25% of the rows were refused" in error
    assert [line.split(",")[0] for line in quarantine.read_text().splitlines()[1:]] == list("01234")
    keys = {use["key"]: use for use in found["linkKeys"]}
    assert keys["device"]["records"] >= keys["device"]["values"] > keys["device"]["recurring"] > 0
    code, said, _ = run(capsys, "check", spoiled(few, data, bad=4), "--config", config)
    assert (code, "bad: 4" in said) == (0, True)
    assert "problems: field dob, rule not_a_date, rows 4" in said
    assert f"findings:\n  warning SM006: {warning} (docs/findings.md#sm006)\n" in said
    assert "canary" not in said + error + quarantine.read_text()


def test_check_says_nothing_of_keys_where_every_row_is_refused(capsys: Captured, tmp_path: Path) -> None:
    """What rows that were not read lack is no fault of a key."""
    path, config = tmp_path / "few.csv", Path(__file__).parents[2] / "configs" / "names.yaml"
    path.write_text("eventTime,firstName,lastName,dob\nnever,Ada,Byron,1980-01-02\n")
    code, said, error = run(capsys, "check", path, "--config", config)
    assert (code, "100.00% of the rows were refused" in error) == (1, True)
    assert "link" not in said + error


def test_pairs_shows_what_keys_link(capsys: Captured, tmp_path: Path) -> None:
    """Both records of a pair with the keys that join them, escaped; bounded; `check` names keys without records."""
    rows = ["eventTime,recordId,firstName,lastName,dob"]
    rows += [
        f"2026-01-01T00:00:0{place}Z,r{place},Ada{chr(27)}[2J,L{place % 2},1980-01-02" for place in range(4)
    ]
    path, config = tmp_path / "few.csv", Path(__file__).parents[2] / "configs" / "names.yaml"
    path.write_text("\n".join(rows))
    code, said, _ = run(capsys, "pairs", path, "--config", config, "--limit", 3)
    assert (code, "\x1b" in said) == (0, False)
    assert "birth_first: 4 records have it, 1 of its 1 values recur, 6 pairs\n" in said
    assert said.count("\npair ") == 3
    assert "  firstName: Ada\\x1b[2J\n" in said
    assert re.search(r"^  lastName: L(0 \| L1|1 \| L0)$", said, re.MULTILINE)
    code, said, error = run(capsys, "check", path, "--config", config)
    assert (code, "\n  birth_first: 4 records have it, 1 of its 1 values recur\n" in said) == (
        0,
        True,
    )
    assert (
        "4 of 10 link keys link nothing, since no record has address.city, signals.email, signals.phone: "
        in error
    )


def test_check_says_who_was_stopped(capsys: Captured, few: Path, tmp_path: Path) -> None:
    """With a column of outcomes it counts whom no label can be known of, and looks at the control group."""
    table = pq.read_table(few)
    labels = table.column("label").to_pylist()
    failed = [place % 4 == 0 for place in range(len(table))]
    drawn = [place % 40 == 0 for place in range(len(table))]
    outcomes = [
        "PASSED" if not stopped or one else "FAILED" for stopped, one in zip(failed, drawn, strict=True)
    ]
    weights = [0.1 if one else None if stopped else 1.0 for stopped, one in zip(failed, drawn, strict=True)]
    known = table.append_column("decision", pa.array(outcomes)).append_column("propensity", pa.array(weights))
    pq.write_table(known, tmp_path / "known.parquet")
    config = write_configuration(
        tmp_path, relaxed().replace("records:\n", "records:\n  columns: {outcome: decision}\n")
    )
    code, said, _ = run(capsys, "check", tmp_path / "known.parquet", "--config", config, "--json")
    found = json.loads(said)
    frauds = sum(
        label in (1, "fraud", True)
        for label, stopped in zip(labels, outcomes, strict=True)
        if stopped == "FAILED"
    )
    assert code == 0
    assert found["applicants"].startswith(
        "90 of 400 applicants were stopped, left before maturity, or have no propensity where others have one. "
    )
    assert f" {frauds:,} of them are known frauds" in found["applicants"]
    control = found["findings"][-2]
    assert (control["code"], control["state"]) == ("SM017", "found")
    assert control["figures"]["genuine"] + control["figures"]["frauds"] <= 10


def test_score_goes_on_below_the_share_and_stops_above(
    capsys: Captured, sealed: Path, few: Path, tmp_path: Path
) -> None:
    """Four of 400 bad rows are put aside, five stop the job, unless more are accepted."""
    out = tmp_path / "out.parquet"
    code, said, _ = run(capsys, "score", sealed, spoiled(few, tmp_path / "4.parquet", bad=4), "--out", out)
    assert (code, "4 rows were refused: " in said) == (0, True)
    out.unlink()
    five = spoiled(few, tmp_path / "5.parquet", bad=5)
    assert "dob not_a_date: 5" in refused(capsys, "score", sealed, five, "--out", out)
    assert not out.exists()
    assert run(capsys, "score", sealed, five, "--out", out, "--max-bad-share", 0.1)[0] == 0
    assert len(pq.read_table(out)) == 395


def test_history_of_a_scored_file(
    capsys: Captured, sealed: Path, scorer: Scorer, few: Path, tmp_path: Path
) -> None:
    """The later half with --history given twice is decided as in one file."""
    table = pq.read_table(few)
    parts = [tmp_path / f"{n}.parquet" for n in range(3)]
    for path, (start, length) in zip(parts, [(0, 100), (100, 100), (200, 200)], strict=True):
        pq.write_table(table.slice(start, length), path)
    out = tmp_path / "out.parquet"
    run(capsys, "score", sealed, parts[2], "--out", out, "--history", parts[1], "--history", parts[0])
    expected = scorer.score(table).column("margin").to_pylist()[200:]
    assert pq.read_table(out).column("margin").to_pylist() == expected


def test_a_signal_without_a_column_is_named(
    capsys: Captured, sealed: Path, config: Path, few: Path, tmp_path: Path
) -> None:
    """By `check`, and by `score` of a file and of a folder: a column that is called otherwise now changes decisions."""
    data, table = tmp_path / "renamed.parquet", pq.read_table(few)
    names = ["canal" if name.endswith("channel") else name for name in table.column_names]
    pq.write_table(table.rename_columns(names), data)
    for command in (
        ["check", data, "--config", config],
        ["score", sealed, data, "--out", f"{tmp_path}/out/", "--threads", 1],
    ):
        code, _, error = run(capsys, *command)
        assert (code, "signals.channel" in error, "in every record" in error) == (0, True, True), command
    _, _, error = run(capsys, "train", data, "--config", config, "--out", tmp_path / "b", "--no-track")
    assert "warning: no column holds signals.channel: in every record" in error
    shards = tmp_path / "shards"
    shards.mkdir()
    for place in range(3):
        pq.write_table(table.slice(50 * place, 50).rename_columns(names), shards / f"{place}.parquet")
    error = run(capsys, "score", sealed, shards, "--out", f"{tmp_path}/several/", "--threads", 1)[2]
    assert error.count("which no column holds") == 1
    assert "warning: 0.parquet and 2 more: the model reads signals.channel" in error
    with pytest.warns(AbsentColumns, match=r"^the model reads signals\.channel, which no column holds"):
        assert run(capsys, "score", sealed, data, "--out", tmp_path / "out.parquet")[0] == 0


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.parquet", b"garbage", "a.parquet: not a readable .parquet file"),
        ("a.xlsx", b"", "a.xlsx: a file must end in one of .parquet, .csv"),
        ("a.csv", b"x,y\n1,2\n", "a.csv: the column 'eventTime' is not in the source"),
        ("a.csv", b"EventTime,firstName\n", "has 'EventTime'"),
    ],
)
def test_an_unusable_file_is_named(
    capsys: Captured, sealed: Path, tmp_path: Path, name: str, content: bytes, text: str
) -> None:
    """A file that can't be read, or lacks a column, is an error with its name and the rule, and no output."""
    (tmp_path / name).write_bytes(content)
    out = tmp_path / "out.parquet"
    assert text in refused(capsys, "score", sealed, tmp_path / name, "--out", out)
    assert not out.exists()


@pytest.mark.filterwarnings("ignore:the model reads")  # its source has few columns
@pytest.mark.parametrize(("options", "mark"), [([], "'"), (["--no-guard-formulas"], "")])
def test_formulas_in_csv_are_guarded(
    capsys: Captured, sealed: Path, tmp_path: Path, options: list[str], mark: str
) -> None:
    """An identifier that a spreadsheet would run gets an apostrophe, unless a flag says not to."""
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("recordId,eventTime,firstName\n=1+1,2026-01-01,Ada\n-5,2026-01-02,Bob\n")
    assert run(capsys, "score", sealed, source, "--out", out, *options)[0] == 0
    lines = out.read_text().splitlines()
    assert [line.partition(",")[0] for line in lines[1:]] == [f'"{mark}=1+1"', f'"{mark}-5"']


@pytest.mark.parametrize(("content", "word"), [("", "header row"), (",\n1,2\n", "header row")])
def test_a_csv_file_without_a_header(
    capsys: Captured, sealed: Path, config: Path, few: Path, tmp_path: Path, content: str, word: str
) -> None:
    """Every command that reads a table refuses it by name, and leaves nothing behind."""
    empty, out, record = tmp_path / "empty.csv", tmp_path / "out.csv", tmp_path / "record.json"
    empty.write_text(content)
    record.write_text('{"eventTime": "2026-01-01T00:00:00Z", "firstName": "Ada"}')
    for words in (
        ["check", empty, "--config", config],
        ["train", empty, "--config", config, "--out", out],
        ["score", sealed, empty, "--out", out],
        ["score", sealed, few, "--history", empty, "--out", out],
        ["evaluate", sealed, empty],
        ["evaluate", sealed, few, "--history", empty],
        ["explain-record", sealed, record, "--history", empty],
        ["labels", "import", empty, "--database", f"sqlite:///{tmp_path}/none.db"],
    ):
        said = refused(capsys, *words)
        assert "empty.csv: " in said
        assert word in said
    assert not out.exists()


def test_an_empty_file(capsys: Captured, sealed: Path, config: Path, tmp_path: Path) -> None:
    """Empty JSON Lines are no records: scored to none, not evaluated, not trained on, each for its reason."""
    empty, out = tmp_path / "empty.jsonl", tmp_path / "out"
    empty.write_bytes(b"")
    code, said, _ = run(capsys, "score", sealed, empty, "--out", tmp_path / "out.csv")
    assert (code, said.startswith("0 records")) == (0, True)
    assert run(capsys, "evaluate", sealed, empty)[0] == 11
    assert "there are no records" in refused(capsys, "train", empty, "--config", config, "--out", out)
    assert not out.exists()


def test_a_standing_bundle_is_not_replaced(
    capsys: Captured, config: Path, sealed: Path, tmp_path: Path
) -> None:
    """Without --replace a standing bundle is refused before the records, which are unreadable, are read."""
    garbage = tmp_path / "garbage.parquet"
    garbage.write_bytes(b"garbage")
    train = ["train", garbage, "--config", config, "--out", sealed]
    assert f"{sealed} exists" in refused(capsys, *train)
    (tmp_path / "folder").mkdir()
    error = refused(capsys, *train[:-1], tmp_path / "folder", "--replace")
    assert "holds no manifest.json" in error


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (YAML.replace("links:", "linkz:"), ["linkz: unknown key; did you mean links?"]),
        (
            YAML.replace("{label_maturity: 30d", "{label_maturity: soon, gaps: 3"),
            ["label_maturity", "training.split.gaps"],
        ),
        (
            YAML.replace("max_step_up: 0.08", "max_step_up: 8"),
            ["policy.max_step_up: must be in (0, 1), got 8"],
        ),
        (YAML + "policy: {}\n", ["duplicate keys: policy"]),
        ("a: [", ["identity.yaml"]),
    ],
)
def test_a_broken_configuration_names_its_keys(
    capsys: Captured, few: Path, tmp_path: Path, text: str, named: Sequence[str]
) -> None:
    """Unknown keys and values out of range are all named at once."""
    error = refused(capsys, "check", few, "--config", write_configuration(tmp_path, text))
    assert "the configuration is refused" in error
    assert all(part in error for part in named), error


def test_ways_to_search_exclude_each_other(capsys: Captured, config: Path, few: Path, tmp_path: Path) -> None:
    """Trials and a budget at once are refused by their names; so is a budget that is no time."""
    train = ["train", few, "--config", config, "--out", tmp_path / "out"]
    assert "--trials and --budget exclude each other" in refused(
        capsys, *train, "--trials", 2, "--budget", "1m"
    )
    refused(capsys, *train, "--budget", "soon")
    assert not (tmp_path / "out.training").exists()


def test_a_broken_bundle_is_refused(capsys: Captured, sealed: Path, few: Path, tmp_path: Path) -> None:
    """Inspect, score and evaluate name the file that is not as sealed, and score writes nothing."""
    broken = shutil.copytree(sealed, tmp_path / "broken")
    (broken / "scale.json").write_bytes(b"{}")
    out = tmp_path / "out.csv"
    for arguments in (["inspect", broken], ["score", broken, few, "--out", out], ["evaluate", broken, few]):
        assert "scale.json: holds 2 bytes" in refused(capsys, *arguments)
    assert not out.exists()


def test_keys_are_asked_for(capsys: Captured, sealed: Path, tmp_path: Path) -> None:
    """A bundle that is not signed is refused when a key is given; keys are never replaced."""
    private, public = tmp_path / "private.pem", tmp_path / "public.pem"
    run(capsys, "keys", "generate", private, public)
    assert "not signed" in refused(capsys, "inspect", sealed, "--public-key", public)
    assert "holds no public key" in refused(capsys, "inspect", sealed, "--public-key", private)
    assert "never replaced" in refused(capsys, "keys", "generate", private, public)


def test_score_as_of_an_instant_counts_the_labels_that_it_ignores(
    capsys: Captured, sealed: Path, few: Path, tmp_path: Path
) -> None:
    """Labels of file and history known since are a number, and the file is scored as without them."""
    table = pq.read_table(few)
    labelled = table.filter(pc.is_valid(table["labelKnownAt"]))
    instant = sorted(labelled["labelKnownAt"].to_pylist())[len(labelled) // 2]
    bare, out, other = tmp_path / "bare.parquet", tmp_path / "out.parquet", tmp_path / "other.parquet"
    pq.write_table(table.drop_columns(["label", "labelKnownAt"]), bare)
    again, bare_again = tmp_path / "again.parquet", tmp_path / "bare_again.parquet"
    for source, target in ((few, again), (bare, bare_again)):
        rows = pq.read_table(source)
        ids = pc.binary_join_element_wise(rows["recordId"], "again", "-")
        pq.write_table(rows.set_column(rows.schema.get_field_index("recordId"), "recordId", ids), target)
    score = ["score", sealed, few, "--history", again, "--as-of"]
    code, said, _ = run(capsys, *score, instant.isoformat(), "--out", out)
    assert code == 0
    later = sum(known >= instant for known in labelled["labelKnownAt"].to_pylist())
    assert f": {2 * later} labels known then or later did not count" in said
    code, said, _ = run(capsys, *score, "2000-01-01", "--out", out, "--json")
    assert json.loads(said)["laterLabels"] == 2 * len(labelled)
    assert run(capsys, "score", sealed, bare, "--history", bare_again, "--out", other)[0] == 0
    assert pq.read_table(out).equals(pq.read_table(other))


def test_evaluate_counts_bad_rows(capsys: Captured, sealed: Path, few: Path, tmp_path: Path) -> None:
    """Rows that can't be read are counted, and too many of them are refused, as in every other command."""
    data = spoiled(few, tmp_path / "bad.parquet", bad=5)
    assert "1.25% of the rows were refused, and max_bad_share accepts at most 1.00% (" in refused(
        capsys, "evaluate", sealed, data
    )
    report = tmp_path / "report.json"
    evaluate = ["evaluate", sealed, data, "--max-bad-share", 0.1, "--json", report]
    code, said, error = run(capsys, *evaluate, "--as-of", "2026-01-01")
    assert (code, "395 records read, 5 rows refused" in error) == (0, True)
    assert "| Breaks the contract of the data | 5 |" in said
    coverage = json.loads(report.read_text())["coverage"]
    assert (coverage["rows"], coverage["evaluated"], coverage["left_out"]["invalid"]) == (400, 395, 5)


def test_evaluate_judges_matured_records_alone(
    capsys: Captured, sealed: Path, few: Path, tmp_path: Path
) -> None:
    """A month in, some labels are known: the mix is warned of, and without it nothing is left, which is code 11."""
    report = tmp_path / "report.json"
    evaluate = ["evaluate", sealed, few, "--as-of", "2024-01-25", "--json", report]
    code, said, _ = run(capsys, *evaluate)
    assert code == 0
    assert "SM012, warning: " in said
    findings = {one["code"]: one["state"] for one in json.loads(report.read_text())["findings"]}
    assert findings["SM012"] == "found"
    report.unlink()
    code, said, error = run(capsys, *evaluate, "--matured-only")
    assert (code, said, report.exists()) == (11, "", False)
    assert "error: nothing to evaluate: no labelled records (" in error
    assert "younger than 30d, though its label is known" in error


def test_evaluate_joins_a_scored_file_with_labels(
    capsys: Captured, sealed: Path, few: Path, tmp_path: Path
) -> None:
    """A scored file with labels has the figures of the labelled records; groups stand in JSON and text."""
    scored, labels = tmp_path / "scored.csv", tmp_path / "labels.csv"
    assert run(capsys, "score", sealed, few, "--out", scored)[0] == 0
    table = pq.read_table(few, columns=["recordId", "label", "labelKnownAt"])
    pyarrow.csv.write_csv(table.filter(table.column("label").is_valid()), labels)
    documents = []
    for source in (
        [few, "--by", "ageBand", "--by", "documentType=PASSPORT"],
        [scored, "--labels", labels, "--by", "modelVersion"],
    ):
        code, said, error = run(capsys, "evaluate", sealed, *source, "--json", tmp_path / "report.json")
        assert code == 0, error
        documents.append(json.loads((tmp_path / "report.json").read_text()))
    values = [{name: one["value"] for name, one in found["figures"].items()} for found in documents]
    assert values[0] == values[1]
    assert "### Groups by modelVersion" in said
    columns = [(group["column"], group["reference"]) for group in documents[0]["groups"]]
    assert columns == [("ageBand", "rest"), ("documentType", "PASSPORT")]
    assert documents[1]["provenance"]["scored_earlier"] is True
    assert "have no column absent" in refused(capsys, "evaluate", sealed, few, "--by", "absent")


def test_names_are_printed_as_they_are(capsys: Captured, sealed: Path, tmp_path: Path) -> None:
    """Brackets and colons in a path are no markup and no pictures."""
    path = shutil.copytree(sealed, tmp_path / "[red]:id:")
    assert f"{path}: seal" in run(capsys, "inspect", path)[1]


def test_debug_shows_where(capsys: Captured, tmp_path: Path) -> None:
    """--debug adds the traceback to the error."""
    assert "Traceback" in run(capsys, "--debug", "inspect", tmp_path)[2]
    assert "Traceback" not in run(capsys, "inspect", tmp_path)[2]


def test_a_stopped_training_leaves_no_bundle(small: Path, tmp_path: Path) -> None:
    """Stopped while it searches, the program leaves no bundle, says how to go on, and ends with 130."""
    config = write_configuration(tmp_path, relaxed())
    program = Path(sys.executable).with_name("scoring-model")
    out = tmp_path / "out"
    command = [program, "train", small, "--config", config, "--out", out, "--no-track", "--threads", "1"]
    said = tmp_path / "said.txt"
    with said.open("w") as errors:
        process = subprocess.Popen([*map(str, command), "--trials", "100000"], stderr=errors)
    journal = tmp_path / "out.training" / "tuning.journal"
    deadline = time.monotonic() + 120
    while not (journal.exists() and journal.stat().st_size > 3000) and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert "the same train with --resume goes on from what is finished" in said.read_text()
    assert not out.exists()


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` needs no command."""
    assert run(capsys, "--version")[:2] == (0, f"scoring-model {metadata.version('scoring-model')}\n")


def test_score_prints_its_result_as_json(
    capsys: pytest.CaptureFixture[str], sealed: Path, few: Path, tmp_path: Path
) -> None:
    """Counts and files, for programs."""
    code, said, _ = run(capsys, "score", sealed, few, "--out", tmp_path / "out.csv", "--json")
    found = json.loads(said)
    assert (code, found["records"], found["refused"], found["quarantine"]) == (0, 400, 0, None)
    assert sum(found["outcomes"].values()) == 400
    assert found["out"] == str(tmp_path / "out.csv")


def test_a_master_key_is_made_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The file has one key and only its owner can read it; a second call changes nothing."""
    path = tmp_path / "master.key"
    assert run(capsys, "keys", "generate-master", path)[0] == 0
    text = path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(parse_master_keys(text, source="x").older) == 0
    assert "keys rotate" in refused(capsys, "keys", "generate-master", path)
    assert path.read_text() == text


@pytest.mark.parametrize("option", ["--refused", "--quarantine"])
def test_a_check_replaces_no_file_that_it_reads(capsys: Captured, tmp_path: Path, option: str) -> None:
    """Refused rows and their list go to another file; a pattern names its files too."""
    file, before = tmp_path / "c.csv", "eventTime,firstName\n2026-01-01T00:00:00Z,Anna\nbad,Bob\n"
    file.write_text(before)
    config = write_configuration(tmp_path)
    for source in (file, tmp_path / "*.csv"):
        code, _, error = run(capsys, "check", source, "--config", config, option, file)
        assert (code, "its records are read" in error, file.read_text()) == (1, True, before), error
