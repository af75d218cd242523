"""What link keys do in a table, and the pairs that they link, by brute force."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import pytest

from feature_tables import table_of
from scoring_model.history import LinkKey, key_of
from scoring_model.history.linked import key_uses, linked_pairs, unusable
from scoring_model.records import RecordTable

KEYS = (
    LinkKey(name="device", parts=("signals.device",)),
    LinkKey(name="names", parts=("firstName:start1", "lastName")),
    LinkKey(name="street", parts=("address.line1", "lastName")),
)
LETTERS = str.maketrans("0123456789", "abcdefghij")  # names have no digits
ROWS = [
    {"signals.device": f"d{place % 7}", "firstName": "abc"[place % 3], "lastName": "xy"[place % 2]}
    | ({} if place % 5 else {"signals.device": None})
    for place in range(40)
]


def table(rows: Sequence[Mapping[str, object]]) -> RecordTable:
    """The rows as records of one instant without labels."""
    present = [{name: value for name, value in row.items() if value is not None} for row in rows]
    return table_of(present, [0] * len(rows), [(-1, 0)] * len(rows))


@pytest.fixture(scope="module")
def expected() -> dict[tuple[int, int], tuple[str, ...]]:
    """Every pair with the keys that join it, compared one by one."""
    values = [{name: value for name, value in row.items() if value is not None} for row in ROWS]
    of_pair = {}
    for pair in combinations(range(len(ROWS)), 2):
        one, other = ([key_of(values[row], key) for key in KEYS] for row in pair)
        names = tuple(
            key.name for key, a, b in zip(KEYS, one, other, strict=True) if a == b and a is not None
        )
        if names:
            of_pair[pair] = names
    return of_pair


def test_all_pairs_with_all_their_keys(expected: dict[tuple[int, int], tuple[str, ...]]) -> None:
    """With room for all, the pairs are those that brute force finds, each once, with every key that joins it."""
    found = linked_pairs(table(ROWS), KEYS, most=10_000)
    assert len(found) == len(expected)
    assert {pair.rows: pair.keys for pair in found} == expected


def test_counts_of_keys(expected: dict[tuple[int, int], tuple[str, ...]]) -> None:
    """Records, values, recurring values and pairs are those of the rows; an absent key says what it lacks."""
    device, names, street = key_uses(table(ROWS), KEYS)
    assert (device.records, device.values, device.recurring) == (32, 7, 7)
    assert device.pairs == sum("device" in keys for keys in expected.values())
    assert names.pairs == sum("names" in keys for keys in expected.values())
    assert (street.records, street.absent) == (0, ("address.line1",))
    assert str(device) == "device: 32 records have it, 7 of its 7 values recur"
    assert (
        unusable([device, names, street])
        == "1 of 3 link keys link nothing, since no record has address.line1: street"
    )
    assert unusable([device, names]) == ""


def test_a_key_of_many_pairs_is_drawn_from() -> None:
    """Of 8 million pairs three are drawn, the same each time, and each key gets its share of the limit."""
    rows = [
        {"signals.device": "d", "firstName": "a", "lastName": str(place // 2).translate(LETTERS)}
        for place in range(4_000)
    ]
    several = table(rows)
    found = linked_pairs(several, KEYS[:2], most=6)
    assert key_uses(several, KEYS[:1])[0].pairs == 4_000 * 3_999 // 2
    assert len({pair.rows for pair in found}) == 6
    assert [pair.keys for pair in found] == [("device",), ("device", "names")] * 3
    assert max(row for pair in found for row in pair.rows) > 1_000
    assert found == linked_pairs(several, KEYS[:2], most=6)
