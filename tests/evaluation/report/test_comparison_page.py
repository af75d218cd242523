"""The report of a comparison says what changes, for whom and why, and what is not known."""

import re
from pathlib import Path

import pytest

from comparison_use import compared
from report_use import Page
from scoring_model.configuration import load_gates
from scoring_model.evaluation import Comparison, check_gates
from scoring_model.evaluation.report import NothingToDraw, comparison_report
from scoring_model.evaluation.report import html as rendered

GATES = """gates:
  recall: {difference: recall_at_fpr_0.01, above: -0.5}
  friction: {difference: step_up, below: 0.0001}
  countries: {group_change: country, rate: step_up, below: 0.5}
  stricter: {flips: fraud_stricter, below: 0.9}
  level: {figure: roc_auc, above: 0.5}
  promises: {promise: max_step_up}
"""


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """Three thousand records on forty days."""
    return compared()


@pytest.fixture(scope="module")
def html(comparison: Comparison, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Its report with gates."""
    path = tmp_path_factory.mktemp("gates") / "gates.yaml"
    path.write_text(GATES)
    return rendered(comparison_report(comparison, gates=check_gates(load_gates(path), comparison)))


@pytest.fixture(scope="module")
def ungated(comparison: Comparison) -> str:
    """Its report without gates."""
    return rendered(comparison_report(comparison))


def test_the_page_is_one_file(html: str) -> None:
    """It holds no script, loads nothing but its own data, and every drawing has a label and a table."""
    page = Page.of(html)
    assert page.is_one_file()
    assert len(page.ids) == len(set(page.ids))
    assert len(page.drawings) == html.count("<details>") == 6
    assert all(re.search(r"\d", label) for label in page.drawings)
    assert not re.search(r"\b(nan|None|inf)\b", page.text)
    assert len(html.encode()) < 3_000_000


def test_the_first_screen_says_what_changes(comparison: Comparison, html: str) -> None:
    """Sentences in natural numbers, and a matrix whose cells are all records."""
    page = Page.of(html)
    change = comparison.daily[1].everyone
    interval = f" (95% interval +{change.low:.1f} to +{change.high:.1f})"
    assert f"{comparison.daily[1].describe('a day', interval)}." in page.text
    matrix = next(table for table in page.tables if table[0][1] == "Challenger passed")
    cells = [re.fullmatch(r"([\d,]+) \((\d+) frauds\)", cell) for row in matrix[1:] for cell in row[1:]]
    counts = [[int(part.replace(",", "")) for part in cell.groups()] for cell in cells if cell]
    assert [sum(column) for column in zip(*counts, strict=True)] == [3000, comparison.champion.overall.frauds]
    flipped = [counts[place] for place in (1, 2, 3, 5, 6, 7)]
    assert sum(all_ for all_, _ in flipped) == sum(flip.genuine + flip.frauds for flip in comparison.flips)


def test_gates_have_verdicts_in_words(html: str, ungated: str) -> None:
    """Each gate has its verdict, its condition and its numbers; without gates the page says so."""
    text = Page.of(html).text
    assert "4 of 6 gates passed. Significantly better: Recall at 1% false positives." in text
    assert "The challenger is not promoted on these records." in text
    assert "Failed : friction Genuine stepped up or failed, challenger minus champion: the upper end" in text
    assert "Failed : promises Promises: the records must show that the policy keeps" in text
    assert re.search(r"Passed : level .* lower end must be above 0\.5\. Why: roc_auc 0\.\d+ \(", text)
    assert "No gates were checked" in Page.of(ungated).text


def test_every_figure_has_its_paired_interval(comparison: Comparison, html: str) -> None:
    """The table of all figures has the differences of the comparison; those of shares are percentage points."""
    table = next(found for found in Page.of(html).tables if found[0][:2] == ["Figure", "Champion"])
    rows = {row[0]: row for row in table[1:]}
    auc, friction = comparison.differences["roc_auc"], comparison.differences["step_up"]
    assert rows["ROC AUC"][3:] == [
        f"{auc.value:+.4f}",
        f"{auc.low:+.4f} to {auc.high:+.4f}",
        f"{auc.records:,}",
    ]
    assert friction.value is not None
    assert rows["Genuine stepped up or failed"][3] == f"{100 * friction.value:+.2f}"
    assert (
        len(rows) == len(comparison.differences) - 6
    )  # second names, the share of frauds, shares of all applicants


def test_equal_models_change_nothing() -> None:
    """Without a flip the page says so, and draws no flips."""
    text = Page.of(rendered(comparison_report(compared(0.0, noise=0.0, size=600)))).text
    assert "No record gets another outcome from the challenger." in text
    assert "Not drawn. No record has another outcome." in text
    assert "Clearly better" not in text


def test_small_changes_are_counted_on_10_000_applicants() -> None:
    """Where a day has less than one changed record of every outcome, the sentences take 10,000 applicants."""
    comparison = compared(0.1, size=600)
    change = comparison.differences["stepped_up"].value
    assert change is not None
    assert abs(15 * change) < 1  # fifteen records a day
    number, more = f"{abs(10_000 * change):,.0f}", "more" if change > 0 else "fewer"
    text = Page.of(rendered(comparison_report(comparison))).text
    assert f"{number} {more} step-ups out of 10,000 applicants" in text


def test_few_days_have_no_intervals() -> None:
    """With five days the page says so, and calls nothing better or worse."""
    text = Page.of(rendered(comparison_report(compared(size=400, days=5)))).text
    assert "The records lie on 5 days, too few for intervals." in text
    assert "No figure is clearly better or worse." in text


def test_plots_draw_the_comparison(comparison: Comparison) -> None:
    """Differences lie where the comparison has them, and groups that do not exist are named."""
    ax = comparison.plot.differences(["step_up", "missed_fraud"])
    marks = [line.get_xydata()[0].tolist() for line in ax.lines if line.get_marker() == "o"]  # type: ignore[index,union-attr]
    values = [comparison.differences[name].value for name in ("step_up", "missed_fraud")]
    assert [x for x, _ in marks] == pytest.approx([100 * value for value in values if value is not None])
    curve = comparison.champion.curves.roc
    dashed = next(line for line in comparison.plot.roc().lines if line.get_label() == "champion")
    assert dashed.get_ydata().tolist() == curve.y.tolist()  # type: ignore[union-attr]
    with pytest.raises(NothingToDraw, match=r"no column 'sex'; pass it as by=\[\.\.\.\]"):
        comparison.plot.changes("sex", "step_up")


def test_a_report_replaces_the_earlier_one(comparison: Comparison, ungated: str, tmp_path: Path) -> None:
    """The file holds the whole page, and equal comparisons give equal pages."""
    path = tmp_path / "ab.html"
    path.write_text("earlier")
    comparison.report(path)
    assert path.read_text(encoding="utf-8") == ungated
    assert list(tmp_path.iterdir()) == [path]
