"""Checks one record, shaped like an HTTP body, against the contract; reports all violations together."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, tzinfo
from functools import partial
from typing import Final, NamedTuple

from scoring_model.contract.fields import (
    EVENT_FIELDS,
    IDENTITY_FIELDS,
    NESTED,
    REFERENCE_FIELDS,
    SIGNAL_PREFIX,
    field_pointer,
)
from scoring_model.contract.rules import (
    IDENTITY_RULES,
    REFERENCE_LENGTH,
    SIGNAL_RULES,
    SIGNALS,
    Rule,
    RuleError,
    ValueRule,
    any_signal,
    definite_text,
    form_of,
    kind_of,
    reference,
    wrong_type,
)
from scoring_model.contract.violation import Invalid, Violation
from scoring_model.records import times
from scoring_model.records.schema import RecordSchema

EMPTY: Final = "must have a value of an identity or of a configured signal"
FUTURE: Final = "must not be later than the day of the event (UTC)"
MISSING: Final = "must be there"
_ORDER: Final = {field_pointer(field): place for place, field in enumerate((*EVENT_FIELDS, *IDENTITY_FIELDS))}


@dataclass(frozen=True)
class Record:
    """One record that obeys the contract.

    Parameters
    ----------
    values : mapping of str to object
        Canonical values by field name, without missing ones.
    event_time : int
        Microseconds since 1970-01-01 UTC.
    record_id : str or None
        The client's id of the record.
    """

    values: Mapping[str, object]
    event_time: int
    record_id: str | None


class InvalidRecord(Invalid):
    """A record breaks the contract: `violations` are sorted by field, those of the event first."""


class RowViolation(NamedTuple):
    """A violation of the contract by one row of a source.

    Attributes
    ----------
    row : int
        0-based; blank lines and the header of a text file do not count.
    """

    row: int
    violation: Violation


def violation(field: str, rule: Rule, detail: str) -> Violation:
    """Make the violation of a rule by a field, or by the whole record if the name is empty."""
    return Violation(field_pointer(field) if field else "", rule, detail)


def broken(field: str, error: RuleError) -> Violation:
    """Make the violation of the rule that a value breaks."""
    return violation(field, Rule(error.type), error.message())


def in_order(violations: Iterable[RowViolation]) -> tuple[RowViolation, ...]:
    """Sort by row, then by field: event, identity, then signals and the rest in their given order."""
    return tuple(sorted(violations, key=lambda found: (found.row, _place(found.violation))))


def _place(violation: Violation) -> int:
    return _ORDER.get(violation.pointer, len(_ORDER))


def flatten(body: Mapping[str, object]) -> tuple[dict[str, object], list[Violation]]:
    """Give every value its dotted field name.

    Parameters
    ----------
    body : mapping
        `address` and `signals` are objects, null, or absent if their fields have dotted names.

    Returns
    -------
    flat : dict of str to object
        Values by field name.
    violations : list of Violation
        Violations of parts that are not objects, and of fields that are both nested and dotted.
    """
    flat: dict[str, object] = {}
    violations: list[Violation] = []
    for key, value in body.items():
        if key not in NESTED:
            if key in flat:
                violations.append(repeated(key))
            flat[key] = value
        elif isinstance(value, Mapping):
            named = {f"{key}.{part}": item for part, item in value.items()}
            violations += map(repeated, sorted(flat.keys() & named.keys()))
            flat |= named
        elif value is not None:
            violations.append(violation(key, Rule.WRONG_TYPE, f"must be an object, got {kind_of(value)}"))
    return flat, violations


def repeated(field: str) -> Violation:
    """Make the violation of a field that comes more than once."""
    return violation(field, Rule.REPEATED_FIELD, "must come once")


def instant(value: object, zone: tzinfo = UTC) -> int | None:
    """Check a time: RFC 3339 text, a datetime or a date, to microseconds since 1970-01-01 UTC.

    Times without a zone are in `zone`.
    """
    if value is None:
        return None
    if isinstance(value, str):
        definite_text(value, limit=REFERENCE_LENGTH)
    try:
        return times.microseconds(value, zone)
    except TypeError as error:
        raise wrong_type("a time", value) from error
    except ValueError as error:
        form = form_of(value) if isinstance(value, str) else ""
        detail = f"must be a time of RFC 3339 within the years 1 to 9999{form}"
        raise RuleError(Rule.NOT_A_TIME, detail) from error


def field_rules(schema: RecordSchema) -> dict[str, ValueRule]:
    """Collect the rule of every field that a record of this schema may hold, in the order of the fields.

    Parameters
    ----------
    schema : RecordSchema
        Names the signals and their types.

    Returns
    -------
    dict of str to callable
        Field name to rule.
    """
    signals = {SIGNAL_PREFIX + name: SIGNAL_RULES[kind] for name, kind in schema.signals.items()}
    return {**IDENTITY_RULES, **signals}


_EVENT_RULES: Final[Mapping[str, ValueRule]] = {"recordId": reference, "eventTime": instant}


def _event_rules(schema: RecordSchema) -> Mapping[str, ValueRule]:
    zone = schema.format.zone
    return _EVENT_RULES if zone is None else {**_EVENT_RULES, "eventTime": partial(instant, zone=zone)}


def parse_record(body: Mapping[str, object], schema: RecordSchema, *, now: int | None = None) -> Record:
    """Check one record and bring it into canonical form.

    Parameters
    ----------
    body : mapping
        Field values by name, `address` and `signals` nested or by dotted names. null equals missing. Signals
        that the schema does not name are checked for their shape and left out.
    schema : RecordSchema
        Defines the signals, and the zone of an event time without one. Its settings of files are ignored.
    now : int, optional
        Event time, in microseconds since 1970-01-01 UTC, of a body without `eventTime`.

    Returns
    -------
    Record
        The same record as from a file with these values.

    Raises
    ------
    InvalidRecord
        If any rule is broken. Label fields are not part of a record and count as unknown.
    """
    flat, violations = flatten(body)
    known = field_rules(schema)
    values, of_fields = _checked(flat, known)
    event, of_event = _checked(flat, _event_rules(schema))
    violations += [*of_fields.values(), *of_event.values(), *_unknown(flat, known)]
    if is_empty(values.keys() | of_fields.keys()):
        violations.append(violation("", Rule.EMPTY_RECORD, EMPTY))
    event_time = event.get("eventTime", now)
    if isinstance(event_time, int):
        born = values.get("dob")
        if born is not None and times.microseconds(born) > event_time:
            violations.append(violation("dob", Rule.IN_FUTURE, FUTURE))
        if not violations:
            record_id = event.get("recordId")
            return Record(values, event_time, record_id if isinstance(record_id, str) else None)
    elif "eventTime" not in of_event:
        violations.append(violation("eventTime", Rule.MISSING, MISSING))
    raise InvalidRecord(sorted(violations, key=_place))


def is_empty(fields: Collection[str]) -> bool:
    """Return True if the given fields do not make a record, such as references alone."""
    return all(field in REFERENCE_FIELDS for field in fields)


def _checked(
    flat: Mapping[str, object], known: Mapping[str, ValueRule]
) -> tuple[dict[str, object], dict[str, Violation]]:
    values: dict[str, object] = {}
    violations = {}
    for field, rule in known.items():
        given = flat.get(field)
        if given is None:  # missing by every rule
            continue
        try:
            value = rule(given)
        except RuleError as error:
            violations[field] = broken(field, error)
        else:
            if value is not None:
                values[field] = value
    return values, violations


def _unknown(flat: Mapping[str, object], known: Mapping[str, ValueRule]) -> list[Violation]:
    """Check the form of signals outside of the schema, and report all other unknown fields."""
    unknown = [field for field in flat if field not in known and field not in _EVENT_RULES]
    signals = {field: any_signal for field in unknown if field.startswith(SIGNAL_PREFIX)}
    violations = list(_checked(flat, signals)[1].values())
    if len(flat) > SIGNALS and (count := sum(field.startswith(SIGNAL_PREFIX) for field in flat)) > SIGNALS:
        violations.append(violation("signals", Rule.TOO_MANY, f"must be at most {SIGNALS}, got {count}"))
    return violations + [
        violation(field, Rule.UNKNOWN_FIELD, "is not a field of a record")
        for field in unknown
        if field not in signals
    ]
