"""Two systems on the same records: how far apart they rank them, with paired intervals.

An interval comes from a bootstrap (Efron and Tibshirani, 1993, doi 10.1201/9780429246593, chapter 13): persons are
drawn with replacement, each with all of their records, and every ranking is measured on the same draws, so that what
makes a draw easy for both cancels.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, IntArray

MEASURES: Final = ("average precision", "recall at 1 % FPR", "recall at 5 % FPR")
FALSE_POSITIVE_RATES: Final = (0.01, 0.05)
DRAWS: Final = 2_000
CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Difference:
    """How much better the first is than the second.

    Parameters
    ----------
    value, low, high : float
        In [-1, 1]: the difference on the records as they are, and its 95 % interval.
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:+.3f} ({self.low:+.3f} to {self.high:+.3f})"


class Ranking:
    """Records in the order of their scores, to be measured with any weights.

    Parameters
    ----------
    scores : ndarray of shape (n,), float64
        Higher is riskier; equal ones are never told apart.
    targets : ndarray of shape (n,), 1 fraud, 0 genuine
    """

    def __init__(self, scores: FloatArray, targets: NDArray[np.int8]) -> None:
        self._order = np.argsort(-scores, kind="stable")
        ordered = scores[self._order]
        self._ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
        self._fraud = targets[self._order] == 1

    def measures(self, weights: IntArray) -> FloatArray:
        """Measure with each record as often as its weight says.

        Parameters
        ----------
        weights : ndarray of shape (n,), int64
            At least 0, above 0 for records of both classes.

        Returns
        -------
        ndarray of shape (3,)
            As in `MEASURES`, each in [0, 1].
        """
        ordered = weights[self._order]
        caught = np.cumsum(ordered * self._fraud)[self._ends]
        alarmed = np.cumsum(ordered * ~self._fraud)[self._ends]
        seen = caught + alarmed
        begun = seen > 0  # a distinct score may have no weight at all
        gains = np.diff(caught[begun], prepend=0)
        precision = caught[begun] / seen[begun]
        rates = alarmed / alarmed[-1]
        within = (np.searchsorted(rates, limit, side="right") for limit in FALSE_POSITIVE_RATES)
        recalls = [caught[below - 1] / caught[-1] if below else 0.0 for below in within]
        return np.array([float(gains @ precision) / caught[-1], *recalls])


def draw_measures(
    rankings: Sequence[Ranking], persons: IntArray, *, draws: int = DRAWS, seed: int = 0
) -> FloatArray:
    """Measure rankings on the records as they are, and on the same draws of persons.

    Parameters
    ----------
    rankings : sequence of Ranking
        Of the same records.
    persons : ndarray of shape (n,), int64
        Whose record each is.
    draws : int
    seed : int

    Returns
    -------
    ndarray of shape (1 + draws, rankings, 3)
        The records as they are come first.
    """
    weights = [np.ones(len(persons), dtype=np.int64), *_draws(persons, draws, seed)]
    return np.array([[ranking.measures(weight) for ranking in rankings] for weight in weights])


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
        Of the same draws, the records as they are first.

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

    Each draw of persons also draws the seeds of each system, with replacement: the interval says what other records
    and other seeds would give. The seeds of two systems have nothing in common, so they are drawn apart.

    Parameters
    ----------
    first, second : ndarray of shape (1 + draws, seeds, 3)
        Of the same draws of persons, the records as they are first.
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
    chosen[0] = np.arange(seeds)  # the records as they are keep all seeds
    means: FloatArray = np.take_along_axis(measured, chosen[:, :, None], axis=1).mean(axis=1)
    return means
