"""Text in CSV files that a spreadsheet would run as a formula.

References
----------
OWASP, "CSV Injection"; CWE-1236.
"""

from typing import Final

FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")
"""What a text cell begins with that a spreadsheet takes for a formula, or strips to find one."""

GUARD: Final = "'"
"""In front of a cell it makes a spreadsheet read the rest as text."""


def guarded(text: str) -> str:
    """Put `GUARD` before text that a spreadsheet would run.

    Examples
    --------
    >>> guarded("=1+1"), guarded("a=1")
    ("'=1+1", 'a=1')
    """
    return GUARD + text if text.startswith(FORMULA_STARTS) else text
