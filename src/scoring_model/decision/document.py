"""Rules of the JSON documents in a bundle, and their violations."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from scoring_model.contract.rules import kind_of
from scoring_model.contract.violation import Invalid, Violation, pointer

Check: TypeAlias = Callable[[object], Iterator[Violation]]
"""Yields the violations of a value, with pointers that begin at the value; they never repeat it."""


class DocumentError(Invalid):
    """A document breaks its rules."""


def check_document(name: str, document: object, check: Check) -> dict[str, Any]:
    """Check an object.

    Raises
    ------
    DocumentError
        With all violations at once.
    """
    if violations := list(check(document)):
        raise DocumentError(violations, name)
    return dict(document)  # type: ignore[call-overload, no-any-return]


def shape_of(value: object) -> str:
    """Describe a value without repeating it: ``text of 3 characters``, ``a list of 2``, ``null``."""
    match value:
        case str():
            return f"text of {len(value)} characters"
        case Mapping():
            return f"an object of {len(value)}"
        case list() | tuple():
            return f"a list of {len(value)}"
        case _:
            return kind_of(value)


def must_be(expected: str, holds: Callable[[Any], bool]) -> Check:
    """Return a check that a predicate holds for a value."""

    def check(value: object) -> Iterator[Violation]:
        if not holds(value):
            yield Violation("", "invalid", f"must be {expected}, got {shape_of(value)}")

    return check


def fields(
    required: Mapping[str, Check], others: Check | None = None, *, optional: Mapping[str, Check] | None = None
) -> Check:
    """Return a check of an object with these fields; other fields are allowed only if a check for them is given."""
    known = {**required, **(optional or {})}

    def check(value: object) -> Iterator[Violation]:
        yield from an_object(value)
        if not isinstance(value, Mapping):
            return
        for name in sorted(required.keys() - value.keys()):
            yield Violation(pointer(name), "missing", "missing")
        for name, item in value.items():
            of_item = known.get(name, others)
            if of_item is None:
                yield Violation(pointer(shown(name)), "unknown_field", "unknown field")
            else:
                yield from (found.within(shown(name)) for found in of_item(item))

    return check


def entries(names: Check, items: Check) -> Check:
    """Make the check of an object with at least one entry, from checks of the names and of the values."""

    def check(value: object) -> Iterator[Violation]:
        yield from an_object(value)
        if not isinstance(value, Mapping):
            return
        if not value:
            yield Violation("", "empty", "must name at least one")
        for name, item in value.items():
            yield from (found.within(f"{shown(name)} (its name)") for found in names(name))
            yield from (found.within(shown(name)) for found in items(item))

    return check


def each(items: Check, *, least: int = 0) -> Check:
    """Return a check of a list with a minimum number of items."""
    a_list = must_be("a list" if not least else f"a list of {least} or more", _holds_list(least))

    def check(value: object) -> Iterator[Violation]:
        violations = list(a_list(value))
        yield from violations
        if not violations and isinstance(value, list | tuple):
            yield from (found.within(place) for place, item in enumerate(value) for found in items(item))

    return check


def shown(name: object) -> str:
    """Escape a name for a pointer that is shown."""
    return ascii(name)[1:-1]


def is_number(value: object) -> bool:
    """Whether a JSON value is a finite number (true and false are not)."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def integer(low: int, high: int) -> Check:
    """Make the check of an integer in low..high, both included."""
    return must_be(f"an integer in {low}..{high}", lambda value: _is_integer(value) and low <= value <= high)


def one_of(*names: str) -> Check:
    """Return a check of text that must be one of the choices."""
    return must_be(f"one of {', '.join(names)}", lambda value: isinstance(value, str) and value in names)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _holds_list(least: int) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list | tuple) and len(value) >= least


an_object: Final = must_be("an object", lambda value: isinstance(value, Mapping))
number: Final = must_be("a finite number", is_number)
share: Final = must_be("a number in [0, 1]", lambda value: is_number(value) and 0 <= value <= 1)
count: Final = must_be("an integer of at least 0", lambda value: _is_integer(value) and value >= 0)
text: Final = must_be("text", lambda value: isinstance(value, str) and bool(value))
