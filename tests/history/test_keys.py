"""Link keys of single records and tables, their parts, and their recall on invented duplicates."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from random import Random
from string import ascii_lowercase
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feature_tables import table_of
from scoring_model.configuration import load_configuration
from scoring_model.history import PERSON, LinkKey, key_codes, key_of
from scoring_model.history.parts import combined_codes, part_violations
from scoring_model.records.key_encodings import DATE_ENCODINGS, TEXT_ENCODINGS
from scoring_model.service.keys.link_hashes import Linker
from scoring_model.service.keys.secrets import Secrets

Values = Mapping[str, object]

NAMES: Final = (
    "Anna",
    "ÁNNA",
    "Anan",
    "nana",
    "Schmidt",
    "Smith",
    "Олена",
    "О'ЛЕНА",
    "-",
    "李",
    "an na",
    "1:a",
)
LINES: Final = ("12 Main Street", "Main St 12", "main st", "12", "Flat 3, 12", "!", "21 main st")
POOLS: Final[Mapping[str, Sequence[object]]] = {
    "firstName": NAMES,
    "lastName": NAMES,
    "dob": ("1990-02-01", "1990-01-02", "1991-02-01"),
    "citizenship": ("DE", "NA"),
    "imageUrls": (("https://a.example/1?x", "https://b.example/2"), ("https://A.example/1",)),
    "address.line1": LINES,
    "address.line2": LINES,
    "address.postalCode": ("AB1 2CD", "ba1-2cd", "1"),
    "externalId": ("x", "X"),
    "signals.email": ("Anna@a.example", "anna@A.example", "a", "\ud800"),
    "signals.count": (3.0, 3.5, 35.0, 1.0),
}
SINGLE: Final = (
    *POOLS,
    *(
        f"{field}:{name}"
        for field in ("firstName", "address.line1", "signals.email")
        for name in TEXT_ENCODINGS
    ),
    *(f"dob:{name}" for name in DATE_ENCODINGS),
    "lastName:phonetic:start4",
    "signals.count:digits",
)
JOINED: Final = (
    "firstName+lastName",
    "firstName+lastName:phonetic",
    "firstName+lastName:start3:sorted",
    "address.line1+address.line2:digits",
    "address.line1+address.line2+firstName:letters",
    "citizenship+imageUrls",
    "signals.email+signals.count",
)
PARTS: Final = (*SINGLE, *JOINED)

records = st.fixed_dictionaries({}, optional={name: st.sampled_from(pool) for name, pool in POOLS.items()})
keys = st.lists(st.sampled_from(PARTS), min_size=1, max_size=4, unique=True).map(
    lambda parts: LinkKey(name="k", parts=tuple(parts))
)


def partition(ties: Sequence[Hashable | None]) -> list[list[int]]:
    """Rows grouped by key; rows without a key are left out."""
    groups: dict[Hashable, list[int]] = {}
    for row, tie in enumerate(ties):
        if tie is not None:
            groups.setdefault(tie, []).append(row)
    return sorted(groups.values())


def in_table(rows: Sequence[Values], key: LinkKey) -> list[list[int]]:
    """Rows by the code of their key."""
    table = table_of(rows, [0] * len(rows), [(-1, 0)] * len(rows))
    return partition([code if code >= 0 else None for code in key_codes(table, key).tolist()])


@settings(max_examples=150)
@given(st.lists(records, min_size=1, max_size=20), keys)
def test_records_alone_are_tied_as_in_a_table(rows: list[Values], key: LinkKey) -> None:
    """Codes of a table are equal exactly where the keys of single records are, for any parts."""
    assert in_table(rows, key) == partition([key_of(row, key) for row in rows])


@settings(max_examples=150)
@given(st.lists(records, min_size=1, max_size=20), keys)
def test_a_service_ties_records_as_a_table_does(rows: list[Values], key: LinkKey) -> None:
    """The hashes of a service are equal exactly where the codes of a table are, for any parts."""
    linker = Linker(Secrets(bytes(32)), (key,))
    assert in_table(rows, key) == partition([dict(linker.link("1", 1, row).hashes).get("k") for row in rows])


@given(records, st.sampled_from(JOINED))
def test_values_of_joined_fields_may_change_places(row: Values, part: str) -> None:
    """The key does not depend on the order of the fields, nor on which field has which value."""
    first, second, *_ = part.split(":")[0].split("+")
    turned = LinkKey(
        name="k", parts=(part.replace(first, "\0").replace(second, first).replace("\0", second),)
    )
    assert key_of(row, LinkKey(name="k", parts=(part,))) == key_of(row, turned)
    if first.split(".")[0] == second.split(".")[0] == "address":
        swapped = {**row, first: row.get(second), second: row.get(first)}
        assert key_of(swapped, turned) == key_of(row, turned)


def test_a_joined_part_is_of_what_is_there() -> None:
    """A missing field is left out, one value differs from the same value twice, and no value gives no key."""
    key = LinkKey(name="k", parts=("firstName+lastName",))
    anna, bo = {"firstName": "Anna"}, {"lastName": "Bo"}
    assert key_of({**anna, "lastName": "-"}, key) == key_of(anna, key) == key_of({"lastName": "ANNA"}, key)
    assert len({key_of(row, key) for row in (anna, bo, {**anna, **bo}, {**anna, "lastName": "Anna"})}) == 4
    assert key_of({"firstName": "-"}, key) is None


def test_texts_of_a_joined_part_do_not_run_into_each_other() -> None:
    """The boundaries of values are part of the key, whatever a signal contains."""
    key = LinkKey(name="k", parts=("signals.a+signals.b",))
    pairs = [("ab", "c"), ("a", "bc"), ("abc", None), ("1:ab", "c"), ("1:a1:b", "c"), ("a", "b1:c")]
    pairs += [("a", "b"), ("a:b", None), ("a:", "b"), ("a1:b", None)]
    assert len({key_of({"signals.a": a, "signals.b": b}, key) for a, b in pairs}) == len(pairs)


def test_a_plain_part_is_the_normalised_value() -> None:
    """Without encodings a key is the normalised values, in order."""
    row = {"lastName": "Núñez", "address.line1": "1 Main Street", "imageUrls": ("https://A.example/1?x",)}
    key = LinkKey(name="k", parts=("lastName", "address.line1", "imageUrls"))
    assert key_of(row, key) == ("nunez", "1 main st", "a.example/1")
    assert key_of({**row, "imageUrls": ()}, key) is None


def test_fields_of_a_key_are_named_once() -> None:
    """A key reads fields, named without their encodings."""
    key = LinkKey(name="k", parts=("lastName+firstName:phonetic", "signals.a", "firstName:start1"))
    assert key.fields == ("lastName", "firstName", "signals.a")
    assert LinkKey(name=PERSON, parts=()).fields == ()


@pytest.mark.parametrize(
    "parts", [("externalId",), ("subjectId", "signals.a"), ("signals.a:letters", "externalId")]
)
def test_references_in_a_key_are_of_their_client(parts: tuple[str, ...]) -> None:
    """A client's references link no records of other clients in its history scope."""
    linker = Linker(Secrets(bytes(32)), (LinkKey(name="k", parts=parts),))
    row = {"externalId": "r1", "subjectId": "r1", "signals.a": "x"}
    assert linker.link("p", 1, row).hashes != linker.link("p", 2, row).hashes
    assert linker.link("p", 1, row).hashes == linker.link("p", 1, dict(row)).hashes


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("lastName:phonetik", "lastName takes no 'phonetik'; did you mean phonetic?"),
        ("lastName:start10", "lastName takes no 'start10'; did you mean start1?"),
        ("lastName:year", "known are digits, letters, phonetic, sorted, start1,"),
        ("dob:start4", "dob takes no 'start4'"),
        ("dob:unorderd", "did you mean unordered?"),
        ("address.country:letters", "address.country takes no 'letters', nor any other encoding"),
        ("imageUrls:letters", "imageUrls takes no 'letters'"),
        ("signals.a+externalId", "externalId is a client's own reference"),
        ("subjectId:start3", "subjectId takes no 'start3'"),
        ("lastname", "unknown field 'lastname'; did you mean lastName?"),
        ("lastName+lastName:sorted", "lastName stands twice"),
        ("lastName:", "lastName takes no ''"),
        ("lastName+", "unknown field ''"),
        ("signals.", "unknown field 'signals.'"),
        ("eventTime", "unknown field 'eventTime'"),
        ("", "unknown field ''"),
    ],
)
def test_what_is_no_part_is_refused_by_name(part: str, words: str) -> None:
    """An error names key and part, the rule and the nearest name."""
    with pytest.raises(ValueError, match=r"^link key household: ") as caught:
        LinkKey(name="household", parts=("firstName", part))
    assert f"part {part!r}: " in str(caught.value)
    assert words in str(caught.value)


