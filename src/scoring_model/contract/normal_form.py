"""Unicode normal form C (NFC), in time that grows with the length of the text alone.

`unicodedata.normalize` puts runs of combining marks into canonical order by insertion sort, whose time grows with
the square of a run (python/cpython 149079, which later patch releases mend). Long runs are sorted here first.

References
----------
Unicode Standard Annex 15, and section 3.11 of the Unicode Standard (canonical ordering).
"""

import re
from functools import cache
from itertools import groupby
from typing import Final
from unicodedata import combining, is_normalized, normalize

EXPANSION: Final = 4
"""Most code points that one code point of NFC decomposes into (Annex 15, section 9: U+1F82).

A text of more than `EXPANSION` times n code points has more than n in NFC, since decomposition never shortens a text.
"""

_LONG: Final = 32  # marks; an insertion sort of fewer takes less than a microsecond
_LAST: Final = 0x1F000  # there is no combining mark from here on
# The only characters of class 0 whose decomposition begins with a mark.
_DOUBLE_MARKS: Final = {
    "\u0f73": "\u0f71\u0f72",
    "\u0f75": "\u0f71\u0f74",
    "\u0f81": "\u0f71\u0f80",
}


def normal_form(text: str) -> str:
    """Compose a text: `unicodedata.normalize("NFC", text)`, without its worst case.

    Examples
    --------
    >>> normal_form("e\u0301") == "\u00e9"
    True
    """
    if len(text) >= _LONG and not is_normalized("NFC", text):
        text = _long_run().sub(lambda run: _ordered(run[0]), text)
    return normalize("NFC", text)


def _ordered(run: str) -> str:
    """Sort marks by combining class; those of one class keep their order."""
    for double, marks in _DOUBLE_MARKS.items():
        run = run.replace(double, marks)
    return "".join(sorted(run, key=combining))


@cache
def _long_run() -> re.Pattern[str]:
    """Compile the pattern of long runs of marks, when the first text needs it: it takes 10 ms."""
    marks = [code for code in range(0x300, _LAST) if combining(chr(code)) or chr(code) in _DOUBLE_MARKS]
    ranges = ""
    for _, numbered in groupby(enumerate(marks), key=lambda pair: pair[1] - pair[0]):
        codes = [code for _, code in numbered]
        ranges += f"{chr(codes[0])}-{chr(codes[-1])}"
    return re.compile(f"[{ranges}]{{{_LONG},}}")
