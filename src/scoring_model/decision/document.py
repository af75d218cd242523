"""Strict reading of the small JSON documents that a bundle holds."""

import math
from collections.abc import Callable, Mapping

Check = Callable[[object], str | None]
"""Says which rule a value breaks, or None."""


class DocumentError(ValueError):
    """A document that breaks its rules.

    Parameters
    ----------
    name : str
        What the document describes.
    problems : tuple of str
        One per broken rule: the field, then the rule.
    """

    def __init__(self, name: str, problems: tuple[str, ...]) -> None:
        super().__init__(f"{name}: " + "; ".join(problems))
        self.problems = problems


def check_document(name: str, document: object, checks: Mapping[str, Check]) -> None:
    """Hold a document to its fields: each is there, each obeys its check, and there is no other.

    Raises
    ------
    DocumentError
        With all problems at once.
    """
    if not isinstance(document, Mapping):
        raise DocumentError(name, (f"must be an object, got {type(document).__name__}",))
    problems = [f"{field}: unknown field" for field in sorted(set(document) - set(checks), key=str)]
    for field, check in checks.items():
        problem = check(document[field]) if field in document else "missing"
        if problem is not None:
            problems.append(f"{field}: {problem}")
    if problems:
        raise DocumentError(name, tuple(problems))


def is_number(value: object) -> bool:
    """Whether a JSON value is a finite number (true and false are not)."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_integer(value: object) -> bool:
    """Whether a JSON value is an integer (true and false are not)."""
    return isinstance(value, int) and not isinstance(value, bool)


def number(value: object) -> str | None:
    """Check a finite number."""
    return None if is_number(value) else "must be a finite number"


def integer(low: int, high: int) -> Check:
    """Check an integer in low..high, both included."""

    def check(value: object) -> str | None:
        fits = isinstance(value, int) and is_integer(value) and low <= value <= high
        return None if fits else f"must be an integer in {low}..{high}"

    return check
