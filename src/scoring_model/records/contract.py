"""One record, shaped like an HTTP body, against the contract: all problems at once."""

from collections.abc import Collection, Mapping
from typing import Final

from scoring_model.contract.fields import REFERENCE_FIELDS, SIGNAL_PREFIX
from scoring_model.contract.rules import SIGNALS, Rule, RuleError, ValueRule, any_signal, reference
from scoring_model.records import times
from scoring_model.records.body import flatten
from scoring_model.records.problems import WHOLE, Problem, problems_in_order
from scoring_model.records.record import Record
from scoring_model.records.rules import field_rules, instant
from scoring_model.records.schema import RecordSchema

EMPTY: Final = "must have a value of an identity or of a configured signal"
FUTURE: Final = "must not be later than the day of the event (UTC)"
MISSING: Final = "must be there"
_EVENT_RULES: Final[Mapping[str, ValueRule]] = {"recordId": reference, "eventTime": instant}


class InvalidRecord(ValueError):
    """A record breaks the contract.

    Parameters
    ----------
    problems : tuple of Problem
        All of them, event first, then identity, then the rest.
    """

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(f"{problem.field or 'record'}: {problem.detail}" for problem in problems))
        self.problems = problems


def parse_record(body: Mapping[str, object], schema: RecordSchema, *, now: int | None = None) -> Record:
    """Check one record and bring it into canonical form.

    Parameters
    ----------
    body : mapping
        Field values by name, `address` and `signals` nested or by dotted names. null equals missing. Signals
        that the schema does not name are checked for their shape and left out.
    schema : RecordSchema
        Names the signals. Its `columns` and `labels` are of files and play no part.
    now : int, optional
        Event time, in microseconds since 1970-01-01 UTC, of a body without `eventTime`.

    Returns
    -------
    Record
        What the same values in a file give.

    Raises
    ------
    InvalidRecord
        If any rule is broken. A label is no part of a record: its fields are unknown here.
    """
    flat, problems = flatten(body)
    known = field_rules(schema)
    values, broken = _checked(flat, known)
    event, broken_event = _checked(flat, _EVENT_RULES)
    problems += [*broken, *broken_event, *_strangers(flat, known)]
    if is_empty({*values, *(problem.field for problem in broken)}):
        problems.append(Problem(WHOLE, Rule.EMPTY_RECORD, EMPTY))
    event_time = event.get("eventTime", now)
    if isinstance(event_time, int):
        problems += _in_future(values, event_time)
        if not problems:
            return Record(values, event_time, _text_or_none(event.get("recordId")))
    elif not any(problem.field == "eventTime" for problem in broken_event):
        problems.append(Problem("eventTime", Rule.MISSING, MISSING))
    raise InvalidRecord(problems_in_order(problems))


def is_empty(fields: Collection[str]) -> bool:
    """Whether fields that were given make no record: references alone do not."""
    return all(field in REFERENCE_FIELDS for field in fields)


def _checked(
    flat: Mapping[str, object], known: Mapping[str, ValueRule]
) -> tuple[dict[str, object], list[Problem]]:
    values: dict[str, object] = {}
    problems = []
    for field, rule in known.items():
        given = flat.get(field)
        if given is None:  # missing by every rule
            continue
        try:
            value = rule(given)
        except RuleError as error:
            problems.append(Problem(field, Rule(error.type), error.message()))
        else:
            if value is not None:
                values[field] = value
    return values, problems


def _strangers(flat: Mapping[str, object], known: Mapping[str, ValueRule]) -> list[Problem]:
    strangers = [field for field in flat if field not in known and field not in _EVENT_RULES]
    signals = {field: any_signal for field in strangers if field.startswith(SIGNAL_PREFIX)}
    problems = _checked(flat, signals)[1]
    if len(flat) > SIGNALS and (count := _signals(flat)) > SIGNALS:
        problems.append(Problem("signals", Rule.TOO_MANY, f"must be at most {SIGNALS}, got {count}"))
    unknown = [field for field in strangers if field not in signals]
    return problems + [Problem(field, Rule.UNKNOWN_FIELD, "is not a field of a record") for field in unknown]


def _signals(flat: Mapping[str, object]) -> int:
    return sum(field.startswith(SIGNAL_PREFIX) for field in flat)


def _in_future(values: Mapping[str, object], event_time: int) -> list[Problem]:
    born = values.get("dob")
    if born is None or times.microseconds(born) <= event_time:
        return []
    return [Problem("dob", Rule.IN_FUTURE, FUTURE)]


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None
