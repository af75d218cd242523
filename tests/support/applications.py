"""Invented applications, each as requests of a client and as a record of a file."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from identity_use import bodies
from scoring_model import synthetic
from scoring_model.records import microseconds, rfc3339

IDENTITY: Final = (
    "firstName",
    "lastName",
    "dob",
    "citizenship",
    "documentType",
    "imageUrls",
    "address",
)
"""Fields of an identity that is validated."""
_PARTS: Final = (*IDENTITY, "externalId")
_BORN: Final = ("1930", "2005")  # every age in between is valid
_LABEL_SHIFT: Final = (
    500_000  # microseconds: labels lie between events, which are numbered within their second
)


@dataclass(frozen=True, kw_only=True)
class Application:
    """One application; its instants are microseconds, no two alike.

    Parameters
    ----------
    at : int
        Event time in the file.
    identity : mapping or None
        Body of an identity to validate; None if the client has its own identity provider.
    known_at : int or None
        Time from which its label is known.
    """

    name: str
    at: int
    identity: Mapping[str, Any] | None
    signals: Mapping[str, Any]
    subject: str | None
    label: str | None
    known_at: int | None

    def request(self, identity_id: str | None) -> dict[str, Any]:
        """The body of its verification."""
        body = {"identityId": identity_id, "subjectId": self.subject, "signals": self.signals or None}
        return {name: value for name, value in body.items() if value is not None}

    def record(self) -> dict[str, Any]:
        """The same application as a record of a file."""
        record = {"recordId": self.name, "eventTime": rfc3339(self.at), **(self.identity or {})}
        record |= {"signals": dict(self.signals), "subjectId": self.subject}
        if self.label is not None and self.known_at is not None:
            record |= {"label": self.label, "labelKnownAt": rfc3339(self.known_at)}
        return record


def applications(count: int, *, seed: int, months: int) -> list[Application]:
    """Invent applications, in the order of their event times.

    Two thirds of those with a complete identity send it, half of these with signals. The others send only signals,
    most with a reference of the person, who may return and also be known by name.
    """
    batches = synthetic.generate(records=count, seed=seed, months=months, truth=True)
    rows = bodies(pa.Table.from_batches(batches), labels=True)
    return list(_all(rows, random.Random(seed)))


def _all(rows: list[dict[str, Any]], rng: random.Random) -> Iterator[Application]:
    for number, row in enumerate(rows):
        identity: dict[str, Any] = {name: row[name] for name in _PARTS if name in row}
        known = row.get("labelKnownAt")
        named = _is_whole(identity) and rng.random() < 2 / 3
        signals = row["signals"] if not named or rng.random() < 1 / 2 else {}
        yield Application(
            name=row["recordId"],
            at=microseconds(row["eventTime"]) + number,
            identity=identity if named else None,
            signals=signals,
            subject=row["truth"]["person"] if rng.random() < (0.2 if named else 0.8) else None,
            label=row.get("label"),
            known_at=None if known is None else microseconds(known) + _LABEL_SHIFT + number,
        )


def _is_whole(identity: Mapping[str, Any]) -> bool:
    """Return True if the identity is VALIDATED."""
    if any(name not in identity for name in IDENTITY) or "country" not in identity["address"]:
        return False
    lettered = any(map(str.isalpha, identity["firstName"] + identity["lastName"]))
    return lettered and _BORN[0] <= identity["dob"] <= _BORN[1]
