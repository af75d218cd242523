"""The known names nearest to a misspelt one, at a bounded cost."""

from collections.abc import Iterable
from difflib import get_close_matches
from heapq import nlargest
from itertools import takewhile
from typing import Final

_LONGEST: Final = (
    100  # characters; comparing two names takes time that grows with the product of their lengths
)
_MOST: Final = 200


def near_misses(name: str, known: Iterable[str], *, count: int = 1) -> list[str]:
    """Find the known names most similar to a misspelt one. Case is ignored.

    Parameters
    ----------
    name : str
        The misspelt name. Names of more than 100 characters match nothing.
    known : iterable of str
        The 200 names of at most 100 characters that share the longest beginnings with `name` are compared.
    count : int
        Maximum number of results.

    Returns
    -------
    list of str
        The nearest first.

    Examples
    --------
    >>> near_misses("Adress.line1", ["address.line1", "dob"])
    ['address.line1']
    """
    if len(name) > _LONGEST:
        return []
    wanted = name.casefold()
    short = {candidate.casefold(): candidate for candidate in known if len(candidate) <= _LONGEST}
    compared = list(short)
    if len(compared) > _MOST:
        compared = nlargest(_MOST, compared, key=lambda candidate: _shared_beginning(wanted, candidate))
    return [short[found] for found in get_close_matches(wanted, compared, n=count)]


def did_you_mean(name: str, known: Iterable[str], *, otherwise: str = "") -> str:
    """Return the end of an error about an unknown name: the nearest known one, or `otherwise`.

    Examples
    --------
    >>> "unknown key" + did_you_mean("lable", ["label", "delay"])
    'unknown key; did you mean label?'
    """
    near = near_misses(name, known)
    return f"; did you mean {near[0]}?" if near else otherwise


def _shared_beginning(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
