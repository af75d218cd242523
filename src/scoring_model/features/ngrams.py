"""A table of character n-grams of names, fitted on a burn-in and carried in the bundle."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from scoring_model.features.rounding import settled

MIN_PERSONS = 5
"""An n-gram of fewer persons is dropped: what remains names nobody."""

_SMOOTHING = 0.1
_START, _END = "\x02", "\x03"


class NgramTable:
    """How often three characters follow each other in names.

    Parameters
    ----------
    counts : mapping of str to int
        Persons by trigram; a name begins with two start marks and ends with one end mark.
    """

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.counts = dict(counts)
        contexts: Counter[str] = Counter()
        for trigram, count in self.counts.items():
            contexts[trigram[:2]] += count
        alphabet = len({trigram[2] for trigram in self.counts}) + 1
        self._unseen = _SMOOTHING * alphabet
        self._bits = {
            trigram: -math.log2((count + _SMOOTHING) / (contexts[trigram[:2]] + self._unseen))
            for trigram, count in self.counts.items()
        }
        self._bits_unseen = {
            context: -math.log2(_SMOOTHING / (count + self._unseen)) for context, count in contexts.items()
        }
        self._bits_nowhere = math.log2(alphabet)

    @classmethod
    def fit(cls, names: Iterable[tuple[str, int]]) -> "NgramTable":
        """Count the trigrams of names.

        Parameters
        ----------
        names : iterable of (str, int)
            Distinct names, each with the number of persons who bear it.
        """
        counts: Counter[str] = Counter()
        for name, persons in names:
            for trigram in set(_trigrams(name)):
                counts[trigram] += persons
        return cls({t: counts[t] for t in sorted(counts) if counts[t] >= MIN_PERSONS})

    def improbability(self, name: str) -> float:
        """Mean information of the name's characters given the two before each.

        Returns
        -------
        float
            Bits per character, at least 0; a multiple of 2**-20.
        """
        trigrams = _trigrams(name)
        return settled(math.fsum(map(self._information, trigrams)) / len(trigrams))

    def _information(self, trigram: str) -> float:
        bits = self._bits.get(trigram)
        return self._bits_unseen.get(trigram[:2], self._bits_nowhere) if bits is None else bits


def _trigrams(name: str) -> list[str]:
    marked = _START * 2 + name.casefold() + _END
    return [marked[i : i + 3] for i in range(len(marked) - 2)]
