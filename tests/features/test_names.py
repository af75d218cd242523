"""Features of names, on names with known results."""

import itertools
import math
import unicodedata
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feature_tables import values_of
from scoring_model.features import names, spelling
from scoring_model.features.state import GRID, MIN_PERSONS, NgramTable

FAMILY = names.family(NgramTable.fit([("Anna", 50), ("Hannah", 30), ("Johanna", 20)]))

# The definitions, written out apart from the tables of the package.
VOWELS = "aeiouyаеёиоуыэюяіїєαεηιουω"
KEYBOARD = ("1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm")
PLACES = {key: (row, place) for row, keys in enumerate(KEYBOARD) for place, key in enumerate(keys)}

text = st.text(min_size=1, max_size=100)
marked_text = st.text("aéЯ .-'’_7", min_size=1, max_size=10)
ascii_text = st.text("aeyAEYqwer zxc19.-'_", min_size=1, max_size=30)


def of(first: str | None = None, last: str | None = None) -> dict[str, float]:
    """The features of two names."""
    return values_of(FAMILY, {"firstName": first, "lastName": last})


def test_form_of_a_common_name() -> None:
    """Length, words, sounds, repetitions, walk and case of a plain name."""
    found = of("Anna Maria")
    expected = {
        "length": 10.0,
        "tokens": 2.0,
        "shortest_word": 4.0,
        "vowel_share": 5 / 9,
        "consonant_run": 2.0,
        "longest_run": 2.0,
        "repeated_pairs": 0.0,
        "keyboard_walk": 1.0,
        "case": 0.0,
    }
    assert {name: found[f"first_name_{name}"] for name in expected} == expected


@pytest.mark.parametrize(
    ("name", "feature", "value"),
    [
        ("qwertz", "keyboard_walk", 5.0),
        ("poiu", "keyboard_walk", 4.0),
        ("Schwrtz", "consonant_run", 7.0),
        ("Щвртц", "consonant_run", 5.0),
        ("asdasd", "repeated_pairs", 2.0),
        ("J Smith", "shortest_word", 1.0),
        ("Anna", "case", 0.0),
        ("ANNA", "case", 1.0),
        ("anna", "case", 2.0),
        ("aNNa", "case", 3.0),
    ],
)
def test_strange_names_show_in_their_feature(name: str, feature: str, value: float) -> None:
    """Walks over keys, heaps of consonants, repeats, initials and case show for either name."""
    assert of(name)[f"first_name_{feature}"] == value
    assert of(None, name)[f"last_name_{feature}"] == value


def test_scripts_without_case_or_vowels_say_nothing_of_them() -> None:
    """Han and Arabic letters have neither case nor vowels of their own."""
    for name in ("李", "محمد"):
        assert math.isnan(of(name)["first_name_vowel_share"])
        assert math.isnan(of(name)["first_name_case"])


def test_mixed_scripts_are_counted() -> None:
    """A Latin letter in a Cyrillic name makes two scripts and a mixed word, an accent makes none."""
    mixed, accented, two = of("Олена", "Шевчeнко"), of("Ana-María", "Núñez"), of("Олена", "Smith")
    assert (mixed["name_scripts"], mixed["name_mixed_words"]) == (2.0, 1.0)
    assert (accented["name_scripts"], accented["name_mixed_words"]) == (1.0, 0.0)
    assert (two["name_scripts"], two["name_mixed_words"]) == (2.0, 0.0)


def test_same_name_twice_is_seen_through_case_and_accents() -> None:
    """JOSÉ Jose is one name twice."""
    assert of("JOSÉ", "Jose")["name_same"] == 1.0
    assert of("José", "María")["name_same"] == 0.0
    assert math.isnan(of("José")["name_same"])


def test_names_are_compared_with_each_other() -> None:
    """One in the other, shared words, lengths, and typing that differs."""
    found = of("Anna Maria", "MARIA")
    assert (found["name_contained"], found["name_shared_words"]) == (1.0, 1.0)
    assert (found["name_length_ratio"], found["name_case_differs"]) == (0.5, 1.0)
    assert of("Anna", "McDonald")["name_case_differs"] == 0.0
    assert math.isnan(of("Anna", "李")["name_case_differs"])


@pytest.mark.parametrize(
    ("first", "last", "feature"),
    [
        ("Dr. Anna", "Smith", "name_title"),
        ("Acme", "Trading-GmbH", "name_title"),
        ("Test", "Smith", "name_placeholder"),
        ("Anna", "UNKNOWN", "name_placeholder"),
        ("An\u200bna", "Smith", "name_hidden"),
        ("Ann4", "Smith", "name_digits"),
        ("Anna$", "Smith", "name_symbols"),
    ],
)
def test_what_is_no_name_shows(first: str, last: str, feature: str) -> None:
    """Titles, companies, placeholders, and characters that no name has."""
    assert of(first, last)[feature] == 1.0
    assert of("Anna-María", "O’Neil")[feature] == 0.0


def test_missing_names_are_missing_values() -> None:
    """No name, no number."""
    assert all(map(math.isnan, of().values()))


@given(text)
def test_every_name_has_numbers_in_range(name: str) -> None:
    """For any characters counts are integers and shares lie in [0, 1]."""
    found = of(name, name)
    counts = ("length", "tokens", "shortest_word", "consonant_run", "longest_run", "repeated_pairs")
    for feature in (*counts, "keyboard_walk"):
        assert 0 <= found[f"first_name_{feature}"] == int(found[f"first_name_{feature}"])
    assert math.isnan(found["first_name_vowel_share"]) or 0 <= found["first_name_vowel_share"] <= 1
    assert math.isnan(found["first_name_case"]) or found["first_name_case"] in {0.0, 1.0, 2.0, 3.0}
    assert 0 <= found["name_entropy"] <= math.log2(400)


