"""Shares of two samples on the same weekdays: false alarms, power, and what the standard errors are made of."""

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.monitoring.shifts import (
    MIN_DAYS,
    MIN_WEEKS,
    DayCounts,
    Shifts,
    block_of_days,
    measure_shifts,
    missing_weekdays,
    weekday_of,
    whole_days,
    without_strays,
)
from scoring_model.records.times import DAY

FEATURES = 16
CUTS = np.array([NormalDist().inv_cdf(share) for share in np.arange(0.1, 1, 0.1)])
CDF = np.vectorize(NormalDist().cdf)
ONE_FAMILY = np.zeros(FEATURES * len(CUTS), dtype=np.int64)
HOUR = DAY // 24


def days(
    rng: np.random.Generator,
    spread: FloatArray,
    *,
    first: int = 98,
    count: int = 56,
    size: float = 1250 / 7,
    shifted: int | None = None,
    weekend: float = 0.0,
) -> DayCounts:
    """Draw normal features whose weekly means differ; one of them is 0.5 higher in half the rows.

    `weekend` is added to all means on Saturdays and Sundays, which also have three times as many records.
    """
    span = np.arange(first, first + count)
    week, free = (span - weekday_of(span) + 3) // 7, weekday_of(span) >= 5
    means = rng.normal(0, spread, (int(week[-1] - week[0]) + 1, FEATURES))[week - week[0]]
    means = means + weekend * free[:, np.newaxis]
    below = CDF(CUTS - means[..., np.newaxis])
    if shifted is not None:
        below[:, shifted] = (below[:, shifted] + CDF(CUTS - 0.5 - means[:, shifted, np.newaxis])) / 2
    shares = np.diff(below, axis=2, prepend=0.0, append=1.0)
    sizes = rng.poisson(np.where(free & (weekend > 0), 3 * size, size))
    counts = rng.multinomial(sizes[:, np.newaxis], shares / shares.sum(axis=2, keepdims=True))
    hits = (sizes[:, np.newaxis, np.newaxis] - counts.cumsum(axis=2)[..., :-1]).reshape(count, -1)
    return DayCounts(days=span, records=sizes, hits=hits)


def spread_of(rng: np.random.Generator, week: float) -> FloatArray:
    """Spreads of weekly means that give the shares of a week design effects of 1.4 to 3.3."""
    effects = rng.uniform(1.4, 3.3, FEATURES)
    return np.sqrt((effects - 1) * 0.25 / (week * NormalDist().pdf(0) ** 2))


def has_alarm(found: Shifts) -> bool:
    """Whether any share drifted."""
    assert found.limits is not None
    return bool(np.any(found.statistics[found.tested] > found.limits[found.tested]))


def test_false_alarms_and_power() -> None:
    """Of 100 fresh samples at most 11 raise an alarm; a shift is named first in 95 of 100."""
    rng, alarms, first = np.random.default_rng(5), 0, 0
    for _ in range(100):
        spread = spread_of(rng, 1250)
        reference = days(rng, spread, first=0, count=98)
        alarms += has_alarm(measure_shifts(reference, days(rng, spread), ONE_FAMILY))
        moved = measure_shifts(reference, days(rng, spread, shifted=7), ONE_FAMILY)
        first += int(np.argmax(moved.statistics)) // len(CUTS) == 7 and has_alarm(moved)
    assert alarms <= 11
    assert first >= 95


@pytest.mark.parametrize("count", [3, 10, 30])
def test_days_of_the_week_are_no_drift(count: int) -> None:
    """Weekends with other applicants and more of them alarm in no more windows than chance does, at any length."""
    rng, alarms = np.random.default_rng(count), 0
    for first in range(100, 140):
        spread = spread_of(rng, 1250)
        reference = days(rng, spread, first=0, count=98, weekend=0.5)
        window = days(rng, spread, first=first, count=count, weekend=0.5)
        found = measure_shifts(reference, window, ONE_FAMILY)
        alarms += has_alarm(found)
    assert alarms <= 6


