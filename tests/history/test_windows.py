"""Window counts: edge cases by example."""

import struct
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scoring_model.history import (
    NOTHING_BEFORE,
    Amount,
    Sums,
    WindowSpec,
    count_before,
    pack_label,
)
from window_oracle import Event, Reports, by_definition, events, past_of, specs

CENTS = Amount(signal="paid", decimals=2)
SPEC = WindowSpec(windows=(10, 100), cap=3)
SUMMING = WindowSpec(windows=(10, 100), cap=3, amounts=(CENTS,))


def counts(
    records: Sequence[tuple[int, str] | tuple[int, str, Reports]], at: int
) -> tuple[list[int], list[int], list[int], int]:
    """Counts of one record as plain lists."""
    found = count_before(past_of([Event(*record) for record in records]), at=at, spec=SPEC)
    return list(found.records), list(found.persons), list(found.frauds), found.since_last


def sums(records: Sequence[tuple[int, int | None]], at: int) -> Sums:
    """Sums of one record over pairs of time and amount."""
    past = past_of([Event(time, "a", (), (amount,)) for time, amount in records])
    (found,) = count_before(past, at=at, spec=SUMMING).sums
    return found


pasts = st.lists(events, max_size=30)


@settings(max_examples=200)
@given(pasts, st.integers(0, 22), specs)
@example([Event(5, "a")] * 9, 6, WindowSpec(windows=(1,), cap=8))
@example([Event(5, "a", (), (2**40,))] * 9, 6, WindowSpec(windows=(1,), cap=8, amounts=(CENTS,)))
def test_counts_are_those_of_the_definition(past: list[Event], at: int, spec: WindowSpec) -> None:
    """Ties, caps, labels reported late or twice, amounts: the count is that of the definition."""
    assert count_before(past_of(past), at=at, spec=spec) == by_definition(past, at, spec)


@settings(max_examples=100)
@given(pasts, st.integers(0, 22), specs)
def test_what_the_longest_window_sees_is_enough(past: list[Event], at: int, spec: WindowSpec) -> None:
    """The latest records before the event and before the delay suffice for the same result."""
    whole = past_of(past)

    def latest(before: int, length: int) -> list[tuple[Any, ...]]:
        seen = [record for record in whole if before - length <= record[0] < before]
        return [record for record in seen if record[0] >= seen[: spec.cap][-1][0]]

    cut = latest(at, spec.windows[-1])
    if spec.delayed:
        older = latest(at - spec.delay, spec.delayed[-1])
        cut += [record for record in older if not cut or record[0] < cut[-1][0]]
    assert count_before(cut, at=at, spec=spec) == count_before(whole, at=at, spec=spec)


@given(pasts, st.integers(0, 22), specs, st.randoms(use_true_random=False))
def test_order_within_an_instant_changes_nothing(
    past: list[Event], at: int, spec: WindowSpec, random: Random
) -> None:
    """Records of one instant may come in any order."""
    shuffled = list(past)
    random.shuffle(shuffled)
    assert count_before(past_of(shuffled), at=at, spec=spec) == count_before(past_of(past), at=at, spec=spec)


@given(pasts, st.integers(0, 22), specs)
def test_without_an_amount_tuples_of_three_will_do(past: list[Event], at: int, spec: WindowSpec) -> None:
    """Without sums a record needs no amount, and a present one changes nothing."""
    plain = WindowSpec(windows=spec.windows, cap=spec.cap)
    threes = [record[:3] for record in past_of(past)]
    assert count_before(threes, at=at, spec=plain) == count_before(past_of(past), at=at, spec=plain)
    assert count_before(threes, at=at, spec=plain).sums == ()


def test_a_torn_label_is_no_label() -> None:
    """Bytes that are no whole number of labels are an error rather than a verdict."""
    torn = pack_label(1, fraud=True)[:-1]
    with pytest.raises(struct.error):
        count_before([(95, "a", torn)], at=100, spec=SPEC)


def test_nothing_before() -> None:
    """Without earlier records every count is zero and there is no last record."""
    assert counts([], 1000) == ([0, 0], [0, 0], [0, 0], NOTHING_BEFORE)


