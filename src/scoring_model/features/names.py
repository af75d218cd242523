"""Features of the names: their form, their similarity to each other, and their rarity."""

import math
from functools import cache

from scoring_model.features.catalogue import MISSING, Family, Feature, Group, ReasonTopic
from scoring_model.features.spelling import (
    CONSONANT,
    VOWEL,
    case,
    longest_run,
    longest_walk,
    plain,
    script,
    scripts,
    sounds,
    steps,
    typed,
)
from scoring_model.features.state import NgramTable, settled
from scoring_model.features.words import NO_NAMES, TITLES

VERSION = 2

_COMMON_MARKS = " -'’."
_NO_MARKS = str.maketrans("", "", _COMMON_MARKS)


def form(name: str | None) -> tuple[float, ...]:
    """Describe one name: its words, sounds, repetitions, keyboard walks and case."""
    if name is None:
        return (MISSING,) * len(_FORM)
    text = plain(name)
    words, pairs, heard = name.split(), steps(text), sounds(text)
    vowels, consonants = heard.count(VOWEL), heard.count(CONSONANT)
    return (
        len(name),
        len(words),
        min(map(len, words), default=0),
        vowels / (vowels + consonants) if vowels or consonants else MISSING,
        max(map(len, heard.replace(VOWEL, " ").split()), default=0),
        longest_run(text),
        len(pairs) - len(set(pairs)),
        longest_walk(text, pairs),
        case(name),
    )


def both(first: str | None, last: str | None) -> tuple[float, ...]:
    """Describe both names: non-letters, words that are not names, variety, scripts and common parts."""
    one, other = plain(first or ""), plain(last or "")
    together, text = f"{first or ''} {last or ''}", f"{one} {other}"
    words, more = _words(one), _words(other)
    if first is None and last is None:
        return (MISSING,) * len(_BOTH)
    digits = symbols = hidden = 0
    if not together.replace(" ", "").isalpha():
        bare = together.translate(_NO_MARKS)
        digits = sum(map(str.isdigit, bare))
        symbols = len(bare) - sum(map(str.isalnum, bare))
        hidden = len(bare) - sum(map(str.isprintable, bare))
    mixed = scripts(together)
    return (
        digits,
        symbols,
        hidden,
        _entropy(text),
        mixed,
        _mixed(together) if mixed > 1 else 0,
        not (TITLES.isdisjoint(words) and TITLES.isdisjoint(more)),
        not (NO_NAMES.isdisjoint(words) and NO_NAMES.isdisjoint(more)),
        *(_NO_PAIR if first is None or last is None else _pair(first, last, one, other)),
        len({*words}.intersection(more)),
    )


def _pair(first: str, last: str, one: str, other: str) -> tuple[float, ...]:
    """Compare two names: equality, containment, case and lengths; `one` and `other` are their plain forms."""
    n, m = len(first), len(last)
    return (
        one == other,
        one in other or other in one,
        typed(first, last),
        min(n, m) / max(n, m, 1),
    )


def _words(plain_text: str) -> list[str]:
    return plain_text.replace("-", " ").replace(".", " ").split()


def family(table: NgramTable) -> Family:
    """The features of names; `table` has the frequencies of character n-grams."""

    def of_one(name: str | None) -> tuple[float, ...]:
        return form(name) + ((MISSING, MISSING) if name is None else table.improbability(name))

    first, last = ("firstName",), ("lastName",)
    return Family(
        name="names",
        version=VERSION,
        reasons=_REASONS,
        groups=(
            Group(inputs=first, features=_of_one("first", _FORM + _IMPROBABLE), function=of_one),
            Group(inputs=last, features=_of_one("last", _FORM + _IMPROBABLE), function=of_one),
            Group(inputs=first + last, features=_BOTH, function=both),
        ),
    )


_HOW_WRITTEN, _RARITY, _WORDS = "NAME_FORM", "NAME_RARITY", "NAME_WORDS"

