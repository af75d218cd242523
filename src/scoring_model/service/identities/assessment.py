"""Assessment of new identities: the rules of a body, and what is missing or implausible."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Final, NamedTuple

from scoring_model.contract.fields import REQUIRED_FIELDS, field_pointer
from scoring_model.contract.identity import (
    IdentityContext,
    IdentityInput,
    IdentityStatus,
    ValidationError,
)
from scoring_model.records import rfc3339
from scoring_model.service.core.errors import parsed

YOUNGEST: Final = 16  # full years
OLDEST: Final = 120
TOO_YOUNG: Final = ValidationError(pointer="/dob", code="too_young")
TOO_OLD: Final = ValidationError(pointer="/dob", code="too_old")
NO_LETTER: Final = tuple(
    ValidationError(pointer=pointer, code="no_letter") for pointer in ("/firstName", "/lastName")
)


def parse_identity(body: Mapping[str, object], now: int) -> dict[str, object]:
    """Check the body of a new identity and return its canonical values; see `assess` for plausibility.

    Parameters
    ----------
    now : int
        Microseconds since 1970-01-01 UTC; a date of birth must not be later than this day.

    Returns
    -------
    dict of str to object
        Present values by field name, dotted for parts of the address; equal to those of the same record in a file.

    Raises
    ------
    Invalid
        If the body breaks a rule.
    """
    return parsed(IdentityInput, body, IdentityContext(_day(now))).values()


def _day(now: int) -> str:
    return rfc3339(now)[:10]


class Assessment(NamedTuple):
    """What was found when an identity was created.

    Parameters
    ----------
    status : IdentityStatus
        INCOMPLETE (takes precedence), INVALID or VALIDATED.
    errors : tuple of ValidationError
        What is implausible, also of incomplete identities. Codes are `too_young`, `too_old` and `no_letter`.
    missing : tuple of str
        JSON Pointers of the required fields that are not there.
    """

    status: IdentityStatus
    errors: tuple[ValidationError, ...]
    missing: tuple[str, ...]


def assess(values: Mapping[str, object], now: int, required: Sequence[str] = REQUIRED_FIELDS) -> Assessment:
    """Check whether an identity is complete and plausible.

    Implausible: an age below 16 or above 120 full years, and two names without any letter (one of them may be a dash:
    many people have a single name). In non-leap years, a birthday on 29 February counts as 1 March.

    Parameters
    ----------
    values : mapping of str to object
        From `parse_identity`.
    now : int
        Microseconds since 1970-01-01 UTC; ages are computed for this day.
    required : sequence of str
        Names of fields, dotted for parts of the address.
    """
    implausible = (*_implausible_age(values.get("dob"), now), *_implausible_names(values))
    missing = _missing(values, required)
    status = IdentityStatus.INVALID if implausible else IdentityStatus.VALIDATED
    return Assessment(IdentityStatus.INCOMPLETE if missing else status, implausible, missing)


def _missing(values: Mapping[str, object], required: Sequence[str]) -> tuple[str, ...]:
    return tuple([field_pointer(name) for name in dict.fromkeys(required) if name not in values])


def _implausible_age(dob: object, now: int) -> tuple[ValidationError, ...]:
    if not isinstance(dob, str):
        return ()
    born, today = date.fromisoformat(dob), date.fromisoformat(_day(now))
    age = today.year - born.year - ((today.month, today.day) < (born.month, born.day))
    if age < YOUNGEST:
        return (TOO_YOUNG,)
    return (TOO_OLD,) if age > OLDEST else ()


def _implausible_names(values: Mapping[str, object]) -> tuple[ValidationError, ...]:
    names = (values.get("firstName"), values.get("lastName"))
    written = [name for name in names if isinstance(name, str)]
    lettered = any(map(str.isalpha, "".join(written)))
    return NO_LETTER if len(written) == len(names) and not lettered else ()
