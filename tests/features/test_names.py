"""Features of names on names whose answer is known."""

import itertools
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.features import names
from scoring_model.features.ngrams import MIN_PERSONS, NgramTable
from scoring_model.features.rounding import GRID

text = st.text(min_size=1, max_size=100)
marked_text = st.text("aéЯ .-'’_7", min_size=1, max_size=10)
ascii_text = st.text("aeyAEYqwer zxc19.-'_", min_size=1, max_size=30)


def test_form_of_a_common_name() -> None:
    """Length, tokens, vowels, run, walk and case of a plain name."""
    assert names.form("Anna Maria") == (10.0, 2.0, 5 / 9, 2.0, 1.0, 0.0)


def test_form_of_a_keyboard_walk() -> None:
    """Neighbouring keys in a row are one walk."""
    assert names.form("qwertz")[4] == 5.0
    assert names.form("poiu")[4] == 4.0


@pytest.mark.parametrize(("name", "case"), [("Anna", 0.0), ("ANNA", 1.0), ("anna", 2.0), ("aNNa", 3.0)])
def test_case_has_four_codes(name: str, case: float) -> None:
    """Capitalised, upper, lower, mixed."""
    assert names.form(name)[5] == case


def test_scripts_without_case_or_vowels_say_nothing_of_them() -> None:
    """Han and Arabic letters have neither case nor vowels of their own."""
    for name in ("李", "محمد"):
        assert math.isnan(names.form(name)[2])
        assert math.isnan(names.form(name)[5])


def test_mixed_scripts_are_counted() -> None:
    """A Latin letter in a Cyrillic name makes two scripts, an accent makes none."""
    assert names.both("Олена", "Шевчeнко")[3] == 2.0
    assert names.both("Ana-María", "Núñez")[3] == 1.0


def test_same_name_twice_is_seen_through_case_and_accents() -> None:
    """JOSÉ Jose is one name twice."""
    assert names.both("JOSÉ", "Jose")[4] == 1.0
    assert names.both("José", "María")[4] == 0.0
    assert math.isnan(names.both("José", None)[4])


def test_missing_names_are_missing_values() -> None:
    """No name, no number."""
    assert all(math.isnan(v) for v in (*names.form(None), *names.both(None, None)))


@given(text)
def test_every_name_has_numbers_in_range(name: str) -> None:
    """Whatever the characters: counts are whole and shares lie in [0, 1]."""
    length, tokens, vowels, run, walk, case = names.form(name)
    assert length == len(name)
    assert tokens >= 0
    assert math.isnan(vowels) or 0 <= vowels <= 1
    assert run >= 0
    assert walk >= 0
    assert math.isnan(case) or case in {0.0, 1.0, 2.0, 3.0}
    entropy = names.both(name, None)[2]
    assert 0 <= entropy <= math.log2(400)
    assert entropy * GRID == int(entropy * GRID)


def stretch(marks: list[bool]) -> int:
    """Characters of the longest stretch of which every one but the first is marked."""
    return max((len(run) + 1 for run in "".join("x" if m else " " for m in marks).split()), default=1)


@given(st.one_of(text, ascii_text, marked_text), st.one_of(text, ascii_text, marked_text))
def test_numbers_are_those_of_the_definition(first: str, last: str) -> None:
    """Short cuts for ASCII and for whole strings change nothing: each number is as a page would define it."""
    plain, together = names._plain(first), f"{first} {last}"
    letters = [c for c in plain if c.isalpha() and names._script(c) in {"LATIN", "CYRILLIC", "GREEK"}]
    vowels = sum(c in "aeiouyаеёиоуыэюяіїєαεηιουω" for c in letters)
    _, _, share, run, walk, _ = names.form(first)
    assert share == vowels / len(letters) if letters else math.isnan(share)
    pairs = list(itertools.pairwise(plain))
    rows = ("1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm")
    beside = [any(a + b in row or b + a in row for row in rows) for a, b in pairs]
    assert run == (stretch([a == b for a, b in pairs]) if plain else 0)
    assert walk == (stretch(beside) if plain else 0)
    digits, symbols, entropy, scripts, _ = names.both(first, last)
    assert digits == sum(c.isdigit() for c in together)
    assert symbols == sum(not (c.isalnum() or c in " -'’.") for c in together)
    assert scripts == len({names._script(c) for c in together if c.isalpha()})
    counts = Counter(names._plain(together)).values()
    bits = -math.fsum(n / sum(counts) * math.log2(n / sum(counts)) for n in counts)
    assert entropy == round(bits * GRID) / GRID


def test_rare_ngrams_are_dropped() -> None:
    """A trigram of fewer than five persons is in no table."""
    table = NgramTable.fit([("Anna", MIN_PERSONS), ("Xq", MIN_PERSONS - 1)])
    assert "ann" in table.counts
    assert not any("q" in trigram for trigram in table.counts)


def test_persons_of_several_names_add_up() -> None:
    """Two names share a trigram: their persons are counted together."""
    assert NgramTable.fit([("Anna", 3), ("Hanna", 2)]).counts["ann"] == 5


def test_a_common_name_is_less_improbable_than_a_strange_one() -> None:
    """The table prefers what it has seen."""
    table = NgramTable.fit([("Anna", 50), ("Hannah", 30), ("Johanna", 20)])
    assert table.improbability("Anna") < table.improbability("Annaq") < table.improbability("Xqzw")


@given(text)
def test_improbability_of_anything_is_finite(name: str) -> None:
    """Every name has a number on the grid of 2**-20, with a table and without."""
    for table in (NgramTable.fit([("Anna", 50)]), NgramTable({})):
        bits = table.improbability(name)
        assert bits >= 0
        assert bits * GRID == int(bits * GRID)


def test_probabilities_of_a_context_sum_to_one() -> None:
    """What may follow two characters, the unseen included, has probability 1 in all."""
    table = NgramTable.fit([("ab", 7), ("ac", 9), ("ad", 11)])
    seen = [2.0 ** -table._information("\x02a" + c) for c in "bcd"]
    alphabet = len({trigram[2] for trigram in table.counts}) + 1
    unseen = 2.0 ** -table._information("\x02a?")
    assert math.isclose(sum(seen) + unseen * (alphabet - len(seen)), 1.0)
