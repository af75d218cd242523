"""Useless features: constant, always missing, or a duplicate of another one."""

import hashlib
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.decision.factors import Factor, Factors, Rule


def find_useless(
    rows: FloatArray, train: IntArray, names: Sequence[str], factors: Factors, keep: Collection[str] = ()
) -> dict[str, str]:
    """Find useless columns, except those that reasons need and those to keep.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float64
    train : ndarray of shape (m,), int64
        The training rows.
    names : sequence of str
        Names of the d columns.
    factors : Factors
        A factor with at least one useful column keeps the columns of its facts.
    keep : collection of str
        Names of columns that stay whatever they hold.

    Returns
    -------
    dict of str to str
        Reason by name. The first of several equal columns is not useless.
    """
    useless = {name: why for name, why in _without_content(rows, train, names) if name not in keep}
    while needed := useless.keys() & set(_needed(factors.factors, useless)):
        for name in needed:
            del useless[name]
    return useless


def _without_content(rows: FloatArray, train: IntArray, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    first: dict[bytes, str] = {}
    for place, name in enumerate(names):
        column = rows[train, place]
        bits = hashlib.sha256(column.tobytes()).digest()
        missing = np.isnan(column)
        if missing.all():
            yield name, "always missing"
        elif not missing.any() and (column == column[0]).all():
            yield name, "constant"
        elif bits in first:
            yield name, f"a copy of {first[bits]}"
        else:
            first[bits] = name


def _needed(factors: Sequence[Factor], useless: dict[str, str]) -> Iterator[str]:
    """Return the columns that show whether a value was given, and the last of each count (the longest window)."""
    for factor in factors:
        if not useless.keys() >= set(factor.features):
            for statement in factor.statements:
                for fact in statement.facts:
                    yield from fact.columns if fact.rule is Rule.PRESENT else fact.columns[-1:]
