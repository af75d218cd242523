"""Files of labels: their content, and that all violations are reported together."""

import json
import tracemalloc
from pathlib import Path
from typing import Final

import pytest

from scoring_model.records.times import microseconds
from scoring_model.service.core.row_files import LONGEST_LINE, RowsRefused
from scoring_model.service.labels.files import check_labels, read_labels
from scoring_model.service.labels.imports import LabelLine

NOW: Final = microseconds("2026-06-01T00:00:00Z")
IDS: Final = ("01890a5d-ac96-774b-bcce-b302099a8057", "01890A5D-AC96-774B-BCCE-B302099A8058")
KNOWN: Final = "2026-05-01T12:00:00Z"


def written(folder: Path, name: str, text: str) -> Path:
    """A file."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def lines() -> list[LabelLine]:
    """The content of the examples."""
    first, second = (bytes.fromhex(text.replace("-", "")) for text in IDS)
    return [
        LabelLine(first, None, "fraud", microseconds(KNOWN)),
        LabelLine(None, second, "withdrawn", microseconds(KNOWN)),
    ]


def test_csv_and_json_lines_say_the_same(tmp_path: Path) -> None:
    """Column order, unknown columns, blank lines, a byte order mark and capitals change nothing."""
    rows = f"fraud,{IDS[0]},,{KNOWN},x\n\nWithdrawn,,{IDS[1]},{KNOWN},\n"
    table = written(tmp_path, "a.csv", "\ufefflabel,verificationId,identityId,knownAt,note\n" + rows)
    objects = [
        {"verificationId": IDS[0], "label": "fraud", "knownAt": KNOWN, "identityId": None},
        {"identityId": IDS[1], "label": " WITHDRAWN ", "knownAt": KNOWN, "note": [1]},
    ]
    text = "\n\n".join(json.dumps(row) for row in objects)
    assert list(read_labels(table, at=NOW)) == lines()
    assert list(read_labels(written(tmp_path, "a.jsonl", text), at=NOW)) == lines()


def test_record_ids_are_read_as_those_of_records(tmp_path: Path) -> None:
    """Trimmed, in Unicode's normal form C, and whole numbers as their digits."""
    rows = [{"recordId": name, "label": "fraud", "knownAt": KNOWN} for name in (" e\u0301 ", 7)]
    path = written(tmp_path, "a.jsonl", "\n".join(json.dumps(row) for row in rows))
    assert [line.record_id for line in read_labels(path, at=NOW)] == ["\u00e9", "7"]


@pytest.mark.parametrize(("name", "text"), [("a.jsonl", ""), ("a.csv", "label,verificationId,knownAt\n")])
def test_no_rows_are_no_labels(tmp_path: Path, name: str, text: str) -> None:
    """An empty file of objects and a file with only a header contain no labels."""
    assert list(read_labels(written(tmp_path, name, text), at=NOW)) == []


@pytest.mark.parametrize(("text", "word"), [("", "header row"), ("label;verificationId;knownAt\n", "';'")])
def test_a_table_needs_a_header_with_commas(tmp_path: Path, text: str, word: str) -> None:
    """A file of labels without one is refused by its name and what is missing."""
    with pytest.raises(ValueError, match=f"^a.csv: .*{word}"):
        check_labels(written(tmp_path, "a.csv", text), at=NOW)


BAD: Final = [
    ({"verificationId": "x"}, "verificationId: not_a_uuid, must be a UUID"),
    ({"verificationId": 7}, "verificationId: not_a_uuid"),
    (
        {"identityId": IDS[1]},
        "row: one_identifier, must have exactly one of verificationId, identityId, recordId, got 2",
    ),
    (
        {"verificationId": None},
        "row: one_identifier, must have exactly one of verificationId, identityId, recordId, got 0",
    ),
    ({"recordId": "a"}, "row: one_identifier"),
    ({"recordId": "c" * 256}, "recordId: too_long"),
    ({"label": "canary"}, "label: not_listed, must be one of fraud, genuine, withdrawn"),
    ({"label": ["fraud"]}, "label: not_listed"),
    ({"label": True}, "label: not_listed"),
    ({"label": " "}, "label: missing"),
    ({"knownAt": None}, "knownAt: missing"),
    ({"knownAt": "canary"}, "knownAt: not_a_time"),
    ({"knownAt": 5}, "knownAt: wrong_type"),
    ({"knownAt": "2026-06-01T00:00:01Z"}, "knownAt: in_future"),
]


