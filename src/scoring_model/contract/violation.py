"""Violations of rules, in one form for bodies, rows, settings and files."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

MOST_ERRORS: Final = 100
"""Violations of a body that an answer describes. It counts the others."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule. Its texts repeat no value, so they may be logged.

    Parameters
    ----------
    pointer : str
        JSON Pointer (RFC 6901) into the body; empty for the whole body, and for what is wrong beside it.
    code : str
        Name of the rule; stable.
    detail : str
        The rule, and the shape of the value, in words.
    """

    pointer: str
    code: str
    detail: str

    @property
    def field(self) -> str:
        """Return the pointer in dotted form, such as ``address.line1``; empty for the whole."""
        return ".".join(_unescaped(name) for name in self.pointer.split("/")[1:])

    def within(self, *names: str | int) -> "Violation":
        """Return the same violation with a pointer prefixed by these names."""
        return Violation(pointer(*names) + self.pointer, self.code, self.detail)

    def __str__(self) -> str:
        return f"{self.field}: {self.detail}" if self.pointer else self.detail


class Invalid(ValueError):
    """A value breaks rules; all of them are listed but for those that a body omitted.

    The subject says what the value is, for the text.
    """

    def __init__(self, violations: Iterable[Violation], subject: str = "", omitted: int = 0) -> None:
        self.violations = tuple(violations)
        self.omitted = omitted
        text = "; ".join(map(str, self.violations))
        super().__init__(f"{subject}: {text}" if subject else text)

    @property
    def lines(self) -> list[str]:
        """Return a line for each violation, and one for those that were omitted."""
        return [*map(str, self.violations), *([f"and {self.omitted} more"] if self.omitted else [])]


OUT_OF_RANGE: Final = "out_of_range"


def check_fields(settings: object, *rules: tuple[str, str, bool]) -> None:
    """Check the fields of settings, whose values may be shown.

    A rule is the name of a field, or nothing for the whole; what it must be; whether it is.

    Raises
    ------
    Invalid
        With every field that breaks a rule.
    """
    violations = [
        Violation(pointer(name), OUT_OF_RANGE, f"must be {expected}, got {getattr(settings, name)}")
        if name
        else Violation("", OUT_OF_RANGE, f"must have {expected}")
        for name, expected, kept in rules
        if not kept
    ]
    if violations:
        raise Invalid(violations)


def pointer(*names: str | int) -> str:
    """Write a JSON Pointer of names and indices, from the outermost; of none for the whole body.

    Half a surrogate pair, which no UTF-8 can carry, becomes a question mark.

    References
    ----------
    RFC 6901, sections 3 and 5.

    Examples
    --------
    >>> pointer("signals", "a/b~c", 0)
    '/signals/a~1b~0c/0'
    """
    return "".join("/" + _escaped(str(name)) for name in names)


def _escaped(name: str) -> str:
    if not name.isascii():
        name = name.encode(errors="replace").decode()
    return name.replace("~", "~0").replace("/", "~1")


def _unescaped(name: str) -> str:
    return name.replace("~1", "/").replace("~0", "~")
