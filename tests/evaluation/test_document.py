"""Documents hold what a type holds, by the names of its fields."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from scoring_model.estimates import Estimate
from scoring_model.evaluation.document import document, members


class Kind(StrEnum):
    """A key that is no plain text."""

    ONE = "one"


@dataclass(frozen=True)
class Inner:
    """A value with an instant and a day."""

    since: int
    until: str


@dataclass(frozen=True)
class Outer:
    """A value of every kind of field."""

    inner: tuple[Inner, ...]
    by_kind: Mapping[Kind, Estimate | None]
    as_of: int | None
    days: int
    secret: str = field(repr=False)


def test_a_document_holds_the_fields_that_are_shown() -> None:
    """Instants are text, days and counts stay, and what the repr leaves out is in no document."""
    value = Outer(
        inner=(Inner(since=0, until="2026-01-02"),),
        by_kind={Kind.ONE: None},
        as_of=None,
        days=3,
        secret="never written",
    )
    found = document(value)
    assert found == members(value) == json.loads(json.dumps(found))
    assert found == {
        "inner": [{"since": "1970-01-01T00:00:00.000000Z", "until": "2026-01-02"}],
        "by_kind": {"one": None},
        "as_of": None,
        "days": 3,
    }
    assert document({"a": Estimate(value=0.5, records=4)})["a"]["value"] == 0.5
