"""Features that can teach a model nothing: constant, always missing, or a copy of another one."""

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.decision.factors import Factor, Factors, Rule


def find_useless(rows: FloatArray, train: IntArray, names: Sequence[str], factors: Factors) -> dict[str, str]:
    """Find columns that can teach nothing, but for those by which a reason is stated.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float64
    train : ndarray of shape (m,), int64
        The rows that train.
    names : sequence of str
        Of the d columns.
    factors : Factors
        What may be said of a decision. A factor with a column that is not useless keeps those of its facts.

    Returns
    -------
    dict of str to str
        By name, why it is useless. Of columns with the same bits the first one is not.
    """
    useless = dict(_without_content(rows, train, names))
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
    """Columns that show that a value was given, and the last of a count: the longest window sees all."""
    for factor in factors:
        if not useless.keys() >= set(factor.features):
            for statement in factor.statements:
                for fact in statement.facts:
                    yield from fact.columns if fact.rule is Rule.PRESENT else fact.columns[-1:]
