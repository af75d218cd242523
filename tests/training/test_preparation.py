"""No leakage: what happens at or after an instant changes nothing before it."""

from collections import deque
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from scoring_model.arrays import IntArray
from scoring_model.configuration import Configuration
from scoring_model.features import FeatureMatrix, fit_state
from scoring_model.history.rings import MOST_SHARED, find_rings
from scoring_model.records import NEVER, Column, RecordTable
from scoring_model.training.preparation import Prepared, fit_before, one_of_each, prepare
from scoring_model.training.run import Training


def instants(table: RecordTable) -> list[int]:
    """Return three instants: after a quarter, a half and nine tenths of the records."""
    order = np.sort(table.event_times)
    return [int(order[int(len(order) * share)]) for share in (0.25, 0.5, 0.9)]


@pytest.mark.parametrize("which", range(3))
def test_the_future_may_be_removed(prepared: Prepared, history: RecordTable, which: int) -> None:
    """Without records and labels from an instant on, earlier rows are the same."""
    instant = instants(history)[which]
    earlier = np.flatnonzero(history.event_times < instant)
    known = history.label_times < instant
    blind = replace(
        history,
        labels=np.where(known, history.labels, np.int8(-1)),
        label_times=np.where(known, history.label_times, NEVER),
    ).take(earlier)
    assert prepared.matrix.rows(blind).tobytes() == prepared.rows[earlier].tobytes()


@pytest.mark.parametrize("which", range(3))
def test_the_future_may_be_replaced(prepared: Prepared, history: RecordTable, which: int) -> None:
    """With other values in later records and other later labels, earlier rows are the same."""
    instant = instants(history)[which]
    later = np.flatnonzero(history.event_times >= instant)
    places = np.arange(len(history))
    places[later] = np.random.default_rng(which).permutation(later)
    reported_later = (history.label_times >= instant) & (history.label_times != NEVER)
    other = replace(
        history,
        columns=history.take(places).columns,
        labels=np.where(reported_later, 1 - history.labels, history.labels),
    )
    rows = prepared.matrix.rows(other)
    earlier = history.event_times < instant
    assert rows[earlier].tobytes() == prepared.rows[earlier].tobytes()
    assert rows[~earlier].tobytes() != prepared.rows[~earlier].tobytes()


def test_a_record_does_not_see_its_own_instant(prepared: Prepared, history: RecordTable) -> None:
    """A record does not see another one at the same instant; it sees one that is a microsecond earlier."""
    place = prepared.matrix.names.index("link_device_1d_records")
    device = history.column("signals.deviceId").codes
    row = int(np.flatnonzero((prepared.rows[:, place] == 1) & (device >= 0))[0])
    at = int(history.event_times[row])
    same = (device == device[row]) & (history.event_times < at)
    other = int(np.flatnonzero(same)[np.argmax(history.event_times[same])])

    def count(instant: int) -> float:
        times = history.event_times.copy()
        times[other] = instant
        return float(prepared.matrix.rows(replace(history, event_times=times))[row, place])

    assert (count(at), count(at - 1)) == (0.0, 1.0)


def test_the_state_depends_on_what_precedes_training_and_validation(
    prepared: Prepared, history: RecordTable, identity: Configuration
) -> None:
    """Other values after the burn-in change the categories alone; after the train part they change nothing."""

    def fitted(border: int) -> dict[str, object]:
        places, later = np.arange(len(history)), np.flatnonzero(history.event_times >= border)
        places[later] = later[::-1]
        swapped = history.take(places).columns
        columns = {**history.columns, "firstName": swapped["lastName"]}
        columns |= {"signals.channel": swapped["signals.emailDomain"]}
        other, kept = replace(history, columns=columns), np.flatnonzero(history.event_times < border)
        own = {name: _spliced(history, other, name, kept) for name in columns}
        state = fit_before(prepared.split, replace(other, columns=own), identity)
        return state.to_json()

    bounds, state = prepared.split.boundaries, prepared.matrix.state.to_json()
    after_burn_in = fitted(bounds.train_from)
    changed = {name for name in state if after_burn_in[name] != state[name]}
    assert (changed, fitted(bounds.validation_from)) == ({"vocabularies"}, state)


def _spliced(table: RecordTable, other: RecordTable, name: str, kept: IntArray) -> Column:
    """Replace the cells of some rows of a column by those of `other`."""
    joined = table.column(name).append(other.column(name))
    rows = np.arange(len(table)) + len(table)
    rows[kept] -= len(table)
    return joined.take(rows)


def test_the_state_is_fitted_on_the_burn_in(
    prepared: Prepared, history: RecordTable, identity: Configuration, training: Training
) -> None:
    """The tables are fitted before the first training row, categories on the train part too; the bundle holds both."""
    first = history.event_times[prepared.split.train].min()
    burn_in = history.take(np.flatnonzero(history.event_times < prepared.split.boundaries.train_from))
    assert burn_in.event_times.max() < first
    learnt = history.take(np.concatenate([prepared.split.burn_in, prepared.split.train]))
    fitted = fit_state(burn_in, identity.feature_settings, categories=learnt).to_json()
    assert prepared.matrix.state.to_json() == fitted
    assert training.bundle.contents.features.state.to_json() == fitted
    assert fitted["names"]


