"""Results of alternative thresholds, against counts made one by one."""

import csv
import io

import numpy as np
import pytest
from scipy.stats import binomtest

from scoring_model.arrays import IntArray
from scoring_model.configuration import CostSettings, PolicySettings
from scoring_model.evaluation.cost import expected_cost
from scoring_model.evaluation.report.section import texts_of
from scoring_model.training.alternatives import Alternatives, find_alternatives
from scoring_model.training.certification import Certification, certify
from scoring_model.training.report import other_thresholds
from scoring_model.training.thresholds import choose_policy

PRICES = CostSettings(fraud_loss=100, reject_cost=20, step_up_cost=1, step_up_effectiveness=0.7)
BOUNDS = PolicySettings(max_false_reject=0.02, max_step_up=0.2, max_missed_fraud=0.6)


def drawn() -> tuple[IntArray, IntArray]:
    """Draw scores of genuine persons and of fraud rings."""
    rng = np.random.default_rng(4)
    genuine = np.minimum(rng.exponential(108, 3000), 1000).astype(np.int64)
    return genuine, np.clip(rng.normal(450, 200, 200), 0, 1000).astype(np.int64)


def certification() -> Certification:
    """The certified thresholds of these scores."""
    return certify(*drawn(), settings=BOUNDS)


def found(*, costs: bool = True) -> Alternatives:
    """Compute alternatives for these scores, with or without costs."""
    genuine, frauds = drawn()
    cost = expected_cost(genuine, frauds, PRICES) if costs else None
    return find_alternatives(
        certification().holds,
        choose_policy(certification(), cost=cost),
        genuine_scores=genuine,
        fraud_scores=frauds,
        confidence=0.95,
        cost=cost,
    )


def test_rows_equal_counts_by_loops() -> None:
    """Every seventh row has the counts, scipy's exact intervals and the number of frauds that step-up catches."""
    genuine, frauds = drawn()
    cost = expected_cost(genuine, frauds, PRICES)
    for row in found().rows[::7]:
        first, last = row.step_up_from, row.fail_from
        stepped_up = (frauds >= first) & (frauds < last)
        expected = {
            "false_reject": genuine >= last,
            "step_up": genuine >= first,
            "missed_fraud": frauds < first,
            "fraud_stepped_up": stepped_up,
        }
        for name, errors in expected.items():
            share = getattr(row, name)
            interval = binomtest(int(errors.sum()), len(errors)).proportion_ci(0.95, method="exact")
            assert (share.count, share.records) == (errors.sum(), len(errors))
            assert (share.low, share.high) == pytest.approx((interval.low, interval.high), abs=1e-9)
        assert row.caught_by_step_up == pytest.approx(0.7 * stepped_up.mean())
        assert row.expected_cost == cost.at(first, last)
        assert row.certified == certification().holds(first, last)


def test_table_holds_the_grid_the_chosen_pair_and_its_neighbours() -> None:
    """The grid has all ordered pairs of multiples of 25, of "never", of the chosen thresholds and their neighbours."""
    alternatives = found()
    chosen = alternatives.chosen
    near = {t + move for t in (chosen.step_up_from, chosen.fail_from) for move in (-1, 0, 1)}
    grid = {t for t in {*range(25, 1001, 25), 1001, *near} if 1 <= t <= 1001}
    pairs = {(row.step_up_from, row.fail_from) for row in alternatives.rows}
    assert pairs == {(a, b) for a in grid for b in grid if a <= b}
    assert len(pairs) == len(alternatives.rows) <= 1128
    assert sum(row.chosen for row in alternatives.rows) == 1


def test_csv_reads_back() -> None:
    """The file has a line for each pair, a cell for each column, and six digits of each share."""
    alternatives = found()
    rows = list(csv.DictReader(io.StringIO(alternatives.to_csv())))
    assert len(rows) == len(alternatives.rows)
    for text, row in zip(rows, alternatives.rows, strict=True):
        assert (int(text["step_up_from"]), int(text["fail_from"])) == (row.step_up_from, row.fail_from)
        assert (text["chosen"], text["certified"]) == (str(int(row.chosen)), str(int(row.certified)))
        assert (text["genuine_persons"], text["fraud_rings"]) == ("3000", "200")
        assert float(text["missed_fraud_high"]) == pytest.approx(row.missed_fraud.high, rel=1e-5)
        assert float(text["expected_cost"]) == pytest.approx(row.expected_cost, rel=1e-5)


def test_cost_cells_are_empty_without_costs() -> None:
    """Without costs neither the file nor the report has values in the cost columns."""
    alternatives = found(costs=False)
    rows = list(csv.DictReader(io.StringIO(alternatives.to_csv())))
    assert {(row["caught_by_step_up"], row["expected_cost"]) for row in rows} == {("", "")}
    shown = other_thresholds(alternatives)
    assert {row[-1].text for row in shown.grids[0].rows} == {"–"}
    assert "Costs" not in texts_of(shown.texts)[0].text


def test_the_report_is_short_and_marks_the_chosen_pair() -> None:
    """The report has at most 21 pairs, marks the chosen one, and says on what they rest."""
    shown = other_thresholds(found())
    rows = [[cell.text for cell in row] for row in shown.grids[0].rows]
    assert 3 < len(rows) <= 21
    assert sum(row[0].endswith(", chosen") for row in rows) == 1
    (text,) = texts_of(shown.texts)
    assert "3,000 genuine persons and 200 rings" in text.text
    assert "of which 6.2% are frauds" in text.text


def test_frauds_may_be_absent() -> None:
    """Without frauds their shares are dashes in the report and empty cells in the file."""
    genuine, nobody = drawn()[0], np.zeros(0, dtype=np.int64)
    bounds = PolicySettings(max_false_reject=0.02, max_step_up=0.2)
    certified = certify(genuine, nobody, settings=bounds)
    alternatives = find_alternatives(
        certified.holds,
        choose_policy(certified),
        genuine_scores=genuine,
        fraud_scores=nobody,
        confidence=0.95,
    )
    rows = other_thresholds(alternatives).grids[0].rows
    assert {cell.text for row in rows for cell in row[-3:-1]} == {"–"}
    assert next(csv.DictReader(io.StringIO(alternatives.to_csv())))["missed_fraud"] == ""
