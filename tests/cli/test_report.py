"""The option that writes a report."""

from pathlib import Path

import pyarrow as pa
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
    said = capsys.readouterr().out
    assert said.splitlines()[-1] == f"report: {report}"
    counted = said.partition(" records")[0].split()[-1]
    assert f"Shares of the {counted} evaluated records" in page.text
    assert {"families", "beeswarm", "groups-documentType"} <= set(page.ids)
    assert "few.parquet" in page.text


def test_what_names_values_is_for_its_owner_and_shows_them_as_they_stand(
    sealed: Path, invented: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Report and JSON file have mode 0600; values with markup, marks of direction and codes stay in their cells."""
    table, few = pq.read_table(invented).slice(20_000, 600), tmp_path / "few.parquet"
    place = table.column_names.index("signals.emailDomain")
    odd = pa.array(["a|b *c*\u202e<i>_d_"] * 300 + ["plain.example"] * 300)
    pq.write_table(table.set_column(place, "signals.emailDomain", odd), few)
    out, report = tmp_path / "evaluation.json", tmp_path / "report.html"
    by = ("--by", "signals.emailDomain")
    assert main(["evaluate", str(sealed), str(few), *by, "--json", str(out), "--report", str(report)]) == 0
    assert {path.stat().st_mode & 0o777 for path in (out, report)} == {0o600}
    row, *others = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| a")]
    assert len(others) == 2  # rates, gaps and ratios
    assert row.startswith(r"| a\|b \*c\*\\u202e&lt;i&gt;\_d\_ | ")


@pytest.mark.parametrize("option", ["--json", "--report"])
def test_a_result_without_its_folder_is_refused_before_the_work(
    option: str, sealed: Path, invented: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The refusal names folder and file, and no record was read."""
    assert main(["evaluate", str(sealed), str(invented), option, str(tmp_path / "nowhere" / "a.html")]) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert "there is no such folder for a.html" in error
    assert "records read" not in error