def test_all_violations_of_a_key_are_reported_at_once() -> None:
    """Every field, encoding and repetition that is wrong has a sentence of its own."""
    parts = ("fristName+lastName:phonetik:yeer", "dob", "dob:words")
    assert len(part_violations(parts)) == 4
    with pytest.raises(ValueError, match=r"fristName.*phonetik.*yeer.*words"):
        LinkKey(name="k", parts=parts)


@given(
    st.integers(1, 30).flatmap(
        lambda n: st.lists(
            st.lists(st.sampled_from([-1, 0, 1, 2, 2**31 - 1]), min_size=n, max_size=n),
            min_size=1,
            max_size=6,
        )
    )
)
def test_combined_codes_distinguish_rows_as_tuples_do(columns: list[list[int]]) -> None:
    """However large the codes and however many the columns, rows are equal where all their codes are."""
    arrays = [np.array(column, dtype=np.int64) for column in columns]
    codes = combined_codes(arrays).tolist()
    rows = list(zip(*columns, strict=True))
    assert partition([code if code >= 0 else None for code in codes]) == partition(
        [row if min(row) >= 0 else None for row in rows]
    )
    assert len(columns) == 1 or max(codes) < len(rows)


# What follows is invented: people, and what typing does to them.

_SYLLABLES: Final = [c + v + e for c in "bcdfghklmnprstvw" for v in "aeiou" for e in ("", "l", "n", "r", "s")]
_FIELDS: Final = (
    "firstName",
    "lastName",
    "address.line1",
    "address.line2",
    "address.city",
    "address.postalCode",
)


