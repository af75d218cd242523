"""The body of an identity: parsed, checked for plausibility, and packed for storage."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final

from scoring_model.contract.identity import IdentityContext, IdentityInput, IdentityStatus
from scoring_model.records import rfc3339
from scoring_model.service.core.compact import from_json, to_json
from scoring_model.service.core.errors import parsed
from scoring_model.service.core.resources import Implausible

YOUNGEST: Final = 16  # full years
OLDEST: Final = 120
TOO_YOUNG: Final = Implausible("/dob", "too_young")
TOO_OLD: Final = Implausible("/dob", "too_old")
NO_LETTER: Final = (Implausible("/firstName", "no_letter"), Implausible("/lastName", "no_letter"))
REQUIRED: Final = (
    "firstName",
    "lastName",
    "dob",
    "citizenship",
    "documentType",
    "address.country",
    "imageUrls",
)


def parse_identity(body: Mapping[str, object], now: int) -> dict[str, object]:
    """Check the body of a new identity and return its canonical values; see `assess` for plausibility.

    Parameters
    ----------
    now : int
        Microseconds since 1970-01-01 UTC; a date of birth is at most its day.

    Returns
    -------
    dict of str to object
        By field name, dotted for parts of the address, without missing ones; equal to those of the same record
        in a file.

    Raises
    ------
    Invalid
        If any rule is broken.
    """
    return parsed(IdentityInput, body, IdentityContext(_day(now))).values()


def _day(now: int) -> str:
    return rfc3339(now)[:10]


def assess(values: Mapping[str, object], now: int) -> tuple[IdentityStatus, tuple[Implausible, ...]]:
    """Check whether an identity is complete and plausible.

    Implausible are an age below 16 or above 120 full years, and two names without any letter (one of them may be a
    dash: many people have a single name). In other years, 29 February counts as 1 March.

    Parameters
    ----------
    values : mapping of str to object
        What `parse_identity` gives.
    now : int
        Microseconds since 1970-01-01 UTC; ages are counted on its day.

    Returns
    -------
    status : IdentityStatus
        INCOMPLETE, which wins, INVALID or VALIDATED.
    implausible : tuple of Implausible
        Also of an incomplete identity. Codes are `too_young`, `too_old` and `no_letter`.
    """
    implausible = (*_implausible_age(values.get("dob"), now), *_implausible_names(values))
    if any(name not in values for name in REQUIRED):
        return IdentityStatus.INCOMPLETE, implausible
    return IdentityStatus.INVALID if implausible else IdentityStatus.VALIDATED, implausible


def _implausible_age(born: object, now: int) -> tuple[Implausible, ...]:
    if not isinstance(born, str):
        return ()
    age = _full_years(date.fromisoformat(born), date.fromisoformat(_day(now)))
    if age < YOUNGEST:
        return (TOO_YOUNG,)
    return (TOO_OLD,) if age > OLDEST else ()


def _full_years(born: date, today: date) -> int:
    return today.year - born.year - ((today.month, today.day) < (born.month, born.day))


def _implausible_names(values: Mapping[str, object]) -> tuple[Implausible, ...]:
    names = (values.get("firstName"), values.get("lastName"))
    written = [name for name in names if isinstance(name, str)]
    lettered = any(map(str.isalpha, "".join(written)))
    return NO_LETTER if len(written) == len(names) and not lettered else ()


def pack_identity(values: Mapping[str, object], errors: Sequence[Implausible]) -> bytes:
    """Pack an identity for storage: UTF-8 JSON of the values, then of pointer and code of each error."""
    return to_json([dict(values), [(error.pointer, error.code) for error in errors]])


def unpack_identity(packed: bytes) -> tuple[dict[str, object], tuple[Implausible, ...]]:
    """Read what `pack_identity` wrote: equal values of equal types."""
    values: dict[str, Any]
    values, errors = from_json(packed)
    if "imageUrls" in values:
        values["imageUrls"] = tuple(values["imageUrls"])
    return values, tuple([Implausible(*error) for error in errors])
