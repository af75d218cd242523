"""One parsed record."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Record:
    """One record that obeys the contract.

    Parameters
    ----------
    values : mapping of str to object
        Canonical values by field name; what is missing is absent.
    event_time : int
        Microseconds since 1970-01-01 UTC.
    record_id : str or None
        The client's name of the record, where it has one.
    """

    values: Mapping[str, object]
    event_time: int
    record_id: str | None