def test_options_fit_the_columns(prepared: Prepared) -> None:
    """Names, categorical columns and directions are those of the features in use."""
    options = prepared.feature_options
    assert options["feature_names"] == prepared.matrix.names
    assert len(options["monotone"]) == prepared.rows.shape[1]
    assert options["monotone"][prepared.matrix.names.index("signal_email_age_days")] == -1
    assert "signal_channel" in [options["feature_names"][i] for i in options["categorical"]]
    for place in options["categorical"]:
        codes = prepared.rows[:, place]
        codes = codes[~np.isnan(codes)]
        assert_array_equal(codes, np.floor(codes))


def test_protected_attributes_are_no_features(prepared: Prepared, history: RecordTable) -> None:
    """Citizenship, age and sex reach no feature: with these columns shuffled, no row changes."""
    mixed = np.random.default_rng(0).permutation(len(history))
    columns = dict(history.columns)
    for name in ("citizenship", "signals.sex"):
        columns[name] = columns[name].take(mixed)
    matrix: FeatureMatrix = prepared.matrix
    assert matrix.rows(replace(history, columns=columns)).tobytes() == prepared.rows.tobytes()


def searched(keys: list[IntArray], rows: IntArray) -> list[int]:
    """Find the first row of each record's component by breadth-first search."""
    counts = [{code: int(np.count_nonzero(codes == code)) for code in codes.tolist()} for codes in keys]

    def tied(one: int, other: int) -> bool:
        return any(
            codes[one] == codes[other] >= 0 and count[int(codes[one])] <= MOST_SHARED
            for codes, count in zip(keys, counts, strict=True)
        )

    found = [-1] * len(rows)
    for start in range(len(rows)):
        queue = deque([start] if found[start] < 0 else [])
        while queue:
            place = queue.popleft()
            if found[place] < 0:
                found[place] = start
                queue.extend(p for p in range(len(rows)) if found[p] < 0 and tied(rows[place], rows[p]))
    return found


@settings(max_examples=150)
@given(st.integers(0, 2**32), st.integers(0, 4), st.integers(0, 40), st.integers(2, 80))
def test_rings_are_the_connected_components(seed: int, keys: int, rows: int, values: int) -> None:
    """Union-find finds the components of a breadth-first search, for any keys, missing ones included."""
    rng = np.random.default_rng(seed)
    table = [rng.integers(-1, values, 60) for _ in range(keys)]
    chosen = rng.permutation(60)[:rows].astype(np.int64)
    assert find_rings(table, chosen).tolist() == searched(table, chosen)


@pytest.mark.parametrize("extra", [0, 1])
def test_a_value_of_too_many_records_connects_none(extra: int) -> None:
    """A value of 256 records in the table connects them; one of 257 does not, for any subset of rows."""
    codes = np.zeros(MOST_SHARED + extra, dtype=np.int64)
    rows = np.array([3, 0, 7])
    assert find_rings([codes], rows).tolist() == ([0, 1, 2] if extra else [0, 0, 0])


def test_records_that_are_not_selected_connect_none() -> None:
    """Two records that each share a value with a third are connected only if the third is selected."""
    address, device = np.array([5, 5, 6]), np.array([1, 2, 2])
    assert find_rings([address, device], np.array([0, 2])).tolist() == [0, 1]
    assert find_rings([address, device], np.array([0, 2, 1])).tolist() == [0, 0, 0]


def test_a_chain_is_one_ring() -> None:
    """Ten thousand records, each connected to the next by another value, are one ring."""
    places = np.arange(10_000)
    shuffled = np.random.default_rng(0).permutation(places)
    keys = [shuffled // 2, (shuffled + 1) // 2]
    assert set(find_rings(keys, places).tolist()) == {0}


@settings(max_examples=100)
@given(st.lists(st.integers(-5, 5), max_size=60))
def test_each_group_is_represented_once(groups: list[int]) -> None:
    """Exactly one row represents each group, and group numbers do not matter."""
    codes = np.array(groups, dtype=np.int64)
    chosen = one_of_each(codes)
    assert sorted(codes[chosen].tolist()) == sorted(set(groups))
    assert chosen.tolist() == sorted(chosen.tolist()) == one_of_each(-7 * codes).tolist()


def test_every_member_is_chosen_equally_often() -> None:
    """In 4,000 groups of four each position is chosen a quarter of the times, within four standard errors."""
    chosen = one_of_each(np.repeat(np.arange(4000), 4))
    counts = np.bincount(chosen % 4, minlength=4)
    assert np.all(np.abs(counts - 1000) < 4 * (4000 * 0.25 * 0.75) ** 0.5)


def test_who_passed_without_a_propensity_is_judged_beside_a_small_control_group(
    prepared: Prepared, history: RecordTable, identity: Configuration
) -> None:
    """What was decided says that they were observed; where nothing says it, only a propensity does."""
    validation = prepared.split.validation
    propensities = np.ones(len(history))
    propensities[validation[: len(validation) // 2]] = np.nan  # from before the control group
    propensities[validation[-2:]] = 0.5
    told = replace(history, propensities=propensities, observed_until=np.full(len(history), NEVER))
    assert np.array_equal(prepare(told, identity).split.validation, validation)
    untold = prepare(replace(told, observed_until=None), identity).split
    assert np.array_equal(untold.validation, validation[len(validation) // 2 :])
