"""Checks that a source has the columns of its schema."""

from collections.abc import Collection, Iterable
from typing import Final

from scoring_model.contract.fields import (
    DECIDED_FIELDS,
    LABEL_FIELDS,
    PROPENSITY,
    REFERENCE_FIELDS,
    SIGNAL_PREFIX,
    signal_field,
)
from scoring_model.records.near_misses import near_misses
from scoring_model.records.schema import RecordSchema

_SHOWN: Final = 3
_EVENT: Final = "eventTime"


class MissingColumns(ValueError):
    """A source lacks columns, or has near-miss column names.

    Parameters
    ----------
    problems : tuple of str
        One sentence each, with the names of fields and columns.
    source : str, optional
        Name of the file.
    """

    def __init__(self, problems: tuple[str, ...], source: str | None = None) -> None:
        super().__init__(("" if source is None else f"{source}: ") + "; ".join(problems))
        self.problems = problems


def is_export(columns: Collection[str], *, marked: bool) -> bool:
    """Whether a source with these columns is an export of the service, perhaps in a format that keeps no mark."""
    return _EVENT in columns and (marked or {"scoringOutcome", "decidedBy", "label"}.issubset(columns))


def schema_of(columns: Collection[str], schema: RecordSchema, *, marked: bool = False) -> RecordSchema:
    """Decide whose names and spellings a source has, from its columns: all readers of records ask here.

    Parameters
    ----------
    columns : collection of str
        Names in the source.
    marked : bool
        Whether the source itself says that it has those of the contract, as an export does.

    Returns
    -------
    RecordSchema
        `schema.exported` for a marked source, or one with the columns of an export and none of the mapped ones;
        `schema.contract` for one that has `eventTime` and none of the mapped columns; else the schema.

    Raises
    ------
    MissingColumns
        If the source has both, and the schema does not say which count.
    """
    held = set(columns)
    if is_export(held, marked=marked) and (marked or held.isdisjoint(schema.columns.values())):
        return schema.exported(held)
    # The bare name of a signal is valid in both, so it decides only where nothing else does.
    own = {field: name for field, name in schema.columns.items() if name != field.removeprefix(SIGNAL_PREFIX)}
    own = own or {field: name for field, name in schema.columns.items() if name != field}
    theirs = {field for field in own if field not in schema.columns.values()}
    theirs = {_EVENT} if _EVENT in theirs else theirs
    if _EVENT not in held or held.isdisjoint(theirs):
        return schema
    if held.isdisjoint(own.values()):
        return schema.contract
    if schema.names is not None:
        return schema.contract if schema.names == "contract" else schema
    later = (*LABEL_FIELDS, *DECIDED_FIELDS, PROPENSITY)
    needed = {name for field, name in own.items() if field not in later} or {*own.values()}
    if held.issuperset(needed | theirs):
        problem = f"has its own columns {_some(needed)} and also the contract's {_some(theirs)}"
        raise MissingColumns((f"{problem}: say which count with --names own or --names contract",))
    return schema


def check_layout(columns: Collection[str], schema: RecordSchema, *, labelled: bool) -> None:
    """Check the names of the columns before any cell is read.

    Parameters
    ----------
    columns : collection of str
        Names in the source.
    schema : RecordSchema
        Defines the required names.
    labelled : bool
        Whether labels and the times at which they were known are required.

    Raises
    ------
    MissingColumns
        If a required or mapped column is absent; if there is neither an identity nor a signal; or if an unused
        column differs from an expected one only by case or outer blanks.
    """
    needed = dict.fromkeys(_needed(schema, labelled=labelled))
    problems = [_missing(field, schema.column_of(field), columns) for field in needed]
    problems += [_missing(field, clock, columns) for field, clock in schema.clocks.items() if field in needed]
    held = [field for field in schema.fields if schema.column_of(field) in columns]
    if not set(held) - set(REFERENCE_FIELDS):
        hint = "" if held else ": are the names of the columns in the first row?"
        problems.append(f"no column holds an identity field or a configured signal{hint}")
    problems += _near_misses(columns, schema)
    found = tuple(problem for problem in problems if problem)
    if found:
        raise MissingColumns(found)


def unused_columns(columns: Iterable[str], schema: RecordSchema) -> tuple[str, ...]:
    """List the columns without a field, in the order of the source."""
    used = _wanted(schema)
    return tuple(column for column in columns if column not in used)


def _needed(schema: RecordSchema, *, labelled: bool) -> Iterable[str]:
    known = [] if schema.labels.delay is not None else ["labelKnownAt"]
    known_later = (*LABEL_FIELDS, *DECIDED_FIELDS, PROPENSITY)
    mapped = [field for field in schema.columns if labelled or field not in known_later]
    return dict.fromkeys([_EVENT, *(["label", *known] if labelled else []), *mapped])


def half_decided(column: str, lacking: Collection[str]) -> str:
    """Say that only some files have a column of what was decided."""
    return (
        f"the column {column!r} is not in {_some(lacking)}, but in other files. Applicants who were stopped there "
        "would count as observed: add the column, empty for those who were not stopped"
    )


def _some(names: Collection[str]) -> str:
    """Name a few of the columns."""
    return ", ".join(map(repr, sorted(names)[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "")


def _wanted(schema: RecordSchema) -> dict[str, str]:
    columns = {schema.column_of(field): field for field in (*schema.event_fields, *schema.fields)}
    return columns | {clock: field for field, clock in schema.clocks.items()}


def _missing(field: str, column: str, columns: Collection[str]) -> str:
    if column in columns:
        return ""
    mapped = f" (to which columns maps {field})" if column != field else ""
    near = near_misses(column.casefold(), map(str.casefold, columns), count=_SHOWN)
    names = [repr(name) for name in columns if name.casefold() in near]
    hint = f", which has {' and '.join(names)}" if names else ""
    delay = ", nor is a label delay set" if field == "labelKnownAt" else ""
    return f"the column {column!r}{mapped} is not in the source{hint}{delay}"


def _near_misses(columns: Collection[str], schema: RecordSchema) -> list[str]:
    signals = [name for name in schema.signals if schema.column_of(signal_field(name)) not in columns]
    looks = {_look(column): column for column in (*signals, *_wanted(schema))}
    return [
        f"the column {column!r} is not read, but {looks[_look(column)]!r} would be: rename it or map it"
        for column in unused_columns(columns, schema)
        if _look(column) in looks
    ]


def _look(column: str) -> str:
    return column.strip().casefold()