def test_window_is_closed_at_its_start_and_open_at_its_end() -> None:
    """A record exactly one window before counts; one at the same instant does not, nor any later one."""
    past = [(90, "a"), (89, "b"), (100, "c"), (101, "d")]
    assert counts(past, 100) == ([1, 2], [1, 2], [0, 0], 10)


def test_persons_are_distinct() -> None:
    """A person with two records counts once."""
    past = [(98, "a"), (99, "a"), (50, "b")]
    assert counts(past, 100)[1] == [1, 2]


@pytest.mark.parametrize(("known", "frauds"), [(99, 1), (100, 0), (101, 0)])
def test_label_counts_strictly_after_it_became_known(known: int, frauds: int) -> None:
    """A label known at or after the event is of the future."""
    assert counts([(95, "a", ((known, True),))], 100)[2] == [frauds, frauds]


def test_latest_known_label_counts() -> None:
    """A withdrawn fraud does not count, in any order of the reports."""
    withdrawn = ((96, True), (98, False))
    assert counts([(95, "a", withdrawn)], 100)[2] == [0, 0]
    assert counts([(95, "a", withdrawn[::-1])], 100)[2] == [0, 0]
    assert counts([(95, "a", withdrawn)], 98)[2] == [1, 1]


def test_of_labels_known_at_one_instant_the_last_reported_counts() -> None:
    """A tie in time is settled by the order of the reports."""
    assert counts([(95, "a", ((96, True), (96, False)))], 100)[2] == [0, 0]
    assert counts([(95, "a", ((96, False), (96, True)))], 100)[2] == [1, 1]


def test_cap_keeps_the_latest_and_the_ties_of_the_last() -> None:
    """A window sees the latest three records, and all ties of the third."""
    past = [(t, str(t)) for t in (60, 70, 80, 90, 95)] + [(80, "tie")]
    assert counts(past, 100)[0] == [2, 4]


def test_amounts_are_summed_where_records_count() -> None:
    """A window sums what it sees, and counts those that have an amount; the present and the future are no part."""
    past = [(99, 5), (95, None), (90, -7), (60, 11), (100, 1000), (101, 1000)]
    assert sums(past, 100) == Sums((-2, -2), (2, 2), 100.0)
    assert sums(past[:3:2] + past[3:], 100) == Sums((-2, 9), (2, 3), 100.0)


def test_amounts_of_the_ties_of_the_cap_are_summed() -> None:
    """The cap holds for sums as for counts."""
    past = [(95, 1), (90, 2), (80, 4), (80, 8), (70, 16)]
    assert sums(past, 100) == Sums((3, 15), (2, 4), 100.0)


def test_without_a_past_sums_are_of_nothing() -> None:
    """No record, none in a window or none with an amount: zero of zero records."""
    assert sums([], 100) == sums([(100, 7)], 100) == sums([(95, None)], 100) == Sums((0, 0), (0, 0), 100.0)


def test_sums_have_no_end() -> None:
    """A sum past 64 bits is still exact for one record."""
    past = past_of([Event(1, "a", amounts=(2**62,))] * 4)
    assert count_before(past, at=2, spec=SUMMING).sums == (Sums((2**64, 2**64), (4, 4), 100.0),)


def test_cap_counts_over_all_windows_alike() -> None:
    """A longer window never sees fewer records than a shorter one."""
    past = [(t, str(t)) for t in (92, 93, 94, 95)]
    assert counts(past, 100)[0] == [3, 3]


@pytest.mark.parametrize(
    ("windows", "cap", "words"),
    [
        ((), 1, "one or more lengths"),
        ((0,), 1, "longer than 0"),
        ((5, 5), 1, "strictly ascending"),
        ((5,), 0, "cap: must be at least 1, got 0"),
    ],
)
def test_impossible_specifications_are_refused(windows: tuple[int, ...], cap: int, words: str) -> None:
    """The error names the broken rule."""
    with pytest.raises(ValueError, match=words):
        WindowSpec(windows=windows, cap=cap)
