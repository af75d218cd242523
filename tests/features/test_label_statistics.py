"""Label statistics: a function of value and day, of what was known before that day and of nothing else."""

import json
from dataclasses import replace

import numpy as np
import pytest

from feature_tables import LINKS
from scoring_model.bundle.feature_file import features_json, read_matrix
from scoring_model.contract.violation import Invalid
from scoring_model.features import (
    FeatureMatrix,
    FeatureSettings,
    FittedState,
    KnownLabels,
    SignalSettings,
    fit_known_labels,
)
from scoring_model.features.label_fitting import MOST_VALUES
from scoring_model.features.label_statistics import DailyCounts
from scoring_model.history import past_counts_of_rows
from scoring_model.records import NEVER, Column, RecordSchema, RecordTable, SignalType
from scoring_model.records.observation import STOPPED
from scoring_model.records.times import DAY

FIELD, DELAY, LAST, COUNT = "signals.shop", 5 * DAY, 60, 600
SIGNALS = {"shop": SignalSettings(type=SignalType.CATEGORY)}
SETTINGS = FeatureSettings(signals=SIGNALS, links=LINKS, families=("signals", "label_statistics"))


def claims(seed: int = 0) -> RecordTable:
    """Records of 80 days and 200 persons with a shop each, some stopped, some frauds known early, late or never."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, 80 * DAY, COUNT))
    labels = rng.choice(np.array([-1, 0, 1], dtype=np.int8), COUNT, p=(0.5, 0.2, 0.3))
    shops = rng.integers(-1, 12, COUNT) * rng.integers(0, 2, COUNT)
    people = rng.integers(0, 200, COUNT).astype(np.int32)
    return RecordTable(
        record_ids=tuple(f"r{place}" for place in range(COUNT)),
        event_times=times,
        columns={
            "subjectId": Column(tuple(f"s{place}" for place in range(200)), people),
            FIELD: Column(tuple(f"shop {place}" for place in range(12)), shops.astype(np.int32)),
        },
        labels=labels,
        label_times=np.where(labels < 0, NEVER, times + rng.integers(0, 30 * DAY, COUNT)),
        source_rows=np.arange(COUNT),
        observed_until=np.where(rng.random(COUNT) < 0.2, STOPPED, NEVER),
    )


def counted(table: RecordTable, row: int, day: int) -> tuple[int, int]:
    """Say whether a record counts before a day, and as what, in the words of the rule."""
    end = day * DAY
    entered = int(table.event_times[row]) + DELAY
    assert table.observed_until is not None
    is_observed = table.observed_until[row] == NEVER
    known = table.labels[row] == 1 and max(entered, int(table.label_times[row])) < end
    return int(known or (is_observed and entered < end)), int(known)


def expected(table: RecordTable, value: str | None, day: int, weight: int) -> tuple[float, float]:
    """Count by a loop over all records; a value of fewer than five persons has no records."""
    day = min(day, LAST)
    changes = [(row, *counted(table, row, day)) for row in range(len(table))]
    total, of_total = sum(c for _, c, _ in changes), sum(f for *_, f in changes)
    people = {int(table.columns["subjectId"].codes[row]) for row, c, _ in changes if c}
    if value is None or len(people) < 5:
        return np.nan, np.nan
    column, subjects = table.columns[FIELD], table.columns["subjectId"].codes
    own = [(row, f) for row, c, f in changes if c and column.codes[row] == column.values.index(value)]
    if len({int(subjects[row]) for row, _ in own}) < 5:
        own = []
    records, frauds = len(own), sum(f for _, f in own)
    return (frauds + weight * (of_total / total)) / (records + weight), records / total


def matrix_of(table: RecordTable, weights: dict[str, int] | None = None) -> FeatureMatrix:
    """The matrix with statistics of a table."""
    known = fit_known_labels(table, [FIELD], delay=DELAY, until=LAST * DAY, weights=weights)
    return FeatureMatrix(SETTINGS, FittedState(known_labels=known))


def test_a_row_reads_what_was_known_before_its_day() -> None:
    """Every row equals a loop over all records, alone and from the sealed tables too; after the last day none moves."""
    table = claims()
    matrix = matrix_of(table)
    names = [matrix.names.index(f"signal_shop_known_{end}") for end in ("fraud_share", "share")]
    weight, column = matrix.state.known_labels.weights[FIELD], table.columns[FIELD]
    found = matrix.rows(table)
    for row in range(0, COUNT, 7):
        value = None if column.codes[row] < 0 else str(column.values[column.codes[row]])
        loop = expected(table, value, int(table.event_times[row]) // DAY, weight)
        assert found[row, names].tobytes() == np.array(loop).tobytes()
    assert np.isfinite(found[:, names]).mean() > 0.4
    document = json.loads(
        json.dumps(features_json(RecordSchema(signals={"shop": SignalType.CATEGORY}), matrix))
    )
    sealed = read_matrix(document)
    histories = past_counts_of_rows(table, range(COUNT), sealed.link_keys, sealed.specs)
    for row, history in enumerate(histories):
        assert sealed.row(table.record(row), history).tobytes() == found[row].tobytes()


@pytest.mark.parametrize("day", [20, 40])
def test_scrambled_future_labels_and_records_change_nothing(day: int) -> None:
    """Other later records, and other labels that became known later, leave all rows up to a day as they are."""
    table = claims()
    rng = np.random.default_rng(day)
    later = table.event_times >= day * DAY
    unknown = table.label_times >= day * DAY
    places = np.arange(COUNT)
    places[later] = rng.permutation(places[later])
    other = replace(
        table,
        columns={name: column.take(places) for name, column in table.columns.items()},
        labels=np.where(unknown, rng.permutation(table.labels), table.labels),
        label_times=np.where(unknown, rng.integers(day * DAY, 90 * DAY, COUNT), table.label_times),
    )
    weights = {FIELD: 8}
    one, two = (matrix_of(of, weights).rows(table) for of in (table, other))
    assert one[~later].tobytes() == two[~later].tobytes()
    assert one[later].tobytes() != two[later].tobytes()


def test_tables_begin_with_the_fifth_person_and_do_not_depend_on_order() -> None:
    """No sealed count is of fewer than five persons, and the records may stand in any order."""
    table = claims()
    known = matrix_of(table).state.known_labels
    assert known.fields[FIELD]
    assert min(counts.records[0] for counts in (known.every, *known.fields[FIELD].values())) >= 5
    shuffled = table.take(np.random.default_rng(1).permutation(COUNT))
    assert matrix_of(shuffled).state.known_labels == known
    assert KnownLabels.from_json(json.loads(json.dumps(known.to_json()))) == known


@pytest.mark.parametrize("extra", [0, 1])
def test_a_field_has_at_most_so_many_tables(extra: int) -> None:
    """Of one value too many the one whose fifth person came last has no table."""
    values = MOST_VALUES + extra
    rows = np.tile(np.arange(values, dtype=np.int32), 5)
    times = np.where(rows == 7, DAY, 0) + np.arange(len(rows))
    table = RecordTable(
        record_ids=tuple(map(str, range(len(rows)))),
        event_times=times,
        columns={FIELD: Column(tuple(map(str, range(values))), rows)},
        labels=np.zeros(len(rows), dtype=np.int8),
        label_times=times,
        source_rows=np.arange(len(rows)),
    )
    tables = fit_known_labels(table, [FIELD], delay=0, until=9 * DAY).fields[FIELD]
    assert (len(tables), "7" in tables) == (MOST_VALUES, not extra)


def test_the_prior_weight_is_large_for_noise_and_small_for_values_that_differ() -> None:
    """With shares that are all alike the prior is trusted, with shares of 0 and 1 it is not."""
    table = claims()
    codes = table.columns[FIELD].codes
    all_observed = replace(table, observed_until=None, label_times=table.event_times)
    telling = replace(all_observed, labels=(codes % 2 == 0).astype(np.int8))
    noise = replace(all_observed, labels=(np.arange(COUNT) % 2).astype(np.int8))
    weights = [matrix_of(of).state.known_labels.weights[FIELD] for of in (telling, noise)]
    assert weights[0] <= 2
    assert weights[1] >= 64


def test_label_statistics_are_asked_for_and_need_a_category() -> None:
    """They are no default, and a use without a category has none."""
    assert not FeatureSettings(signals=SIGNALS).has_label_statistics
    with pytest.raises(Invalid, match="label_statistics needs the family signals"):
        replace(SETTINGS, signals={})
    with pytest.raises(Invalid, match="label_statistics needs the family signals"):
        replace(SETTINGS, families=("label_statistics",))


def test_counts_before_a_day_are_those_of_the_days_that_ended() -> None:
    """The day itself is not read."""
    counts = DailyCounts((3, 5), (5, 9), (1, 2))
    assert [counts.before(day) for day in (3, 4, 5, 6, 99)] == [(0, 0), (5, 1), (5, 1), (9, 2), (9, 2)]
