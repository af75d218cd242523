"""The identity of a person: what a client sends, and what the service shows."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Annotated, Final

from pydantic import ConfigDict, Field, ValidationInfo, WithJsonSchema

from scoring_model.contract import rules
from scoring_model.contract.resource import (
    POINTER,
    Body,
    Instant,
    Resource,
    Sandbox,
    Schema,
    Uuid,
    check_items,
    ruled,
)
from scoring_model.contract.rules import COUNTRIES, Rule, RuleError


class DocumentType(StrEnum):
    """Types of identity documents."""

    PASSPORT = "PASSPORT"
    NATIONAL_ID = "NATIONAL_ID"
    DRIVERS_LICENSE = "DRIVERS_LICENSE"
    RESIDENCE_PERMIT = "RESIDENCE_PERMIT"


class IdentityStatus(StrEnum):
    """The status of an identity. Later services may add values: compare, do not convert."""

    INCOMPLETE = "INCOMPLETE"
    VALIDATED = "VALIDATED"
    INVALID = "INVALID"
    REDACTED = "REDACTED"


# JSON Schema (ECMA-262) and Python read these patterns the same. They document the interface for authors of clients;
# the service validates with the rules, which also name the violation.
_BLANKS: Final = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""The characters that trimming removes, for a character class; `\\s` differs between dialects."""
NOT_BLANK: Final = f"[^{_BLANKS}]"
HTTPS: Final = "[Hh][Tt][Tt][Pp][Ss]://"
_INNER: Final = rf"[^{_BLANKS}\x00-\x1f\x7f"
IMAGE_URL: Final = (
    f"^[{_BLANKS}]*{HTTPS}"
    rf"(?:{_INNER}/?#@\[\]]*@)?"
    rf"(?:\[[0-9A-Fa-f:.]+\]|{_INNER}/?#@:\[\]]+)"
    "(?::[0-9]{0,5})?"
    f"(?:/{_INNER}?#]*)?"
    rf"(?:[?#]{_INNER}]*)?[{_BLANKS}]*$"
)
"""An https URL with a host, in any script, between blanks that are trimmed (RFC 3986, section 3)."""

_NAME: Final[Schema] = {
    "type": "string",
    "minLength": 1,
    "maxLength": rules.NAME_LENGTH,
    "pattern": NOT_BLANK,
    "description": f"1 to {rules.NAME_LENGTH} characters after Unicode NFC and trimming.",
}
_BIRTH_DATE: Final[Schema] = {
    "type": "string",
    "format": "date",
    "pattern": "^(?:19|20)[0-9]{2}-[0-9]{2}-[0-9]{2}$",
    "description": "Date of birth, 1900-01-01 or later and not in the future (UTC).",
}
_COUNTRY: Final[Schema] = {
    "enum": sorted(COUNTRIES),
    "description": "ISO 3166-1 alpha-2. Lower case is taken too; output is upper case.",
}
_DOCUMENT: Final[Schema] = {"enum": [kind.value for kind in DocumentType]}
_IMAGE_URL: Final[Schema] = {"type": "string", "maxLength": rules.URL_LENGTH, "pattern": IMAGE_URL}
_IMAGE_URLS: Final[Schema] = {
    "type": ["array", "null"],
    "maxItems": rules.URLS,
    "items": _IMAGE_URL,
    "description": "https URLs of document images. They are never fetched.",
}
_PART: Final[Schema] = {"type": "string", "maxLength": rules.PART_LENGTH}
REFERENCE: Final[Schema] = {"type": "string", "maxLength": rules.REFERENCE_LENGTH}
_SENT: Final[Schema] = {
    "firstName": "Ada",
    "lastName": "Byron",
    "dob": "1985-12-10",
    "citizenship": "GB",
    "documentType": "PASSPORT",
    "imageUrls": ["https://images.example/passports/1.jpg"],
    "address": {
        "line1": "12 Example Street",
        "city": "London",
        "postalCode": "W1A 1AA",
        "country": "GB",
    },
    "externalId": "customer-4711",
}
_EXAMPLE: Final[Schema] = {
    "id": "0197b0a6-9d31-7c54-8f0e-3a5d1e2b4c6f",
    **_SENT,
    "address": {"line2": None, "region": None, **_SENT["address"]},
    "validated": True,
    "status": "VALIDATED",
    "missingFields": [],
    "validationErrors": [],
    "createdAt": "2026-01-31T09:26:53.589793Z",
    "updatedAt": "2026-01-31T09:26:53.589793Z",
}
_HIDDEN: Final = Field(repr=False)


@dataclass(frozen=True, slots=True)
class IdentityContext:
    """Validation context: the day of the request, ``YYYY-MM-DD`` in UTC."""

    today: str


def _birth_date(value: object, info: ValidationInfo) -> str | None:
    born = rules.birth_date(value)
    context = info.context
    if born is not None and isinstance(context, IdentityContext) and born > context.today:
        raise RuleError(Rule.IN_FUTURE, "must not be later than today (UTC)")
    return born


