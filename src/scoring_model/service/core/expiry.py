"""Kinds of rows that expire, the instants from which they are kept, and ranges of their keys."""

from dataclasses import dataclass
from enum import StrEnum

Key = tuple[bytes | int, ...]
"""The primary key of a row."""


class Expiring(StrEnum):
    """Kinds of rows that are deleted when they are old, in the order of deletion."""

    LINKS = "links"
    LABEL_TIMES = "labelTimes"  # the newest label of each link key, see `Transaction.newest`
    ANSWERS = "answers"  # for idempotent replays
    DELIVERIES = "deliveries"  # delivered or dropped
    DEAD_LETTERS = "deadLetters"
    EVENTS = "events"  # last: an event stays as long as a delivery of it


@dataclass(frozen=True, kw_only=True, slots=True)
class Cutoffs:
    """Instants from which rows are kept, microseconds since 1970-01-01 UTC; None keeps everything.

    Parameters
    ----------
    links : int or None
        By the instants of events under link keys, and of their labels.
    answers : int or None
        By the instants of the answers.
    deliveries : int or None
        By the instants at which deliveries arrived or were dropped.
    dead_letters : int or None
        By the instants at which deliveries became dead letters.
    events : int or None
        By the instants of events that wait for no webhook and have no delivery left.
    """

    links: int | None
    answers: int | None
    deliveries: int | None
    dead_letters: int | None
    events: int | None

    def of(self, kind: Expiring) -> int | None:
        """The instant from which a kind of rows is kept."""
        return {
            Expiring.LINKS: self.links,
            Expiring.LABEL_TIMES: self.links,
            Expiring.ANSWERS: self.answers,
            Expiring.DELIVERIES: self.deliveries,
            Expiring.DEAD_LETTERS: self.dead_letters,
            Expiring.EVENTS: self.events,
        }[kind]


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyRange:
    """A part of a table, in the order of its primary key.

    Parameters
    ----------
    after : Key
        The key before the range.
    through : Key
        The last key in the range.
    old : int
        How many of its rows are to be deleted, once the kinds before this one have been.
    last : bool
        Whether no old row can lie behind the range.
    """

    kind: Expiring
    after: Key
    through: Key
    old: int
    last: bool
