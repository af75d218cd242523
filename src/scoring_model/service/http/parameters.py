"""Parameters of queries: which there may be, and the pages of a list."""

import base64
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final
from urllib.parse import parse_qsl

from scoring_model.contract.violation import MOST_ERRORS, Violation, pointer
from scoring_model.service.core.errors import Invalid

PAGE: Final = 100
"""Things on a page, by default and at most."""

_LIMIT: Final = re.compile(r"[0-9]{1,3}", re.ASCII)
_CURSOR: Final = re.compile(r"[A-Za-z0-9_-]{22}", re.ASCII)


def pairs_of(query: str) -> list[tuple[str, str]]:
    """Take a query apart: names and values of its first 100 parameters.

    No path has so many, so further ones would only be further errors.

    Examples
    --------
    >>> pairs_of("limit=5&&cursor=")
    [('limit', '5'), ('cursor', '')]
    """
    written = [pair for pair in query.split("&") if pair]
    return parse_qsl("&".join(written[:MOST_ERRORS]), keep_blank_values=True)


def check_names(pairs: Sequence[tuple[str, str]], known: Collection[str]) -> Mapping[str, str]:
    """Refuse parameters that are not known or come twice.

    Parameters
    ----------
    pairs : sequence of (str, str)
        Names and values.
    known : collection of str

    Returns
    -------
    mapping of str to str

    Raises
    ------
    Invalid
        With all of them. A name stands in the pointer, as that of an unknown field does, and nowhere else.
    """
    found: dict[str, str] = {}
    errors: list[Violation] = []
    for name, value in pairs:
        if name not in known:
            errors.append(
                Violation(pointer(name), "unknown_parameter", "must be a query parameter that is known")
            )
        elif name in found:
            errors.append(Violation(pointer(name), "repeated_parameter", "must come once"))
        found[name] = value
    if errors:
        raise Invalid(tuple(errors))
    return found


def page(query: Mapping[str, str]) -> tuple[int, bytes | None]:
    """Read which page of a list is asked for.

    Parameters
    ----------
    query : mapping of str to str

    Returns
    -------
    limit : int
        1 to `PAGE`.
    after : bytes or None
        Id to go on after.

    Raises
    ------
    Invalid
        With all that is wrong.
    """
    errors: list[Violation] = []
    limit, after = PAGE, None
    if "limit" in query:
        text = query["limit"]
        limit = int(text) if _LIMIT.fullmatch(text) else 0
        if not 1 <= limit <= PAGE:
            errors.append(Violation("", "invalid_limit", f"query parameter limit must be 1 to {PAGE}"))
    if "cursor" in query:
        after = _id_of(query["cursor"])
        if after is None:
            errors.append(Violation("", "invalid_cursor", "query parameter cursor must be that of a Link"))
    if errors:
        raise Invalid(tuple(errors))
    return limit, after


def cursor_of(resource: bytes) -> str:
    """Write the place after a resource, in a way that nobody takes for its id."""
    return base64.urlsafe_b64encode(resource).rstrip(b"=").decode()


def _id_of(cursor: str) -> bytes | None:
    if not _CURSOR.fullmatch(cursor):
        return None
    resource = base64.urlsafe_b64decode(cursor + "==")
    return resource if cursor_of(resource) == cursor else None
