"""Blocks of text files against the whole file, read by Arrow."""

import io

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scoring_model.batch.text_blocks import text_blocks
from scoring_model.records.text_files import CsvStart, csv_part

CELLS = st.text(st.sampled_from('ab",;\n\r é'), max_size=6).map(lambda text: text.encode())
START = CsvStart(["one", "two"], True, ",", "utf-8")


def rows_of(text: bytes) -> tuple[list[object], list[str]]:
    """Cells and torn rows of a CSV text."""
    sheet = csv_part(pa.py_buffer(text), START, ())
    columns = [column.to_pylist() for column in sheet.columns.values()]  # type: ignore[union-attr]
    return list(zip(*columns, strict=True)), list(sheet.unreadable.values())


@settings(max_examples=150)
@given(st.lists(CELLS, max_size=40).map(b"".join), st.integers(1, 4))
@example(b"a,b\r\n" * 4 + b"\r\n", 2)
@example(b'a,"x\ny"\n\n5" pipe,b\r\n"q""\n",c\n', 1)
def test_blocks_of_csv_are_read_like_the_whole(text: bytes, rows: int) -> None:
    """Wherever quotes, line breaks and blank lines are, no block begins inside of a row."""
    blocks = list(text_blocks(io.BytesIO(text), rows, separator=",", header=False))
    assert text.startswith(b"".join(blocks))
    assert not text[len(b"".join(blocks)) :].strip(b"\r\n")
    try:
        whole = rows_of(text)
    except pa.ArrowInvalid:
        return
    found = [rows_of(block) for block in blocks]
    assert [row for cells, _ in found for row in cells] == whole[0]
    assert [row for _, torn in found for row in torn] == whole[1]
    assert all(len(cells) <= rows for cells, torn in found if not torn)


def test_the_header_is_a_block() -> None:
    """The first row alone, then blocks of the requested size, then the rest."""
    text = b'"a\nb",c\n' + b"1,2\n" * 5
    found = list(text_blocks(io.BytesIO(text), 2, separator=",", header=True))
    assert found == [b'"a\nb",c\n', b"1,2\n1,2\n", b"1,2\n1,2\n", b"1,2\n"]


@pytest.mark.parametrize("rows", [1, 3])
def test_lines_are_cut_at_line_breaks_alone(rows: int) -> None:
    """In JSON Lines neither quotes nor carriage returns begin or end anything."""
    text = b'{"a": "}"}\r\n{"b":\r 1}\n\n{"c": "\\""}'
    blocks = list(text_blocks(io.BytesIO(text), rows, separator=None, header=False))
    assert b"".join(blocks) == text
    assert all(block.endswith(b"\n") for block in blocks[:-1])
    assert len(blocks) == {1: 3, 3: 1}[rows]
