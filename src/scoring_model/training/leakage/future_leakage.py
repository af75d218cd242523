"""Future leakage: without later records and labels, earlier rows must stay the same, bit for bit."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.configuration import LeakageSettings
from scoring_model.findings import Code, Finding, checked, not_applicable
from scoring_model.history import LinkKey, key_codes
from scoring_model.records import RecordTable
from scoring_model.training.preparation import Prepared, relearnt

_CUTS: Final = 4
"""Minimum number of instants; there is one for each link key."""
_NAMED: Final = 10


def check_future_leakage(prepared: Prepared, settings: LeakageSettings) -> Finding:
    """Recompute rows without the records and labels from an instant on.

    The rows are the earliest of the table, so that their history is complete. The instants are spread over them, each
    where a record closely follows another one of the same link key, to detect windows that look ahead even slightly.

    Returns
    -------
    Finding
        Found if any bit of the training rows differs from the recomputed rows.
    """
    table = prepared.table
    order = np.argsort(table.event_times, kind="stable")[: settings.max_records]
    cuts = sorted(set(_cuts(table.take(order), prepared.matrix.link_keys)))
    if not cuts:
        return not_applicable(Code.FUTURE, "all records happened at one instant", records=len(order))
    changed = np.zeros(len(prepared.matrix.names), dtype=np.int64)
    compared = 0
    for instant in cuts:
        earlier = order[table.event_times[order] < instant]
        known = table.take(earlier).labelled_before(instant)
        again = relearnt(prepared.matrix, known).rows(known)
        # As integers, so that NaN equals itself and -0.0 does not equal 0.0.
        changed += (again.view(np.int64) != prepared.rows[earlier].view(np.int64)).sum(axis=0)
        compared += len(earlier)
    worst = np.argsort(-changed, kind="stable")[: np.count_nonzero(changed)]
    names = tuple(prepared.matrix.names[place] for place in worst.tolist())
    changes = f"{', '.join(names[:_NAMED])} changed" if names else "nothing changed"
    return checked(
        Code.FUTURE,
        records=compared,
        names=names,
        sentence=f"without later records and labels, {changes} in {compared:,} rows before {len(cuts)} instants",
        figures={"instants": len(cuts), "values_changed": int(changed.sum())},
    )


def _cuts(table: RecordTable, keys: Sequence[LinkKey]) -> Iterator[int]:
    """Return instants at which to cut chronological records, spread over them."""
    times = table.event_times
    pieces = np.array_split(np.arange(len(table)), max(_CUTS, len(keys)))
    for number, piece in enumerate(places for places in pieces if len(places)):
        codes = key_codes(table, keys[number % len(keys)])[piece] if keys else np.full(len(piece), -1)
        instant = int(times[piece[_closest_follower(codes, times[piece])]])
        if instant > times[0]:
            yield instant


def _closest_follower(codes: IntArray, times: IntArray) -> int:
    """Return the index of the record that most closely follows another of its key; the last index if none does."""
    by_key = np.lexsort((times, codes))
    gaps = np.diff(times[by_key])
    follows = (np.diff(codes[by_key]) == 0) & (codes[by_key][1:] >= 0) & (gaps > 0)
    if not follows.any():
        return len(times) - 1
    candidates = np.flatnonzero(follows)
    return int(by_key[1 + candidates[np.argmin(gaps[candidates])]])
