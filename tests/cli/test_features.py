"""The command `features` on records: a file of what the model reads."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from program import Captured, refused, run
from scoring_model.scorer import Scorer


@pytest.fixture
def few(frame: pa.Table, tmp_path: Path) -> Path:
    """The last 120 records, one of them broken."""
    table = frame.slice(len(frame) - 120)
    births = pa.array(["canary", *table.column("dob").to_pylist()[1:]], pa.string())
    path = tmp_path / "few.parquet"
    pq.write_table(table.set_column(table.schema.get_field_index("dob"), "dob", births), path)
    return path


def test_the_file_holds_what_the_model_reads(
    capsys: Captured, sealed: Path, few: Path, frame: pa.Table, tmp_path: Path
) -> None:
    """The file is `Scorer.features` of the good rows with the same history; refused rows are listed beside it."""
    past, out = tmp_path / "past.parquet", tmp_path / "matrix.parquet"
    pq.write_table(frame.slice(0, len(frame) - 120), past)
    code, said, _ = run(
        capsys, "features", sealed, few, "--history", past, "--contributions", "--out", out, "--json"
    )
    counted = {"records": 119, "refused": 1, "features": len(Scorer.load(sealed).matrix.names)}
    assert (code, json.loads(said)) == (
        0,
        {"out": str(out), "quarantine": str(tmp_path / "matrix.quarantine.csv"), **counted},
    )
    expected = Scorer.load(sealed).features(few, history=past, contributions=True)
    written = pq.read_table(out)
    assert written.column_names == expected.column_names[:-1]
    assert written.column("recordId") == expected.column("recordId").slice(1)
    for name in written.column_names[1:]:
        good = expected.column(name).slice(1)
        assert written.column(name).to_numpy().tobytes() == good.to_numpy().tobytes()
    assert "dob,not_a_date" in (tmp_path / "matrix.quarantine.csv").read_text()


def test_only_whole_forms_are_accepted(capsys: Captured, sealed: Path, few: Path, tmp_path: Path) -> None:
    """Neither form, half a form, both forms and a missing file are wrong usage; only Parquet keeps every bit."""
    config = tmp_path / "c.yaml"
    config.write_text("name: x")
    out = tmp_path / "m.parquet"
    for words in (
        [],
        [sealed, few],
        [sealed, "--out", out],
        ["--config", config, sealed],
        [sealed, tmp_path / "absent", "--out", out],
    ):
        assert run(capsys, "features", *words)[0] == 2
    assert "must end in .parquet" in refused(capsys, "features", sealed, few, "--out", tmp_path / "m.csv")
    assert not out.exists()