def test_the_reference_is_that_of_the_same_weekdays() -> None:
    """Two weekdays that differ: the shares of the reference are the mean of theirs, weighted by the window."""
    span = np.arange(70)
    monday = weekday_of(span) == 0
    reference = DayCounts(
        days=span, records=np.full(70, 100), hits=np.where(monday, 40, 10)[:, np.newaxis].astype(np.int64)
    )
    own = np.arange(74, 77)  # from Monday on
    assert weekday_of(own).tolist() == [0, 1, 2]
    window = DayCounts(days=own, records=np.array([200, 100, 100]), hits=np.array([[80], [10], [10]]))
    found = measure_shifts(reference, window, np.zeros(1, dtype=np.int64))
    assert found.reference == pytest.approx([0.25])
    assert found.differences == pytest.approx([0.0])


def test_errors_without_variation_between_blocks_are_those_of_independent_records() -> None:
    """The standard error of a difference of shares is the textbook's, but for estimated variation between blocks."""
    rng, none = np.random.default_rng(0), np.zeros(FEATURES)
    reference = days(rng, none, first=0, count=280, size=2000 / 7)
    window = days(rng, none, first=280, count=140, size=2000 / 7)
    found = measure_shifts(reference, window, ONE_FAMILY)
    share = np.tile(1 - np.arange(0.1, 1, 0.1), FEATURES)
    expected = np.sqrt(share * (1 - share) * (1 / reference.total + 1 / window.total))
    ratios = found.errors / expected
    assert np.all(ratios > 0.97)
    assert np.median(ratios) < 1.15
    assert found.limits is not None
    assert np.all(found.smallest > found.limits * found.errors)


