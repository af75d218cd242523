"""Difference in ranking between two systems on the same records, with paired intervals.

An interval comes from a bootstrap (Efron and Tibshirani, 1993, doi 10.1201/9780429246593, chapter 13): persons are
drawn with replacement, each with all of their records, and every ranking is measured on the same draws, so that the
common difficulty of a draw cancels.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.evaluation.metrics import Ranking

MEASURES: Final = ("average precision", "recall at 1 % FPR", "recall at 5 % FPR")
FALSE_POSITIVE_RATES: Final = (0.01, 0.05)
DRAWS: Final = 2_000
CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference of the first minus the second.

    Parameters
    ----------
    value, low, high : float
        In [-1, 1]: the difference on the original records, and its 95 % interval.
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:+.3f} ({self.low:+.3f} to {self.high:+.3f})"


def measures_of(ranking: Ranking) -> list[float]:
    """Measure a ranking as in `MEASURES`; a measure that needs an absent class is 0."""
    recalls = [ranking.recall_at_fpr(limit) for limit in FALSE_POSITIVE_RATES]
    return [one or 0.0 for one in (ranking.average_precision(), *recalls)]


def draw_measures(
    rankings: Sequence[Ranking],
    persons: IntArray,
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> FloatArray:
    """Measure rankings on the original records and on the same draws of persons.

    Parameters
    ----------
    rankings : sequence of Ranking
        Of the same records.
    persons : ndarray of shape (n,), int64
        Person of each record.
    draws : int
    seed : int

    Returns
    -------
    ndarray of shape (1 + draws, rankings, 3)
        The original records come first.
    """
    drawn = (
        [measures_of(ranking.weighted(weights)) for ranking in rankings]
        for weights in _draws(persons, draws, seed)
    )
    return np.array([[measures_of(ranking) for ranking in rankings], *drawn])


def _draws(persons: IntArray, draws: int, seed: int) -> Iterator[IntArray]:
    random = np.random.default_rng(seed)
    distinct, whose = np.unique(persons, return_inverse=True)
    for _ in range(draws):
        drawn = random.integers(len(distinct), size=len(distinct))
        yield np.bincount(drawn, minlength=len(distinct))[whose]


def paired(first: FloatArray, second: FloatArray) -> list[Difference]:
    """Compare two rankings.

    Parameters
    ----------
    first, second : ndarray of shape (1 + draws, 3)
        Of the same draws, original records first.

    Returns
    -------
    list of Difference
        As in `MEASURES`.
    """
    differences = first - second
    low, high = np.quantile(differences[1:], [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    return [Difference(*map(float, three)) for three in zip(differences[0], low, high, strict=True)]


def pooled(first: FloatArray, second: FloatArray, *, seed: int = 0) -> list[Difference]:
    """Compare the means over the seeds of two systems.

    Each draw of persons also draws the seeds of each system, with replacement: the interval covers other records
    and other seeds. The seeds of two systems are unrelated, so they are drawn independently.

    Parameters
    ----------
    first, second : ndarray of shape (1 + draws, seeds, 3)
        Of the same draws of persons, original records first.
    seed : int

    Returns
    -------
    list of Difference
        As in `MEASURES`.
    """
    random = np.random.default_rng(seed)
    return paired(_of_drawn_seeds(first, random), _of_drawn_seeds(second, random))


def _of_drawn_seeds(measured: FloatArray, random: np.random.Generator) -> FloatArray:
    seeds = measured.shape[1]
    chosen = random.integers(seeds, size=(len(measured), seeds))
    chosen[0] = np.arange(seeds)  # the original records keep all seeds
    means: FloatArray = np.take_along_axis(measured, chosen[:, :, None], axis=1).mean(axis=1)
    return means
