"""The law of windows, told by examples on its edges."""

import pytest

from scoring_model.history import NOTHING_BEFORE, PastRecord, WindowLaw, count_before

LAW = WindowLaw(windows=(10, 100), cap=3)


def counts(
    past: list[PastRecord], at: int, law: WindowLaw = LAW
) -> tuple[list[int], list[int], list[int], int]:
    """Counts of one record as plain lists."""
    found = count_before(past, at=at, law=law)
    return (
        found.records[0].tolist(),
        found.persons[0].tolist(),
        found.frauds[0].tolist(),
        int(found.since_last[0]),
    )


def test_nothing_before() -> None:
    """Without a past everything is zero and there is no last record."""
    assert counts([], 1000) == ([0, 0], [0, 0], [0, 0], NOTHING_BEFORE)


def test_window_is_closed_at_its_start_and_open_at_its_end() -> None:
    """A record exactly one window before counts; one at the same instant does not, nor any later one."""
    past = [PastRecord(90, "a"), PastRecord(89, "b"), PastRecord(100, "c"), PastRecord(101, "d")]
    assert counts(past, 100) == ([1, 2], [1, 2], [0, 0], 10)


def test_persons_are_distinct() -> None:
    """One person who comes twice is one person."""
    past = [PastRecord(98, "a"), PastRecord(99, "a"), PastRecord(50, "b")]
    assert counts(past, 100)[1] == [1, 2]


@pytest.mark.parametrize(("known", "frauds"), [(99, 1), (100, 0), (101, 0)])
def test_label_counts_strictly_after_it_became_known(known: int, frauds: int) -> None:
    """A label known at or after the event is of the future."""
    assert counts([PastRecord(95, "a", ((known, True),))], 100)[2] == [frauds, frauds]


def test_latest_known_label_counts() -> None:
    """A withdrawn fraud is none, whatever the order in which the labels were told."""
    withdrawn = ((96, True), (98, False))
    assert counts([PastRecord(95, "a", withdrawn)], 100)[2] == [0, 0]
    assert counts([PastRecord(95, "a", withdrawn[::-1])], 100)[2] == [0, 0]
    assert counts([PastRecord(95, "a", withdrawn)], 98)[2] == [1, 1]


def test_of_labels_known_at_one_instant_the_last_told_counts() -> None:
    """A tie in time is settled by the order of telling."""
    assert counts([PastRecord(95, "a", ((96, True), (96, False)))], 100)[2] == [0, 0]
    assert counts([PastRecord(95, "a", ((96, False), (96, True)))], 100)[2] == [1, 1]


def test_cap_keeps_the_latest_and_the_ties_of_the_last() -> None:
    """A window sees the latest three, and whoever shares the instant of the third."""
    past = [PastRecord(t, t) for t in (60, 70, 80, 90, 95)] + [PastRecord(80, "tie")]
    assert counts(past, 100)[0] == [2, 4]


def test_cap_counts_over_all_windows_alike() -> None:
    """A longer window never sees fewer records than a shorter one."""
    past = [PastRecord(t, t) for t in (92, 93, 94, 95)]
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
