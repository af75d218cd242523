"""What a service acknowledged, written down by those who asked it."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from outside_client import IDENTITIES, VERIFICATIONS, Answer

ACKNOWLEDGED: Final = (201, 202)


@dataclass(eq=False)
class Entry:
    """One thing that was made, and what was said when it was.

    Parameters
    ----------
    credentials : mapping of str to str
        Whose it is.
    path : str
        Of the collection.
    key : str
        Of idempotency.
    body : dict
    answer : Answer
        201 or 202.
    erased : bool
        Whether its person was erased, or was going to be.
    """

    credentials: Mapping[str, str] = field(repr=False)
    path: str
    key: str
    body: dict[str, object] = field(repr=False)
    answer: Answer
    erased: bool = False

    @property
    def id(self) -> str:
        """Its identifier."""
        return str(self.answer.json["id"])

    @property
    def is_identity(self) -> bool:
        """Whether it is an identity; it is a verification if not."""
        return self.path == IDENTITIES


class Ledger:
    """All that was acknowledged to several clients, and all that they were not to be told."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: list[Entry] = []
        self._faults: list[str] = []
        self._repeated = 0

    def note(self, entry: Entry) -> None:
        """Write down what was acknowledged."""
        with self._lock:
            self._entries.append(entry)

    def blame(self, fault: str) -> None:
        """Write down what should not have happened."""
        with self._lock:
            self._faults.append(fault)

    def repeat(self) -> None:
        """Count a request that was sent, got no answer, and has to be sent again."""
        with self._lock:
            self._repeated += 1

    @property
    def entries(self) -> list[Entry]:
        """Everything that was acknowledged so far, in this order."""
        with self._lock:
            return list(self._entries)

    @property
    def faults(self) -> list[str]:
        """Everything that should not have happened."""
        with self._lock:
            return list(self._faults)

    @property
    def repeated(self) -> int:
        """How many requests had to be sent again."""
        return self._repeated

    @property
    def identities(self) -> list[Entry]:
        """The identities among the entries."""
        return [entry for entry in self.entries if entry.path == IDENTITIES]

    @property
    def verifications(self) -> list[Entry]:
        """The verifications among the entries."""
        return [entry for entry in self.entries if entry.path == VERIFICATIONS]
