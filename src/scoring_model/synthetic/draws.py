"""Random draws that are pure functions of (seed, purpose, key), so that no invented person needs to be stored.

A draw is the SplitMix64 finaliser over the key and the stream of its purpose: the same person has the same
birthday in every slice, at any position of the history, without a table of persons.
"""

import hashlib
import math
from collections.abc import Sequence
from functools import cache
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, FloatArray, IntArray

KeyArray: TypeAlias = NDArray[np.uint64]

_GRID = np.linspace(0.0, 1.0, 4097)


def mixed(values: KeyArray) -> KeyArray:
    """Scramble 64-bit keys one to one (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195)."""
    scrambled = values + np.uint64(0x9E3779B97F4A7C15)
    scrambled = (scrambled ^ (scrambled >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    scrambled = (scrambled ^ (scrambled >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return scrambled ^ (scrambled >> np.uint64(31))


class Draws:
    """The random streams of one history.

    Parameters
    ----------
    seed : int
        Any integer. Two seeds share no stream.

    Examples
    --------
    >>> import numpy as np
    >>> people = np.arange(3, dtype=np.uint64)
    >>> draws = Draws(7)
    >>> bool((draws.uniform("age", people)[1:] == draws.uniform("age", people[1:])).all())
    True
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._streams: dict[str, np.uint64] = {}

    def bits(self, purpose: str, *keys: KeyArray) -> KeyArray:
        """Draw 64 bits for each tuple of keys.

        Parameters
        ----------
        purpose : str
            What is drawn. Different purposes are independent.
        *keys : ndarray of shape (n,), uint64
            One or more keys, whose order matters.
        """
        state = mixed(keys[0] ^ self._stream(purpose))
        for key in keys[1:]:
            state = mixed(state ^ mixed(key))
        return state

    def uniform(self, purpose: str, *keys: KeyArray) -> FloatArray:
        """Draw from [0, 1), in steps of 2**-53; parameters as in `bits`."""
        return (self.bits(purpose, *keys) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def chance(self, purpose: str, probability: float | FloatArray, *keys: KeyArray) -> BoolArray:
        """Draw booleans, with one probability in [0, 1] for all or for each."""
        return self.uniform(purpose, *keys) < probability

    def below(self, purpose: str, bound: int | IntArray, *keys: KeyArray) -> IntArray:
        """Draw integers from 0 to `bound` - 1."""
        return (self.uniform(purpose, *keys) * bound).astype(np.int64)

    def choice(self, purpose: str, weights: Sequence[float], *keys: KeyArray) -> IntArray:
        """Draw positions in `weights` (shape (k,), at least 0, any sum) in proportion to them."""
        bounds = np.cumsum(np.asarray(weights, dtype=np.float64))
        places: IntArray = np.searchsorted(
            bounds[:-1], self.uniform(purpose, *keys) * bounds[-1], side="right"
        )
        return places

    def lognormal(self, purpose: str, median: float, sigma: float, *keys: KeyArray) -> FloatArray:
        """Draw from a log-normal, cut at its quantiles of 0.00001 and 0.99999, by a table of quantiles.

        A table makes the values the same on every processor, where vectorised logarithms are not.
        """
        table = _lognormal_quantiles(sigma)
        return median * np.interp(self.uniform(purpose, *keys), _GRID, table)

    def quantile(self, purpose: str, points: Sequence[float], *keys: KeyArray) -> FloatArray:
        """Draw from the distribution with evenly spaced quantiles `points` (shape (k,)), linear between."""
        return np.interp(self.uniform(purpose, *keys), np.linspace(0.0, 1.0, len(points)), points)

    def _stream(self, purpose: str) -> np.uint64:
        if purpose not in self._streams:
            digest = hashlib.blake2b(f"{self.seed}/{purpose}".encode(), digest_size=8).digest()
            self._streams[purpose] = np.uint64(int.from_bytes(digest, "little"))
        return self._streams[purpose]


@cache
def _lognormal_quantiles(sigma: float) -> FloatArray:
    normal = NormalDist()
    chances = np.clip(_GRID, 1e-5, 1.0 - 1e-5)
    return np.array([math.exp(sigma * normal.inv_cdf(float(chance))) for chance in chances])
