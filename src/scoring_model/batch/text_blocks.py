"""Cuts text files into blocks of whole rows, without parsing their cells."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.compiled import compiled
from scoring_model.records.sheet import ROW, UnreadableSource

_CHUNK: Final = 1 << 20
_NEWLINE, _RETURN, _QUOTE = 10, 13, 34
_FIELD_START, _IN_FIELD, _IN_QUOTES, _AFTER_QUOTE = range(4)


def text_blocks(stream: Any, rows: int, *, separator: str | None, header: int) -> Iterator[bytes]:
    """Yield consecutive blocks of a text file, without blank lines at its end.

    Parameters
    ----------
    stream : binary stream
        Text in an encoding that contains ASCII.
    rows : int
        Rows of each block but the last; blank lines do not count.
    separator : str or None
        That of a CSV file, whose quoted cells may hold line breaks (RFC 4180); None for a file of lines.
    header : int
        Rows of the first block, up to the header; 0 where there is none.

    Raises
    ------
    UnreadableSource
        If a row is longer than `ROW`, by up to two chunks.
    """
    held: list[bytes] = []
    missing, state, blank = header or rows, _FIELD_START, True
    endless = 0
    mark = -1 if separator is None else ord(separator)
    while chunk := stream.read(_CHUNK):
        left = missing
        start, view = 0, np.frombuffer(bytearray(chunk), dtype=np.uint8)  # one copy, not one for each call
        while start < len(chunk):
            end, missing, state, blank = _scan(view, start, missing, state, blank, mark)
            held.append(chunk[start:end])
            start = end
            if missing == 0:
                yield b"".join(held)
                held, missing, left = [], rows, -1
        endless = endless + len(chunk) if missing == left else 0
        if endless >= ROW:
            raise UnreadableSource(f"a row of the file has {ROW:,} bytes or more")
    if missing < rows or not blank:
        yield b"".join(held)


@compiled
def _scan(
    text: NDArray[np.uint8], start: int, missing: int, state: int, blank: bool, separator: int
) -> tuple[int, int, int, bool]:
    """Advance until no row is missing or the text ends, with the states of Arrow's parser of CSV.

    A quote is special at the start of a cell only. Returns the position, the rows that are still missing, the state,
    and whether the present row has no byte yet.
    """
    for i in range(start, len(text)):
        one = text[i]
        if state == _IN_QUOTES:
            if one == _QUOTE:
                state = _AFTER_QUOTE
        elif one == _NEWLINE or (one == _RETURN and separator >= 0):
            state = _FIELD_START
            if not blank:
                missing -= 1
                blank = True
                if missing == 0:
                    return i + 1, missing, state, blank
            continue
        elif separator < 0:
            state = _IN_FIELD
        elif one == separator:
            state = _FIELD_START
        elif one == _QUOTE and state != _IN_FIELD:
            state = _IN_QUOTES
        else:
            state = _IN_FIELD
        blank = False
    return len(text), missing, state, blank