def _word(random: Random, syllables: int) -> str:
    return "".join(random.choices(_SYLLABLES, k=syllables))


def invent(random: Random) -> dict[str, object]:
    """An invented person with an address."""
    return {
        "firstName": _word(random, 2),
        "lastName": _word(random, 3),
        "dob": f"{random.randrange(1930, 2005)}-{random.randrange(1, 13):02}-{random.randrange(1, 29):02}",
        "address.line1": f"{random.randrange(1, 300)} {_word(random, 3)} street",
        "address.line2": f"{_word(random, 3)} {random.choice(['park', 'house', 'farm'])}",
        "address.city": _word(random, 3),
        "address.postalCode": f"{random.randrange(10_000):04}",
        "address.region": random.choice(["north", "south", "east", "west"]),
    }


def mistype(random: Random, text: str) -> str:
    """Leave out, put in, replace or swap one character."""
    at = random.randrange(len(text) - 1)
    letter = random.choice(ascii_lowercase)
    return random.choice(
        [
            text[:at] + text[at + 1 :],
            text[:at] + letter + text[at:],
            text[:at] + letter + text[at + 1 :],
            text[:at] + text[at + 1] + text[at] + text[at + 2 :],
        ]
    )


def copied(random: Random, person: Mapping[str, object]) -> dict[str, object]:
    """The same person typed again, with two mistakes in two fields, or fields that changed places or are gone."""
    again = dict(person)
    for name in random.sample(_FIELDS, 2):
        again[name] = mistype(random, str(again[name]))
    chance = random.random()
    if chance < 0.15:
        again["firstName"], again["lastName"] = again["lastName"], again["firstName"]
    elif chance < 0.3:
        again["address.line1"], again["address.line2"] = again["address.line2"], again["address.line1"]
    elif chance < 0.45:
        year, month, day = str(again["dob"]).split("-")
        again["dob"] = f"{year}-{day}-{month}" if int(day) <= 12 else again["dob"]
    elif chance < 0.6:
        del again[random.choice(["firstName", "dob", "address.line2", "address.region"])]
    return again


@pytest.mark.parametrize(
    ("use", "prefix", "least"), [("duplicates", "none", 0.99), ("names", "address.", 0.9)]
)
def test_the_committed_keys_find_mistyped_people(use: str, prefix: str, least: float) -> None:
    """Of 1,500 invented pairs most share a key, also without addresses, and 1 pair in 100 that do is wrong at most."""
    random = Random(11)
    people = [invent(random) for _ in range(1_500)]
    rows = [*people, *(copied(random, person) for person in people)]
    rows = [{name: value for name, value in row.items() if not name.startswith(prefix)} for row in rows]
    table = table_of(rows, [0] * len(rows), [(-1, 0)] * len(rows))
    path = Path(__file__).parents[2] / "configs" / f"{use}.yaml"
    links = load_configuration(path).links.link_keys
    assert len(links) <= 10
    met = set()
    for key in links:
        codes = key_codes(table, key).tolist()
        for group in partition([code if code >= 0 else None for code in codes]):
            met |= set(combinations(group, 2))
    true = sum(other - one == len(people) for one, other in met)
    assert true >= least * len(people)
    assert len(met) - true <= 0.01 * len(met)
    plain = LinkKey(name=PERSON, parts=())
    by_plain = partition([code if code >= 0 else None for code in key_codes(table, plain).tolist()])
    assert sum(len(group) == 2 for group in by_plain) < 0.5 * len(people)
