"""A table of character n-grams of names or places, fitted on a burn-in and carried in the bundle."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from scoring_model.features.rounding import settled

MIN_PERSONS = 5
"""An n-gram of fewer persons is dropped: what remains names nobody."""

_SMOOTHING = 0.1
_START, _END = "\x02", "\x03"
_DIGITS: Final = str.maketrans("123456789", "000000000")


class NgramTable:
    """How often three characters follow each other.

    Parameters
    ----------
    counts : mapping of str to int
        Persons by trigram; a text begins with two start marks and ends with one end mark.
    """

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.counts = dict(counts)
        contexts: Counter[str] = Counter()
        for trigram, count in self.counts.items():
            contexts[trigram[:2]] += count
        alphabet = len({trigram[2] for trigram in self.counts}) + 1
        unseen = _SMOOTHING * alphabet
        known = {
            trigram: -math.log2((count + _SMOOTHING) / (contexts[trigram[:2]] + unseen))
            for trigram, count in self.counts.items()
        }
        in_context = {context: -math.log2(_SMOOTHING / (n + unseen)) for context, n in contexts.items()}
        self._bits = _Bits(known, in_context, math.log2(alphabet))

    @classmethod
    def fit(cls, texts: Iterable[tuple[str, int]]) -> "NgramTable":
        """Count the trigrams of texts.

        Parameters
        ----------
        texts : iterable of (str, int)
            Distinct texts, each with its number of persons.
        """
        counts: Counter[str] = Counter()
        for text, persons in texts:
            for trigram in set(_trigrams(text)):
                counts[trigram] += persons
        return cls({t: counts[t] for t in sorted(counts) if counts[t] >= MIN_PERSONS})

    def improbability(self, text: str) -> tuple[float, float]:
        """Information of the text's characters given the two before each, which digit is one: 7 is like 0.

        Returns
        -------
        mean : float
            Bits per character, at least 0; an exact sum by a count, and so the same everywhere.
        greatest : float
            Bits of the rarest trigram, at least 0; a multiple of 2**-20.
        """
        bits = list(map(self._bits.__getitem__, _trigrams(text)))
        return sum(bits) / len(bits), max(bits)


class _Bits(dict[str, float]):
    """Bits by trigram, those of unseen ones by their context; on a grid, so that sums are exact in any order."""

    def __init__(self, known: Mapping[str, float], in_context: Mapping[str, float], nowhere: float) -> None:
        super().__init__({trigram: settled(bits) for trigram, bits in known.items()})
        self._in_context = {context: settled(bits) for context, bits in in_context.items()}
        self._nowhere = settled(nowhere)

    def __missing__(self, trigram: str) -> float:
        return self._in_context.get(trigram[:2], self._nowhere)


def _trigrams(text: str) -> list[str]:
    folded = text.casefold()
    if not folded.isalpha():
        folded = folded.translate(_DIGITS)
    marked = f"{_START}{_START}{folded}{_END}"
    return [marked[i : i + 3] for i in range(len(marked) - 2)]
