"""No future: what happens at or after an instant changes nothing before it."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scoring_model.arrays import IntArray
from scoring_model.configuration import Configuration
from scoring_model.features import FeatureMatrix, fit_state
from scoring_model.records import NEVER, Column, RecordTable
from scoring_model.training.preparation import Prepared, prepare
from scoring_model.training.run import Training


def instants(table: RecordTable) -> list[int]:
    """Three instants at which something happens: a quarter, a half and nine tenths into the records."""
    order = np.sort(table.event_times)
    return [int(order[int(len(order) * share)]) for share in (0.25, 0.5, 0.9)]


@pytest.mark.parametrize("which", range(3))
def test_the_future_may_be_removed(prepared: Prepared, history: RecordTable, which: int) -> None:
    """Without the records from an instant on, and with no label reported from then on, earlier rows are the same."""
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
def test_the_future_may_be_exchanged(prepared: Prepared, history: RecordTable, which: int) -> None:
    """With other values in all later records, and other labels reported later, earlier rows are the same."""
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


def test_the_present_is_no_past(prepared: Prepared, history: RecordTable) -> None:
    """A record moved to the very instant of another is not seen by it; one microsecond earlier it is."""
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


def test_state_depends_on_the_burn_in_alone(
    prepared: Prepared, history: RecordTable, identity: Configuration
) -> None:
    """Other names, countries and categories after the burn-in fit the same state."""
    border = prepared.split.boundaries.train_from
    later = np.flatnonzero(history.event_times >= border)
    places = np.arange(len(history))
    places[later] = later[::-1]
    swapped = history.take(places).columns
    columns = {**history.columns, "firstName": swapped["lastName"]}
    columns |= {
        "address.country": swapped["address.country"],
        "signals.channel": swapped["signals.emailDomain"],
    }
    other = replace(history, columns=columns)
    burn_in = np.flatnonzero(history.event_times < border)
    own = replace(other, columns={n: _spliced(history, other, n, burn_in) for n in columns})
    again = prepare(own, identity)
    assert again.matrix.state.to_json() == prepared.matrix.state.to_json()
    assert again.rows[later].tobytes() != prepared.rows[later].tobytes()


def _spliced(table: RecordTable, other: RecordTable, name: str, kept: IntArray) -> Column:
    """A column of `other` with its cells in some rows taken from `table`."""
    joined = table.column(name).append(other.column(name))
    rows = np.arange(len(table)) + len(table)
    rows[kept] -= len(table)
    return joined.take(rows)


def test_the_state_is_fitted_on_the_burn_in(
    prepared: Prepared, history: RecordTable, identity: Configuration, training: Training
) -> None:
    """The state is that of the records before the first that trains, and it is what the bundle holds."""
    first = history.event_times[prepared.split.train].min()
    burn_in = history.take(np.flatnonzero(history.event_times < prepared.split.boundaries.train_from))
    assert burn_in.event_times.max() < first
    fitted = fit_state(burn_in, identity.feature_settings).to_json()
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
    """Citizenship, age and sex reach no feature: with these columns mixed, no row changes."""
    mixed = np.random.default_rng(0).permutation(len(history))
    columns = dict(history.columns)
    for name in ("citizenship", "signals.sex"):
        columns[name] = columns[name].take(mixed)
    matrix: FeatureMatrix = prepared.matrix
    assert matrix.rows(replace(history, columns=columns)).tobytes() == prepared.rows.tobytes()
