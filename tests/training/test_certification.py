"""Bounds that cannot be kept: the error names them, the feasible values and the records needed."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from scoring_model.arrays import IntArray
from scoring_model.configuration import PolicySettings, SplitSettings
from scoring_model.records.times import DAY
from scoring_model.training.boundaries import SplitBoundaries
from scoring_model.training.certification import (
    InfeasiblePolicy,
    Shortfall,
    advise_length,
    certify,
    refuse_hopeless,
)

samples = st.builds(
    lambda seed, size, low, high: np.random.default_rng(seed).integers(low, high + 1, size),
    st.integers(0, 2**32),
    st.integers(1, 300),
    st.integers(0, 400),
    st.integers(400, 1000),
)
limits = st.one_of(st.none(), st.floats(0.001, 0.4))


def _spread(records: int, low: int, high: int) -> IntArray:
    return np.linspace(low, high, records).astype(np.int64)


def moved(chosen: PolicySettings, bound: str, limit: float) -> PolicySettings:
    """Return the same settings with another limit of one bound."""
    limits = {**chosen.limits(), bound: limit}
    names = ("max_false_reject", "max_step_up", "max_missed_fraud")
    reject, step_up, missed = (limits.get(name) for name in names)
    return PolicySettings(max_false_reject=reject, max_step_up=step_up, max_missed_fraud=missed)


def refusal(genuine: IntArray, frauds: IntArray, chosen: PolicySettings) -> InfeasiblePolicy | None:
    """Return the error for these bounds, or None."""
    shortfalls = certify(genuine, frauds, settings=chosen).shortfalls()
    return InfeasiblePolicy(shortfalls) if shortfalls else None


def bounds_of(error: InfeasiblePolicy) -> tuple[str, ...]:
    """Return the refused bounds."""
    return tuple(row.bound for row in error.shortfalls)


def possible(error: InfeasiblePolicy) -> dict[str, float | None]:
    """Return the feasible value of each refused bound."""
    return {row.bound: row.possible for row in error.shortfalls}


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(samples, samples, limits, limits, limits)
def test_the_nearest_value_is_feasible_and_one_below_it_is_not(
    genuine: IntArray, frauds: IntArray, reject: float | None, step_up: float | None, missed: float | None
) -> None:
    """The feasible value of a refused bound is certified, 1 % less is refused, the other bounds unchanged."""
    chosen = PolicySettings(max_false_reject=reject, max_step_up=step_up, max_missed_fraud=missed)
    error = refusal(genuine, frauds, chosen)
    assume(error is not None)
    assert error is not None
    conflict = any(row.is_choice for row in error.shortfalls)
    for bound, nearest in possible(error).items():
        if nearest is None:
            assert refusal(genuine, frauds, moved(chosen, bound, 0.99)) is not None
            continue
        assert nearest > chosen.limits()[bound]
        left = refusal(genuine, frauds, moved(chosen, bound, nearest))
        if len(error.shortfalls) == 1 or (conflict and len(error.shortfalls) == 2):
            assert left is None
        tight = refusal(genuine, frauds, moved(chosen, bound, nearest * 0.985))
        assert tight is not None
        assert bound in bounds_of(tight)


@settings(max_examples=50)
@given(samples, samples, limits, limits, limits)
def test_each_bound_of_a_certified_pair_passes_at_its_share_of_delta(
    genuine: IntArray, frauds: IntArray, reject: float | None, step_up: float | None, missed: float | None
) -> None:
    """For every certified pair each bound passes its own test at an equal share of 5 %."""
    chosen = PolicySettings(max_false_reject=reject, max_step_up=step_up, max_missed_fraud=missed)
    assume(refusal(genuine, frauds, chosen) is None)
    found = certify(genuine, frauds, settings=chosen)
    for first in (found.step_up[0], found.step_up[-1]):
        for last in (max(first, found.fail[0]), found.fail[-1]):
            assert found.holds(first, last)
            promises = found.promises(first, last)
            assert {promise.bound for promise in promises} == set(chosen.limits())
            assert all(promise.p_value <= promise.delta for promise in promises)
            assert sum(promise.delta for promise in promises) <= 0.05 + 1e-12
    assert not found.holds(found.step_up[-1] + 1, 1001)
    assert not found.holds(found.step_up[0], found.fail[0] - 1)


def test_too_few_records_are_named_with_what_they_need() -> None:
    """A reject rate of 0.2 % with another bound needs 1,843 genuine records at 95 %; the error says so."""
    short = refusal(_spread(1000, 0, 100), _spread(50, 500, 900), PolicySettings())
    assert short is not None
    assert possible(short) == {"max_false_reject": 0.00369}
    assert "at the best threshold, 1001, 0.00% of 1000 genuine persons are errors" in str(short)
    assert "0.002 takes at least 1843 genuine persons" in str(short)
    assert refusal(_spread(1842, 0, 100), _spread(50, 500, 900), PolicySettings()) is not None
    assert refusal(_spread(1843, 0, 100), _spread(50, 500, 900), PolicySettings()) is None


def test_all_bounds_without_records_are_named_at_once() -> None:
    """Without records the error names every bound that is set, and no value is feasible."""
    nobody = np.zeros(0, dtype=np.int64)
    error = refusal(nobody, nobody, PolicySettings(max_missed_fraud=0.5))
    assert error is not None
    assert possible(error) == dict.fromkeys(("max_false_reject", "max_step_up", "max_missed_fraud"))
    assert "max_missed_fraud  0.5        none      policy.max_missed_fraud: null" in str(error)


def test_conflict_names_both_bounds_and_a_remedy_that_holds() -> None:
    """With frauds among the genuine, step-up and missed frauds conflict; either feasible value resolves it."""
    genuine, frauds = _spread(5000, 0, 1000), _spread(300, 0, 1000)
    conflicting = PolicySettings(max_false_reject=None, max_step_up=0.05, max_missed_fraud=0.5)
    error = refusal(genuine, frauds, conflicting)
    assert error is not None
    assert bounds_of(error) == ("max_missed_fraud", "max_step_up")
    assert "- max_missed_fraud: 0.5 needs step_up_from <= " in str(error)
    for bound, nearest in possible(error).items():
        assert nearest is not None
        assert f"policy.{bound}: {nearest:g}\n" in str(error)
        assert refusal(genuine, frauds, moved(conflicting, bound, nearest)) is None
        assert refusal(genuine, frauds, moved(conflicting, bound, nearest - 0.002)) is not None


def test_a_conflict_that_more_records_would_end_says_how_many() -> None:
    """If too few frauds are the only obstacle, the stated number of frauds certifies the bound."""
    genuine, chosen = _spread(5000, 0, 1000), PolicySettings(max_false_reject=None, max_missed_fraud=0.6)
    few = _spread(10, 940, 1000)
    error = refusal(genuine, few, chosen)
    assert error is not None
    needed = int(error.shortfalls[0].reason.rpartition("; ")[2].split()[0])
    assert len(few) < needed < 100
    assert refusal(genuine, np.tile(few, -(-needed // 10)), chosen) is None


def test_the_error_is_a_table() -> None:
    """The table has bound, requested, feasible and what to change; one change resolves a conflict of two bounds."""
    chosen = PolicySettings(max_false_reject=1e-5, max_step_up=0.05, max_missed_fraud=0.5)
    error = refusal(_spread(5000, 0, 1000), _spread(300, 0, 1000), chosen)
    assert error is not None
    assert str(error).split("\n")[2:6] == [
        "bound             requested  possible  write",
        "max_false_reject  1e-05      0.000819  policy.max_false_reject: 0.000819",
        "max_missed_fraud  0.5        0.979     policy.max_missed_fraud: 0.979",
        "max_step_up       0.05       0.577     or policy.max_step_up: 0.577",
    ]


@settings(max_examples=40)
@given(samples, samples, limits, limits, limits)
def test_no_model_keeps_bounds_that_counts_refuse(
    genuine: IntArray, frauds: IntArray, reject: float | None, step_up: float | None, missed: float | None
) -> None:
    """If the scores of some model keep the bounds, the check on counts alone does not refuse them."""
    chosen = PolicySettings(max_false_reject=reject, max_step_up=step_up, max_missed_fraud=missed)
    try:
        refuse_hopeless(len(genuine), len(frauds), settings=chosen)
        hopeless = False
    except InfeasiblePolicy:
        hopeless = True
    assert not hopeless or refusal(genuine, frauds, chosen) is not None


def test_counts_alone_refuse_one_record_too_few() -> None:
    """1,842 genuine persons cannot certify 0.2 % at half of 5 % with any model; 1,843 can."""
    with pytest.raises(InfeasiblePolicy, match=r"^no thresholds of any model, even a perfect one, keep"):
        refuse_hopeless(1842, 0, settings=PolicySettings())
    refuse_hopeless(1843, 0, settings=PolicySettings())


def boundaries(train: int, validation: int) -> SplitBoundaries:
    """Return boundaries whose parts have so many days."""
    edges = (np.cumsum([0, 10, train, 5, validation, 0, 0, 10]) * DAY).tolist()
    return SplitBoundaries(**dict(zip(SplitBoundaries.__slots__, edges, strict=True)))


@pytest.mark.parametrize(
    ("persons", "lengths", "split", "advice"),
    [
        (
            1_000,
            (85, 15),
            SplitSettings(),
            "27.6 days would hold so many: training.split: {train: 0.57, validation: 0.23}",
        ),
        (
            1_000,
            (85, 15),
            SplitSettings(train=85 * DAY, validation=15 * DAY, test=DAY),
            "training.split.validation: 28d",
        ),
        (
            100,
            (85, 15),
            SplitSettings(),
            "276.4 days would hold so many; train and validation have 100.0 days together",
        ),
    ],
)
def test_the_error_says_which_validation_part_would_do(
    persons: int, lengths: tuple[int, int], split: SplitSettings, advice: str
) -> None:
    """1,843 genuine persons are needed: with the length that the error names there are so many at this rate."""
    with pytest.raises(InfeasiblePolicy, match="would hold so many") as caught:
        refuse_hopeless(
            persons,
            0,
            settings=PolicySettings(),
            advise=lambda found: advise_length(found, boundaries(*lengths), split),
        )
    assert advice in str(caught.value).splitlines()[-1]


def test_no_length_is_named_where_none_would_do() -> None:
    """A model that is wrong about half of the frauds keeps no bound of 1 %, with however many records."""
    error = refusal(
        _spread(5_000, 0, 999),
        _spread(500, 1, 1_000),
        PolicySettings(max_step_up=0.01, max_missed_fraud=0.01),
    )
    assert error is not None
    assert {row.bound: row.times is None for row in error.shortfalls} == {
        "max_missed_fraud": True,
        "max_step_up": True,
    }
    assert advise_length(error.shortfalls, boundaries(85, 15), SplitSettings()) == ""


def test_either_of_two_bounds_that_exclude_each_other_may_be_kept_by_more_records() -> None:
    """The cheaper one of the pair decides the length."""
    pair = [
        Shortfall(bound=bound, requested=0.1, possible=0.2, reason="", is_choice=choice, times=times)
        for bound, choice, times in (("max_missed_fraud", False, 3.0), ("max_step_up", True, 2.0))
    ]
    assert "30.0 days would hold" in advise_length(pair, boundaries(85, 15), SplitSettings())
