from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from scoring_model.configuration import SplitSettings
from scoring_model.records.table import NEVER
from scoring_model.training.boundaries import SplitError
from scoring_model.training.split import Split, describe_use, split

DAY = 86_400_000_000
AS_OF = 900

History = tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.int64], NDArray[np.int64]]


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draw 150 records over 1,000 instants, some after the as-of instant, a few persons repeated."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = 150
    times = rng.integers(0, 1000, n)
    labels = rng.choice(np.array([-1, 0, 1], dtype=np.int8), n, p=[0.3, 0.3, 0.4])
    reported = times + rng.integers(0, draw(st.integers(1, 400)), n)
    persons = rng.integers(-1, draw(st.integers(10, 2000)), n)
    return times, labels, np.where(labels < 0, NEVER, reported), persons


@st.composite
def options(draw: st.DrawFn) -> SplitSettings:
    """Draw settings that leave time to each part."""
    gap = draw(st.none() | st.integers(0, 60))
    burn_in, maturity = draw(st.integers(0, 150)), draw(st.integers(0, 100))
    return SplitSettings(as_of=AS_OF, label_maturity=maturity, gap=gap, burn_in=burn_in, min_frauds=1)


def split_or_skip(history: History, chosen: SplitSettings) -> Split:
    """Split, or skip the example if these records do not fill the parts."""
    try:
        return split(*history, chosen)
    except SplitError:
        assume(False)
        raise


