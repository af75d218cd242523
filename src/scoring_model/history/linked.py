"""What link keys do in a table: how many records have each, how many of its values recur, and the pairs that it links.

Pairs are drawn, never listed: one value of a million records links half a trillion.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from math import isqrt
from random import Random
from typing import Any, Final

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.history.keys import PERSON, PERSON_PARTS, LinkKey, key_codes
from scoring_model.records import RecordTable

_SEED: Final = 7  # the same table gives the same pairs


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyUse:
    """What one link key does in a table.

    Parameters
    ----------
    records : int
        Records that have the key.
    values : int
        Distinct values of the key.
    recurring : int
        Values that at least two records have.
    pairs : int
        Pairs of records with equal values.
    absent : tuple of str
        Fields of the key that no record has.
    """

    key: str
    records: int
    values: int
    recurring: int
    pairs: int
    absent: tuple[str, ...]

    def __str__(self) -> str:
        if not self.records:
            return f"{self.key}: no record has it" + (f": no {', '.join(self.absent)}" if self.absent else "")
        return f"{self.key}: {self.records:,} records have it, {self.recurring:,} of its {self.values:,} values recur"

    def to_json(self) -> dict[str, Any]:
        """Give the use as a JSON document."""
        return {
            "key": self.key,
            "records": self.records,
            "values": self.values,
            "recurring": self.recurring,
            "pairs": self.pairs,
            "absent": list(self.absent),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkedPair:
    """Two records that link keys join.

    Parameters
    ----------
    rows : (int, int)
        Of the table, ascending.
    keys : tuple of str
        Every link key whose values are equal.
    """

    rows: tuple[int, int]
    keys: tuple[str, ...]


def key_uses(table: RecordTable, keys: Sequence[LinkKey]) -> tuple[KeyUse, ...]:
    """Count what each link key does in a table."""
    return tuple(_use(table, key, _Groups(key_codes(table, key))) for key in keys)


def unusable(uses: Sequence[KeyUse]) -> str:
    """Say which keys no record has, and which fields they lack; empty if each key has records."""
    dead = [use.key for use in uses if not use.records]
    lacked = dict.fromkeys(field for use in uses if not use.records for field in use.absent)
    of_whom = f", since no record has {', '.join(lacked)}" if lacked else ""
    return f"{len(dead)} of {len(uses)} link keys link nothing{of_whom}: {', '.join(dead)}" if dead else ""


def linked_pairs(table: RecordTable, keys: Sequence[LinkKey], *, most: int) -> list[LinkedPair]:
    """Draw pairs that link keys join, at random among all pairs of each key, from each key in turn.

    Parameters
    ----------
    most : int
        Maximum number of pairs.
    """
    codes = {key.name: key_codes(table, key) for key in keys}
    of_keys = [_Groups(one).draw(most) for one in codes.values()]
    in_turn = zip_longest(*of_keys)
    drawn = dict.fromkeys(pair for pairs in in_turn for pair in pairs if pair is not None)
    return [
        LinkedPair(
            rows=(first, second),
            keys=tuple(name for name, of_key in codes.items() if of_key[first] == of_key[second] >= 0),
        )
        for first, second in islice(drawn, most)
    ]


class _Groups:
    """The rows of each value of a key, and the pairs among them, numbered."""

    def __init__(self, codes: IntArray) -> None:
        order = np.argsort(codes, kind="stable")
        self.rows = order[codes[order] >= 0]
        _, self.starts, self.sizes = np.unique(codes[self.rows], return_index=True, return_counts=True)
        self.ends = np.cumsum(self.sizes * (self.sizes - 1) // 2)
        self.pairs = int(self.ends[-1]) if len(self.ends) else 0

    def draw(self, most: int) -> Iterator[tuple[int, int]]:
        """Yield rows of pairs, drawn without replacement."""
        for number in Random(_SEED).sample(range(self.pairs), min(most, self.pairs)):
            group = int(np.searchsorted(self.ends, number, "right"))
            place = number - (int(self.ends[group - 1]) if group else 0)
            later = (
                1 + isqrt(1 + 8 * place)
            ) // 2  # the pairs of a row with those before it are numbered in a run
            start = int(self.starts[group])
            earlier = place - later * (later - 1) // 2
            yield int(self.rows[start + earlier]), int(self.rows[start + later])


def _use(table: RecordTable, key: LinkKey, groups: _Groups) -> KeyUse:
    fields = PERSON_PARTS if key.name == PERSON else key.fields
    return KeyUse(
        key=key.name,
        records=len(groups.rows),
        values=len(groups.sizes),
        recurring=int((groups.sizes > 1).sum()),
        pairs=groups.pairs,
        absent=tuple(field for field in fields if not len(table.column(field).values)),
    )
