"""Which frauds are not independent, so that intervals count them once."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from scipy.special import bdtrc

from scoring_model.arrays import BoolArray, Int8Array, IntArray
from scoring_model.history.keys import PERSON, LinkKey, key_codes
from scoring_model.history.rings import LEAST_SHARED, few_records, find_rings
from scoring_model.records import RecordTable
from scoring_model.records.labels import FRAUD

_IN_A_ROW: Final = 5
_UNLIKE: Final = 2.0
_BY_CHANCE: Final = 0.01


def rings_of_frauds(
    table: RecordTable, persons: IntArray, keys: Sequence[LinkKey], rows: IntArray, targets: Int8Array
) -> IntArray:
    """Find which frauds of a part of a table are not independent.

    Of a value that many records share, such as a carrier's network or a merchant, only frauds that follow each other
    closely are joined: by chance it holds frauds of many rings, which would all become one. What more than 1 % of the
    records share, such as a placeholder, joins nothing.

    Parameters
    ----------
    rows : ndarray of shape (r,), int64
        The part.
    targets : ndarray of shape (r,), int8
        1 for its frauds.

    Returns
    -------
    ndarray of shape (r,), int64
        Equal for frauds of one ring; -1 for the others.
    """
    is_fraud = targets == FRAUD
    frauds = np.flatnonzero(is_fraud)
    most = few_records(len(table))
    joined = [np.where(np.bincount(persons)[persons] <= most, persons, -1)[rows[frauds]]]
    for codes in (key_codes(table, key) for key in keys if key.name != PERSON):
        holders = np.bincount(codes[codes >= 0])
        joined.append(_runs(codes[rows], holders, table.event_times[rows], is_fraud, most))
    rings = np.full(len(rows), -1, dtype=np.int64)
    rings[frauds] = find_rings(joined, np.arange(len(frauds)), most_shared=len(frauds))
    return rings


def _runs(part: IntArray, holders: IntArray, times: IntArray, is_fraud: BoolArray, most: int) -> IntArray:
    """Split the frauds of each value of a key where they do not follow each other closely.

    Up to five frauds in a row follow closely if so few records of the value lie from the first to the last that twice
    the usual share of frauds explains them with a probability of 1 %. Twice, since values differ.

    Parameters
    ----------
    part, times : ndarray of shape (r,), int64
        Codes and instants of the records; negative without a value.
    holders : ndarray of int64
        Number of records of the table by code.
    most : int
        Records that may share a value that joins frauds.

    Returns
    -------
    ndarray of int64
        For each fraud, equal for those that are joined; -1 without a value.
    """
    order = np.lexsort((times, part))
    order = order[part[order] >= 0]
    places = np.flatnonzero(is_fraud[order])
    values = part[order[places]]
    usual = min(_UNLIKE * float(np.mean(is_fraud)), 1.0)
    follows = (values[1:] == values[:-1]) & (holders[values[1:]] <= LEAST_SHARED)
    for more in range(1, min(_IN_A_ROW, len(places))):
        chance = bdtrc(more - 1, places[more:] - places[:-more], usual)  # P(X >= more)
        is_close = (values[more:] == values[:-more]) & (chance <= _BY_CHANCE)
        for at in range(more):
            follows[at : at + len(is_close)] |= is_close
    follows &= holders[values[1:]] <= most
    runs = np.full(len(part), -1, dtype=np.int64)
    runs[order[places]] = np.cumsum(np.append(True, ~follows))[: len(places)]
    return runs[is_fraud]
