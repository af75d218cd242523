"""Decision records: an index that lists all of them, and code that cites them where they apply."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECORDS = {path.name: path.read_text() for path in sorted((ROOT / "docs" / "adr").glob("0*.md"))}
INDEX = (ROOT / "docs" / "adr" / "README.md").read_text()


def test_the_index_lists_every_record_once() -> None:
    """In order, with title, status and date of the record, and each earlier number at one record."""
    rows = re.findall(
        r"^\| \[(\d{4})\]\(([\w.-]+)\) \| (.+?) \| accepted, (.+?) \| ([\d, ]*) \|$", INDEX, re.MULTILINE
    )
    assert [name for _, name, *_ in rows] == list(RECORDS)
    earlier = [number for *_, numbers in rows for number in numbers.split(", ") if number]
    assert sorted(earlier) == [f"{number:04d}" for number in range(1, 69)]
    for number, name, title, when, _ in rows:
        assert RECORDS[name].startswith(f"# {number}. {title}\n\nStatus: accepted. Date: {when}.\n"), name


def test_records_are_cited_where_they_apply() -> None:
    """Every record but the one on dependencies is named by a module, and every citation names a record."""
    cited = {
        name
        for path in (ROOT / "src").rglob("*.py")
        for name in re.findall(r"docs/adr/([\w.-]+\.md)", path.read_text())
    }
    assert cited == RECORDS.keys() - {"0003-dependencies.md"}


def test_every_decision_has_its_context_and_consequences() -> None:
    """Each decision of a record has the three parts, in order."""
    for name, text in RECORDS.items():
        parts = re.findall(r"^###? (Context|Decision|Consequences)$", text, re.MULTILINE)
        assert parts, name
        assert parts == ["Context", "Decision", "Consequences"] * (len(parts) // 3), name


def test_records_are_few() -> None:
    """A decision joins the record of its topic; at most 36 topics have one."""
    assert len(RECORDS) <= 36
