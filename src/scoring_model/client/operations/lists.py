"""Requests about lists: values whose applicants pass, are stepped up or fail."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from scoring_model.client.request import Request, resource
from scoring_model.contract.operator_list import ListChanged, OperatorLists

_PATH = "/scoring/v1/lists"
_changed = resource(ListChanged)
_read_all = resource(OperatorLists)


def add(
    name: str,
    values: Iterable[str | Mapping[str, Any]],
    *,
    key: str,
    outcome: str,
    until: datetime | None = None,
) -> Request[ListChanged]:
    """Add values to a list of the client's history scope, which is made if there is none with its name.

    Adding a value again changes nothing; with another `until` it gets that end.

    Parameters
    ----------
    values : iterable of str or mapping
        At most 1,000: text where the link key has one field, else its fields by name.
    key : str
        Link key of the model, such as ``device``.
    outcome : str
        ``PASSED``, ``STEPPED_UP`` or ``FAILED``.
    until : datetime or None
        With a time zone, later than now: verifications from then on are not subject to the values.

    Raises
    ------
    Invalid
        If a value is malformed, or the list has another key or outcome; `errors` lists all of them.
    """
    if until is not None and until.tzinfo is None:
        raise ValueError("until must have a time zone")
    body = {
        "list": name,
        "key": key,
        "outcome": outcome,
        "until": None if until is None else until.isoformat(),
        "values": list(values),
    }
    return Request(method="POST", path=f"{_PATH}/entries", read=_changed, body=body, repeatable=True)


def remove(name: str, values: Iterable[str | Mapping[str, Any]]) -> Request[ListChanged]:
    """Remove values from a list, at most 1,000; those that are not on it change nothing.

    Raises
    ------
    Invalid
        If there is no such list, or a value is malformed.
    """
    body = {"list": name, "values": list(values)}
    return Request(method="POST", path=f"{_PATH}/removals", read=_changed, body=body, repeatable=True)


def list_all() -> Request[OperatorLists]:
    """Read the lists of the client's history scope, without their values."""
    return Request(method="GET", path=_PATH, read=_read_all)
