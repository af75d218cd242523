"""The body of an identity: its fields, what is implausible in them, and how they are kept."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final

from scoring_model.records import rfc3339
from scoring_model.records.fields import ADDRESS_PARTS, PERSON_FIELDS
from scoring_model.records.rules import IDENTITY_RULES, URLS, Rule, image_url, image_urls
from scoring_model.service.core.body import Errors, checked, note_unknown, pointer, refuse_if, wrong_type
from scoring_model.service.core.compact import from_json, to_json
from scoring_model.service.core.errors import FieldError
from scoring_model.service.core.resources import IdentityStatus, Implausible

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
_FIELDS: Final = (*PERSON_FIELDS, "address", "externalId")
_RULES: Final = {name: IDENTITY_RULES[name] for name in _FIELDS if name not in ("imageUrls", "address")}
_PARTS: Final = tuple((part, f"address.{part}", pointer("address", part)) for part in ADDRESS_PARTS)
_FUTURE: Final = FieldError("/dob", Rule.IN_FUTURE.value, "must not be later than today (UTC)")


def parse_identity(body: Mapping[str, object], now: int) -> dict[str, object]:
    """Check the body of a new identity and bring it into canonical form.

    Every field may be missing, and null is missing. What a person can't be but what could be written down is
    no matter of this function: see `assess`.

    Parameters
    ----------
    body : mapping of str to object
        As JSON has it.
    now : int
        Microseconds since 1970-01-01 UTC; nobody is born after its day.

    Returns
    -------
    dict of str to object
        Canonical values by field name, dotted for parts of the address, equal to what the same record in a
        file gives. What is missing is absent.

    Raises
    ------
    Invalid
        If any rule is broken, with all that are: those of fields in the order of the contract, then unknown
        fields in the order of the body. Codes are the names of `records.Rule`. Of a list of URLs that is too
        long only the first 10 are looked at.
    """
    errors = Errors()
    values: dict[str, object | None] = {
        name: checked(body.get(name), rule, pointer(name), errors) for name, rule in _RULES.items()
    }
    if isinstance(born := values["dob"], str) and born > _day(now):
        errors.append(_FUTURE)
    values["imageUrls"] = _image_urls(body.get("imageUrls"), errors)
    values |= _address(body.get("address"), errors)
    note_unknown(body, _FIELDS, errors)
    refuse_if(errors)
    return {name: value for name, value in values.items() if value is not None}


def _day(now: int) -> str:
    return rfc3339(now)[:10]


def _image_urls(value: object, errors: list[FieldError]) -> object | None:
    """Check the list as a whole, and where that fails item by item, so that each bad one is pointed at."""
    noted: list[FieldError] = []
    urls = checked(value, image_urls, "/imageUrls", noted)
    if noted and isinstance(value, list | tuple):
        of_items: list[FieldError] = []
        for place, item in enumerate(value[:URLS]):
            checked(item, image_url, pointer("imageUrls", place), of_items)
        of_list = [error for error in noted if error.code == Rule.TOO_MANY]
        noted = of_list + of_items
    errors += noted
    return urls


def _address(value: object, errors: Errors) -> dict[str, object | None]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        errors.append(wrong_type("/address", "an object", value))
        return {}
    parts = {
        field: checked(value.get(part), IDENTITY_RULES[field], where, errors) for part, field, where in _PARTS
    }
    note_unknown(value, ADDRESS_PARTS, errors, "address")
    return parts


def assess(values: Mapping[str, object], now: int) -> tuple[IdentityStatus, tuple[Implausible, ...]]:
    """Say whether an identity is complete and plausible.

    Implausible are an age below 16 or above 120 full years, and a pair of names neither of which has a letter
    (one alone may be a dash: many people have a single name). The 29th of February counts as the 1st of March
    where there is none.

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
        All that is implausible, also of an identity that is incomplete; never what is missing. Codes are
        `too_young`, `too_old` and `no_letter`.
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
    """Write what is kept, and sealed, of an identity.

    Parameters
    ----------
    values : mapping of str to object
        Canonical values.
    errors : sequence of Implausible

    Returns
    -------
    bytes
        UTF-8 JSON: the values, then pointer and code of each error.
    """
    return to_json([dict(values), [(error.pointer, error.code) for error in errors]])


def unpack_identity(packed: bytes) -> tuple[dict[str, object], tuple[Implausible, ...]]:
    """Read what `pack_identity` wrote: equal values of equal types.

    Parameters
    ----------
    packed : bytes

    Returns
    -------
    values : dict of str to object
    errors : tuple of Implausible
    """
    values: dict[str, Any]
    values, errors = from_json(packed)
    if "imageUrls" in values:
        values["imageUrls"] = tuple(values["imageUrls"])
    return values, tuple([Implausible(*error) for error in errors])
