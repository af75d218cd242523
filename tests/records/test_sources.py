"""Which files a source stands for: those of a folder, and what is said of a list in JSON."""

from pathlib import Path

import pandas as pd
import pytest

from program import Captured, run
from scoring_model.records.sheet import UnreadableSource
from scoring_model.records.sources import file_paths


def write_month(path: Path, month: str) -> None:
    """Write sign-ups of a month as CSV."""
    path.parent.mkdir(exist_ok=True)
    days = pd.date_range(month, periods=28, freq="D").astype(str)
    devices = [f"d{place % 9}" for place in range(28)]
    pd.DataFrame({"created_at": days, "device": devices, "fraud": ["no", "yes"] * 14}).to_csv(
        path, index=False
    )


def test_a_folder_stands_for_its_files_of_records(tmp_path: Path, capsys: Captured) -> None:
    """And those of folders in it, sorted; hidden files and texts beside them are none."""
    months = [tmp_path / "in" / "2024" / "a.csv", tmp_path / "in" / "b.csv"]
    (tmp_path / "in").mkdir()
    for path, month in zip(months, ("2024-01-01", "2024-02-01"), strict=True):
        write_month(path, month)
    for name in ("readme.txt", ".hidden.csv", "_started.csv"):
        (tmp_path / "in" / name).write_text("nothing\n")
    assert file_paths(tmp_path / "in") == tuple(months)
    config = tmp_path / "use.yaml"
    assert run(capsys, "init", tmp_path / "in", "--out", config)[0] == 0
    code, said, _ = run(capsys, "check", tmp_path / "in", "--config", config)
    assert (code, "56" in said) == (0, True)


def test_a_folder_without_records_is_refused(tmp_path: Path) -> None:
    """By its name."""
    (tmp_path / "in").mkdir()
    with pytest.raises(UnreadableSource, match="in has no file of records"):
        file_paths(tmp_path / "in")


def test_a_list_in_json_is_refused_with_what_makes_lines_of_it(tmp_path: Path, capsys: Captured) -> None:
    """In one line."""
    path = tmp_path / "a.json"
    path.write_text('[{"id": 1}]')
    code, _, error = run(capsys, "init", path, "--out", tmp_path / "use.yaml")
    assert (code, error.strip().count("\n")) == (1, 0)
    assert "jq -c '.[]' x.json > x.jsonl" in error
