"""The schema of the records of one use: columns, signals and labels."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Final, Literal, TypeAlias

from scoring_model.contract.fields import (
    DECIDED_FIELDS,
    EVENT_FIELDS,
    IDENTITY_FIELDS,
    PROPENSITY,
    TIME_FIELDS,
    signal_field,
)
from scoring_model.contract.rules import Rule, SignalType
from scoring_model.contract.violation import OUT_OF_RANGE, Invalid, Violation, pointer
from scoring_model.records.file_format import FileFormat
from scoring_model.records.letter_case import fold_case
from scoring_model.records.near_misses import did_you_mean
from scoring_model.records.times import DAY, Duration

Names: TypeAlias = Literal["contract", "own"]
"""Whose names and spellings a file has: the contract's, as an export of the service, or the company's own."""

StepUps: TypeAlias = Literal["observed", "not_observed"]
"""What is assumed of applicants who were stepped up and of whom no resolution is known."""

_EXPORTED: Final = {"outcome": "scoringOutcome", "resolution": "resolution", "closedAt": "closedAt"}
"""Columns of an export that say what was finally decided."""

ANY: Final = "*"
"""As a value of `LabelSchema.fraud`: every value that no list names."""

MAX_LABEL_DELAY: Final = 36_525 * DAY  # a century in microseconds: more indicates a wrong unit


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelSchema:
    """Spelling of labels in a file, and the delay until they are known.

    Parameters
    ----------
    fraud, genuine : tuple of str
        Values of the label column; case is ignored. A number is compared by its shortest text, so `1`, `1.0` and
        `"1"` are equal. `ANY` among those of fraud means each value that is in no list.
    ignored : tuple of str
        Values that count as no label.
    delay : int, optional
        Microseconds from the event to the moment its label was known, for rows without `labelKnownAt`.

    Raises
    ------
    Invalid
        If fraud or genuine is empty, if two lists share a value, or if the delay is negative or above a century.
    """

    fraud: tuple[str, ...] = ("fraud", "1", "true")
    genuine: tuple[str, ...] = ("genuine", "0", "false")
    ignored: tuple[str, ...] = ()
    delay: Duration | None = None

    def __post_init__(self) -> None:
        lists = {"fraud": self.fraud, "genuine": self.genuine, "ignored": self.ignored}
        violations = [
            Violation(pointer(name), "empty", "must have a value")
            for name in ("fraud", "genuine")
            if not getattr(self, name)
        ]
        for (one, words), (other, more) in combinations(lists.items(), 2):
            shared = {fold_case(word) for word in words} & {fold_case(word) for word in more}
            violations += [
                Violation("", "repeated", f"{word!r} is both {one} and {other}") for word in sorted(shared)
            ]
        if self.delay is not None and not 0 <= self.delay <= MAX_LABEL_DELAY:
            detail = f"must be 0 to {MAX_LABEL_DELAY} microseconds, got {self.delay}"
            violations.append(Violation("/delay", OUT_OF_RANGE, detail))
        if violations:
            raise Invalid(violations)


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomeSchema:
    """Spelling of outcomes and resolutions in a file; case is ignored.

    Parameters
    ----------
    passed, stepped_up, failed : tuple of str
        Values of the column of `outcome`: the final one, no matter who decided.
    approved, declined, abandoned : tuple of str
        Values of the column of `resolution`: how a step-up or review ended.

    Raises
    ------
    Invalid
        If a list is empty, or two lists of one column share a value.
    """

    passed: tuple[str, ...] = ("PASSED",)
    stepped_up: tuple[str, ...] = ("STEPPED_UP",)
    failed: tuple[str, ...] = ("FAILED",)
    approved: tuple[str, ...] = ("APPROVED",)
    declined: tuple[str, ...] = ("DECLINED",)
    abandoned: tuple[str, ...] = ("ABANDONED",)

    def __post_init__(self) -> None:
        violations = []
        for lists in (self.outcomes, self.resolutions):
            violations += [
                Violation(pointer(name), "empty", "must have a value")
                for name, words in lists.items()
                if not words
            ]
            for (name, words), (other, more) in combinations(lists.items(), 2):
                shared = {fold_case(word) for word in words} & {fold_case(word) for word in more}
                violations += [
                    Violation("", "repeated", f"{word!r} is both {name} and {other}")
                    for word in sorted(shared)
                ]
        if violations:
            raise Invalid(violations)

    @property
    def outcomes(self) -> Mapping[str, tuple[str, ...]]:
        """Return the words of each outcome, in the order of their codes."""
        return {"passed": self.passed, "stepped_up": self.stepped_up, "failed": self.failed}

    @property
    def resolutions(self) -> Mapping[str, tuple[str, ...]]:
        """Return the words of each resolution, in the order of their codes."""
        return {"approved": self.approved, "declined": self.declined, "abandoned": self.abandoned}


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordSchema:
    """Fields of the records of one use, and their columns in a file.

    Parameters
    ----------
    columns : mapping of str to str
        Field name to column name, where they differ.
    signals : mapping of str to SignalType
        The signals to read, by name without prefix. Others are accepted and ignored.
    labels : LabelSchema
        Values of labels and the delay until they are known.
    outcomes : OutcomeSchema
        Values of outcomes and resolutions.
    step_ups : {"observed", "not_observed"}
        What is assumed of applicants who were stepped up and of whom no resolution is known.
    format : FileFormat
        How values are written in files.
    names : {"contract", "own"}, optional
        Whose names count in a file whose columns do not decide it (see `layout.schema_of`).
    clocks : mapping of str to str
        Field of a time to the column of its times of day, where the one of `columns` holds its days alone.

    Raises
    ------
    Invalid
        If `columns` or `format.values` names an unknown field, or one column for two fields, or if `clocks` names a
        field that is no time.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    signals: Mapping[str, SignalType] = field(default_factory=dict)
    labels: LabelSchema = field(default_factory=LabelSchema)
    outcomes: OutcomeSchema = field(default_factory=OutcomeSchema)
    step_ups: StepUps = "not_observed"
    format: FileFormat = field(default_factory=FileFormat)
    names: Names | None = None
    clocks: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = (*self.fields, *self.event_fields, *DECIDED_FIELDS)
        violations = [
            Violation(
                pointer("columns", name), Rule.UNKNOWN_FIELD, f"unknown field{did_you_mean(name, known)}"
            )
            for name in self.columns
            if name not in known
        ]
        violations += [
            Violation(
                pointer("format", "values", name),
                Rule.UNKNOWN_FIELD,
                f"unknown field{did_you_mean(name, self.fields)}",
            )
            for name in self.format.values
            if name not in self.fields
        ]
        violations += [
            Violation(
                pointer("columns", name),
                "invalid",
                "only a time has two columns: its day and its time of day",
            )
            for name in self.clocks
            if name not in TIME_FIELDS
        ]
        fields = [*self.fields, *self.event_fields]
        if ANY in self.labels.fraud and self.column_of("labelKnownAt") == self.column_of("label"):
            fields.remove("labelKnownAt")  # a date that only frauds have is both
        uses = Counter((*map(self.column_of, fields), *self.clocks.values()))
        violations += [
            Violation("/columns", "repeated", f"{uses[column]} fields are read from column {column!r}")
            for column in uses
            if uses[column] > 1
        ]
        if violations:
            raise Invalid(violations)

    @property
    def fields(self) -> tuple[str, ...]:
        """List the field names of a record: identity first, then the configured signals."""
        return (*IDENTITY_FIELDS, *map(signal_field, self.signals))

    @property
    def event_fields(self) -> tuple[str, ...]:
        """List the fields of the event, its label and what was decided.

        Columns of decisions are read where they are mapped: a column that is called `outcome` may be anything. One
        named `propensity` stays that of a signal, where the schema says so.
        """
        taken = PROPENSITY in self.signals or PROPENSITY in self.columns.values()
        given = (name for name in EVENT_FIELDS if name != PROPENSITY or not taken or name in self.columns)
        return (*given, *(name for name in DECIDED_FIELDS if name in self.columns))

    @property
    def contract(self) -> "RecordSchema":
        """The schema of the same records with the names and spellings of the contract."""
        form = FileFormat(separator=self.format.separator, encoding=self.format.encoding)
        labels, outcomes = LabelSchema(delay=self.labels.delay), OutcomeSchema()
        return replace(self, columns={}, labels=labels, outcomes=outcomes, format=form, clocks={})

    def exported(self, columns: Collection[str]) -> "RecordSchema":
        """Return the schema of the same records in an export of the service, which says what was decided.

        Parameters
        ----------
        columns : collection of str
            Names in the export.
        """
        decided = {field: name for field, name in _EXPORTED.items() if name in columns}
        return replace(self.contract, columns=decided)

    def column_of(self, name: str) -> str:
        """Return the name of the column of a field."""
        return self.columns.get(name, name)
