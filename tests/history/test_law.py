"""The law of windows, told by examples on its edges."""

import struct
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scoring_model.history import NOTHING_BEFORE, Counts, PastRecord, WindowLaw, count_before, pack_label

LAW = WindowLaw(windows=(10, 100), cap=3)

Told = tuple[tuple[int, bool], ...]
"""Labels in the order told: from when each counts, and whether it says fraud."""


def packed(told: Told) -> bytes | None:
    """The labels of one record as the past has them."""
    return b"".join(pack_label(instant, fraud=fraud) for instant, fraud in told) or None


def past_of(*records: tuple[int, str, Told]) -> list[PastRecord]:
    """A past from records in any order."""
    latest_first = sorted(records, key=lambda record: -record[0])
    return [PastRecord(time, person, packed(told)) for time, person, told in latest_first]


def counts(
    records: Sequence[tuple[int, str] | tuple[int, str, Told]], at: int
) -> tuple[list[int], list[int], list[int], int]:
    """Counts of one record as plain lists."""
    past = past_of(*((record[0], record[1], record[2] if len(record) > 2 else ()) for record in records))
    records_, persons, frauds, since_last = count_before(past, at=at, law=LAW)
    return list(records_), list(persons), list(frauds), since_last


def by_definition(past: Sequence[tuple[int, str, Told]], at: int, law: WindowLaw) -> Counts:
    """The law, window by window and record by record, as the page of the room says it."""
    records, persons, frauds = [], [], []
    for length in law.windows:
        inside = sorted(((r for r in past if at - length <= r[0] < at)), key=lambda r: -r[0])
        if len(inside) > law.cap:
            inside = [r for r in inside if r[0] >= inside[law.cap - 1][0]]
        records.append(len(inside))
        persons.append(len({person for _, person, _ in inside}))
        known = [[(t, order, fraud) for order, (t, fraud) in enumerate(r[2]) if t < at] for r in inside]
        frauds.append(sum(max(labels)[2] for labels in known if labels))
    seen = [time for time, _, _ in past if at - law.windows[-1] <= time < at]
    since_last = at - max(seen) if seen else NOTHING_BEFORE
    return Counts(tuple(records), tuple(persons), tuple(frauds), since_last)


# Few instants and persons, so that ties, caps and labels told late, twice or at the event are the rule.
told = st.lists(st.tuples(st.integers(0, 70), st.booleans()), max_size=3).map(tuple)
pasts = st.lists(st.tuples(st.integers(0, 60), st.sampled_from("abcde"), told), max_size=30)
laws = st.builds(
    WindowLaw,
    windows=st.sets(st.integers(1, 80), min_size=1, max_size=4).map(lambda lengths: tuple(sorted(lengths))),
    cap=st.integers(1, 8),
)


@settings(max_examples=500, deadline=None)
@given(pasts, st.integers(0, 65), laws)
@example([(5, "a", ())] * 9, 6, WindowLaw(windows=(1,), cap=8))
def test_counts_are_those_of_the_definition(
    past: list[tuple[int, str, Told]], at: int, law: WindowLaw
) -> None:
    """Ties, caps, labels told late or twice: the count is what the law says, word by word."""
    assert count_before(past_of(*past), at=at, law=law) == by_definition(past, at, law)


@settings(max_examples=200, deadline=None)
@given(pasts, st.integers(0, 65), laws)
def test_what_the_longest_window_sees_is_enough(
    past: list[tuple[int, str, Told]], at: int, law: WindowLaw
) -> None:
    """A store may cut the past off at the longest window and behind the ties of the cap, and nothing changes."""
    whole = past_of(*past)
    seen = [record for record in whole if at - law.windows[-1] <= record.time < at]
    cut = [record for record in seen if record.time >= seen[min(law.cap, len(seen)) - 1].time]
    assert count_before(cut, at=at, law=law) == count_before(whole, at=at, law=law)


@given(pasts, st.integers(0, 65), st.randoms(use_true_random=False))
def test_order_within_an_instant_changes_nothing(
    past: list[tuple[int, str, Told]], at: int, random: Random
) -> None:
    """Records of one instant may come in any order, and as plain tuples."""
    shuffled = list(past)
    random.shuffle(shuffled)
    plain = [(record.time, record.person, record.labels) for record in past_of(*shuffled)]
    assert count_before(plain, at=at, law=LAW) == count_before(past_of(*past), at=at, law=LAW)


def test_a_torn_label_is_no_label() -> None:
    """Bytes that are no whole number of labels are an error rather than a verdict."""
    torn = pack_label(1, fraud=True)[:-1]
    with pytest.raises(struct.error):
        count_before([(95, "a", torn)], at=100, law=LAW)


def test_nothing_before() -> None:
    """Without a past everything is zero and there is no last record."""
    assert counts([], 1000) == ([0, 0], [0, 0], [0, 0], NOTHING_BEFORE)


def test_window_is_closed_at_its_start_and_open_at_its_end() -> None:
    """A record exactly one window before counts; one at the same instant does not, nor any later one."""
    past = [(90, "a"), (89, "b"), (100, "c"), (101, "d")]
    assert counts(past, 100) == ([1, 2], [1, 2], [0, 0], 10)


def test_persons_are_distinct() -> None:
    """One person who comes twice is one person."""
    past = [(98, "a"), (99, "a"), (50, "b")]
    assert counts(past, 100)[1] == [1, 2]


@pytest.mark.parametrize(("known", "frauds"), [(99, 1), (100, 0), (101, 0)])
def test_label_counts_strictly_after_it_became_known(known: int, frauds: int) -> None:
    """A label known at or after the event is of the future."""
    assert counts([(95, "a", ((known, True),))], 100)[2] == [frauds, frauds]


def test_latest_known_label_counts() -> None:
    """A withdrawn fraud is none, whatever the order in which the labels were told."""
    withdrawn = ((96, True), (98, False))
    assert counts([(95, "a", withdrawn)], 100)[2] == [0, 0]
    assert counts([(95, "a", withdrawn[::-1])], 100)[2] == [0, 0]
    assert counts([(95, "a", withdrawn)], 98)[2] == [1, 1]


def test_of_labels_known_at_one_instant_the_last_told_counts() -> None:
    """A tie in time is settled by the order of telling."""
    assert counts([(95, "a", ((96, True), (96, False)))], 100)[2] == [0, 0]
    assert counts([(95, "a", ((96, False), (96, True)))], 100)[2] == [1, 1]


def test_cap_keeps_the_latest_and_the_ties_of_the_last() -> None:
    """A window sees the latest three, and whoever shares the instant of the third."""
    past = [(t, str(t)) for t in (60, 70, 80, 90, 95)] + [(80, "tie")]
    assert counts(past, 100)[0] == [2, 4]


def test_cap_counts_over_all_windows_alike() -> None:
    """A longer window never sees fewer records than a shorter one."""
    past = [(t, str(t)) for t in (92, 93, 94, 95)]
    assert counts(past, 100)[0] == [3, 3]


@pytest.mark.parametrize(
    ("windows", "cap", "words"),
    [
        ((), 1, "must not be empty"),
        ((0,), 1, "longer than 0"),
        ((5, 5), 1, "ascend strictly"),
        ((5,), 0, "cap must be at least 1, got 0"),
    ],
)
def test_impossible_laws_are_refused(windows: tuple[int, ...], cap: int, words: str) -> None:
    """The error says which rule is broken."""
    with pytest.raises(ValueError, match=words):
        WindowLaw(windows=windows, cap=cap)