_FORM = (
    ("length", "characters", _HOW_WRITTEN, "Length of the {} name."),
    ("tokens", "words", _HOW_WRITTEN, "Words in the {} name."),
    ("shortest_word", "characters", _HOW_WRITTEN, "Length of the shortest word of the {} name."),
    ("vowel_share", "share", _HOW_WRITTEN, "Share of vowels among the letters of the {} name."),
    ("consonant_run", "characters", _HOW_WRITTEN, "Most consonants in a row in the {} name."),
    ("longest_run", "characters", _HOW_WRITTEN, "Longest repetition of one character in the {} name."),
    (
        "repeated_pairs",
        "pairs",
        _HOW_WRITTEN,
        "Pairs of neighbouring characters that come again in the {} name.",
    ),
    ("keyboard_walk", "characters", _HOW_WRITTEN, "Longest walk over neighbouring keys in the {} name."),
    (
        "case",
        "code",
        _HOW_WRITTEN,
        "Case of the {} name: 0 capitalised, 1 upper, 2 lower, 3 mixed; missing without case.",
    ),
)
_IMPROBABLE = (
    ("improbability", "bits per character", _RARITY, "How unlike the commonly seen names the {} name is."),
    ("rarest", "bits", _RARITY, "How rare the rarest sequence of three characters of the {} name is."),
)


def _of_one(word: str, entries: tuple[tuple[str, str, str, str], ...]) -> tuple[Feature, ...]:
    return tuple(
        Feature(
            name=f"{word}_name_{name}",
            inputs=(f"{word}Name",),
            unit=unit,
            reason=reason,
            sentence=sentence.format(word),
            fitted=(name, unit, reason, sentence) in _IMPROBABLE,
        )
        for name, unit, reason, sentence in entries
    )


def _of_both(name: str, unit: str, sentence: str, reason: str = _HOW_WRITTEN) -> Feature:
    return Feature(
        name=f"name_{name}", inputs=("firstName", "lastName"), unit=unit, reason=reason, sentence=sentence
    )


_BOTH = (
    _of_both("digits", "characters", "Digits in the names."),
    _of_both(
        "symbols",
        "characters",
        "Characters of the names that are neither letters, digits nor common in names.",
    ),
    _of_both("hidden", "characters", "Characters of the names that cannot be seen."),
    _of_both("entropy", "bits per character", "Variety of the characters in the names."),
    _of_both("scripts", "scripts", "Writing systems that the names mix."),
    _of_both("mixed_words", "words", "Words of the names that mix writing systems."),
    _of_both("title", "0 or 1", "Whether the names hold a title or a word of companies.", _WORDS),
    _of_both("placeholder", "0 or 1", "Whether the names hold a word that stands for a name.", _WORDS),
    _of_both("same", "0 or 1", "Whether first and last name are the same."),
    _of_both("contained", "0 or 1", "Whether one of the names holds the other."),
    _of_both(
        "case_differs",
        "0 or 1",
        "Whether the names are typed differently: one alone all in capitals, or all without.",
    ),
    _of_both("length_ratio", "ratio", "Length of the shorter name by that of the longer one."),
    _of_both("shared_words", "words", "Words that both names have."),
)
_NO_PAIR = (MISSING,) * 4


def _mixed(text: str) -> int:
    """Words whose letters are of several writing systems."""
    return sum(len({script(c) for c in word if c.isalpha()}) > 1 for word in text.split())


def _entropy(text: str) -> float:
    """Shannon entropy of the characters, in bits."""
    # Sums of grid values are exact in any order, and quotients of exact numbers are equal on all machines.
    n = len(text)
    return (_weighed(n) - sum(map(_weighed, map(text.count, set(text))))) / n


@cache
def _weighed(count: int) -> float:
    return settled(count * math.log2(count))


_NO_NAME = ("NO_NAME", "No name was given.")
_REASONS = (
    ReasonTopic(
        code="NAME_FORM",
        sentence="The form of the name counted against the {event}.",
        about="the name",
        present=("name_digits",),
        absence=_NO_NAME,
    ),
    ReasonTopic(
        code="NAME_RARITY",
        sentence="How common the name is counted against the {event}.",
        about="the name",
        present=("name_digits",),
        absence=_NO_NAME,
    ),
    ReasonTopic(
        code="NAME_WORDS",
        sentence="The words of the name counted against the {event}.",
        about="the name",
        present=("name_digits",),
        absence=_NO_NAME,
        detail=(
            "NAME_NOT_OF_A_PERSON",
            "The name holds a title, a word of companies, or one that stands in for a name.",
            ("name_title", "name_placeholder"),
        ),
    ),
)
