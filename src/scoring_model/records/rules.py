"""The rules of the fields of a record: those of the contract, and those that only files and frames need."""

from scoring_model.contract.fields import SIGNAL_PREFIX
from scoring_model.contract.rules import (
    IDENTITY_RULES,
    REFERENCE_LENGTH,
    SIGNAL_RULES,
    Rule,
    RuleError,
    ValueRule,
    definite_text,
    wrong_type,
)
from scoring_model.records import times
from scoring_model.records.schema import RecordSchema


def instant(value: object) -> int | None:
    """Check a time: RFC 3339 text, a datetime or a date, to microseconds since 1970-01-01 UTC."""
    if value is None:
        return None
    if isinstance(value, str):
        definite_text(value, limit=REFERENCE_LENGTH)
    try:
        return times.microseconds(value)
    except TypeError as error:
        raise wrong_type("a time", value) from error
    except ValueError as error:
        raise RuleError(Rule.NOT_A_TIME, "must be a time of RFC 3339 within the years 1 to 9999") from error


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
