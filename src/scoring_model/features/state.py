"""Fitted state of features: tables and vocabularies that are stored in the bundle."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final
from zlib import crc32

from scoring_model.features.catalogue import MISSING
from scoring_model.features.label_statistics import KnownLabels
from scoring_model.features.local_time import Offsets

GRID = 2.0**20


def settled(value: float) -> float:
    """Round to a multiple of 2**-20.

    Logarithms differ in their last bits between libraries (``np.log`` and ``math.log`` on 0.35 % of values); rounding
    makes them equal everywhere.
    """
    return round(value * GRID) / GRID


MIN_PERSONS = 5
"""Minimum number of persons per entry, so that the tables of a bundle identify no one."""

MAX_LEVELS = 200


class Vocabulary:
    """Categories in the order of their codes, from 0; all others share one further code.

    Parameters
    ----------
    values : sequence of str
        At most `MAX_LEVELS`.
    """

    def __init__(self, values: Sequence[str]) -> None:
        self.values = tuple(values)
        self._codes = {value: float(code) for code, value in enumerate(self.values)}
        self._unseen = float(len(self.values))

    @classmethod
    def fit(cls, persons_by_value: Iterable[tuple[str, int]]) -> "Vocabulary":
        """Number the categories of enough persons, most frequent first.

        Of more than `MAX_LEVELS` those whose numbers of persons have the same power of two are chosen by a hash. Chosen
        by number alone, each would owe its place to the records that it is fitted on, and be rarer in later ones.

        Parameters
        ----------
        persons_by_value : iterable of (str, int)
            Distinct values, each with its number of persons.
        """
        common = [
            (-persons.bit_length(), crc32(value.encode()), -persons, value)
            for value, persons in persons_by_value
            if persons >= MIN_PERSONS
        ]
        return cls([value for *_, value in sorted(sorted(common)[:MAX_LEVELS], key=itemgetter(2, 3))])

    def code(self, value: str | None) -> float:
        """Return the code of a value: an integer, or NaN if missing."""
        return MISSING if value is None else self._codes.get(value, self._unseen)


_SHARE_SMOOTHING = 0.5


class ShareTable:
    """Number of persons by category, conditional on a circumstance.

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
        """Count the pairs of enough persons.

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
        """Return the information content of a category, given the circumstance.

        Returns
        -------
        float
            Bits, at least 0, a multiple of 2**-20; NaN for an unknown circumstance.
        """
        found = self._bits.get((within, category))
        return self._unseen.get(within, MISSING) if found is None else found


def _bits(persons: int, of: int, categories: int) -> float:
    return settled(-math.log2((persons + _SHARE_SMOOTHING) / (of + _SHARE_SMOOTHING * (categories + 1))))


_NGRAM_SMOOTHING = 0.1
_START, _END = "\x02", "\x03"
_DIGITS: Final = str.maketrans("123456789", "000000000")


class NgramTable:
    """Frequencies of character trigrams.

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
        unseen = _NGRAM_SMOOTHING * alphabet
        known = {
            trigram: -math.log2((count + _NGRAM_SMOOTHING) / (contexts[trigram[:2]] + unseen))
            for trigram, count in self.counts.items()
        }
        in_context = {context: -math.log2(_NGRAM_SMOOTHING / (n + unseen)) for context, n in contexts.items()}
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
        """Return the information of each character given the two before it; all digits are treated alike.

        Returns
        -------
        mean : float
            Bits per character, at least 0; an exact sum divided by a count, so equal on all machines.
        greatest : float
            Bits of the rarest trigram, at least 0; a multiple of 2**-20.
        """
        bits = list(map(self._bits.__getitem__, _trigrams(text)))
        return sum(bits) / len(bits), max(bits)


class _Bits(dict[str, float]):
    """Bits by trigram, for unseen ones by context; rounded to a grid, so that sums are exact in any order."""

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


NETWORK_BITS: Final = 16
"""Length of the IPv4 prefixes that a vocabulary numbers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MailTables:
    """Tables of mail addresses.

    Parameters
    ----------
    locals : NgramTable
        Table of local parts.
    free, disposable : frozenset of str
        Domains of free providers, and of addresses that are thrown away after use.
    """

    locals: NgramTable = field(default_factory=lambda: NgramTable({}))
    free: frozenset[str] = frozenset()
    disposable: frozenset[str] = frozenset()

    def to_json(self) -> dict[str, Any]:
        """Return plain values that `from_json` reads back exactly."""
        lists = {"free": sorted(self.free), "disposable": sorted(self.disposable)}
        return {"locals": self.locals.counts, **lists}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "MailTables":
        """Read the result of `to_json`."""
        lists = {name: frozenset(plain[name]) for name in ("free", "disposable")}
        return cls(locals=NgramTable(plain["locals"]), **lists)


@dataclass(frozen=True, kw_only=True, slots=True)
class FittedState:
    """Tables and vocabularies, without personal data.

    Parameters
    ----------
    names, lines : NgramTable
        Tables of names, and of first lines of addresses.
    documents : ShareTable
        Types of document by the country of the address.
    vocabularies : mapping of str to Vocabulary
        By field name, such as ``address.country`` or ``signals.channel``; with a part that is read from the field,
        such as ``signals.email:domain``.
    zone : Offsets
        Offsets of the time zone of the use; UTC by default.
    mail : MailTables
        Empty in a use without mail addresses.
    known_labels : KnownLabels
        Empty in a use without label statistics.
    """

    names: NgramTable = field(default_factory=lambda: NgramTable({}))
    lines: NgramTable = field(default_factory=lambda: NgramTable({}))
    documents: ShareTable = field(default_factory=lambda: ShareTable({}))
    vocabularies: Mapping[str, Vocabulary] = field(default_factory=dict)
    zone: Offsets = field(default_factory=Offsets)
    mail: MailTables = field(default_factory=MailTables)
    known_labels: KnownLabels = field(default_factory=KnownLabels)

    def vocabulary(self, name: str) -> Vocabulary:
        """Return the vocabulary of a field; empty if nothing was fitted."""
        return self.vocabularies.get(name, Vocabulary(()))

    def to_json(self) -> dict[str, Any]:
        """Return plain values that `from_json` reads back exactly."""
        return {
            "names": self.names.counts,
            "lines": self.lines.counts,
            "documents": self.documents.counts,
            "vocabularies": {name: list(v.values) for name, v in sorted(self.vocabularies.items())},
            **({} if self.zone == Offsets() else {"zone": self.zone.to_json()}),
            **({"mail": self.mail.to_json()} if self.mail.free else {}),
            **({"knownLabels": self.known_labels.to_json()} if self.known_labels.fields else {}),
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "FittedState":
        """Read the result of `to_json`."""
        return cls(
            names=NgramTable(plain["names"]),
            lines=NgramTable(plain["lines"]),
            documents=ShareTable(plain["documents"]),
            vocabularies={name: Vocabulary(values) for name, values in plain["vocabularies"].items()},
            zone=Offsets.from_json(plain["zone"]) if "zone" in plain else Offsets(),
            mail=MailTables.from_json(plain["mail"]) if "mail" in plain else MailTables(),
            known_labels=KnownLabels.from_json(plain["knownLabels"])
            if "knownLabels" in plain
            else KnownLabels(),
        )
