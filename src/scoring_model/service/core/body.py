"""What the parsers of all bodies share: pointers, and problems that are gathered instead of raised one by one."""

from collections.abc import Collection, Iterable
from typing import Final

from scoring_model.records.rules import Rule, RuleError, ValueRule
from scoring_model.service.core.errors import FieldError, Invalid

MOST_ERRORS: Final = 100
"""How many errors an answer lists. It counts the others."""

UNKNOWN: Final = "is not a field that can be sent here"
MISSING: Final = "must be there"


class Errors(list[FieldError]):
    """Errors found in a request, in the order of discovery.

    Attributes
    ----------
    omitted : int
        How many more were counted without being described.
    """

    omitted = 0


def pointer(*names: str | int) -> str:
    """Write where a value stands.

    Parameters
    ----------
    *names : str or int
        Names of members and indices of items, from the outermost; none for the whole body.

    Returns
    -------
    str
        A JSON Pointer. Half a surrogate pair, which no UTF-8 can carry, becomes a question mark.

    References
    ----------
    RFC 6901, sections 3 and 5.

    Examples
    --------
    >>> pointer("signals", "a/b~c", 0)
    '/signals/a~1b~0c/0'
    """
    return "".join("/" + _escaped(str(name)) for name in names)


def _escaped(name: str) -> str:
    if not name.isascii():
        name = name.encode(errors="replace").decode()
    return name.replace("~", "~0").replace("/", "~1")


def kind_of(value: object) -> str:
    """Name the type of a JSON value in the words of JSON, never the value."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list() | tuple():
            return "an array"
        case _:
            return "an object"


def wrong_type(where: str, wanted: str, value: object) -> FieldError:
    """Make the error of a value of another type than the one wanted."""
    return FieldError(where, Rule.WRONG_TYPE.value, f"must be {wanted}, got {kind_of(value)}")


def broken(where: str, error: RuleError, value: object) -> FieldError:
    """Make the error of a value that breaks a rule of records.

    Parameters
    ----------
    where : str
        JSON Pointer.
    error : RuleError
    value : object
        What was sent: its type is told in the words of JSON.
    """
    if error.rule is not Rule.WRONG_TYPE:
        return FieldError(where, error.rule.value, error.detail)
    wanted = error.detail.rpartition(", got ")[0].removeprefix("must be ")
    return wrong_type(where, wanted, value)


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
        errors.append(broken(where, error, value))
        return None


def note_unknown(names: Iterable[str], known: Collection[str], errors: Errors, *inside: str) -> None:
    """Describe the first `MOST_ERRORS` fields that are not known, and count the others.

    Parameters
    ----------
    names : iterable of str
        What was sent.
    known : collection of str
    errors : Errors
        Grows by them, in the order in which they came.
    *inside : str
        Names of the objects that hold them, from the outermost.
    """
    unknown = [name for name in names if name not in known]
    errors += [
        FieldError(pointer(*inside, name), Rule.UNKNOWN_FIELD.value, UNKNOWN)
        for name in unknown[:MOST_ERRORS]
    ]
    errors.omitted += len(unknown[MOST_ERRORS:])


def missing(where: str) -> FieldError:
    """Make the error of a field that must be there and is not."""
    return FieldError(where, Rule.MISSING.value, MISSING)


def refuse_if(errors: Errors) -> None:
    """Raise what has been noted.

    Raises
    ------
    Invalid
        If it is anything at all: with the first `MOST_ERRORS` errors and the number of the others.
    """
    if errors:
        omitted = errors.omitted + len(errors[MOST_ERRORS:])
        raise Invalid(tuple(errors[:MOST_ERRORS]), omitted=omitted)
