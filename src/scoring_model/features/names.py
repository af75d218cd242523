"""Features of the names: their form, and how unlike the commonly seen names they are."""

import itertools
import math
import operator
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from scoring_model.features.catalogue import MISSING, Family, Feature, Group
from scoring_model.features.ngrams import NgramTable
from scoring_model.features.rounding import settled

VERSION = 1

_VOWELS = frozenset("aeiouyаеёиоуыэюяіїєαεηιουω")
_ASCII_VOWELS = "aeiouy"
_COMMON_MARKS = " -'’."
_VOWEL_SCRIPTS = frozenset({"LATIN", "CYRILLIC", "GREEK"})
_KEY_ROWS = ("1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEIGHBOUR_KEYS = frozenset(
    pair for row in _KEY_ROWS for a, b in itertools.pairwise(row) for pair in (a + b, b + a)
)


def form(name: str | None) -> tuple[float, ...]:
    """Length, tokens, vowel share, longest run, keyboard walk and case of one name."""
    if name is None:
        return (MISSING,) * 6
    plain = _plain(name)
    return (
        float(len(name)),
        float(len(name.split())),
        _vowel_share(plain),
        float(_longest_run(plain)),
        float(_longest_walk(plain)),
        _case(name),
    )


def both(first: str | None, last: str | None) -> tuple[float, ...]:
    """Digits and other non-letters, entropy, scripts, and sameness of the two names together."""
    together = " ".join(name for name in (first, last) if name is not None)
    if not together:
        return (MISSING,) * 5
    plain = _plain(together)
    same = MISSING if first is None or last is None else float(_plain(first) == _plain(last))
    return (
        float(sum(map(str.isdigit, together))),
        float(len(together) - sum(map(str.isalnum, together)) - sum(map(together.count, _COMMON_MARKS))),
        _entropy(plain),
        float(_scripts(together)),
        same,
    )


def family(table: NgramTable) -> Family:
    """The features of names; `table` says how often n-grams of characters are seen."""

    def improbability(name: str | None) -> tuple[float, ...]:
        return (MISSING if name is None else table.improbability(name),)

    return Family(
        name="names",
        version=VERSION,
        groups=(
            Group(inputs=("firstName",), features=_form_features("firstName", "first"), function=form),
            Group(inputs=("lastName",), features=_form_features("lastName", "last"), function=form),
            Group(inputs=("firstName", "lastName"), features=_BOTH, function=both),
            Group(
                inputs=("firstName",), features=(_improbable("firstName", "first"),), function=improbability
            ),
            Group(inputs=("lastName",), features=(_improbable("lastName", "last"),), function=improbability),
        ),
    )


def _form_features(field: str, word: str) -> tuple[Feature, ...]:
    def feature(name: str, unit: str, sentence: str) -> Feature:
        return Feature(
            name=f"{word}_name_{name}", inputs=(field,), unit=unit, reason="NAME_UNUSUAL", sentence=sentence
        )

    return (
        feature("length", "characters", f"Length of the {word} name."),
        feature("tokens", "words", f"Words in the {word} name."),
        feature("vowel_share", "share", f"Share of vowels among the letters of the {word} name."),
        feature("longest_run", "characters", f"Longest repetition of one character in the {word} name."),
        feature("keyboard_walk", "characters", f"Longest walk over neighbouring keys in the {word} name."),
        feature(
            "case",
            "code",
            f"Case of the {word} name: 0 capitalised, 1 upper, 2 lower, 3 mixed; missing without case.",
        ),
    )


def _improbable(field: str, word: str) -> Feature:
    return Feature(
        name=f"{word}_name_improbability",
        inputs=(field,),
        unit="bits per character",
        reason="NAME_IMPROBABLE",
        sentence=f"How unlike the commonly seen names the {word} name is.",
    )


_BOTH = (
    Feature(
        name="name_digits",
        inputs=("firstName", "lastName"),
        unit="characters",
        reason="NAME_UNUSUAL",
        sentence="Digits in the names.",
    ),
    Feature(
        name="name_symbols",
        inputs=("firstName", "lastName"),
        unit="characters",
        reason="NAME_UNUSUAL",
        sentence="Characters of the names that are neither letters, digits nor common in names.",
    ),
    Feature(
        name="name_entropy",
        inputs=("firstName", "lastName"),
        unit="bits per character",
        reason="NAME_UNUSUAL",
        sentence="Variety of the characters in the names.",
    ),
    Feature(
        name="name_scripts",
        inputs=("firstName", "lastName"),
        unit="scripts",
        reason="NAME_UNUSUAL",
        sentence="Writing systems that the names mix.",
    ),
    Feature(
        name="name_same",
        inputs=("firstName", "lastName"),
        unit="0 or 1",
        reason="NAME_UNUSUAL",
        sentence="Whether first and last name are the same.",
    ),
)


def _plain(text: str) -> str:
    """Without case and accents."""
    if text.isascii():
        return text.lower()
    return "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))


@lru_cache(maxsize=65_536)
def _script(character: str) -> str:
    """The first word of the character's Unicode name, which is its script for letters."""
    return unicodedata.name(character, "UNKNOWN").split(" ", 1)[0].split("-", 1)[0]


def _scripts(text: str) -> int:
    if text.isascii():
        return int(any(map(str.isalpha, text)))
    return len({_script(c) for c in set(text) if c.isalpha()})


def _vowel_share(plain: str) -> float:
    if plain.isascii():  # all letters are Latin: most names, in a fraction of the time
        n, vowels = sum(map(str.isalpha, plain)), sum(map(plain.count, _ASCII_VOWELS))
    else:
        letters = [c for c in plain if c.isalpha() and _script(c) in _VOWEL_SCRIPTS]
        n, vowels = len(letters), sum(c in _VOWELS for c in letters)
    return vowels / n if n else MISSING


def _longest_run(plain: str) -> int:
    return _longest(map(operator.eq, plain, plain[1:])) if plain else 0


def _longest_walk(plain: str) -> int:
    pairs = map(operator.add, plain, plain[1:])
    return _longest(map(_NEIGHBOUR_KEYS.__contains__, pairs)) if plain else 0


def _longest(steps: Iterable[bool]) -> int:
    """Characters of the longest stretch whose steps, from each character to the next, are all true."""
    longest = current = 1
    for step in steps:
        current = current + 1 if step else 1
        if current > longest:
            longest = current
    return longest


def _case(name: str) -> float:
    if name.upper() == name.lower():
        return MISSING
    if name == name.title():
        return 0.0
    if name.isupper():
        return 1.0
    return 2.0 if name.islower() else 3.0


def _entropy(plain: str) -> float:
    """Shannon entropy of the characters, in bits."""
    shares = [plain.count(c) / len(plain) for c in set(plain)]
    return settled(-math.fsum(share * math.log2(share) for share in shares))
