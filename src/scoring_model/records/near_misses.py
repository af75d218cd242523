"""The known names nearest to a misspelt one, at a bounded cost."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from typing import Final

_LONGEST: Final = (
    100  # characters; comparing two names takes time that grows with the product of their lengths
)
_MOST: Final = 200


def near_misses(name: str, known: Iterable[str], *, count: int = 1) -> list[str]:
    """Find the known names most similar to a misspelt one.

    Parameters
    ----------
    name : str
        The misspelt name. Names of more than 100 characters match nothing.
    known : iterable of str
        The first 200 names of at most 100 characters are compared.
    count : int
        Maximum number of results.

    Returns
    -------
    list of str
        The nearest first.

    Examples
    --------
    >>> near_misses("adress.line1", ["address.line1", "dob"])
    ['address.line1']
    """
    if len(name) > _LONGEST:
        return []
    short = (candidate for candidate in known if len(candidate) <= _LONGEST)
    return get_close_matches(name, list(islice(short, _MOST)), n=count)
