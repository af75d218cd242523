"""How the categories of one field are shared out within those of another, fitted on a burn-in."""

import math
from collections.abc import Iterable, Mapping

from scoring_model.features.catalogue import MISSING
from scoring_model.features.rounding import settled

MIN_PERSONS = 5
"""A pair of fewer persons is dropped: what remains names nobody."""

_SMOOTHING = 0.5


class ShareTable:
    """Persons by category, within each of some circumstances.

    Parameters
    ----------
    counts : mapping of str to mapping of str to int
        Circumstance (such as a country) to category (such as a type of document) to persons.
    """

    def __init__(self, counts: Mapping[str, Mapping[str, int]]) -> None:
        self.counts = {within: dict(categories) for within, categories in counts.items()}
        known = {category for categories in self.counts.values() for category in categories}
        self._unseen = {
            within: _bits(0, sum(categories.values()), len(known))
            for within, categories in self.counts.items()
        }
        self._bits = {
            (within, category): _bits(persons, sum(categories.values()), len(known))
            for within, categories in self.counts.items()
            for category, persons in categories.items()
        }

    @classmethod
    def fit(cls, persons_by_pair: Iterable[tuple[str, str, int]]) -> "ShareTable":
        """Count the pairs that enough persons have.

        Parameters
        ----------
        persons_by_pair : iterable of (str, str, int)
            Distinct pairs of circumstance and category, each with its number of persons.
        """
        counts: dict[str, dict[str, int]] = {}
        for within, category, persons in sorted(persons_by_pair):
            if persons >= MIN_PERSONS:
                counts.setdefault(within, {})[category] = persons
        return cls(counts)

    def rarity(self, within: str, category: str) -> float:
        """Information of a category, given the circumstance.

        Returns
        -------
        float
            Bits, at least 0, a multiple of 2**-20; NaN where nothing is known of the circumstance.
        """
        found = self._bits.get((within, category))
        return self._unseen.get(within, MISSING) if found is None else found


def _bits(persons: int, of: int, categories: int) -> float:
    return settled(-math.log2((persons + _SMOOTHING) / (of + _SMOOTHING * (categories + 1))))