def folded(full: str) -> str:
    """Text without case and accents, by Unicode alone."""
    decomposed = unicodedata.normalize("NFKD", full.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def script_of(character: str) -> str:
    """The first word of a character's name in Unicode; letters of the Latin blocks are Latin, the micro sign too."""
    if character < "\u0250":
        return "LATIN"
    return unicodedata.name(character, "UNKNOWN").split(" ")[0].split("-")[0]


def are_neighbours(one: str, other: str) -> bool:
    """Whether two keys of a keyboard are beside each other."""
    if one not in PLACES or other not in PLACES:
        return False
    (row, place), (other_row, other_place) = PLACES[one], PLACES[other]
    return row == other_row and abs(place - other_place) == 1


def run_length(marks: list[bool]) -> int:
    """Characters of the longest run of which every one but the first is marked."""
    return max((len(run) + 1 for run in "".join("x" if m else " " for m in marks).split()), default=1)


@given(st.one_of(text, ascii_text, marked_text), st.one_of(text, ascii_text, marked_text))
def test_numbers_are_those_of_the_definition(first: str, last: str) -> None:
    """Short cuts for ASCII and for common names change nothing: all is as a page would define it."""
    together = f"{first} {last}"
    found = of(first, last)
    plain = folded(first)
    pairs = list(itertools.pairwise(plain))
    letters = [c for c in plain if c.isalpha() and script_of(c) in {"LATIN", "CYRILLIC", "GREEK"}]
    if letters:
        assert found["first_name_vowel_share"] == sum(c in VOWELS for c in letters) / len(letters)
    keys = [are_neighbours(*pair) for pair in pairs]
    assert found["first_name_keyboard_walk"] == (run_length(keys) if plain else 0)
    assert found["first_name_longest_run"] == (run_length([a == b for a, b in pairs]) if plain else 0)
    bare = [c for c in together if c not in " -'’."]
    assert found["name_digits"] == sum(c.isdigit() for c in bare)
    assert found["name_symbols"] == sum(not c.isalnum() for c in bare)
    assert found["name_hidden"] == sum(not c.isprintable() for c in bare)
    assert found["name_scripts"] == len({script_of(c) for c in together if c.isalpha()})
    counts = Counter(folded(together)).values()
    bits = -math.fsum(n / sum(counts) * math.log2(n / sum(counts)) for n in counts)
    assert math.isclose(found["name_entropy"], bits, abs_tol=4 / GRID)


@given(st.text(max_size=60))
def test_text_is_folded_as_a_whole_or_by_the_character(full: str) -> None:
    """A table of single characters gives the same as Unicode for the text: no case, no accents."""
    assert spelling.plain(full) == folded(full)


def test_rare_ngrams_are_dropped() -> None:
    """A trigram of fewer than five persons is in no table."""
    table = NgramTable.fit([("Anna", MIN_PERSONS), ("Xq", MIN_PERSONS - 1)])
    assert "ann" in table.counts
    assert not any("q" in trigram for trigram in table.counts)


def test_persons_of_several_names_add_up() -> None:
    """Two names share a trigram: their persons are counted together."""
    assert NgramTable.fit([("Anna", 3), ("Hanna", 2)]).counts["ann"] == 5


def test_a_common_name_is_less_improbable_than_a_strange_one() -> None:
    """The table prefers what it has seen, in the mean and in the rarest place."""
    table = NgramTable.fit([("Anna", 50), ("Hannah", 30), ("Johanna", 20)])
    common, strange, stranger = (table.improbability(name) for name in ("Anna", "Annaq", "Xqzw"))
    assert common[0] < strange[0] < stranger[0]
    assert common[1] < strange[1]


def test_which_digit_it_is_plays_no_part() -> None:
    """Houses are numbered in every street: 7 is as common as 8."""
    table = NgramTable.fit([("Main Street 12", 9)])
    assert table.improbability("Main Street 34") == table.improbability("Main Street 12")


@given(text)
def test_improbability_of_anything_is_finite(name: str) -> None:
    """Every name has two numbers, with a table and without, the rarest place at least the mean."""
    for table in (NgramTable.fit([("Anna", 50)]), NgramTable({})):
        mean, greatest = table.improbability(name)
        assert 0 <= mean <= greatest < math.inf
        assert greatest * GRID == int(greatest * GRID)


@given(st.lists(st.sampled_from("annahjo xq"), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_the_order_of_adding_up_is_nothing(characters: list[str], random: Random) -> None:
    """Bits lie on a grid: their sum has the same bits in any order."""
    table = NgramTable.fit([("Anna", 50), ("Johanna", 20)])
    bits = [
        table._bits[a + b + c] for a, b, c in zip(characters, characters[1:], characters[2:], strict=False)
    ]
    assert all(bits * GRID == int(bits * GRID) for bits in table._bits.values())
    shuffled = random.sample(bits, len(bits))
    assert sum(bits) == sum(shuffled) == math.fsum(bits)


def test_probabilities_of_a_context_sum_to_one() -> None:
    """What may follow two characters, the unseen included, has probability 1 in all."""
    table = NgramTable.fit([("ab", 7), ("ac", 9), ("ad", 11)])
    seen = [2.0 ** -table._bits["\x02a" + c] for c in "bcd"]
    alphabet = len({trigram[2] for trigram in table.counts}) + 1
    unseen = 2.0 ** -table._bits["\x02a?"]
    assert math.isclose(sum(seen) + unseen * (alphabet - len(seen)), 1.0, abs_tol=1e-5)
