import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from scoring_model.arrays import BoolArray, IntArray
from scoring_model.configuration import PolicySettings
from scoring_model.training.thresholds import InfeasiblePolicy, choose_policy, one_per_person

THRESHOLDS = np.arange(1, 1002)


def _spread(records: int, low: int, high: int) -> IntArray:
    return np.linspace(low, high, records).astype(np.int64)


def _certified(errors: BoolArray, limit: float | None, delta: float) -> BoolArray:
    """Thresholds that scipy certifies for errors of shape (records, 1001), all of them without a limit."""
    if limit is None:
        return np.ones(len(THRESHOLDS), dtype=np.bool_)
    return np.array([binom.cdf(column.sum(), len(column), limit) <= delta for column in errors.T])


samples = st.builds(
    lambda seed, size, low, high: np.random.default_rng(seed).integers(low, high + 1, size),
    st.integers(0, 2**32),
    st.integers(20, 300),
    st.integers(0, 400),
    st.integers(400, 1000),
)
limits = st.one_of(st.none(), st.floats(0.02, 0.6))


@settings(max_examples=60, deadline=None)
@given(samples, samples, limits, limits, limits)
def test_choice_is_that_of_a_search_over_all_pairs(
    genuine: IntArray, frauds: IntArray, reject: float | None, step_up: float | None, missed: float | None
) -> None:
    """Of all ordered pairs that scipy certifies, the lowest for genuine bounds; InfeasiblePolicy if none."""
    chosen = PolicySettings(max_false_reject=reject, max_step_up=step_up, max_missed_fraud=missed)
    delta = 0.05 / max(sum(limit is not None for limit in (reject, step_up, missed)), 1)
    at_or_above = genuine[:, None] >= THRESHOLDS
    fails = _certified(at_or_above, reject, delta)
    steps = _certified(at_or_above, step_up, delta) & _certified(frauds[:, None] < THRESHOLDS, missed, delta)
    if reject is None:
        fails = THRESHOLDS == 1001
    pairs = steps[:, None] & fails[None, :] & (THRESHOLDS[:, None] <= THRESHOLDS[None, :])
    if not pairs.any():
        with pytest.raises(InfeasiblePolicy):
            choose_policy(genuine, frauds, settings=chosen)
        return
    policy = choose_policy(genuine, frauds, settings=chosen)
    assert pairs[policy.step_up_from - 1, policy.fail_from - 1]
    rows, columns = np.nonzero(pairs)
    if step_up is not None:
        lowest = int(rows.min())
        assert policy.step_up_from == lowest + 1
        assert policy.fail_from == int(columns[rows == lowest].min()) + 1
    else:
        assert policy.fail_from == columns.min() + 1
        assert policy.step_up_from == rows[columns == columns.min()].max() + 1


@pytest.mark.parametrize("unset", [*itertools.product([False, True], repeat=3)])
def test_any_bound_may_be_unset(unset: tuple[bool, bool, bool]) -> None:
    """There is one promise for each bound that is set, each at an even share of delta."""
    given_limits = [None if off else limit for off, limit in zip(unset, (0.01, 0.1, 0.5), strict=True)]
    names = ("max_false_reject", "max_step_up", "max_missed_fraud")
    reject, step_up, missed = given_limits
    chosen = PolicySettings(max_false_reject=reject, max_step_up=step_up, max_missed_fraud=missed)
    policy = choose_policy(_spread(5000, 0, 500), _spread(500, 300, 1000), settings=chosen)
    assert [promise.bound for promise in policy.promises] == [
        name for name, limit in zip(names, given_limits, strict=True) if limit is not None
    ]
    for promise in policy.promises:
        assert promise.delta == pytest.approx(0.05 / len(policy.promises))
        assert promise.p_value <= promise.delta
        assert promise.observed < promise.limit


def test_nobody_fails_or_is_stepped_up_where_nothing_is_promised() -> None:
    """Without a reject bound nobody fails, without a bound on step-ups nobody is stepped up."""
    genuine, frauds = _spread(5000, 0, 800), _spread(500, 300, 1000)
    nothing = choose_policy(genuine, frauds, settings=PolicySettings(max_false_reject=None, max_step_up=None))
    assert (nothing.step_up_from, nothing.fail_from) == (1001, 1001)
    reject = choose_policy(genuine, frauds, settings=PolicySettings(max_step_up=None))
    assert reject.step_up_from == reject.fail_from < 1001
    step_up = choose_policy(genuine, frauds, settings=PolicySettings(max_false_reject=None))
    assert step_up.step_up_from < step_up.fail_from == 1001


