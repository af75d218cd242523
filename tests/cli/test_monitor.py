"""`monitor`: output, JSON, report, gates and exit codes."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from program import Captured, refused, run


@pytest.fixture(scope="module")
def records(frame: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The latest records of the history."""
    path = tmp_path_factory.mktemp("records") / "records.parquet"
    pq.write_table(frame.sort_by("eventTime").slice(22_000), path)
    return path


def test_a_scored_directory_with_gates(capsys: Captured, sealed: Path, records: Path, tmp_path: Path) -> None:
    """Summary, document, report and gates; files of rejected rows are no window."""
    folder = tmp_path / "scored"
    folder.mkdir()
    assert run(capsys, "score", sealed, records, "--out", folder / "a.parquet")[0] == 0
    (folder / "a.quarantine.csv").write_text("recordId,problem\n", encoding="utf-8")
    gates = tmp_path / "gates.yaml"
    gates.write_text("gates: {quiet: {drift: outcome}, step_ups: {early: max_step_up}}\n", encoding="utf-8")
    out, page = tmp_path / "m.json", tmp_path / "m.html"
    monitor = ["monitor", sealed, folder, "--gate", gates, "--json", out, "--report", page]
    code, said, error = run(capsys, *monitor, "--prevalence-cap", "0.03")
    assert code == 0, error
    assert "### Drift" in said
    assert "- **Passed: quiet.** " in said
    document = json.loads(out.read_text(encoding="utf-8"))
    assert (document["version"], document["gates"]["exit_code"]) == (1, 0)
    assert document["early"][1]["cap"] == 0.03
    assert "Monitoring report" in page.read_text(encoding="utf-8")
    gates.write_text("gates: {late: {promise: max_step_up}, quiet: {drift: outcome}}\n", encoding="utf-8")
    code, said, _ = run(capsys, *monitor)
    assert (code, "no matured labelled records" in said) == (11, True)


def test_what_cannot_be_monitored(capsys: Captured, sealed: Path, records: Path, tmp_path: Path) -> None:
    """An unknown feature in a gate is an error; a missing file wrong usage; an empty window has exit code 11."""
    gates = tmp_path / "gates.yaml"
    gates.write_text("gates: {odd: {drift: shoe_size}}\n", encoding="utf-8")
    assert "shoe_size was not compared" in refused(capsys, "monitor", sealed, records, "--gate", gates)
    assert run(capsys, "monitor", sealed, tmp_path / "none.parquet")[0] == 2
    empty = tmp_path / "empty.parquet"
    pq.write_table(pq.read_table(records).slice(0, 0), empty)
    code, _, error = run(capsys, "monitor", sealed, empty)
    assert (code, "the window has no records" in error) == (11, True)
