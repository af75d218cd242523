"""Results as JSON documents, which hold what their types hold by the names of the fields, and as frames."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final

from scoring_model.records import rfc3339

if TYPE_CHECKING:
    import pandas
    from _typeshed import DataclassInstance

INSTANTS: Final = frozenset({"as_of", "since", "until", "trained_until"})
"""Fields whose whole numbers are microseconds since 1970-01-01 UTC: documents have RFC 3339."""


def frame(columns: Sequence[str], rows: Iterable[tuple[object, ...]]) -> "pandas.DataFrame":
    """Make the frame of rows, also of none."""
    import pandas

    return pandas.DataFrame(list(rows), columns=list(columns))


def document(value: Any) -> Any:
    """Write a value as a JSON document: as its own `to_json` does, else by its members."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if is_dataclass(value) and not isinstance(value, type):
        return members(value)
    if isinstance(value, Mapping):
        return {str(name): document(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [document(one) for one in value]
    return value


def members(value: "DataclassInstance") -> dict[str, Any]:
    """Write the fields of a value by name, without those that its `repr` leaves out."""
    found = {part.name: getattr(value, part.name) for part in fields(value) if part.repr}
    return {
        name: rfc3339(one) if name in INSTANTS and isinstance(one, int) else document(one)
        for name, one in found.items()
    }
