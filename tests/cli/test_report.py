"""The option that writes a report."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from report_use import Page
from scoring_model.cli import main


def test_evaluate_writes_a_report(
    sealed: Path, invented: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It counts the records that the summary counts, and shows what the model looks at."""
    few = tmp_path / "few.parquet"
    pq.write_table(pq.read_table(invented).slice(20_000, 600), few)
    report = tmp_path / "report.html"
    assert main(["evaluate", str(sealed), str(few), "--report", str(report), "--by", "documentType"]) == 0
    page = Page.of(report.read_text(encoding="utf-8"))
    counted = capsys.readouterr().out.partition(" records")[0].split()[-1]
    assert f"Shares of the {counted} evaluated records" in page.text
    assert {"families", "beeswarm", "groups-documentType"} <= set(page.ids)
    assert "few.parquet" in page.text
