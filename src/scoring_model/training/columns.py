"""Categorical splits as comparisons of rank columns that are looked up by code.

A categorical split sends a set of codes left. With a column that ranks the codes it becomes "the rank is at most t",
provided that all codes of one side rank below those of the other. Only codes that reach the split matter: those that
earlier splits on the same feature sent this way. So splits of one tree can often share a column. Columns are
expensive, since each writes 8 bytes per row; sharing them made a model of mostly categorical splits 13 % faster.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.decision.forest import Forest
from scoring_model.training.model_text import UnsupportedModelError

CELL_LIMIT: Final = 2**28
"""Maximum number of ranks in the tables of one model: 2 GiB once loaded."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CategoryTable:
    """The columns of one categorical feature and the splits that read them.

    Parameters
    ----------
    splits : ndarray of shape (splits,), int64
        The splits on the feature.
    columns : ndarray of shape (splits,), int64
        The column of this table that each of them reads.
    thresholds : ndarray of shape (splits,), float64
        The comparison is true for ranks of at most this.
    swapped : ndarray of shape (splits,), bool
        Whether true leads right instead of left.
    ranks : ndarray of shape (codes + 1, columns), unsigned integers
        The columns. The last row is for NaN and codes in no set.
    """

    feature: int
    splits: IntArray
    columns: IntArray
    thresholds: FloatArray
    swapped: BoolArray
    ranks: NDArray[np.unsignedinteger]


def category_tables(forest: Forest) -> list[CategoryTable]:
    """Build the tables of all categorical features, in the order of features.

    Raises
    ------
    UnsupportedModelError
        If the codes are so high that the tables could exceed `CELL_LIMIT` ranks.
    """
    widths = _widths(forest)
    cells = sum(widths.get(feature, 0) for feature in forest.feature.tolist())
    if cells > CELL_LIMIT:
        raise UnsupportedModelError(
            f"the codes of categories are too high (up to {max(widths.values()) - 2}), "
            "they must be numbered from 0 without gaps"
        )
    every = {feature: (1 << width) - 1 for feature, width in widths.items()}
    columns: dict[int, list[_Column]] = {feature: [] for feature in sorted(widths)}
    for root in forest.roots().tolist():
        open_columns: dict[int, list[_Column]] = {}
        for division in _divisions(forest, root, every):
            _place(division, open_columns.setdefault(division.feature, []), every[division.feature])
        for feature, ranked in open_columns.items():
            columns[feature] += ranked
    return [_table(feature, ranked, widths[feature]) for feature, ranked in columns.items()]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Division:
    """How a split divides the codes that reach it; a set of codes is an integer with a bit for each."""

    feature: int
    split: int
    left: int
    right: int


@dataclass(slots=True)
class _Column:
    """A ranking of codes, as sets of equal rank, and the divisions that it supports."""

    cells: list[int]
    divisions: list[tuple[_Division, bool]] = field(default_factory=list)

    def take(self, division: _Division) -> bool:
        """Add a division if the ranking allows it, separating codes of equal rank where needed."""
        for low, high in ((division.left, division.right), (division.right, division.left)):
            top = self.top(low)
            if not any(cell & high for cell in self.cells[: max(top, 0)]):
                if top >= 0 and self.cells[top] & high:
                    self.cells[top : top + 1] = [self.cells[top] & ~high, self.cells[top] & high]
                self.divisions.append((division, low == division.left))
                return True
        return False

    def top(self, codes: int) -> int:
        """Return the highest rank among some codes, -1 if there are none."""
        for rank in range(len(self.cells) - 1, -1, -1):
            if self.cells[rank] & codes:
                return rank
        return -1

    def answer(self, division: _Division, left_low: bool) -> tuple[float, bool]:
        """Return the threshold between the sides, and whether the codes up to it go right."""
        return self.top(division.left if left_low else division.right) + 0.5, not left_low

    def ranks(self, width: int) -> NDArray[np.int64]:
        """Return the rank of each code."""
        bits = [np.frombuffer(cell.to_bytes(width // 8 + 1, "little"), np.uint8) for cell in self.cells]
        members = np.unpackbits(np.stack(bits), axis=1, count=width, bitorder="little")
        ranks: NDArray[np.int64] = np.argmax(members, axis=0)
        return ranks


def _widths(forest: Forest) -> dict[int, int]:
    """Return for each categorical feature the number of codes that its splits distinguish; all others count as one."""
    widths: dict[int, int] = {}
    for split in np.flatnonzero(forest.category_set >= 0).tolist():
        feature, codes = int(forest.feature[split]), forest.codes(forest.category_set[split])
        highest = int(codes[-1]) if len(codes) else -1
        widths[feature] = max(widths.get(feature, 0), highest + 2)
    return widths


def _divisions(forest: Forest, root: int, every: dict[int, int]) -> Iterator[_Division]:
    """Traverse a tree from its root and yield its categorical splits, parents first."""
    waiting: list[tuple[int, dict[int, int]]] = [(root, every)]
    while waiting:
        split, reaching = waiting.pop()
        if split < 0:
            continue
        left = right = reaching
        if forest.category_set[split] >= 0:
            feature = int(forest.feature[split])
            members = sum(1 << code for code in forest.codes(forest.category_set[split]).tolist())
            here = reaching[feature]
            left, right = {**reaching, feature: here & members}, {**reaching, feature: here & ~members}
            yield _Division(feature=feature, split=split, left=left[feature], right=right[feature])
        waiting += [(int(forest.right[split]), right), (int(forest.left[split]), left)]


def _place(division: _Division, columns: list[_Column], every: int) -> None:
    """Assign a division to the first column that supports it, else to a new one."""
    if not any(column.take(division) for column in columns):
        columns.append(_Column([every]))
        columns[-1].take(division)


def _table(feature: int, columns: list[_Column], width: int) -> CategoryTable:
    rows = [
        (division.split, place, *column.answer(division, left_low))
        for place, column in enumerate(columns)
        for division, left_low in column.divisions
    ]
    splits, places, thresholds, swapped = zip(*rows, strict=True)
    ranks = np.stack([column.ranks(width) for column in columns], axis=1)
    return CategoryTable(
        feature=feature,
        splits=np.array(splits, np.int64),
        columns=np.array(places, np.int64),
        thresholds=np.array(thresholds, np.float64),
        swapped=np.array(swapped, np.bool_),
        ranks=np.ascontiguousarray(ranks, np.min_scalar_type(ranks.max())),
    )