def test_weeks_that_stay_changed_widen_errors() -> None:
    """Where a change lasts two weeks, a window of many weeks says less: neighbouring blocks vary together."""
    rng, ratios = np.random.default_rng(2), []
    for _ in range(20):
        effects = rng.normal(0, 0.04, (50, 30))
        hits = []
        for pairs in (1, 2):
            week = np.repeat(effects[::pairs][: 28 // pairs], pairs, axis=0)[:28]
            shares = np.repeat(0.3 + week, 7, axis=0)
            hits.append(np.round(500 * shares).astype(np.int64))
        errors = []
        for own in hits:
            counts = [
                DayCounts(
                    days=np.arange(first, last), records=np.full(last - first, 500), hits=own[first:last]
                )
                for first, last in ((0, 140), (140, 196))
            ]
            errors.append(np.mean(measure_shifts(counts[0], counts[1], np.zeros(30, dtype=np.int64)).errors))
        ratios.append(errors[1] / errors[0])
    assert 1.2 < np.median(ratios) < 1.5  # two weeks as one: 1.41


def test_fewer_records_and_more_subjects_widen_the_limit() -> None:
    """The limit knows the number of shares; the smallest visible difference knows the size of the window."""
    rng = np.random.default_rng(1)
    spread = spread_of(rng, 1250)
    reference, window = days(rng, spread, first=0, count=84), days(rng, spread, first=84, count=28)
    whole = measure_shifts(reference, window, ONE_FAMILY)
    few = [DayCounts(days=one.days, records=one.records, hits=one.hits[:, :9]) for one in (reference, window)]
    alone = measure_shifts(few[0], few[1], ONE_FAMILY[:9])
    small = DayCounts(days=window.days, records=window.records // 10, hits=window.hits // 10)
    assert alone.limits is not None
    assert whole.limits is not None
    assert np.nanmax(alone.limits) < np.nanmin(whole.limits)
    assert np.nanmedian(measure_shifts(reference, small, ONE_FAMILY).smallest) > 1.5 * np.nanmedian(
        whole.smallest
    )


def test_a_small_family_has_a_lower_limit_than_a_large_one() -> None:
    """Many numbers do not hide a change of one category; half of what chance may do is the small family's."""
    rng = np.random.default_rng(3)
    spread = spread_of(rng, 1250)
    reference, window = days(rng, spread, first=0, count=98), days(rng, spread, first=98, count=28)
    families = np.where(np.arange(len(ONE_FAMILY)) < 4, 1, 0)
    found = measure_shifts(reference, window, families)
    assert found.limits is not None
    assert found.suspect_limits is not None
    assert np.nanmax(found.limits[:4]) < np.nanmin(found.limits[4:]) - 0.5
    assert np.all(found.suspect_limits < found.limits - 0.5)


def test_a_new_category_is_found_and_a_rare_one_is_not_tested() -> None:
    """A property that no reference record has is compared if the window has enough of it."""
    reference = DayCounts(days=np.arange(70), records=np.full(70, 100), hits=np.array([[0, 0, 50]] * 70))
    window = DayCounts(days=np.arange(70, 98), records=np.full(28, 100), hits=np.array([[4, 0, 50]] * 28))
    found = measure_shifts(reference, window, np.zeros(3, dtype=np.int64))
    assert found.tested.tolist() == [True, False, True]
    assert found.limits is not None
    assert found.statistics[0] > found.limits[0]
    assert (found.statistics[1], np.isnan(found.differences[1])) == (0, True)


@pytest.mark.parametrize(
    ("weeks", "first", "count", "judged"),
    [
        (MIN_WEEKS, 98, MIN_DAYS, True),
        (MIN_WEEKS, 98, MIN_DAYS - 1, False),
        (MIN_WEEKS - 1, 98, MIN_DAYS, False),
        (MIN_WEEKS, 98, 30, True),
    ],
)
def test_there_is_a_verdict_from_three_days_and_four_weeks_on(
    weeks: int, first: int, count: int, judged: bool
) -> None:
    """Otherwise differences stay, and nothing says which of them chance explains."""
    rng = np.random.default_rng(0)
    reference = days(rng, np.zeros(FEATURES), first=0, count=7 * weeks)
    window = days(rng, np.zeros(FEATURES), first=first, count=count)
    found = measure_shifts(reference, window, ONE_FAMILY)
    assert (found.limits is not None) == judged
    assert not np.isnan(found.differences).any()
    assert bool(len(missing_weekdays(reference, window))) == (weeks < MIN_WEEKS)


def test_a_few_records_of_a_sunday_keep_no_verdict() -> None:
    """A reference without Sundays judges a window with one of few records, on the others; one of many it does not."""
    rng = np.random.default_rng(1)
    reference = days(rng, np.zeros(FEATURES), first=4, count=98)
    reference = reference.chosen(weekday_of(reference.days) < 6)
    window = days(rng, np.zeros(FEATURES), first=102, count=10)
    sunday = weekday_of(window.days) == 6
    few = replace(
        window,
        records=np.where(sunday, 3, window.records),
        hits=np.where(sunday[:, np.newaxis], 2, window.hits),
    )
    assert without_strays(reference, window) is window
    kept = without_strays(reference, few)
    assert kept.days.tolist() == window.days[~sunday].tolist()
    assert measure_shifts(reference, kept, ONE_FAMILY).limits is not None


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (0, 24, [True] * 5),
        (6, 24, [False, True, True, True, True]),
        (0, 15, [True, True, True, True, False]),
        (6, 15, [False, True, True, True, False]),
    ],
)
def test_a_day_that_is_cut_is_not_whole(first: int, last: int, expected: list[bool]) -> None:
    """A window that begins or ends within a day: that day has other hours than the rest."""
    times: IntArray = np.random.default_rng(0).integers(first * HOUR, 4 * DAY + last * HOUR, 1000)
    assert whole_days(times).tolist() == expected
    assert whole_days(times[times < DAY]).tolist() == [True]


def test_nights_without_records_cut_no_day() -> None:
    """Where nobody applies at night, a day that begins in the morning is whole; so is one of few records."""
    rng = np.random.default_rng(0)
    times: IntArray = rng.integers(8 * HOUR, 20 * HOUR, 1000) + DAY * rng.integers(0, 6, 1000)
    assert whole_days(times).all()
    assert whole_days(np.arange(8) * DAY + 12 * HOUR).all()


def test_days_become_weeks() -> None:
    """A short rest joins the last week, a long one is a week, and weeks without records have no code."""
    assert block_of_days(np.arange(16)).tolist() == [0] * 7 + [1] * 9
    assert block_of_days(np.arange(18)).tolist() == [0] * 7 + [1] * 7 + [2] * 4
    assert block_of_days(np.array([5, 30])).tolist() == [0, 1]
