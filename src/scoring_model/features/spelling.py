"""Functions on the spelling of text, shared by the families of names and addresses."""

import itertools
import operator
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from scoring_model.features.catalogue import MISSING

_VOWELS = frozenset("aeiouyаеёиоуыэюяіїєαεηιουω")
_VOWEL_SCRIPTS = frozenset({"LATIN", "CYRILLIC", "GREEK"})
_KEY_ROWS = ("1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEIGHBOUR_KEYS = frozenset(
    pair for row in _KEY_ROWS for a, b in itertools.pairwise(row) for pair in (a + b, b + a)
)
_LATIN_END = "\u0250"
"""All letters before this character are Latin: Basic Latin, Latin-1 and Latin Extended-A and B."""

_KEPT_END = 0x3000
"""Results for characters below this are cached: all alphabets except those of many thousand characters."""

VOWEL, CONSONANT, NEITHER = "a", "b", " "
WITHOUT_CASE, CAPITALISED, UPPER, LOWER, MIXED = MISSING, 0.0, 1.0, 2.0, 3.0


def plain(text: str) -> str:
    """Remove case and accents."""
    return text.lower() if text.isascii() else text.translate(_FOLDS)


def sounds(plain_text: str) -> str:
    """Map each character to `VOWEL`, `CONSONANT`, or `NEITHER` if its script has neither."""
    if plain_text.isascii():
        return plain_text.encode().translate(_ASCII_SOUNDS).decode()
    return plain_text.translate(_SOUNDS)


def script(character: str) -> str:
    """Return the first word of the character's Unicode name, which is the script of letters."""
    return "LATIN" if character < _LATIN_END else _script(character)


def scripts(text: str) -> int:
    """Count the writing systems among the letters."""
    if text.isascii() or max(text) < _LATIN_END:
        return int(any(map(str.isalpha, text)))
    return len({script(c) for c in set(text) if c.isalpha()})


def steps(plain_text: str) -> list[str]:
    """List every pair of adjacent characters."""
    return list(map(operator.add, plain_text, plain_text[1:]))


def longest_run(plain_text: str) -> int:
    """Return the length of the longest repetition of one character."""
    following = plain_text[1:]
    if True not in map(operator.eq, plain_text, following):
        return min(len(plain_text), 1)
    return _longest(map(operator.eq, plain_text, following))


def longest_walk(plain_text: str, pairs: list[str]) -> int:
    """Return the length of the longest walk over neighbouring keys; `pairs` are the text's `steps`."""
    if _NEIGHBOUR_KEYS.isdisjoint(pairs):
        return min(len(plain_text), 1)
    return _longest(map(_NEIGHBOUR_KEYS.__contains__, pairs))


def case(text: str) -> float:
    """Return 0 for capitalised, 1 upper, 2 lower, 3 mixed; NaN without case."""
    if text.istitle():
        return CAPITALISED
    if text.isupper():
        return UPPER
    if text.islower():
        return LOWER
    return WITHOUT_CASE if text.upper() == text.lower() else MIXED


def capitals(text: str) -> float | None:
    """Return `UPPER` or `LOWER` if all letters are, None without case, else `CAPITALISED`."""
    if text.istitle():
        return UPPER if text.isupper() else CAPITALISED
    if text.isupper():
        return UPPER
    if text.islower():
        return LOWER
    return None if text.upper() == text.lower() else CAPITALISED


def typed(one: str, other: str) -> float:
    """Return whether two texts differ in their `capitals`; NaN if one has no case."""
    mine, others = capitals(one), capitals(other)
    return MISSING if mine is None or others is None else float(mine != others)


def typed_alike(text: str) -> str:
    """Return a short text with the same `capitals`."""
    return _SHORTEST[capitals(text)]


_SHORTEST = {CAPITALISED: "Aa", UPPER: "AA", LOWER: "aa", None: ""}


class _Kept(dict[int, str]):
    """A table for `str.translate` that computes missing entries, and caches those of low code points."""

    def __missing__(self, code: int) -> str:
        found = self.answer(chr(code))
        if code < _KEPT_END:
            self[code] = found
        return found

    @staticmethod
    def answer(character: str) -> str:
        """Return the replacement of a character."""
        raise NotImplementedError


class _Folds(_Kept):
    @staticmethod
    def answer(character: str) -> str:
        folded = unicodedata.normalize("NFKD", character.casefold())
        return "".join([c for c in folded if not unicodedata.combining(c)])


class _Sounds(_Kept):
    @staticmethod
    def answer(character: str) -> str:
        if not character.isalpha() or script(character) not in _VOWEL_SCRIPTS:
            return NEITHER
        return VOWEL if character in _VOWELS else CONSONANT


_FOLDS, _SOUNDS = _Folds(), _Sounds()
_ASCII_SOUNDS = "".join([_SOUNDS[code] for code in range(128)]).encode().ljust(256)


@lru_cache(maxsize=65_536)
def _script(character: str) -> str:
    return unicodedata.name(character, "UNKNOWN").split(" ", 1)[0].split("-", 1)[0]


def _longest(hits: Iterable[bool]) -> int:
    """Return the length of the longest run of characters whose steps are all true."""
    longest = current = 1
    for hit in hits:
        current = current + 1 if hit else 1
        if current > longest:
            longest = current
    return longest
