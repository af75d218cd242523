"""What the parsers of all bodies share: pointers, and problems that are gathered instead of raised one by one."""

from collections.abc import Collection, Iterable
from typing import Final

from scoring_model.contract.rules import Rule, RuleError, ValueRule, kind_of
from scoring_model.contract.violation import pointer
from scoring_model.service.core.errors import FieldError, Invalid

UNKNOWN: Final = "is not a field that can be sent here"
MISSING: Final = "must be there"


def wrong_type(where: str, wanted: str, value: object) -> FieldError:
    """Make the error of a value of another type than the one wanted."""
    return FieldError(where, Rule.WRONG_TYPE.value, f"must be {wanted}, got {kind_of(value)}")


def broken(where: str, error: RuleError) -> FieldError:
    """Make the error of a value, at a JSON Pointer, that breaks a rule."""
    return FieldError(where, error.type, error.message())


def checked(value: object, rule: ValueRule, where: str, errors: list[FieldError]) -> object | None:
    """Bring a value into canonical form, or note what is wrong with it.

    Parameters
    ----------
    value : object
        As JSON has it; null is missing.
    rule : callable
        Raw value to canonical value.
    where : str
        JSON Pointer.
    errors : list of FieldError
        Grows by one when the rule is broken.

    Returns
    -------
    object or None
        None where it is missing or broken.
    """
    try:
        return rule(value)
    except RuleError as error:
        errors.append(broken(where, error))
        return None


def unknown_fields(names: Iterable[str], known: Collection[str], *inside: str) -> list[FieldError]:
    """Note the fields that are not known, in the order in which they came.

    Parameters
    ----------
    names : iterable of str
        What was sent.
    known : collection of str
    *inside : str
        Names of the objects that hold them, from the outermost.
    """
    return [
        FieldError(pointer(*inside, name), Rule.UNKNOWN_FIELD.value, UNKNOWN)
        for name in names
        if name not in known
    ]


def missing(where: str) -> FieldError:
    """Make the error of a field that must be there and is not."""
    return FieldError(where, Rule.MISSING.value, MISSING)


def refuse_if(errors: list[FieldError]) -> None:
    """Raise what has been noted.

    Raises
    ------
    Invalid
        If it is anything at all.
    """
    if errors:
        raise Invalid(tuple(errors))
