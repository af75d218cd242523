"""The score: how many of a table of 1,000 cuts are at most the margin.

Decision record: docs/adr/0011-score-scale.md.
"""

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.contract.violation import Violation
from scoring_model.decision.document import Check, check_document, fields, integer, is_number, must_be

MAX_SCORE = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreScale:
    """A map from margins to scores that keeps its meaning when the model changes.

    Of genuine applicants, a share of 10^(-s/250) scores s or more. The map is non-decreasing, and
    it compares and nothing else, so that no rounding can move a score.

    Parameters
    ----------
    cuts : ndarray of shape (1000,), float64
        Finite and non-decreasing; ``cuts[s - 1]`` is the least margin whose score is s.
        Kept as a read-only copy.
    extrapolated_from : int
        First score, 1 to 1001, that rests on an extrapolated tail, since fewer than ten genuine
        records of the sample may reach it; 1001 when there is none.

    Raises
    ------
    DocumentError
        If the cuts are not 1,000 finite non-decreasing numbers, or `extrapolated_from` is out of range.
    """

    cuts: FloatArray = field(compare=False, repr=False)
    extrapolated_from: int
    # The cuts as Python floats: for one margin, bisection takes a tenth of searchsorted's time.
    _steps: tuple[float, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        cuts = np.array(self.cuts, dtype=np.float64)
        plain = {"cuts": cuts.tolist(), "extrapolated_from": self.extrapolated_from}
        check_document("score scale", plain, _document)
        cuts.flags.writeable = False
        object.__setattr__(self, "cuts", cuts)
        object.__setattr__(self, "_steps", tuple(cuts.tolist()))

    def score(self, margin: float) -> int:
        """Score of one margin.

        Parameters
        ----------
        margin : float
            Log-odds; an infinite one gets the score of its end of the scale.

        Returns
        -------
        int
            0 to 1000, the number of cuts that are at most the margin.

        Raises
        ------
        ValueError
            If the margin is NaN.
        """
        if math.isnan(margin):
            raise ValueError("margin: must be a number, got NaN")
        return bisect_right(self._steps, margin)

    def scores(self, margins: FloatArray) -> IntArray:
        """Scores of many margins, each what `score` gives it.

        Parameters
        ----------
        margins : ndarray of shape (n,), float64

        Returns
        -------
        ndarray of shape (n,), int64, 0 to 1000
        """
        check_margins(margins)
        return np.searchsorted(self.cuts, margins, side="right").astype(np.int64, copy=False)

    def to_json(self) -> dict[str, Any]:
        """Give the scale as a JSON document; every float is written so that it reads back exactly."""
        return {"cuts": list(self._steps), "extrapolated_from": self.extrapolated_from}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "ScoreScale":
        """Read the result of `to_json`."""
        check_document("score scale", document, _document)
        return cls(
            cuts=np.array(document["cuts"], dtype=np.float64), extrapolated_from=document["extrapolated_from"]
        )


def check_margins(margins: FloatArray) -> None:
    """Raise ValueError if any margin is NaN."""
    missing = int(np.count_nonzero(np.isnan(margins)))
    if missing:
        raise ValueError(f"margins: must be numbers, got NaN in {missing} of {len(margins)}")


def nominal_share(score: int) -> float:
    """Share of genuine applicants that a score promises to reach at most: 10^(-score/250)."""
    return 1.0 / math.pow(10.0, score / 250)


def _cuts(value: object) -> Iterator[Violation]:
    violations = list(_numbers(value))
    yield from violations
    if not violations and isinstance(value, list) and any(high < low for low, high in pairwise(value)):
        yield Violation("", "descending", "must not decrease")


_numbers: Final[Check] = must_be(
    f"{MAX_SCORE} finite numbers",
    lambda value: isinstance(value, list) and len(value) == MAX_SCORE and all(map(is_number, value)),
)
_document: Final = fields({"cuts": _cuts, "extrapolated_from": integer(1, MAX_SCORE + 1)})