def specs(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test on many histories and settings."""
    relaxed = settings(max_examples=60, suppress_health_check=[HealthCheck.filter_too_much])
    return relaxed(given(histories(), options())(test))


def known(record: tuple[int, int, int], instant: int, maturity: int) -> int:
    """Compute what is known of one record, by plain conditions."""
    time, label, reported = record
    if label == 1 and reported < instant:
        return 1
    if (label == 0 and reported < instant) or time + maturity < instant:
        return 0
    return -1


@specs
def test_each_part_lies_within_its_boundaries_in_order_of_time(
    history: History, chosen: SplitSettings
) -> None:
    """Parts are ordered, disjoint and a gap apart, and no part includes the label maturity window."""
    times = history[0]
    cut = split_or_skip(history, chosen)
    b = cut.boundaries
    assert b.start == times.min()
    assert b.train_from - b.start == chosen.burn_in
    assert b.validation_from - b.train_to == b.test_from - b.validation_to == chosen.gap_length
    assert b.as_of - b.test_to == chosen.label_maturity
    segments = (
        (cut.burn_in, b.start, b.train_from),
        (cut.train, b.train_from, b.train_to),
        (cut.validation, b.validation_from, b.validation_to),
        (cut.test, b.test_from, b.test_to),
    )
    for rows, start, end in segments:
        assert np.all(np.diff(times[rows]) >= 0)
        assert np.all((start <= times[rows]) & (times[rows] < end))
    everything = np.concatenate([rows for rows, _, _ in segments])
    assert len(np.unique(everything)) == len(everything)


@specs
def test_shares_cut_the_usable_time(history: History, chosen: SplitSettings) -> None:
    """Each part has its share of the usable time, up to rounding."""
    b = split_or_skip(history, chosen).boundaries
    lengths = (b.train_to - b.train_from, b.validation_to - b.validation_from, b.test_to - b.test_from)
    assert sum(lengths) == b.as_of - b.start - chosen.overhead
    for length, share in zip(lengths, chosen.parts.values(), strict=True):
        assert abs(length - share * sum(lengths)) <= 2


@specs
def test_no_person_is_in_training_and_in_a_later_part(history: History, chosen: SplitSettings) -> None:
    """A person of validation or test is not in training; validation, test and all other persons are complete."""
    times, _, _, persons = history
    cut = split_or_skip(history, chosen)
    b = cut.boundaries
    judged = {int(p) for p in persons[np.concatenate([cut.validation, cut.test])] if p >= 0}
    assert judged.isdisjoint(persons[cut.train].tolist())
    for rows, start, end in (
        (cut.validation, b.validation_from, b.validation_to),
        (cut.test, b.test_from, b.test_to),
    ):
        assert set(rows) == set(np.flatnonzero((start <= times) & (times < end)))
    expected = {
        i
        for i, record in enumerate(zip(*(column.tolist() for column in history[:3]), strict=True))
        if b.train_from <= record[0] < b.train_to
        and persons[i] not in judged
        and known(record, b.validation_from, chosen.label_maturity) >= 0
    }
    assert set(cut.train) == expected


@specs
def test_targets_are_what_was_known(history: History, chosen: SplitSettings) -> None:
    """Training uses what was known when validation starts; validation and test use what is known as of now."""
    cut = split_or_skip(history, chosen)
    records = list(zip(*(column.tolist() for column in history[:3]), strict=True))
    for rows, targets, instant in (
        (cut.train, cut.train_targets, cut.boundaries.validation_from),
        (cut.validation, cut.validation_targets, AS_OF),
        (cut.test, cut.test_targets, AS_OF),
    ):
        assert targets.tolist() == [known(records[i], instant, chosen.label_maturity) for i in rows]


@specs
def test_records_and_labels_from_the_as_of_instant_on_are_ignored(
    history: History, chosen: SplitSettings
) -> None:
    """Records and labels from the as-of instant on change no part."""
    times, labels, reported, persons = history
    cut = split_or_skip(history, chosen)
    late, unheard = times >= AS_OF, reported >= AS_OF
    other = split_or_skip(
        (
            np.where(late, times + 77, times),
            np.where(unheard, -1, labels).astype(np.int8),
            np.where(unheard, NEVER, reported),
            np.where(late, 3, persons),
        ),
        chosen,
    )
    for part in (
        "burn_in",
        "train",
        "validation",
        "test",
        "train_targets",
        "validation_targets",
        "test_targets",
    ):
        assert getattr(other, part).tolist() == getattr(cut, part).tolist()


@specs
def test_every_record_is_accounted_for(history: History, chosen: SplitSettings) -> None:
    """Each record is in one row of the description: used, or the reason why not."""
    cut = split_or_skip(history, chosen)
    rows = cut.summaries
    assert sum(row.records for row in rows) == len(history[0])
    for row in rows:
        assert row.genuine + row.frauds + sum(row.left_out.values()) == row.records
    used = {row.part: (row.genuine, row.frauds) for row in rows}
    for part in ("train", "validation", "test"):
        targets = getattr(cut, f"{part}_targets").tolist()
        assert used[part] == (targets.count(0), targets.count(1))


@specs
def test_the_order_of_the_table_does_not_matter(history: History, chosen: SplitSettings) -> None:
    """Reversing the table gives the same records in each part."""
    last = len(history[0]) - 1
    cut = split_or_skip(history, chosen)
    times, labels, reported, persons = history
    reversed_cut = split(times[::-1], labels[::-1], reported[::-1], persons[::-1], chosen)
    for part in ("burn_in", "train", "validation", "test"):
        assert sorted(last - getattr(reversed_cut, part)) == sorted(getattr(cut, part))


def daily(days: int) -> History:
    """Return 10 records a day of different persons, every tenth a fraud reported on the next day."""
    n = days * 10
    times = np.arange(n, dtype=np.int64) * (DAY // 10)
    labels = np.where(np.arange(n) % 10 == 5, 1, -1).astype(np.int8)
    return times, labels, np.where(labels == 1, times + DAY, NEVER), np.arange(n, dtype=np.int64)


def test_an_example_by_hand() -> None:
    """200 days less 30 of burn-in, gaps of 10 and 20 of maturity are 130 days: 78, 26 and 26."""
    lengths = {"label_maturity": 20 * DAY, "gap": 10 * DAY, "burn_in": 30 * DAY}
    chosen = SplitSettings(as_of=200 * DAY, train=0.6, validation=0.2, **lengths)
    cut = split(*daily(200), chosen)
    assert [(row.part, row.records, row.genuine, row.frauds) for row in cut.summaries] == [
        ("burn-in", 300, 0, 0),
        ("train", 780, 780 - 78 - 100 + 10, 78),
        ("gap", 100, 0, 0),
        ("validation", 260, 234, 26),
        ("gap", 100, 0, 0),
        ("test", 260, 234, 26),
        ("label maturity window", 200, 0, 0),
        ("after as-of", 0, 0, 0),
    ]
    assert cut.summaries[3].start == "1970-04-29T00:00:00+00:00"
    assert describe_use(cut, chosen) == (
        "690 of 2,000 records train the model; 300 are burn-in (training.split.burn_in), "
        "260 are validation (training.split.validation), 260 are test (training.split.test), "
        "200 lie in gaps (training.split.gap), 200 are too young (training.split.label_maturity). "
        "A smaller value of one of them leaves more for the train part; if it is a share, add the difference to "
        "training.split.train. The validation part is shorter than four weeks, so that monitor may give no verdict on "
        "drift."
    )


def test_an_example_without_a_test_part() -> None:
    """The same 200 days with one gap leave 140 days: in the proportion of 6 to 2 these are 105 and 35."""
    chosen = SplitSettings(
        as_of=200 * DAY,
        label_maturity=20 * DAY,
        gap=10 * DAY,
        burn_in=30 * DAY,
        train=0.6,
        validation=0.2,
        test=0,
    )
    cut = split(*daily(200), chosen)
    assert [(row.part, row.records, row.frauds) for row in cut.summaries] == [
        ("burn-in", 300, 0),
        ("train", 1050, 105),
        ("gap", 100, 0),
        ("validation", 350, 35),
        ("label maturity window", 200, 0),
        ("after as-of", 0, 0),
    ]
    assert (cut.evaluated.name, cut.evaluated.rows.tolist()) == ("validation", list(range(1450, 1800)))
    assert cut.evaluated.end == 180 * DAY
    assert abs(cut.evaluated.start - 145 * DAY) <= 1  # an instant of rounding


@pytest.mark.parametrize(("test", "train_from"), [(7, 86), (0, 103)])
def test_durations_are_counted_back_from_the_youngest_mature_record(test: int, train_from: int) -> None:
    """60, 7 and 7 days with gaps of 10 and 20 of maturity: what precedes them is burn-in, also beyond its 30 days."""
    chosen = SplitSettings(
        as_of=200 * DAY,
        label_maturity=20 * DAY,
        gap=10 * DAY,
        burn_in=30 * DAY,
        train=60 * DAY,
        validation=7 * DAY,
        test=test * DAY,
        min_frauds=7,
    )
    cut = split(*daily(200), chosen)
    b = cut.boundaries
    assert (b.start, b.train_from, b.train_to) == (0, train_from * DAY, (train_from + 60) * DAY)
    assert (b.validation_to - b.validation_from, b.test_to - b.test_from) == (7 * DAY, test * DAY)
    assert b.test_to == 180 * DAY
    assert len(cut.burn_in) == train_from * 10
    assert "A longer training.split.train takes records of the burn-in." in describe_use(cut, chosen)


def test_durations_that_the_records_do_not_fill_are_refused_with_their_dates() -> None:
    """Each part that would begin before the end of the burn-in is named, with dates and missing days."""
    chosen = SplitSettings(
        as_of=200 * DAY,
        label_maturity=20 * DAY,
        gap=10 * DAY,
        burn_in=30 * DAY,
        train=60 * DAY,
        validation=140 * DAY,
        test=7 * DAY,
    )
    with pytest.raises(SplitError) as caught:
        split(*daily(200), chosen)
    train, validation = caught.value.reasons
    assert train == (
        "train (1969-11-15T00:00:00+00:00 to 1970-01-14T00:00:00+00:00, 60.0 days) begins 77.0 days too early: the "
        "records begin at 1970-01-01T00:00:00+00:00, and 30.0 days of burn-in come first"
    )
    assert validation.startswith("validation (1970-01-24T00:00:00+00:00 to 1970-06-13T")


def test_a_thin_part_of_a_written_length_says_how_long_it_should_be() -> None:
    """7 days have 7 frauds, so that 14 take 14 days; the history has nothing to do with it."""
    chosen = SplitSettings(
        label_maturity=20 * DAY,
        gap=0,
        burn_in=0,
        train=60 * DAY,
        validation=7 * DAY,
        test=14 * DAY,
        min_frauds=14,
        as_of=200 * DAY,
    )
    with pytest.raises(SplitError) as caught:
        split(*daily(200), chosen)
    (reason,) = caught.value.reasons
    assert reason.endswith("has 7 frauds, needs 14: at its rate it would have to span about 14.0 days")


def test_defaults_are_resolved_from_the_data() -> None:
    """As-of is just after the last event or label; gaps are half as long as the maturity."""
    chosen = SplitSettings(label_maturity=10 * DAY, burn_in=0, min_frauds=1)
    times, labels, reported, persons = daily(200)
    assert (
        split(times, labels, reported, persons, chosen).boundaries.as_of
        == max(times.max(), reported[1995]) + 1
    )
    reported = np.where(labels == 1, times, NEVER)
    boundaries = split(times, labels, reported, persons, chosen).boundaries
    assert boundaries.as_of == times.max() + 1
    assert boundaries.validation_from - boundaries.train_to == 5 * DAY
    lengths = (
        boundaries.train_to - boundaries.train_from,
        boundaries.validation_to - boundaries.validation_from,
    )
    assert lengths[1] / sum(lengths) == pytest.approx(0.15)


def test_too_short_a_history_is_refused_with_the_span_needed() -> None:
    """The error gives the sum of burn-in, gaps and maturity."""
    chosen = SplitSettings(as_of=100 * DAY, label_maturity=45 * DAY, burn_in=20 * DAY)
    with pytest.raises(SplitError, match=r"span 100\.0 days.*take 110\.0 days"):
        split(*daily(100), chosen)


def test_no_records_are_refused() -> None:
    """An empty table cannot be split."""
    empty = np.array([], dtype=np.int64)
    with pytest.raises(SplitError, match="no records"):
        split(empty, empty.astype(np.int8), empty, empty, SplitSettings(label_maturity=1, burn_in=1))


def test_thin_parts_are_refused_all_at_once() -> None:
    """The error names each part with too few frauds, and the time span needed at its fraud rate."""
    lengths = {"label_maturity": 10 * DAY, "gap": 10 * DAY, "burn_in": 20 * DAY}
    chosen = SplitSettings(as_of=200 * DAY, train=0.6, validation=0.2, min_frauds=100, **lengths)
    with pytest.raises(SplitError) as caught:
        split(*daily(200), chosen)
    assert [reason.split()[0] for reason in caught.value.reasons] == ["train", "validation", "test"]
    # 150 usable days: validation has 30 with 30 frauds; 100 frauds take 500 usable days and 50 of overhead.
    assert "has 30 frauds, needs 100: at its rate the history would have to span about 550.0 days" in str(
        caught.value
    )


def test_parts_without_a_class_are_refused() -> None:
    """Histories of one class are refused, with an error for each part."""
    times, labels, reported, persons = daily(200)
    chosen = SplitSettings(as_of=200 * DAY, label_maturity=10 * DAY, burn_in=20 * DAY, min_frauds=1)
    with pytest.raises(SplitError) as caught:
        split(times, np.full_like(labels, -1), np.full_like(reported, NEVER), persons, chosen)
    assert sum("cannot be estimated" in reason for reason in caught.value.reasons) == 3
    with pytest.raises(SplitError) as caught:
        split(times, np.ones_like(labels), times, persons, chosen)
    assert sum("has no genuine record" in reason for reason in caught.value.reasons) == 3


def test_a_refused_part_says_why_its_records_do_not_count() -> None:
    """Where all records are of one person, the train part keeps none of them."""
    times, labels, reported, persons = daily(200)
    lengths = {"label_maturity": 10 * DAY, "gap": 10 * DAY, "burn_in": 20 * DAY}
    chosen = SplitSettings(as_of=200 * DAY, train=0.6, validation=0.2, min_frauds=1, **lengths)
    with pytest.raises(SplitError) as caught:
        split(times, labels, reported, np.zeros_like(persons), chosen)
    train = caught.value.reasons[0]
    assert "days; 900 of 900: the person also appears in validation or test) has no genuine record" in train


def test_columns_of_different_length_are_refused() -> None:
    """Columns of different lengths are refused."""
    times, labels, reported, persons = daily(20)
    with pytest.raises(ValueError, match="one length"):
        split(times[:-1], labels, reported, persons, SplitSettings(label_maturity=1, burn_in=1))
