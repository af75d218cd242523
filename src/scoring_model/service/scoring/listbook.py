"""Which lists an applicant is on, as a verdict sees it, and as a replay sees it again.

An entry is the hash that links use, so nothing is hashed for lists. It holds from the change that added it to the one
that removed it, for events before its `until`. The number of the last change is read in the transaction that scores,
so a change counts at once in every process.

Nearly no applicant is on a list. A Bloom filter (doi:10.1145/362686.362692) says so without a query; its size does not
grow with the lists, and while it is behind, the entries are looked up.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from scoring_model.contract.outcome import Outcome
from scoring_model.service.core.rows import ListEntryRow, OperatorListRow
from scoring_model.service.scoring.score import Placed
from scoring_model.service.store import Reader

_PARTS: Final = (slice(0, 3), slice(3, 6), slice(6, 9), slice(9, 12))
"""Bytes of a hash, each of which names one bit: with 300,000 entries one hash in 43,000 is looked up in vain."""

_BITMAP_BYTES: Final = 1 << (24 - 3)

READ_AT_ONCE: Final = 10_000
"""Entries that a transaction reads into the filter."""

_PRECEDENCE: Final = (Outcome.PASSED, Outcome.FAILED, Outcome.STEPPED_UP)


def in_order(lists: Iterable[OperatorListRow]) -> tuple[OperatorListRow, ...]:
    """Sort lists: the first one decides. Of several with one outcome it is that with the first name."""
    return tuple(sorted(lists, key=lambda one: (_PRECEDENCE.index(Outcome(one.outcome)), one.name)))


def holds(entry: ListEntryRow, number: int, event_time: int) -> bool:
    """Return True if an entry holds for an event, after the change with a number.

    Parameters
    ----------
    event_time : int
        Microseconds since 1970-01-01 UTC.
    """
    was_removed = entry.removed is not None and entry.removed <= number
    is_over = entry.until is not None and entry.until <= event_time
    return entry.added <= number and not was_removed and not is_over


async def lists_then(
    reader: Reader, hashes: Sequence[bytes], number: int, event_time: int
) -> tuple[OperatorListRow, ...]:
    """Return the lists that held for a past event, in the order in which they decide.

    Parameters
    ----------
    hashes : sequence of bytes
        Those of its link keys.
    number : int
        Of the last change of lists then.
    """
    held = {
        entry.list_number for entry in await reader.list_entries(hashes) if holds(entry, number, event_time)
    }
    found = [await reader.operator_list(one) for one in held]
    return in_order([one for one in found if one is not None])


class Listbook:
    """The lists of a database, for the verdicts of one process."""

    def __init__(self) -> None:
        self._lists: dict[int, OperatorListRow] = {}
        self._keys: defaultdict[str, set[str]] = defaultdict(set)
        self._known = 0
        self._bitmap = bytearray()
        self._read: tuple[int, bytes] = (0, b"")
        self._complete = 0

    async def lists_of(
        self, reader: Reader, number: int, placed: Sequence[Placed]
    ) -> Mapping[bytes, tuple[OperatorListRow, ...]]:
        """Find the lists that candidates are on.

        Parameters
        ----------
        number : int
            Of the last change of lists; 0 if there never was one.

        Returns
        -------
        mapping of bytes to tuple of OperatorListRow
            In the order in which they decide, by id of the candidate. Candidates of a history scope without lists are
            left out.
        """
        if not number:
            return {}
        await self._learn(reader, number)
        is_behind = self._complete < number
        using = [one for one in placed if one.candidate.history_scope in self._keys]
        found: dict[bytes, tuple[OperatorListRow, ...]] = {one.candidate.id: () for one in using}
        wanted: defaultdict[bytes, list[Placed]] = defaultdict(list)
        for one in using:
            keys = self._keys[one.candidate.history_scope]
            for name, value in one.candidate.links.hashes:
                if name in keys and (is_behind or self._may_hold(value)):
                    wanted[value].append(one)
        held: defaultdict[bytes, set[int]] = defaultdict(set)
        for entry in await reader.list_entries(list(wanted)) if wanted else ():
            for one in wanted[entry.hash]:
                if holds(entry, number, one.instant):
                    held[one.candidate.id].add(entry.list_number)
        found.update({id_: in_order([self._lists[one] for one in numbers]) for id_, numbers in held.items()})
        return found

    async def _learn(self, reader: Reader, number: int) -> None:
        """Learn of new lists, and of a page of new entries."""
        if self._known < number:
            for row in await reader.lists_after(self._known):
                self._lists[row.number] = row
                self._keys[row.history_scope].add(row.key)
            self._known = number
        if self._complete < number:
            self._bitmap = self._bitmap or bytearray(_BITMAP_BYTES)
            page = await reader.list_hashes(self._read, READ_AT_ONCE)
            if page:
                self._set([value for _, value in page])
                self._read = page[-1]
            if len(page) < READ_AT_ONCE:
                self._complete = number

    def _set(self, values: Sequence[bytes]) -> None:
        packed = np.frombuffer(b"".join(values), dtype=np.uint8).reshape(len(values), -1).astype(np.int64)
        bitmap = np.frombuffer(self._bitmap, dtype=np.uint8)
        for part in _PARTS:
            places = packed[:, part] @ np.array([1 << 16, 1 << 8, 1])
            np.bitwise_or.at(bitmap, places >> 3, (1 << (places & 7)).astype(np.uint8))

    def _may_hold(self, value: bytes) -> bool:
        places = (int.from_bytes(value[part]) for part in _PARTS)
        return all(self._bitmap[place >> 3] >> (place & 7) & 1 for place in places)
