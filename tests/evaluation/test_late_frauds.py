"""The finding on frauds that become known late: its share, what is corrected, and when nothing is."""

from dataclasses import replace

import numpy as np
import pytest

from scoring_model.arrays import IntArray
from scoring_model.configuration import CostSettings
from scoring_model.evaluation.late_frauds import (
    KnownFrauds,
    MatureRecords,
    check_late_frauds,
    late_frauds_finding,
    measure_late_frauds,
)
from scoring_model.findings import Code, State
from scoring_model.records import NEVER, RecordTable
from scoring_model.records.times import DAY

AS_OF = 1000 * DAY
RECORDS = 20_000
SHARE = 0.1


def history(*, mean: float, days: int = 300, maturity: int = 60) -> tuple[RecordTable, IntArray, float]:
    """Make records over some days, a tenth of them frauds that become known after `mean` days.

    Returns
    -------
    tuple
        The records as known at `AS_OF`, their true classes, and the share of frauds known at maturity among those that
        become known within the days.
    """
    rng = np.random.default_rng(0)
    events = np.sort(AS_OF - rng.integers(0, days * DAY, RECORDS))
    frauds = rng.random(RECORDS) < SHARE
    delays = (rng.exponential(mean, RECORDS) * DAY).astype(np.int64)
    known = frauds & (events + delays < AS_OF)
    table = RecordTable(
        record_ids=tuple(map(str, range(RECORDS))),
        event_times=events,
        columns={},
        labels=np.where(known, 1, -1).astype(np.int8),
        label_times=np.where(known, events + delays, NEVER),
        source_rows=np.arange(RECORDS),
    )
    return table, frauds.astype(np.int64), float((1 - np.exp(-maturity / mean)) / (1 - np.exp(-days / mean)))


def test_late_frauds_are_a_warning_with_its_share() -> None:
    """A quarter becomes known after maturity: the finding has the share, the largest age and the newest records."""
    table, frauds, share = history(mean=40)
    found = check_late_frauds(KnownFrauds.of(table), as_of=AS_OF, maturity=60 * DAY, records=RECORDS)
    assert (found.code, found.state) == (Code.LATE_FRAUDS, State.FOUND)
    assert found.figures["known_at_maturity"] == pytest.approx(share, abs=0.03)
    assert found.figures["known_at_maturity_low"] < share < found.figures["known_at_maturity_high"]
    assert found.figures["largest_age_days"] == pytest.approx(300, abs=3)
    ages = AS_OF - table.event_times
    newest = (ages > 60 * DAY) & (ages <= 120 * DAY)
    missing = np.count_nonzero(newest & (frauds == 1) & (table.labels != 1))
    assert found.count == pytest.approx(missing, rel=0.35)
    assert "later ones can't be seen" in found.sentence
    assert "days old" in found.sentence


def test_frauds_that_are_known_in_time_are_clear() -> None:
    """Nearly all are known within a quarter of the maturity."""
    table, _, _ = history(mean=5)
    found = check_late_frauds(KnownFrauds.of(table), as_of=AS_OF, maturity=60 * DAY, records=RECORDS)
    assert (found.state, found.count) == (State.CLEAR, 0)


def test_an_assumed_delay_says_nothing_of_late_frauds() -> None:
    """A file without a column of times gives each fraud the configured delay: nobody has seen one."""
    table, _, _ = history(mean=5)
    known = table.labels == 1
    assumed = replace(table, label_times=np.where(known, table.event_times + 7 * DAY, NEVER))
    frauds = KnownFrauds.of(assumed)
    found = check_late_frauds(frauds, as_of=AS_OF, maturity=60 * DAY, records=RECORDS)
    assert found.state is State.NOT_APPLICABLE
    assert "became known 7 days after its event, which was assumed and not seen" in found.sentence
    assert measure_late_frauds(frauds, as_of=AS_OF, maturity=60 * DAY) is None
    moment = KnownFrauds.of(replace(table, label_times=np.where(known, table.event_times + 1, NEVER)))
    assert check_late_frauds(moment, as_of=AS_OF, maturity=DAY, records=RECORDS).state is State.NOT_APPLICABLE


