"""A clock for replays: it stands where a test puts it, for all processes alike, or where a request says."""

import struct
from dataclasses import dataclass
from functools import cached_property
from mmap import mmap
from pathlib import Path
from typing import Final

_INSTANT: Final = struct.Struct("<q")


def reference(at: int, name: str) -> str:
    """The idempotency key of a request whose event is to have an instant of a file."""
    return f"{at} {name}"


@dataclass(frozen=True)
class SharedClock:
    """A clock that several processes see and that a test moves.

    How fast it runs does not depend on how busy the machine is, and much of what is decided while it stands would get
    the same instant.

    Parameters
    ----------
    path : str
        A file of 8 bytes, which `put` makes.
    behind : int
        Microseconds that it is late for the one who has it.
    """

    path: str
    behind: int = 0

    @cached_property
    def _memory(self) -> mmap:
        with Path(self.path).open("r+b") as file:
            return mmap(file.fileno(), _INSTANT.size)

    def now(self) -> int:
        """Where it stands."""
        return int(_INSTANT.unpack(self._memory[: _INSTANT.size])[0]) - self.behind

    def event(self, reference: str | None) -> int:
        """The instant that the request names, else the present."""
        return self.now() if reference is None else int(reference.partition(" ")[0])

    def put(self, at: int) -> None:
        """Put it somewhere: microseconds since 1970-01-01 UTC."""
        path = Path(self.path)
        if not path.exists():
            path.write_bytes(bytes(_INSTANT.size))
        # Copied at once. `pack_into` fills the place with zeros first, and another process would see 1970 for a moment.
        self._memory[: _INSTANT.size] = _INSTANT.pack(at + self.behind)

    def advance(self, by: int) -> None:
        """Put it forward by some microseconds."""
        self.put(self.now() + by)


@dataclass(frozen=True)
class StandingClock:
    """A clock that stands.

    Parameters
    ----------
    at : int
        Microseconds.
    """

    at: int

    def now(self) -> int:
        """Where it stands."""
        return self.at

    def event(self, reference: str | None) -> int:
        """Where it stands."""
        return self.at
