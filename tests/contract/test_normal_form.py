import random
import sys
import time
import unicodedata
from collections.abc import Iterator
from functools import cache
from unicodedata import combining, normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.contract.rules import EXPANSION, _long_run, normal_form

ODD = "aé각가ᾂẗ \u1100\u1161\u11a8\u212b\u2126\u0958\u0f73\u0f75\u0f81\u0344\U0001d15e"


def everything() -> Iterator[str]:
    """All characters."""
    return map(chr, range(sys.maxunicode + 1))


@cache
def marks() -> list[str]:
    """All marks: found when a test needs them, not when its file is read."""
    return [character for character in everything() if combining(character)]


def odd() -> st.SearchStrategy[str]:
    """Characters that compose or are sorted."""
    return st.sampled_from([*ODD, *marks()[::9]])


@given(st.lists(st.deferred(odd), max_size=120).map("".join) | st.text(max_size=120))
def test_it_is_the_normal_form_of_unicode(text: str) -> None:
    """The result equals that of the standard library for any order of marks."""
    assert normal_form(text) == normalize("NFC", text)


def test_long_runs_of_every_mark() -> None:
    """Runs of hundreds of marks of all classes, behind letters that compose with them."""
    draw = random.Random(5)
    for letter in "aᾂ가\u0f40":
        text = letter + "".join(draw.choices([*marks(), "\u0f73", "\u0f75", "\u0f81"], k=400))
        assert normal_form(text * 2) == normalize("NFC", text * 2)


def test_the_marks_are_those_of_this_version_of_unicode() -> None:
    """Each character that begins with a mark when decomposed is sorted as one, all parts being of its class."""
    first = {character: normalize("NFD", character)[0] for character in everything()}
    leading = {character for character, start in first.items() if combining(start)}
    assert {character for character in everything() if _long_run().fullmatch(character * 32)} == leading
    for mark in leading - set("\u0f73\u0f75\u0f81"):
        assert {combining(part) for part in normalize("NFD", mark)} == {combining(mark)}
    assert max(len(normalize("NFD", character)) for character in everything()) == EXPANSION


@pytest.mark.parametrize(
    "text",
    [
        "a" + "\u0301" * 65_400 + "\u0316" * 65_400,
        "a" + "\u0301\u0316" * 65_400,
        "a" + "\U0001e944\u0316" * 65_400,
        "\u1f82" + "\u0f73\u0f71" * 65_400,
        ("a" + "\u0301" * 16 + "\u0316" * 15) * 4_000,
    ],
    ids=["two blocks", "alternating", "beyond 16 bits", "double marks", "just below a long run"],
)
def test_time_grows_with_the_length_alone(text: str) -> None:
    """Texts for which the standard library took most of a minute take some milliseconds."""
    begun = time.thread_time()
    normal = normal_form(text)
    assert time.thread_time() - begun < 1
    assert unicodedata.is_normalized("NFC", normal)
