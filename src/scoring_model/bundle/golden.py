"""Golden rows: decisions recorded when a bundle was made, which every load must reproduce bit for bit.

Decision record: docs/adr/0018-bundles.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.bundle.codec import npz_bytes, read_npz
from scoring_model.bundle.errors import ContentInvalid, GoldenMismatch
from scoring_model.decision.rules import Decisions

OUTPUTS: Final[Mapping[str, type[np.generic]]] = {
    "margins": np.float64,
    "scores": np.int64,
    "probabilities": np.float64,
    "outcomes": np.int8,
}
MOST_NAMED_ROWS: Final = 10


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Golden:
    """Invented rows with their decisions.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float64
        From `invent_rows`, never of real persons, since a feature row identifies its person.
    decisions : Decisions
        Of length n.

    Raises
    ------
    ValueError
        If shapes or types do not agree; lists all problems.
    """

    rows: FloatArray
    decisions: Decisions

    def __post_init__(self) -> None:
        if problems := _misfits(self):
            raise ValueError("; ".join(problems))

    def to_bytes(self) -> bytes:
        """Return everything as one file of arrays, without pickle; equal values give equal bytes."""
        outputs = {name: getattr(self.decisions, name) for name in OUTPUTS}
        return npz_bytes({**outputs, "rows": self.rows})

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read the result of `to_bytes`.

        Raises
        ------
        ContentInvalid
            If the bytes are anything else.
        """
        arrays = read_npz(data)
        if arrays.keys() != {*OUTPUTS, "rows"}:
            raise ContentInvalid("the golden rows do not hold the arrays that they should")
        decisions = Decisions(**{name: arrays[name] for name in OUTPUTS})
        try:
            return cls(rows=arrays["rows"], decisions=decisions)
        except ValueError as error:
            raise ContentInvalid(f"golden rows: {error}") from None

    def check(self, decide: Callable[[FloatArray], Decisions]) -> None:
        """Compare new decisions on the golden rows bit for bit, including NaN and -0.0.

        Raises
        ------
        GoldenMismatch
            Naming each output that differs, and the rows where it does.
        """
        actual = decide(self.rows)
        differences = [
            _difference(name, getattr(self.decisions, name), getattr(actual, name)) for name in OUTPUTS
        ]
        if found := [difference for difference in differences if difference is not None]:
            raise GoldenMismatch(found)


def choose_rows(rows: FloatArray, margins: FloatArray, *, count: int) -> IntArray:
    """Choose, among invented rows, some that spread over all margins and some with missing values.

    A third goes to rows with a missing value, if there are so many, the others to equally spaced ranks of the
    margin, the least and the greatest among them.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float64
    margins : ndarray of shape (n,), float64
        Of these rows.
    count : int, at least 1
        How many to choose; all n when there are no more.

    Returns
    -------
    ndarray of shape (min(count, n),), int64, ascending, distinct
    """
    if count >= len(rows):
        return np.arange(len(rows), dtype=np.int64)
    by_margin = np.argsort(margins, kind="stable")
    missing = by_margin[np.isnan(rows[by_margin]).any(axis=1)]
    gaps = _spread(missing, min(count // 3, len(missing)))
    others = by_margin[~np.isin(by_margin, gaps)]
    return np.sort(np.concatenate([gaps, _spread(others, count - len(gaps))]))


def _spread(ordered: IntArray, count: int) -> IntArray:
    """Return `count` distinct entries at equally spaced places, first and last included."""
    places = np.linspace(0, len(ordered) - 1, count).round().astype(np.int64)
    return ordered[places]


def _misfits(golden: Golden) -> list[str]:
    expected: dict[str, tuple[type[np.generic], tuple[int, ...]]] = {
        name: (kind, golden.rows.shape[:1]) for name, kind in OUTPUTS.items()
    }
    arrays = {name: getattr(golden.decisions, name) for name in OUTPUTS}
    problems = [
        f"{name}: expected {np.dtype(kind)} of shape {shape}, "
        f"got {arrays[name].dtype} of shape {arrays[name].shape}"
        for name, (kind, shape) in expected.items()
        if arrays[name].dtype != kind or arrays[name].shape != shape
    ]
    if golden.rows.ndim != 2 or golden.rows.dtype != np.float64:
        problems.append(
            f"rows: expected float64 of shape (n, d), got {golden.rows.dtype} of {golden.rows.shape}"
        )
    return problems


def _difference(name: str, expected: NDArray[Any], actual: NDArray[Any]) -> str | None:
    """Describe where two outputs differ; None where every bit is the same."""
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return (
            f"{name}: {actual.dtype} of shape {actual.shape}, expected {expected.dtype} of {expected.shape}"
        )
    wrong = np.flatnonzero(_unequal_rows(expected, actual))
    if not wrong.size:
        return None
    named = ", ".join(map(str, wrong[:MOST_NAMED_ROWS])) + (", ..." if wrong.size > MOST_NAMED_ROWS else "")
    return f"{name} in {wrong.size} of {len(expected)} rows ({named})"


def _unequal_rows(expected: NDArray[Any], actual: NDArray[Any]) -> BoolArray:
    unequal: BoolArray = np.not_equal(_bits(expected), _bits(actual))
    differing: BoolArray = np.any(unequal, axis=tuple(range(1, unequal.ndim)))
    return differing


def _bits(array: NDArray[Any]) -> NDArray[Any]:
    """Return floats as the integers of their bits, so that NaN equals itself and -0.0 is not 0.0."""
    return np.ascontiguousarray(array).view(np.int64) if array.dtype.kind == "f" else array
