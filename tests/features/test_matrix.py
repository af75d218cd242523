"""Laws of the matrix: single records equal tables, order does not matter, the future is unknown."""

import dataclasses
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feature_tables import LINKS, SIGNALS, STATE, tables
from scoring_model.arrays import FloatArray
from scoring_model.features import FeatureMatrix, FeatureSettings, fingerprint, invented_table
from scoring_model.history import past_counts, past_counts_of_rows
from scoring_model.records import NEVER, RecordTable


def bits(rows: FloatArray) -> list[list[int]]:
    """The bits of float64 values: NaN equals NaN, and -0.0 is not 0.0."""
    found: list[list[int]] = np.ascontiguousarray(rows).view(np.int64).tolist()
    return found


def alone(matrix: FeatureMatrix, table: RecordTable, row: int) -> FloatArray:
    """The row of one record, its history counted by the law for one record."""
    return matrix.row(table.record(row), past_counts(table, row, matrix.link_keys, matrix.specs))


@settings(max_examples=30)
@given(tables())
def test_one_record_has_the_row_it_has_among_many(matrix: FeatureMatrix, table: RecordTable) -> None:
    """Law 2: a record alone gets the same float64 row, bit for bit, as in any table."""
    assert bits(matrix.rows(table)) == bits(np.array([alone(matrix, table, i) for i in range(len(table))]))


@settings(max_examples=25)
@given(tables(), st.integers(0, 11))
def test_a_history_without_rows_changes_no_row(matrix: FeatureMatrix, table: RecordTable, first: int) -> None:
    """Law 2: records that are history only change no bit of the rows of the others, and get none."""
    first = min(first, len(table))
    assert bits(matrix.rows(table, first)) == bits(matrix.rows(table)[first:])


@settings(max_examples=25)
@given(tables(), st.integers(0, 11))
def test_a_started_row_is_finished_like_a_new_one(
    matrix: FeatureMatrix, table: RecordTable, place: int
) -> None:
    """A row that was started once is finished at any instant, with any history, as if made there and then."""
    record = table.record(place % len(table))
    started = matrix.start(record.values)
    histories = past_counts_of_rows(table, range(len(table)), matrix.link_keys, matrix.specs)
    for row, history in enumerate(histories):
        event_time = int(table.event_times[row]) + row * 3_600_000_000
        finished = matrix.finish(started, event_time, history)
        anew = matrix.row(dataclasses.replace(record, event_time=event_time), history)
        assert finished.dtype == np.float64
        assert bits(finished) == bits(anew)


def test_a_started_row_depends_on_instant_and_history(matrix: FeatureMatrix) -> None:
    """What is left for the second step is what reads the instant, and the links: nothing else changes with it."""
    table = invented_table(matrix.settings, matrix.state)
    history = past_counts(table, 2, matrix.link_keys, matrix.specs)
    started = matrix.start(table.record(2).values)
    early, late = matrix.finish(started, 0, {}), matrix.finish(started, 90_000_000_000, history)
    changed = {n for n, a, b in zip(matrix.names, early, late, strict=True) if bits(a) != bits(b)}
    of_links = {name for name in changed if name.startswith("link_")}
    assert of_links
    assert changed - of_links == {"age", "birthday_distance", "event_hour", "event_weekday"}


def test_a_started_row_reports_nothing_when_shown(matrix: FeatureMatrix) -> None:
    """Its text holds no value of the person."""
    assert repr(matrix.start({"firstName": "Canary", "dob": "1984-02-29"})) == "StartedRow()"


@settings(max_examples=30)
@given(tables(), st.randoms(use_true_random=False))
def test_order_changes_nothing(matrix: FeatureMatrix, table: RecordTable, random: Random) -> None:
    """Law 2: the order of the table is no input."""
    order = list(range(len(table)))
    random.shuffle(order)
    rows = np.array(order)
    assert bits(matrix.rows(table.take(rows))) == bits(matrix.rows(table)[rows])


@settings(max_examples=25)
@given(tables(), tables(), st.integers(0, 9))
def test_the_future_changes_nothing(
    matrix: FeatureMatrix, table: RecordTable, other: RecordTable, step: int
) -> None:
    """Law 5: exchanging everything at or after an instant, labels too, changes no row up to it."""
    instant = 1_700_000_000_000_000 + step * 600_000
    kept = np.flatnonzero(table.event_times < instant)
    past = table.take(kept)
    unknown = past.label_times >= instant
    past = dataclasses.replace(
        past,
        labels=np.where(unknown, np.int8(-1), past.labels),
        label_times=np.where(unknown, NEVER, past.label_times),
    )
    future = other.take(np.flatnonzero(other.event_times >= instant))
    exchanged = past.append(future)
    assert bits(matrix.rows(table)[kept]) == bits(matrix.rows(exchanged)[: len(kept)])