@pytest.mark.parametrize(("change", "words"), BAD)
def test_a_broken_rule_is_reported(tmp_path: Path, change: dict[str, object], words: str) -> None:
    """By row, field and rule, never by the value."""
    row = {"verificationId": IDS[0], "label": "fraud", "knownAt": KNOWN, **change}
    with pytest.raises(RowsRefused) as caught:
        check_labels(written(tmp_path, "a.jsonl", json.dumps(row)), at=NOW)
    assert f"- row 0: {words}" in str(caught.value)
    assert "canary" not in str(caught.value)


def test_all_bad_rows_are_reported_at_once(tmp_path: Path) -> None:
    """Every violation of every row, malformed rows included, is reported in the order of the file."""
    good = json.dumps({"verificationId": IDS[0], "label": "fraud", "knownAt": KNOWN})
    text = "\n".join([good, "[]", good, "{", '{"label": "x"}'])
    with pytest.raises(RowsRefused) as caught:
        check_labels(written(tmp_path, "a.ndjson", text), at=NOW)
    assert [(broken.row, broken.violation.code) for broken in caught.value.rows] == [
        (1, "malformed_row"),
        (3, "malformed_row"),
        (4, "not_listed"),
        (4, "missing"),
        (4, "one_identifier"),
    ]


def test_ragged_rows_of_csv_are_reported(tmp_path: Path) -> None:
    """A row of another length is a problem of its own."""
    text = f"verificationId,label,knownAt\n{IDS[0]},fraud\n{IDS[0]},fraud,{KNOWN}\n"
    with pytest.raises(RowsRefused, match="row 0: row: malformed_row, must have 3 columns, got 2"):
        check_labels(written(tmp_path, "a.csv", text), at=NOW)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.csv", "verificationId,lable,knownAt\n", "the header lacks label"),
        ("a.csv", "label,knownAt\n", "the header lacks verificationId or identityId or recordId"),
        ("a.csv", "label,knownAt,label,identityId\n", "distinct names"),
        ("a.xlsx", "", "must end in one of .csv, .jsonl, .ndjson"),
    ],
)
def test_an_unusable_file_is_named(tmp_path: Path, name: str, text: str, words: str) -> None:
    """A header that lacks a column, and an ending of another kind, are errors of the whole file."""
    with pytest.raises(ValueError, match=words) as caught:
        check_labels(written(tmp_path, name, text), at=NOW)
    assert name in str(caught.value)


def test_a_file_of_any_size_is_checked_and_read_in_little_memory(tmp_path: Path) -> None:
    """A file of 10 MB costs less than 1 MB at any time, good or bad; of many violations the first 100 are listed."""
    row = json.dumps({"verificationId": IDS[0], "label": "fraud", "knownAt": KNOWN, "note": "x" * 2_000})
    good = written(tmp_path, "a.jsonl", f"{row}\n" * 5_000)
    bad = written(tmp_path, "b.jsonl", f"{row.replace('fraud', 'x')}\n" * 5_000)
    tracemalloc.start()
    try:
        assert not check_labels(good, at=NOW)
        assert sum(1 for _ in read_labels(good, at=NOW)) == 5_000
        with pytest.raises(RowsRefused, match="and 4,900 more") as caught:
            check_labels(bad, at=NOW)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert len(caught.value.rows) == 100


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    """It is not read into memory, whatever the format."""
    for name in ("a.jsonl", "a.csv"):
        path = written(tmp_path, name, "label,verificationId,knownAt" + "," * LONGEST_LINE)
        with pytest.raises(ValueError, match=f"^{name}: a line has more than 1,048,576 characters"):
            check_labels(path, at=NOW)


def test_what_is_no_text_is_an_error_of_the_file(tmp_path: Path) -> None:
    """Other encodings, and quotes that never end, are reported with the name of the file."""
    for name, content in (
        ("a.csv", b"label\xff"),
        ("b.jsonl", b"\xff\xfe"),
        ("c.csv", b'label,identityId,knownAt\n"'),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(ValueError, match=name):
            check_labels(path, at=NOW)
