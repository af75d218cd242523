"""Violations of rules, in one form for bodies, rows, settings and files."""

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


def pointer(*names: str | int) -> str:
    """Write a JSON Pointer to a value.

    Parameters
    ----------
    *names : str or int
        Names of members and indices of items, from the outermost; none for the whole body.

    Returns
    -------
    str
        A JSON Pointer. Half a surrogate pair, which no UTF-8 can carry, becomes a question mark.

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
