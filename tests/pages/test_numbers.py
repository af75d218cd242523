"""The page of an evaluation says the numbers of the evaluation."""

from dataclasses import replace

import numpy as np
import pytest

import made_results as made
from page_text import PageText
from scoring_model.estimates import Table
from scoring_model.evaluation.report.evaluation_page import evaluation_report
from scoring_model.evaluation.report.markdown import markdown
from tone_oracle import ERRORS, FIGURES, TITLES, numbers, says


def test_an_evaluation_says_the_numbers_of_the_evaluation(evaluation: PageText) -> None:
    """Ranking, losses, months and 10,000 applicants have their numbers; the applicants add up."""
    found = made.made_evaluation()
    for row in evaluation.grid("Ranking, with").rows:
        one = found.figures[TITLES[row[0]]]
        assert says(row[1], one.value), row
        assert says(row[2], one.low, one.high), row
        assert says(row[3], one.records), row
    losses = evaluation.grid("Losses and their parts")
    for name in ("brier", "log_loss"):
        one = found.figures[name]
        assert says(losses.cell("Value", FIGURES[name][1]), one.value)
        assert says(losses.cell("95% interval", FIGURES[name][1]), one.low, one.high)
    for row, (month, measures) in zip(
        evaluation.grid("By calendar month").rows, found.months.items(), strict=True
    ):
        assert row[0].replace("\N{NON-BREAKING HYPHEN}", "-") == month
        assert says(" ".join(row[1:3]), measures.genuine, measures.frauds)
        for cell, error in zip(row[3:6], ERRORS, strict=True):
            share = measures.figures[error]
            assert says(cell, share.value, share.low, share.high)
        assert says(row[6], measures.figures["roc_auc"].value)
    outcomes = evaluation.grid("What happens to 10,000").by_name
    for outcome, name in (("Passed", "passed"), ("Stepped up", "stepped_up"), ("Failed", "failed")):
        for cell, key in zip(outcomes[outcome][1:3], (name, f"{name}_frauds"), strict=True):
            one = found.figures[key]
            values = [10_000 * (end or 0.0) for end in (one.value, one.low, one.high)]
            assert [value for value, _ in numbers(cell)] == pytest.approx(values, abs=1.01)
    assert sum(numbers(row[1])[0][0] for row in outcomes.values()) == 10_000


def test_an_evaluation_says_what_scores_and_promises_are_worth(evaluation: PageText) -> None:
    """The meaning of the score, the calibration by bins, the errors with promises and what is left out."""
    found = made.made_evaluation()
    for row, share in zip(
        evaluation.grid("Meaning of the score").rows, found.score_shares.values(), strict=True
    ):
        assert says(row[2], share.value, share.low, share.high)
        assert says(row[1], 10 ** (-int(row[0]) / 250))
    for row, part in zip(evaluation.grid("Calibration").rows, found.calibration, strict=True):
        assert says(" ".join(row[1:3]), part.observed.records, part.probability)
        assert says(row[3], part.observed.value, part.observed.low, part.observed.high)
    for row, error in zip(evaluation.grid("Errors of the policy").rows, found.stability, strict=True):
        assert says(" ".join(row[1:3]), error.limit, error.share.value, error.share.low, error.share.high)
        assert says(" ".join(row[3:5]), error.share.independent, error.days)
    assert found.coverage is not None
    left_out = evaluation.grid("Records left out")
    assert [row[1] for row in left_out.rows] == [str(n) for n in found.coverage.left_out.values() if n]


def test_groups_differ_in_the_page_as_in_the_evaluation(evaluation: PageText) -> None:
    """Rates, gaps and their ends are the numbers; more often and less often follow the signs of the ends."""
    (table,) = (one for one in made.made_evaluation().groups if one.column == "country")
    rates, gaps = evaluation.grid("Rates by country"), evaluation.grid("Gaps, in percentage points")
    clear = []
    for row, gap, group in zip(rates.rows, gaps.rows, table.groups, strict=True):
        assert row[0] == gap[0] == group.value
        for title, cell, against in zip(gaps.heads[1:], row[3:], gap[1:], strict=True):
            rate = group.rates[TITLES[title]]
            if rate.gap.absence:
                assert against == "not enough data"
                continue
            one = rate.gap
            assert says(cell, rate.estimate.value, rate.estimate.low, rate.estimate.high)
            assert says(against, one.value, one.simultaneous_low, one.simultaneous_high, scale=0.01)
            _, low, high = (value for value, _ in numbers(against))
            if low > 0 or high < 0:
                clear.append(f"{row[0]}: {title.lower()} {'more' if low > 0 else 'less'} often")
    assert any(text.endswith("more often") for text in clear)
    assert any(text.endswith("less often") for text in clear)
    assert any(f"leave out 0): {'; '.join(clear)}." in text for text in evaluation.texts)


def test_scores_from_the_named_one_on_are_extrapolated() -> None:
    """The JSON says so of a score that is the first one, as of those above it."""
    rows = replace(made.made_evaluation(), extrapolated_from=900).to_json()["score_shares"]
    assert [row["score"] for row in rows if row["extrapolated"]] == [900, 1000]


def test_reasons_of_flips_are_in_the_order_of_their_numbers() -> None:
    """The most frequent first, and those of equal number by their code, in files as on pages."""
    flips = made.made_comparison().flips
    assert max(len(set(flip.reasons.values())) for flip in flips) > 1
    for flip in flips:
        listed = list(flip.reasons.items())
        assert listed == sorted(listed, key=lambda reason: (-reason[1], reason[0]))


def test_frauds_of_known_rings_are_counted_as_independent() -> None:
    """The note below 10,000 applicants says on how many frauds its ranges rest."""
    found = made.made_evaluation()
    rings = np.zeros(len(found.records), dtype=np.int64)
    missed = replace(found.figures["missed_fraud"], independent=15)
    known = replace(
        found,
        curves=replace(found.curves, records=replace(found.records, rings=rings)),
        table=found.table | Table.of({"missed_fraud": missed}),
    )
    frauds = f"({found.overall.genuine:,} genuine, {found.overall.frauds:,} frauds"
    assert f"{frauds})" in markdown(evaluation_report(found))
    assert f"{frauds}, 15 independent)" in markdown(evaluation_report(known))
