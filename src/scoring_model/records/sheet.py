"""Sheets: the named columns of a source, unchecked."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from scoring_model.contract.fields import (
    DECIDED_FIELDS,
    EVENT_FIELDS,
    IDENTITY_FIELDS,
    NESTED,
)
from scoring_model.contract.rules import Rule
from scoring_model.records.record import RowViolation, flatten, repeated, violation

if TYPE_CHECKING:
    import pyarrow as pa


CONTRACT_MARK: Final[Mapping[bytes, bytes]] = {b"scoring_model.names": b"contract"}
"""Metadata of Arrow tables and Parquet files with the names and spellings of the contract."""


class UnreadableSource(ValueError):
    """The kind or form of a source is not supported."""


COLUMNS: Final = 10_000
"""Maximum number of columns of a source."""

NAME: Final = 1_000
"""Maximum length of the name of a column, in characters."""

ROW: Final = 1 << 24
"""Maximum length of a line of a text file, and of the beginning of a CSV file that holds its header, in bytes."""


def check_names(names: Collection[str]) -> None:
    """Refuse a source with too many columns, or too long names; the message repeats no name."""
    if len(names) > COLUMNS:
        raise UnreadableSource(
            f"a source has at most {COLUMNS:,} columns, this one has {len(names):,} or more"
        )
    if (longest := max(map(len, names), default=0)) > NAME:
        raise UnreadableSource(
            f"the name of a column has at most {NAME:,} characters, one here has {longest:,}"
        )


LEVELS: Final = 8
"""Maximum number of objects around a value that becomes a column."""

_FIELDS: Final = frozenset((*EVENT_FIELDS, *DECIDED_FIELDS, *IDENTITY_FIELDS))


@dataclass(frozen=True)
class Objects:
    """The present cells of a column, of any Python types.

    Parameters
    ----------
    rows : sequence of int
        Rows that have a cell, ascending.
    values : sequence
        Their cells.
    """

    rows: Sequence[int]
    values: Sequence[object]


Cells: TypeAlias = Any | Objects  # Any is pyarrow.ChunkedArray, which has no types to check


@dataclass(frozen=True)
class Sheet:
    """The columns of a source.

    Parameters
    ----------
    rows : int
        Number of rows.
    columns : mapping of str to pyarrow.ChunkedArray or Objects
        Cells by column name; those within objects are already dotted.
    violations : tuple of RowViolation
        Violations of rows that could not be read completely.
    unreadable : mapping of int to str
        Text of the rows that could not be parsed.
    guesses : tuple of str
        Inferred properties, such as the encoding of the file.
    marked : bool
        Whether the source says that it has the names and spellings of the contract.
    """

    rows: int
    columns: Mapping[str, Cells]
    violations: tuple[RowViolation, ...] = ()
    unreadable: Mapping[int, str] = field(default_factory=dict)
    guesses: tuple[str, ...] = ()
    marked: bool = False

    @classmethod
    def of_table(cls, table: "pa.Table") -> "Sheet":
        """Open an Arrow table; structs are flattened."""
        columns: list[tuple[str, Cells]] = []
        for name, column in zip(table.column_names, table.columns, strict=True):
            columns += column_parts(name, column)
        marked = (table.schema.metadata or {}).items() >= CONTRACT_MARK.items()
        return cls(table.num_rows, named_columns(columns), marked=marked)


def column_parts(name: str, column: Any) -> list[tuple[str, Cells]]:
    """Name a column, or the members of a nested one, as `members` does."""
    import pyarrow as pa  # imported here, since readers of single rows do not need it

    if isinstance(column, Objects) or not pa.types.is_struct(column.type) or not column.type.num_fields:
        return [(name, column)]
    if _is_whole(name) and name not in NESTED:
        return [(name, column)]
    parts = zip(column.type, column.flatten(), strict=True)
    return [found for part, cells in parts for found in column_parts(f"{name}.{part.name}", cells)]


def members(name: str, value: object) -> Iterator[tuple[str, object]]:
    """Name a value, or the values within an object: `{"device": {"os": "ios"}}` is `device.os`.

    Fields of the contract stay as they are, with `address` and `signals`, which `flatten` opens; so do objects within
    `LEVELS` others.
    """
    if not isinstance(value, Mapping) or not value or _is_whole(name):
        yield name, value
        return
    for part, item in value.items():
        yield from members(f"{name}.{part}", item)


def _is_whole(name: str) -> bool:
    return name in _FIELDS or name.partition(".")[0] in NESTED or name.count(".") >= LEVELS


def malformed(row: int, detail: str) -> RowViolation:
    """Make the violation of a row that could not be parsed."""
    return RowViolation(row, violation("", Rule.MALFORMED_ROW, detail))


def named_columns(columns: Iterable[tuple[str, Cells]]) -> dict[str, Cells]:
    """Collect columns by name.

    Raises
    ------
    UnreadableSource
        If names repeat, or as `check_names`.
    """
    pairs = list(columns)
    check_names([name for name, _ in pairs])
    named = dict(pairs)
    if len(named) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        repeated = ", ".join(
            f"{count} columns " + (f"called {name!r}" if name else "without a name")
            for name, count in sorted(counts.items())
            if count > 1
        )
        raise UnreadableSource(f"columns must have distinct names in the header, got {repeated}")
    return named


@dataclass(frozen=True)
class ObjectColumns:
    """Columns that grow by one body at a time; each holds only its present cells."""

    columns: dict[str, tuple[list[int], list[object]]] = field(default_factory=dict)
    violations: list[RowViolation] = field(default_factory=list)

    def add(self, row: int, body: Mapping[str, object]) -> None:
        """Add the values of a body, nested or dotted, at a row after all earlier ones."""
        named = [found for name, value in body.items() for found in members(name, value)]
        flat, violations = flatten(dict(named))
        if len(named) > len({name for name, _ in named}):
            counts = Counter(name for name, _ in named)
            violations += [repeated(name) for name, count in counts.items() if count > 1]
        for name, value in flat.items():
            rows, values = self.columns.setdefault(name, ([], []))
            rows.append(row)
            values.append(value)
        self.violations.extend(RowViolation(row, found) for found in violations)

    def cells(self) -> list[tuple[str, Cells]]:
        """Return the columns in order of first appearance."""
        return [(name, Objects(rows, values)) for name, (rows, values) in self.columns.items()]


_SEPARATORS: Final[Mapping[str, str]] = {";": "';'", "\t": "a tab", "|": "'|'"}


def check_csv_header(header: Sequence[str]) -> None:
    """Refuse a first row that names no columns.

    Parameters
    ----------
    header : sequence of str
        Cells of the first row that is not blank; empty when there is none.

    Raises
    ------
    UnreadableSource
        If there is no row or no name in it, or if it is one column whose name holds another separator. The message
        repeats no name, since it may be the value of a record.
    """
    check_names(header)
    if not any(name.strip() for name in header):
        raise UnreadableSource(
            "a CSV file must begin with a header row, the names of its columns; it has none"
        )
    if len(header) > 1:
        return
    for separator, shown in _SEPARATORS.items():
        if separator in header[0]:
            raise UnreadableSource(
                f"the header of a CSV file must have commas between names; it is one column with {shown} in it, "
                f"which seems to be the separator"
            )
