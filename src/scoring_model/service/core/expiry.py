"""What does not stay for ever: kinds of rows, from when on each is kept, and stretches of their tables."""

from dataclasses import dataclass
from enum import StrEnum


class Expiring(StrEnum):
    """Kinds of rows that are deleted when they are old, in the order in which that is done."""

    LINKS = "links"
    LABEL_TIMES = "labelTimes"  # the newest label of each link key, see `Transaction.newest`
    ANSWERS = "answers"  # what requests were answered, for repetitions of them
    DELIVERIES = "deliveries"  # delivered or dropped
    DEAD_LETTERS = "deadLetters"
    EVENTS = "events"  # last: an event stays as long as a delivery of it


@dataclass(frozen=True, kw_only=True, slots=True)
class Cutoffs:
    """What is older than these instants is deleted, what is as old is kept.

    Parameters
    ----------
    links : int or None
        Instants of events under link keys, and of their labels. Microseconds since 1970-01-01 UTC, as all
        here; None where nothing is deleted.
    answers : int or None
        When requests were answered.
    deliveries : int or None
        When deliveries arrived or were dropped.
    dead_letters : int or None
        When deliveries became dead letters.
    events : int or None
        When events happened that wait for no webhook and of which no delivery is left.
    """

    links: int | None
    answers: int | None
    deliveries: int | None
    dead_letters: int | None
    events: int | None

    def of(self, kind: Expiring) -> int | None:
        """The instant that a kind of rows is kept from."""
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
    """A part of a table, in the order of its key.

    Parameters
    ----------
    after : tuple of (bytes or int)
        The key that it begins after.
    through : tuple of (bytes or int)
        The last key in it.
    old : int
        How many of its rows are to be deleted, once all kinds before this one have been.
    last : bool
        Whether nothing old can lie behind it.
    """

    kind: Expiring
    after: tuple[bytes | int, ...]
    through: tuple[bytes | int, ...]
    old: int
    last: bool