def _image_urls(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        raise rules.wrong_type("a list of URLs", value)
    return tuple(check_items(value, rules.image_url, rules.URLS, "URLs")) or None


Name = Annotated[str, *ruled(rules.name, _NAME)]
BirthDate = Annotated[str, *ruled(_birth_date, _BIRTH_DATE)]
Country = Annotated[str, *ruled(rules.country, _COUNTRY)]
Document = Annotated[str, *ruled(rules.document_type, _DOCUMENT)]
Part = Annotated[str, *ruled(rules.address_part, _PART)]
Reference = Annotated[str, *ruled(rules.reference, REFERENCE)]


class AddressInput(Body):
    """Where a person lives. All parts are optional."""

    line1: Part | None = None
    line2: Part | None = None
    city: Part | None = None
    region: Part | None = None
    postal_code: Part | None = None
    country: Country | None = None


class IdentityInput(Body):
    """A person. All fields are optional: the ones that the model requires leave the identity `INCOMPLETE`."""

    model_config = ConfigDict(json_schema_extra={"examples": [_SENT]})

    first_name: Name | None = None
    last_name: Name | None = None
    dob: BirthDate | None = None
    citizenship: Country | None = None
    document_type: Document | None = None
    image_urls: Annotated[tuple[str, ...] | None, *ruled(_image_urls, _IMAGE_URLS)] = None
    address: AddressInput | None = None
    external_id: Annotated[Reference | None, Field(description="Your own reference.")] = None

    @classmethod
    def bounded(cls, body: Mapping[str, object]) -> tuple[Mapping[str, object], int]:
        """See `Body.bounded`; an address may have unknown fields too."""
        known, omitted = super().bounded(body)
        address = known.get("address")
        if not isinstance(address, Mapping):
            return known, omitted
        parts, more = AddressInput.bounded(address)
        return {**known, "address": parts}, omitted + more

    def values(self) -> dict[str, object]:
        """Give the canonical values by field name, dotted for parts of the address; what is missing is absent."""
        found = self.__dict__
        values = {name: found[attribute] for name, attribute in _ATTRIBUTES if found[attribute] is not None}
        if self.address is not None:
            parts = self.address.__dict__
            values |= {name: parts[part] for name, part in _PARTS if parts[part] is not None}
        return values


_ATTRIBUTES: Final = tuple(
    (field.alias or name, name) for name, field in IdentityInput.model_fields.items() if name != "address"
)
_PARTS: Final = tuple((f"address.{field.alias}", name) for name, field in AddressInput.model_fields.items())


ShownName = Annotated[Annotated[str, WithJsonSchema(_NAME)] | None, _HIDDEN]
ShownCountry = Annotated[Annotated[str, WithJsonSchema(_COUNTRY)] | None, _HIDDEN]
ShownPart = Annotated[Annotated[str, WithJsonSchema(_PART)] | None, _HIDDEN]


class Address(Resource):
    """Where a person lives. Every part may be missing."""

    line1: ShownPart = None
    line2: ShownPart = None
    city: ShownPart = None
    region: ShownPart = None
    postal_code: ShownPart = None
    country: ShownCountry = None


class ValidationError(Resource):
    """A well-formed but implausible value of an identity: JSON Pointer (RFC 6901) and name of the rule."""

    pointer: Annotated[str, WithJsonSchema(POINTER)]
    code: str


class Identity(Resource):
    """An identity. It never changes but by erasure."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    id: Annotated[Uuid, Field(description="UUID, version 7.")]
    first_name: ShownName = None
    last_name: ShownName = None
    dob: Annotated[Annotated[date, WithJsonSchema(_BIRTH_DATE)] | None, _HIDDEN] = None
    citizenship: ShownCountry = None
    document_type: Annotated[Annotated[str, WithJsonSchema(_DOCUMENT)] | None, _HIDDEN] = None
    image_urls: Annotated[
        tuple[Annotated[str, WithJsonSchema(_IMAGE_URL)], ...] | None,
        _HIDDEN,
        WithJsonSchema(_IMAGE_URLS),
    ] = None
    address: Annotated[Address | None, _HIDDEN] = None
    external_id: Annotated[Annotated[str, WithJsonSchema(REFERENCE)] | None, _HIDDEN] = None
    validated: Annotated[
        bool,
        Field(
            description="Whether everything that the model served at its creation requires is there and every rule "
            "holds. It never becomes true or false later, but by erasure."
        ),
    ]
    status: Annotated[str, WithJsonSchema({"enum": [status.value for status in IdentityStatus]})]
    missing_fields: Annotated[
        tuple[Annotated[str, WithJsonSchema(POINTER)], ...],
        Field(description="What the model served at its creation requires and was not there."),
    ] = ()
    validation_errors: Annotated[
        tuple[ValidationError, ...], Field(description="What is implausible; not what is missing.")
    ] = ()
    created_at: Instant
    updated_at: Instant
    sandbox: Sandbox = None
