"""Plans of records before they are written as text: numbers and keys only, as one structured array."""

from enum import IntEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scoring_model.arrays import BoolArray

EventArray: TypeAlias = NDArray[np.void]


class Kind(IntEnum):
    """The true kind of a record."""

    GENUINE = 0
    RING = 1
    INVENTED = 2
    STOLEN = 3
    BURST = 4


class NameStyle(IntEnum):
    """Origin of the names of an identity."""

    ORDINARY = 0
    MIXED = 1  # given and family name of unrelated cultures
    KEYBOARD = 2  # a walk over the keyboard
    SCRAMBLED = 3  # random letters
    REPEATED = 4  # the given name twice
    NUMBERED = 5  # digits behind the given name


class DateStyle(IntEnum):
    """Origin of the date of birth of an identity."""

    ORDINARY = 0
    NEW_YEAR = 1  # 1 January: also of those whose day is not known
    REPEATED = 2  # day equals month
    EXTREME = 3  # barely of age, or very old


class Channel(IntEnum):
    """Channel of a verification."""

    WEB = 0
    IOS = 1
    ANDROID = 2
    BRANCH = 3
    PARTNER = 4


MAIL_DOMAINS = (
    "mail.example",
    "post.example",
    "inbox.example.com",
    "letters.example.org",
    "work.example.net",
    "temporary.example",
)
"""Domains reserved by RFC 2606; the fifth belongs to employers, the last one forgets its users."""
WORK_MAIL = 4
TEMPORARY_MAIL = 5

EVENT = np.dtype(
    [
        ("time", np.int64),  # microseconds since 1970 UTC
        ("key", np.uint64),  # of this record's own draws
        ("identity", np.uint64),  # whose names and date of birth
        ("family", np.uint64),  # household: family name, origin
        ("origin", np.int64),  # whose culture names the identity, position in COUNTRIES
        ("citizen", np.int64),  # position in COUNTRIES
        ("native", np.bool_),  # names in the culture's own script
        ("country", np.int64),  # of the address, position in COUNTRIES
        ("address", np.uint64),
        ("device", np.uint64),
        ("image", np.uint64),
        ("ip", np.int64),  # position in COUNTRIES
        ("mail", np.int64),  # position in MAIL_DOMAINS
        ("channel", np.int64),
        ("mail_age", np.float64),  # days
        ("form", np.float64),  # seconds
        ("vpn", np.bool_),
        ("name_style", np.int64),
        ("date_style", np.int64),
        ("kind", np.int64),
    ]
)
"""One planned record."""


def blank(size: int) -> EventArray:
    """Make plans of zeros."""
    return np.zeros(size, dtype=EVENT)


def put(events: EventArray, field: str, values: ArrayLike, where: BoolArray) -> None:
    """Write a field of some plans, in place."""
    events[field] = np.where(where, values, events[field])


def in_order(parts: list[EventArray]) -> EventArray:
    """Join plans and sort them by time; ties stay in the order of the parts."""
    events = np.concatenate(parts)
    return events[np.argsort(events["time"], kind="stable")]
