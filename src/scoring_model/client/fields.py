"""Typed values of a JSON object that the service sent. Unknown fields are not looked at."""

import json
from collections.abc import Mapping
from datetime import date, datetime
from typing import Final, TypeVar

T = TypeVar("T")
_KINDS: Final[Mapping[type, str]] = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    list: "an array",
    dict: "an object",
}


class Malformed(ValueError):
    """Something is not what the interface promises. The text names the field and the rule alone."""


def decoded(body: bytes) -> object:
    """Read JSON.

    Raises
    ------
    Malformed
        If it is none.
    """
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        raise Malformed("body must be JSON") from None
    return value


def decoded_object(body: bytes) -> "Fields":
    """Read a JSON object.

    Raises
    ------
    Malformed
        If it is none.
    """
    return Fields(_typed(decoded(body), dict, "body"))


def decoded_objects(body: bytes) -> "list[Fields]":
    """Read a JSON array of objects.

    Raises
    ------
    Malformed
        If it is none.
    """
    return [Fields(_typed(item, dict, "item")) for item in _typed(decoded(body), list, "body")]


def _typed(value: object, kind: type[T], name: str) -> T:
    # A boolean is an integer to Python, but not to JSON.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise Malformed(f"{name} must be {_KINDS[kind]}")
    return value


class Fields:
    """The fields of an object. What is null or missing is None, false or empty where a field may be so.

    Parameters
    ----------
    values : mapping of str to object
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def _maybe(self, name: str, kind: type[T]) -> T | None:
        value = self._values.get(name)
        return None if value is None else _typed(value, kind, name)

    def text(self, name: str) -> str:
        """A string that is there."""
        return _typed(self._values.get(name), str, name)

    def maybe_text(self, name: str) -> str | None:
        """A string or None."""
        return self._maybe(name, str)

    def maybe_whole(self, name: str) -> int | None:
        """An integer or None."""
        return self._maybe(name, int)

    def flag(self, name: str) -> bool:
        """A boolean that is there."""
        return _typed(self._values.get(name), bool, name)

    def texts(self, name: str) -> tuple[str, ...]:
        """An array of strings, perhaps empty."""
        return tuple(_typed(item, str, f"every item of {name}") for item in self._maybe(name, list) or [])

    def maybe_object(self, name: str) -> "Fields | None":
        """An object or None."""
        value = self._maybe(name, dict)
        return None if value is None else Fields(value)

    def objects(self, name: str) -> "tuple[Fields, ...]":
        """An array of objects, perhaps empty."""
        items = self._maybe(name, list) or []
        return tuple(Fields(_typed(item, dict, f"every item of {name}")) for item in items)

    def maybe_day(self, name: str) -> date | None:
        """A full-date of RFC 3339, or None."""
        value = self.maybe_text(name)
        try:
            return None if value is None else date.fromisoformat(value)
        except ValueError:
            raise Malformed(f"{name} must be a date") from None

    def maybe_time(self, name: str) -> datetime | None:
        """A date-time of RFC 3339 as an aware datetime, or None."""
        value = self.maybe_text(name)
        return None if value is None else _time(value, name)

    def time(self, name: str) -> datetime:
        """A date-time of RFC 3339 that is there, as an aware datetime."""
        return _time(self.text(name), name)


def _time(value: str, name: str) -> datetime:
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        raise Malformed(f"{name} must be a time") from None
    if time.tzinfo is None:
        raise Malformed(f"{name} must be a time with a zone")
    return time
