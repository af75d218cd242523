"""A report is one file that says what the evaluation found, and why parts are missing."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from report_use import Page, evaluated, rules
from scoring_model.contract.outcome import Outcome
from scoring_model.evaluation import Evaluation, evaluate_records
from scoring_model.evaluation.report import Grid, Section, evaluation_report
from scoring_model.evaluation.report import html as rendered
from scoring_model.evaluation.report.first_screen import promise_cards
from scoring_model.evaluation.report.markdown import markdown
from scoring_model.evaluation.stopped import NotObserved

KEPT = {"max_false_reject": 0.05, "max_step_up": 0.9, "max_missed_fraud": 0.9}


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    """Two thousand records on sixty days; every promise is far away."""
    return evaluated(limits=KEPT)


@pytest.fixture(scope="module")
def html(evaluation: Evaluation) -> str:
    """Its report."""
    return rendered(evaluation_report(evaluation))


def test_the_page_is_one_file(html: str) -> None:
    """It holds no script, loads nothing but its own data, and links only to its own parts."""
    page = Page.of(html)
    assert page.is_one_file()
    assert len(page.ids) == len(set(page.ids))
    assert len(html.encode()) < 3_000_000


def test_every_drawing_has_words_and_a_table(html: str) -> None:
    """A label with numbers, a caption and a table stand beside each drawing; no cell is empty or NaN."""
    page = Page.of(html)
    assert len(page.drawings) == html.count("<figcaption>") == html.count("<details>") >= 7
    assert all(re.search(r"\d", label) for label in page.drawings)
    cells = [cell.strip() for table in page.tables for row in table for cell in row]
    assert "" not in cells
    assert not [cell for cell in cells if re.search(r"\b(nan|None|inf)\b", cell)]


def test_the_first_screen_counts_10_000_applicants(evaluation: Evaluation, html: str) -> None:
    """Its numbers are those of the evaluation, and they sum to all applicants and all frauds."""
    page = Page.of(html)
    rows = {row[0]: row for row in page.tables[0][1:]}
    counts = [float(re.match(r"\d[\d,.]*\d|\d", rows[name][1])[0].replace(",", "")) for name in rows]  # type: ignore[index]
    assert list(rows) == ["Passed", "Stepped up", "Failed"]
    assert sum(counts) == pytest.approx(10_000, abs=1.5)
    outcomes = evaluation.records.decisions.outcomes
    assert counts == pytest.approx([(outcomes == code).mean() * 10_000 for code in range(3)], abs=0.6)
    passed = evaluation.applicants[Outcome.PASSED].frauds.value
    assert passed is not None
    assert f"500 of them are frauds: {passed:,.0f} pass" in page.text


def test_a_promise_is_judged_by_its_whole_interval(html: str) -> None:
    """Kept or broken only if the interval lies on one side of the limit."""
    assert "Kept : Frauds that pass At most 90% promised." in Page.of(html).text
    stepped = "Genuine stepped up or failed At most"
    for limits, words in (
        (
            {"max_missed_fraud": 0.33, "max_step_up": 0.05},
            ("Undecided : Frauds that pass At most 33% promised.", f"Broken : {stepped} 5.0% promised."),
        ),
        (
            {"max_step_up": 0.11},
            ("No promise : Frauds that pass Nothing is promised.", f"Undecided : {stepped} 11% promised."),
        ),
    ):
        text = Page.of(rendered(evaluation_report(evaluated(limits=limits)))).text
        assert all(word in text for word in words), words


def test_a_region_that_is_not_drawn_is_explained(html: str) -> None:
    """Rules without counts of scores say so; rules without promises certify nothing."""
    assert "came without the counts of scores that certify pairs" in Page.of(html).text
    text = Page.of(rendered(evaluation_report(evaluated(genuine=300, frauds=30)))).text
    assert "The policy promises nothing, so no pair is certified." in text


@pytest.mark.parametrize(("genuine", "frauds"), [(300, 0), (0, 40), (0, 0)])
def test_an_absent_class_is_named(genuine: int, frauds: int) -> None:
    """Drawings that need both classes give the reason for their absence, and no number is invented."""
    page = Page.of(rendered(evaluation_report(evaluated(genuine=genuine, frauds=frauds))))
    assert page.text.count("Not drawn.") >= 3
    assert not re.search(r"\bnan\b", page.text)


def test_few_days_have_no_intervals() -> None:
    """With five days the page says so instead of drawing bands, and no promise is judged."""
    text = Page.of(rendered(evaluation_report(evaluated(days=5, limits=KEPT)))).text
    assert "The records lie on 5 days, too few for intervals." in text
    assert "There is no band, since it takes ten days of genuine records and ten independent frauds." in text
    assert "Kept" not in text
    assert text.count("Too few of them are independent for a verdict.") == 3


def test_values_are_text() -> None:
    """Markup in further parts is shown, not run."""
    grid = Grid.of("more", "<i>", {"a": "<b>", "b": "x"}, [("<script>alert(1)</script>", "1")])
    part = Section(name="more", title="<u>", grids=(grid,))
    html = rendered(evaluation_report(evaluated(genuine=50, frauds=0, days=3), further=[part]))
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_only_sentences_have_no_plural_behind_a_one() -> None:
    """The first cell of a row may be a value of theirs, which both renderers show as it is."""
    grid = Grid.of("more", "On 1 records", {"a": "Plan", "b": "Found"}, [("1 days", "1 records")])
    part = Section(name="more", title="More", texts=("Plan '1 days': 1 records.",), grids=(grid,))
    report = evaluation_report(evaluated(genuine=50, frauds=0, days=3), further=[part])
    html = rendered(report)
    assert ">1 days</th>" in html
    assert ">1 record</td>" in html
    assert '<p class="text">Plan &#39;1 days&#39;: 1 record.</p>' in html
    text = markdown(report)
    assert "| 1 days | 1 record |" in text
    assert "Plan '1 days': 1 record.\n" in text
    assert "*On 1 record*" in text


def test_values_of_groups_are_text() -> None:
    """Markup, formulas, other scripts and long values stand as they are in the tables, and break no drawing."""
    values = [
        '"><script>alert(1)</script>',
        "$\\frac{",
        "北京",
        "long " * 30,
        *(f"value {n}" for n in range(20)),
    ]
    html = rendered(evaluation_report(evaluated(groups=values)))
    page = Page.of(html)
    assert "script" not in page.tags
    assert any(values[0] in label for label in page.drawings)
    assert {value.strip() for value in values} <= {row[0] for table in page.tables for row in table}
    assert "Drawn: the 20 largest; the table holds all." in page.text
    assert "text-anchor" in html


def test_a_report_replaces_the_earlier_one(html: str, tmp_path: Path) -> None:
    """The file holds the whole page; that of an equal evaluation is the same: it has nothing of clock or process."""
    path = tmp_path / "a.html"
    path.write_text("earlier")
    evaluated(limits=KEPT).report(path)
    assert path.read_text(encoding="utf-8") == html
    assert list(tmp_path.iterdir()) == [path]


def test_groups_without_a_clear_gap_say_which_one_would_have_been_seen() -> None:
    """Half the width of the simultaneous intervals, from the narrowest group to the widest, in percentage points."""
    found = evaluated(groups=("a", "b", "c"))
    text = Page.of(rendered(evaluation_report(found))).text
    rates = [group.rates["step_up"].gap for group in found.groups[0].groups]
    widths = [
        100 * (one.simultaneous_high - one.simultaneous_low) / 2
        for one in rates
        if one.simultaneous_high and one.simultaneous_low
    ]
    assert len(widths) == 3
    assert (
        "No group differs clearly from its reference: every simultaneous interval that exists holds 0."
        in text
    )
    assert "Gaps that would be seen in half of the cases, by group: genuine who fail 0." in text
    assert f"genuine stepped up or failed {min(widths):.2g} to {max(widths):.2g} points." in text


def test_gaps_that_stopped_applicants_hide_are_said() -> None:
    """The distance of the farther end from the gap of the observed, which lie within ends over all labels."""
    observed = evaluated(groups=("a", "b", "c"))
    widths, records = [], observed.records
    for count in (0, 60):
        rows = np.arange(count)
        stopped = NotObserved.of(
            records.decisions.take(rows),
            np.full(count, -1, dtype=np.int8),
            records.event_times[rows],
            None,
            {name: column.take(rows) for name, column in records.columns.items()},
        )
        found = evaluate_records(replace(records, not_observed=stopped), rules=rules({}), by={"group": None})
        text = Page.of(rendered(evaluation_report(found))).text
        gaps = [group.rates["step_up"].gap.together for group in found.groups[0].groups]
        reaches = [100 * max(abs((gap.value or 0) - end) for end in gap.ends or ()) for gap in gaps]
        widths.append((min(reaches), max(reaches)))
        whose = ", whatever the stopped ones were, by group: genuine who fail " if count else ""
        assert f"would be seen in half of the cases{whose}" in text
        assert f"genuine stepped up or failed {min(reaches):.2g} to {max(reaches):.2g} points" in text
        assert ("A control group would narrow the intervals." in text) == (count > 0)
    assert widths[0] < widths[1]


def test_the_reference_of_groups_has_its_own_rates() -> None:
    """It is compared with nothing, and has rates with intervals all the same, in the table and in the picture."""
    pages = [
        markdown(evaluation_report(evaluated(frauds=300, groups=("a", "b", "c"), reference=reference)))
        for reference in (None, "a")
    ]
    alone, named = (next(line for line in page.splitlines() if line.startswith("| a | ")) for page in pages)
    assert named == alone
    assert "not enough data" not in named


def test_a_kept_promise_says_what_it_is_worth() -> None:
    """A promise that allows many times what is observed protects nobody; one that is near it says nothing of this."""
    found = evaluated(limits={"max_step_up": 0.5})
    _, friction, missed = found.stability
    cards = {card.title: card.detail or "" for card in promise_cards(found.stability)}
    assert friction.share.value is not None
    assert missed.share.value is not None
    times = 0.5 / friction.share.value
    assert times > 2
    assert cards["Genuine stepped up or failed"].endswith(
        f"The promise allows {times:,.0f} times as many as were observed."
    )
    near = evaluated(limits={"max_missed_fraud": 1.5 * missed.share.value})
    assert all("times as many" not in (card.detail or "") for card in promise_cards(near.stability))
