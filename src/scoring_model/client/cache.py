"""A private cache in memory (RFC 9111)."""

import re
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

import httpx

_MAX_AGE: Final = re.compile(r"(?:^|[,\s])max-age=(\d{1,9})(?=$|[,\s])", re.ASCII | re.IGNORECASE)
_NO: Final = re.compile(r"(?:^|[,\s])no-(?:store|cache)(?=$|[,\s=])", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Kept:
    """A cached value and its entity tag; fresh until an instant on the clock of the session."""

    value: Any = field(repr=False)
    etag: str | None
    fresh_until: float


class Cache:
    """The latest answers by path, at most `entries`, for one pair of credentials. Threads may share it."""

    def __init__(self, entries: int) -> None:
        self._entries = entries
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._lock = Lock()
        self._age = 0

    @property
    def age(self) -> int:
        """Return how often it was cleared. Answers to requests sent before the last clearing are not cached."""
        return self._age

    def get(self, path: str) -> Kept | None:
        """The cached answer, fresh or not."""
        with self._lock:
            kept = self._kept.get(path)
            if kept is not None:
                self._kept.move_to_end(path)
            return kept

    def put(self, path: str, value: object, response: httpx.Response, *, now: float, age: int) -> None:
        """Cache the value of an answer, or of the 304 that confirmed an earlier one, if the answer allows it.

        `now` and the `age` of the cache are those of the request.
        """
        with self._lock:
            if age != self._age:
                return
            self._kept.pop(path, None)
            seconds = lifetime(response)
            if seconds is not None:
                self._kept[path] = Kept(value, response.headers.get("ETag"), now + seconds)
            while len(self._kept) > self._entries:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        """Clear the cache, and do not cache the answers to pending requests."""
        with self._lock:
            self._age += 1
            self._kept.clear()


def lifetime(response: httpx.Response) -> int | None:
    """Seconds for which an answer is fresh; None if it may not be kept.

    References
    ----------
    RFC 9111, section 5.2.2. Only an answer that names its `max-age` is kept.
    """
    control = response.headers.get("Cache-Control", "")
    found = _MAX_AGE.search(control)
    return None if found is None or _NO.search(control) else int(found[1])