def test_stopped_records_do_not_count() -> None:
    """Nobody observes their frauds as those of others: without a propensity they are left out."""
    table, _, _ = history(mean=40)
    propensities = np.where(np.arange(RECORDS) % 2, 1.0, np.nan)
    few = KnownFrauds.of(replace(table, propensities=propensities))
    assert len(few.event_times) < 0.6 * len(KnownFrauds.of(table).event_times)


def test_what_is_seen_too_short_or_known_too_little_is_marked_and_not_corrected() -> None:
    """Below twice the maturity and below half of the frauds nothing is divided, and the sentence says why."""
    short, _, _ = history(mean=40, days=100)
    late = measure_late_frauds(KnownFrauds.of(short), as_of=AS_OF, maturity=60 * DAY, mature=matured(short))
    assert late is not None
    assert "less than 2 times the label maturity of 60d" in late.doubt
    assert not late.corrected
    assert late.doubt in late.describe()
    slow, _, share = history(mean=200)
    assert share < 0.5
    late = measure_late_frauds(KnownFrauds.of(slow), as_of=AS_OF, maturity=60 * DAY, mature=matured(slow))
    assert late is not None
    assert late.doubt.startswith("less than 50%")
    assert not late.corrected


@pytest.mark.parametrize("days", [20, 55])
def test_without_old_frauds_nothing_is_known(days: int) -> None:
    """Records younger than the maturity say nothing of what comes after it."""
    table, _, _ = history(mean=10, days=days)
    found = check_late_frauds(KnownFrauds.of(table), as_of=AS_OF, maturity=60 * DAY, records=RECORDS)
    assert found.state is State.NOT_APPLICABLE
    assert "can't be seen" in found.sentence


def matured(table: RecordTable) -> MatureRecords:
    """The mature records of the newest part, half of whose frauds are stepped up."""
    ages = AS_OF - table.event_times
    rows = (ages > 60 * DAY) & (ages <= 120 * DAY)
    outcomes = (np.arange(RECORDS) % 2).astype(np.int8)
    costs = CostSettings(fraud_loss=100.0, reject_cost=5.0, step_up_cost=1.0, step_up_effectiveness=0.5)
    return MatureRecords(
        event_times=table.event_times[rows],
        outcomes=outcomes[rows],
        frauds=table.labels[rows] == 1,
        costs=costs,
    )


def test_figures_of_the_newest_part_are_those_with_all_frauds() -> None:
    """Share of frauds, frauds by outcome, cost: the known ones are too few, corrected intervals hold the truth."""
    table, frauds, _ = history(mean=40)
    mature = matured(table)
    late = measure_late_frauds(KnownFrauds.of(table), as_of=AS_OF, maturity=60 * DAY, mature=mature)
    assert late is not None
    rows = np.isin(table.event_times, mature.event_times)
    truth = frauds[rows].mean()
    share = late.corrected["fraud_share"]
    assert mature.frauds.mean() < (share.low or 0) < truth < (share.high or 0)
    assert (share.count, share.records) == (int(np.count_nonzero(mature.frauds)), len(mature.frauds))
    parts = [late.corrected[name].value or 0 for name in ("passed_frauds", "stepped_up_frauds")]
    assert sum(parts) == pytest.approx(share.value)
    assert "failed_frauds" not in late.corrected
    passed, stepped = ((mature.outcomes == code) for code in (0, 1))
    fraud = frauds[rows] == 1
    cost = (100 * (fraud & passed).sum() + 50 * (fraud & stepped).sum() + (~fraud & stepped).sum()) / len(
        fraud
    )
    assert (late.corrected["cost"].low or 0) < cost < (late.corrected["cost"].high or 0)


def test_a_delay_that_depends_on_the_score_is_said() -> None:
    """Then recalls are biased; otherwise they stay."""
    table, _, _ = history(mean=40)
    late = measure_late_frauds(KnownFrauds.of(table), as_of=AS_OF, maturity=60 * DAY)
    assert late is not None
    for chance, words in ((0.001, "recalls are biased too (p = 0.001)"), (0.3, "recalls stay as they are")):
        finding = late_frauds_finding(replace(late, dependence=chance), maturity=60 * DAY, records=RECORDS)
        assert words in finding.sentence
        assert finding.figures["score_dependence_p"] == chance