def test_step_ups_never_start_above_failures() -> None:
    """Where missed fraud would allow step-ups from a higher score than failures, they start with those."""
    genuine, frauds = _spread(5000, 0, 500), _spread(500, 700, 1000)
    chosen = PolicySettings(max_false_reject=0.1, max_step_up=None, max_missed_fraud=0.5)
    policy = choose_policy(genuine, frauds, settings=chosen)
    alone = choose_policy(genuine, frauds, settings=PolicySettings(max_false_reject=0.1, max_step_up=None))
    assert policy.step_up_from == policy.fail_from < 500
    assert policy.fail_from - alone.fail_from in (0, 1, 2)  # for a smaller delta


def test_too_few_records_are_named_with_what_they_need() -> None:
    """A 0.2 % reject and another bound need 1,843 genuine at 95 %, and the error says so."""
    with pytest.raises(
        InfeasiblePolicy, match=r"max_false_reject 0\.002 .*\(1000 genuine .*; 1843 such"
    ) as refused:
        choose_policy(_spread(1000, 0, 100), _spread(50, 500, 900), settings=PolicySettings())
    assert refused.value.bounds == ("max_false_reject",)
    assert (
        choose_policy(_spread(1843, 0, 100), _spread(50, 500, 900), settings=PolicySettings()).fail_from
        <= 101
    )


def test_all_bounds_without_records_are_named_at_once() -> None:
    """With no records at all every bound that is set is named."""
    nobody = np.zeros(0, dtype=np.int64)
    with pytest.raises(InfeasiblePolicy) as refused:
        choose_policy(nobody, nobody, settings=PolicySettings(max_missed_fraud=0.5))
    assert refused.value.bounds == ("max_false_reject", "max_step_up", "max_missed_fraud")
    assert len(refused.value.problems) == 3


def test_conflict_names_both_bounds_and_a_remedy_that_holds() -> None:
    """Frauds among the genuine: step-ups and missed frauds conflict, and the limit that is named would do."""
    genuine, frauds = _spread(5000, 0, 1000), _spread(300, 0, 1000)
    conflicting = PolicySettings(max_false_reject=None, max_step_up=0.05, max_missed_fraud=0.5)
    with pytest.raises(
        InfeasiblePolicy, match=r"max_missed_fraud 0\.5 needs .* it could be (0\.\d+)"
    ) as refused:
        choose_policy(genuine, frauds, settings=conflicting)
    assert refused.value.bounds == ("max_missed_fraud", "max_step_up")
    attainable = float(refused.value.problems[0].split("could be ")[1].split()[0])
    for limit, feasible in ((attainable + 0.002, True), (attainable - 0.002, False)):
        relaxed = PolicySettings(max_false_reject=None, max_step_up=0.05, max_missed_fraud=limit)
        if feasible:
            assert choose_policy(genuine, frauds, settings=relaxed).step_up_from > 900
        else:
            with pytest.raises(InfeasiblePolicy):
                choose_policy(genuine, frauds, settings=relaxed)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan")])
def test_settings_out_of_range_are_all_named(share: float) -> None:
    """Limits and confidence lie strictly between 0 and 1; each that does not is named."""
    with pytest.raises(ValueError, match=r"max_false_reject .*max_step_up .*max_missed_fraud .*confidence "):
        PolicySettings(max_false_reject=share, max_step_up=share, max_missed_fraud=share, confidence=share)


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(-2, 5), st.integers(0, 4)), max_size=40))
def test_one_per_person_keeps_the_first_record_of_each(records: list[tuple[int, int]]) -> None:
    """The earliest record of each known person, the first row of an instant, and all of unknown ones."""
    first: dict[int, tuple[int, int]] = {}
    unknown = []
    for row, (person, instant) in enumerate(records):
        if person < 0:
            unknown.append(row)
        else:
            first[person] = min(first.get(person, (instant, row)), (instant, row))
    persons, times = (np.array([record[i] for record in records], dtype=np.int64) for i in (0, 1))
    expected = sorted([*unknown, *(row for _, row in first.values())])
    assert one_per_person(persons, times).tolist() == expected
