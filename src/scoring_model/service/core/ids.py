"""Identifiers: UUIDs of version 7, which sort by creation time."""

import os
import struct
import threading
from typing import Final

from scoring_model.contract.texts import to_text

_TICKS: Final = 4096  # per millisecond: the 12 bits after the timestamp
_VERSION: Final = 0x7000
_VARIANT: Final = 0b10 << 62
_PACK: Final = struct.Struct(">QQ").pack
_RANDOM: Final = (1 << 62) - 1
_FETCHED: Final = 128

AHEAD: Final = 60_000_000
"""Microseconds by which the instant in an identifier may be later than those of its row: clocks differ, and a process
that creates more than 4,096 identifiers in a millisecond borrows from the next one."""


class Identifiers:
    """Creates identifiers that are unique and strictly increasing within a process.

    Random words are fetched in bulk: a system call costs more than creating an identifier.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = -1  # tick
        self._words: list[int] = []  # of 64 bits
        os.register_at_fork(
            after_in_child=self._words.clear
        )  # otherwise both processes would use the same words

    def new_id(self, now: int) -> bytes:
        """Create an identifier of a resource.

        Parameters
        ----------
        now : int
            The present, in microseconds since 1970-01-01 UTC.

        Returns
        -------
        bytes
            16 bytes, greater than all earlier ones of this process. 62 random bits keep those of several processes
            distinct.

        References
        ----------
        RFC 9562, section 5.7 (version 7) and section 6.2, method 3 (the fraction of the millisecond fills `rand_a`).
        """
        with self._lock:
            # If the clock stops or steps back, ids must still increase.
            tick = now * _TICKS // 1000
            if tick <= self._last:
                tick = self._last + 1
            self._last = tick
            if not self._words:
                self._fetch()
            random = self._words.pop()
        milliseconds, fraction = tick // _TICKS, tick % _TICKS
        return _PACK(milliseconds << 16 | _VERSION | fraction, _VARIANT | random & _RANDOM)

    def new_request_id(self) -> str:
        """Create a random UUID as text (RFC 9562, section 5.4, version 4); not stored in any row."""
        with self._lock:
            if len(self._words) < 2:
                self._fetch()
            high, low = self._words.pop(), self._words.pop()
        return to_text(_PACK(high & ~0xF000 | 0x4000, low & _RANDOM | _VARIANT))

    def _fetch(self) -> None:
        self._words += struct.unpack(f"={_FETCHED}Q", os.urandom(8 * _FETCHED))


_of_this_process: Final = Identifiers()
new_id: Final = _of_this_process.new_id
new_request_id: Final = _of_this_process.new_request_id


def first_of(instant: int) -> bytes:
    """Return a lower bound of all identifiers created in the millisecond of an instant.

    Parameters
    ----------
    instant : int
        Microseconds since 1970-01-01 UTC; negative values count as 0.

    Examples
    --------
    >>> first_of(1_780_315_200_000_000).hex()
    '019e830e1a0000000000000000000000'
    """
    return (max(0, instant // 1000) << 80).to_bytes(16, "big")
