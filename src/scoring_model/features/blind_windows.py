"""Detects windows too short to ever hold a known fraud because of the label delay."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.features.links import fraud_features
from scoring_model.features.settings import FeatureSettings
from scoring_model.findings import Code, Finding, checked, not_applicable
from scoring_model.records import NEVER, RecordTable, format_duration
from scoring_model.records.times import DAY

_NAMED: Final = 6
"""Features that a sentence names; the finding has all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BlindWindows:
    """Windows of links no longer than the shortest delay of a fraud label.

    Parameters
    ----------
    delay : int
        Minimum microseconds from an event to its known fraud label.
    source : str
        Origin of the delay.
    windows : tuple of int
        Their lengths in microseconds, ascending, at least one.
    features : tuple of str
        Names of their features of known frauds: always 0, or missing without an earlier record.
    """

    delay: int
    source: str
    windows: tuple[int, ...]
    features: tuple[str, ...]

    def __str__(self) -> str:
        more = len(self.features) - _NAMED
        listed = f"{', '.join(self.features[:_NAMED])}{f' and {more:,} more' if more > 0 else ''}"
        windows = ", ".join(map(format_duration, self.windows))
        return (
            f"a fraud is known {self.delay / DAY:.3g} days after its event at the earliest ({self.source}), so that "
            f"windows no longer than that ({windows}) never hold a known fraud. "
            f"Always 0 or missing: {listed}"
        )


def find_blind_windows(
    table: RecordTable, settings: FeatureSettings, *, configured_delay: int | None
) -> BlindWindows | None:
    """Find windows that never hold a known fraud.

    A window at t holds events in [t - length, t) and labels known before t. So a label with a delay never counts in
    windows no longer than the delay.

    Parameters
    ----------
    table : RecordTable
        Its frauds give the shortest delay.
    configured_delay : int or None
        Microseconds, from `LabelSchema`; used if the table has no frauds.

    Returns
    -------
    BlindWindows or None
        None if there are none, or if the delay is unknown.
    """
    frauds = _known_frauds(table)
    delay, source = configured_delay, "records.labels.delay"
    if len(frauds):
        delay = int((table.label_times[frauds] - table.event_times[frauds]).min())
        if delay != configured_delay:
            source = f"the earliest of {len(frauds):,} frauds in these records"
    if delay is None:
        return None
    found = fraud_features(settings, delay)
    if not found:
        return None
    names = tuple(name for names in found.values() for name in names)
    return BlindWindows(delay=delay, source=source, windows=tuple(found), features=names)


def check_windows(table: RecordTable, settings: FeatureSettings, *, configured_delay: int | None) -> Finding:
    """Find windows that never hold a known fraud; see `find_blind_windows`.

    Returns
    -------
    Finding
        Its count is that of the features.
    """
    frauds = len(_known_frauds(table))
    if not frauds and configured_delay is None:
        reason = "the records hold no labelled fraud, and records.labels.delay is not set"
        return not_applicable(Code.BLIND_WINDOWS, reason, records=len(table))
    blind = find_blind_windows(table, settings, configured_delay=configured_delay)
    if blind is None:
        sentence = "every window that counts known frauds is longer than the delay of labels"
        return checked(Code.BLIND_WINDOWS, sentence, records=len(table))
    return checked(
        Code.BLIND_WINDOWS,
        str(blind),
        records=len(table),
        names=blind.features,
        figures={"delay_days": blind.delay / DAY},
    )


def _known_frauds(table: RecordTable) -> IntArray:
    return np.flatnonzero((table.labels == 1) & (table.label_times != NEVER))