def test_protected_attributes_are_off_by_default(matrix: FeatureMatrix) -> None:
    """No feature reads citizenship, age or sex unless it is named."""
    default = FeatureMatrix(FeatureSettings(signals=SIGNALS, links=LINKS), STATE)
    assert {f.protected for f in default.features} == {None}
    assert {f.protected for f in matrix.features} == {None, "age", "citizenship", "sex"}
    one = FeatureMatrix(FeatureSettings(signals=SIGNALS, links=LINKS, use_protected=("sex",)), STATE)
    assert set(one.names) - set(default.names) == {"signal_sex"}


def test_there_are_at_least_60_features_of_the_record_and_each_is_described(matrix: FeatureMatrix) -> None:
    """Neither signals, links nor protected ones counted; and everything has names, inputs, unit and factor."""
    features = FeatureMatrix(FeatureSettings(links=LINKS), STATE).features
    assert sum(not f.name.startswith("link_") and f.protected is None for f in features) >= 60
    assert len(set(matrix.names)) == len(matrix.names)
    for feature in matrix.features:
        assert all((feature.inputs, feature.unit, feature.sentence, feature.reason)), feature.name


def test_codes_have_words_where_they_mean_one_thing(matrix: FeatureMatrix) -> None:
    """Fixed codes and those of a vocabulary are named; a number has no words."""
    words = {one.name: matrix.code_words(one) for one in matrix.features}
    assert words["document_type"] == ("PASSPORT", "NATIONAL_ID", "DRIVERS_LICENSE", "RESIDENCE_PERMIT")
    assert words["address_country"] == tuple(matrix.state.vocabulary("address.country").values)
    assert words["document_rarity"] == ()


def test_excluded_features_are_gone_and_unknown_ones_named() -> None:
    """Excluded features and named protected attributes must exist."""
    without = FeatureMatrix(FeatureSettings(links=LINKS, exclude=("event_hour",)), STATE)
    assert "event_hour" not in without.names
    wrong = FeatureMatrix(
        FeatureSettings(links=LINKS, exclude=("even_hour",), use_protected=("shoe",)), STATE
    )
    with pytest.raises(ValueError, match=r"'even_hour'.*'shoe'"):
        _ = wrong.names


@settings(max_examples=20)
@given(tables())
def test_leaving_out_features_leaves_the_others(matrix: FeatureMatrix, table: RecordTable) -> None:
    """What is excluded, of values, instants or links, is cut out of the row, alone and among many."""
    gone = ("first_name_length", "event_hour", "link_device_since_last", "signal_vpn")
    kept = [place for place, name in enumerate(matrix.names) if name not in gone]
    part = FeatureMatrix(dataclasses.replace(matrix.settings, exclude=gone), STATE)
    assert list(part.names) == [matrix.names[place] for place in kept]
    assert bits(part.rows(table)) == bits(matrix.rows(table)[:, kept])
    assert bits(alone(part, table, 0)) == bits(matrix.rows(table)[0, kept])


def test_families_can_be_chosen() -> None:
    """Only the families that are named have features; links stay."""
    chosen = FeatureMatrix(FeatureSettings(links=LINKS, families=("names", "dates")), STATE)
    assert {family.name for family in chosen.families} == {"names", "dates"}
    assert any(name.startswith("link_") for name in chosen.names)


def test_fingerprint_follows_values_and_names(matrix: FeatureMatrix) -> None:
    """Another state or another set of features has another fingerprint, the same one the same."""
    assert fingerprint(matrix) == fingerprint(FeatureMatrix(matrix.settings, STATE))
    others = [
        FeatureMatrix(matrix.settings, dataclasses.replace(STATE, vocabularies={})),
        FeatureMatrix(dataclasses.replace(matrix.settings, exclude=("event_hour",)), STATE),
        FeatureMatrix(dataclasses.replace(matrix.settings, links=dataclasses.replace(LINKS, cap=1)), STATE),
    ]
    assert len({fingerprint(matrix), *map(fingerprint, others)}) == 4


def test_invented_records_reach_every_feature(matrix: FeatureMatrix) -> None:
    """A fingerprint is worth what the records reach: no feature is the same number on all of them."""
    rows = matrix.rows(invented_table(matrix.settings, matrix.state))
    constant = [name for name, column in zip(matrix.names, rows.T, strict=True) if len(np.unique(column)) < 2]
    assert constant == []
