"""Windows that never hold a known fraud: named, and their features are constant."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scoring_model.configuration import Configuration, load_configuration
from scoring_model.features import FeatureMatrix, FeatureSettings, fit_state
from scoring_model.features.blind_windows import BlindWindows, check_windows, find_blind_windows
from scoring_model.findings import State
from scoring_model.records import NEVER, RecordTable, parse_duration

CONFIGS = Path(__file__).parents[2] / "configs"
DAY = 86_400_000_000


@pytest.fixture(scope="module")
def table(history: RecordTable) -> RecordTable:
    """Some months of records, each fraud known after three days and a bit, or later."""
    return history.take(np.flatnonzero(history.event_times < history.event_times.min() + 150 * DAY))


def found(table: RecordTable, settings: FeatureSettings, delay: int | None = None) -> BlindWindows:
    """The blind windows, of which there are some."""
    blind = find_blind_windows(table, settings, configured_delay=delay)
    assert blind is not None
    return blind


def with_windows(configuration: Configuration, *windows: int) -> FeatureSettings:
    """The features of a use over other windows."""
    links = replace(configuration.links, windows=windows)
    return replace(configuration.feature_settings, links=links)


def test_blind_features_are_constant_and_others_are_not(table: RecordTable, identity: Configuration) -> None:
    """Over a window as long as the shortest delay no record sees a fraud; a microsecond more, and one may."""
    frauds = np.flatnonzero(table.labels == 1)
    shortest = int((table.label_times[frauds] - table.event_times[frauds]).min()) // 1_000_000 * 1_000_000
    times = table.label_times.copy()
    times[frauds] = table.event_times[frauds] + shortest
    table = replace(table, label_times=times)
    settings = with_windows(identity, parse_duration("1d"), shortest, 60 * DAY)
    blind = found(table, settings)
    assert (blind.delay, blind.windows) == (shortest, (DAY, shortest))
    assert len(blind.features) == 2 * 2 * len(settings.links.keys)
    matrix = FeatureMatrix(settings, fit_state(table, settings))
    columns = dict(zip(matrix.names, matrix.rows(table).T, strict=True))
    assert all(np.nansum(columns[name]) == 0 for name in blind.features)
    assert np.nansum(columns["link_device_60d_frauds"]) > 0
    for move, windows in ((0, 2), (-1, 1)):
        moved = replace(table, label_times=np.where(times == NEVER, NEVER, times + move))
        assert len(found(moved, settings).windows) == windows


def test_excluded_features_are_not_named(table: RecordTable, identity: Configuration) -> None:
    """What is left out is no constant feature, and with nothing left there is nothing to warn of."""
    settings = with_windows(identity, DAY, 60 * DAY)
    named = found(table, settings).features
    fewer = replace(settings, exclude=named[1:])
    assert found(table, fewer).features == named[:1]
    assert find_blind_windows(table, replace(settings, exclude=named), configured_delay=None) is None


def test_the_delay_is_that_of_the_records_or_else_the_configured_one(
    table: RecordTable, identity: Configuration
) -> None:
    """The text says which of the two it was; with neither nothing is said."""
    settings = with_windows(identity, DAY, 60 * DAY)
    frauds = int((table.labels == 1).sum())
    blind = found(table, settings, delay=30 * DAY)
    assert 3 * DAY < blind.delay < 10 * DAY
    assert blind.source == f"the earliest of {frauds:,} frauds in these records"
    genuine = table.take(np.flatnonzero(table.labels != 1))
    blind = found(genuine, settings, delay=30 * DAY)
    assert (blind.delay, blind.source) == (30 * DAY, "records.labels.delay")
    assert find_blind_windows(genuine, settings, configured_delay=None) is None


def test_windows_longer_than_the_delay_are_not_blind(table: RecordTable, identity: Configuration) -> None:
    """There is no warning if every window is longer."""
    settings = with_windows(identity, 100 * DAY, 200 * DAY)
    assert find_blind_windows(table, settings, configured_delay=DAY) is None


def test_delayed_windows_of_payments_are_not_blind(table: RecordTable) -> None:
    """What ends at the delay of the labels knows frauds; a window that ends earlier does not, and is named."""
    configuration = load_configuration(CONFIGS / "transactions.yaml")
    genuine = table.take(np.flatnonzero(table.labels != 1))
    settings, delay = configuration.feature_settings, configuration.records.labels.delay
    assert find_blind_windows(genuine, settings, configured_delay=delay) is None
    early = replace(settings, links=replace(settings.links, delay=DAY, counts=("records", "frauds")))
    blind = found(genuine, early, delay)
    assert blind.windows == (DAY // 24, DAY, 2 * DAY, 7 * DAY)
    text = str(blind)
    assert text.startswith(
        "a fraud is known 7 days after its event at the earliest (records.labels.delay), so "
    )
    assert "no longer than that (1h, 1d, 2d, 7d) never hold a known fraud. " in text
    assert {"link_card_1d_delayed_frauds", "link_card_1d_delayed_fraud_share"} <= {*blind.features}
    assert text.endswith(
        f"Always 0 or missing: {', '.join(blind.features[:6])} and {len(blind.features) - 6} more"
    )


def test_the_finding_counts_features_and_says_when_the_delay_is_unknown(
    table: RecordTable, identity: Configuration
) -> None:
    """Found with its features, clear with longer windows, not applicable without any delay."""
    settings = with_windows(identity, DAY, 60 * DAY)
    found = check_windows(table, settings, configured_delay=None)
    blind = find_blind_windows(table, settings, configured_delay=None)
    assert blind is not None
    assert (found.state, found.sentence, found.names) == (State.FOUND, str(blind), blind.features)
    assert (found.count, found.records) == (len(blind.features), len(table))
    longer = check_windows(table, with_windows(identity, 100 * DAY), configured_delay=DAY)
    assert (longer.code, longer.state) == ("SM006", State.CLEAR)
    genuine = table.take(np.flatnonzero(table.labels != 1))
    unknown = check_windows(genuine, settings, configured_delay=None)
    assert (unknown.state, "records.labels.delay" in unknown.sentence) == (State.NOT_APPLICABLE, True)
