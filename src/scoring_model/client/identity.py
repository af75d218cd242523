"""A person's record, as the service shows it. No `repr` shows anything of the person."""

from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum

from scoring_model.client.fields import Fields


class DocumentType(StrEnum):
    """Types of identity documents."""

    PASSPORT = "PASSPORT"
    NATIONAL_ID = "NATIONAL_ID"
    DRIVERS_LICENSE = "DRIVERS_LICENSE"
    RESIDENCE_PERMIT = "RESIDENCE_PERMIT"


class IdentityStatus(StrEnum):
    """What is known of an identity. A later service may say more: compare, do not convert."""

    INCOMPLETE = "INCOMPLETE"
    VALIDATED = "VALIDATED"
    INVALID = "INVALID"
    REDACTED = "REDACTED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a person lives. Every part may be missing.

    Parameters
    ----------
    line1, line2, city, region, postal_code : str or None
    country : str or None
        ISO 3166-1 alpha-2.
    """

    line1: str | None = field(default=None, repr=False)
    line2: str | None = field(default=None, repr=False)
    city: str | None = field(default=None, repr=False)
    region: str | None = field(default=None, repr=False)
    postal_code: str | None = field(default=None, repr=False)
    country: str | None = field(default=None, repr=False)

    def to_json(self) -> dict[str, str | None]:
        """The address as the interface names its parts."""
        return {
            "line1": self.line1,
            "line2": self.line2,
            "city": self.city,
            "region": self.region,
            "postalCode": self.postal_code,
            "country": self.country,
        }

    @classmethod
    def from_json(cls, fields: Fields) -> "Address":
        """Read an address."""
        return cls(
            line1=fields.maybe_text("line1"),
            line2=fields.maybe_text("line2"),
            city=fields.maybe_text("city"),
            region=fields.maybe_text("region"),
            postal_code=fields.maybe_text("postalCode"),
            country=fields.maybe_text("country"),
        )


@dataclass(frozen=True, slots=True)
class ValidationError:
    """A well-formed value of an identity that can't be true.

    Parameters
    ----------
    pointer : str
        JSON Pointer (RFC 6901) to the field.
    code : str
        Name of the rule.
    """

    pointer: str
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """An identity.

    Parameters
    ----------
    id : str
    status : str
        One of `IdentityStatus`.
    validated : bool
        Whether it can be verified.
    validation_errors : tuple of ValidationError
        What is implausible; what is missing is not listed.
    created_at, updated_at : datetime
        Aware.
    first_name, last_name, citizenship, document_type, external_id : str or None
    dob : date or None
    image_urls : tuple of str
    address : Address or None
    """

    id: str
    status: str
    validated: bool
    validation_errors: tuple[ValidationError, ...]
    created_at: datetime
    updated_at: datetime
    first_name: str | None = field(default=None, repr=False)
    last_name: str | None = field(default=None, repr=False)
    dob: date | None = field(default=None, repr=False)
    citizenship: str | None = field(default=None, repr=False)
    document_type: str | None = field(default=None, repr=False)
    image_urls: tuple[str, ...] = field(default=(), repr=False)
    address: Address | None = field(default=None, repr=False)
    external_id: str | None = field(default=None, repr=False)

    @classmethod
    def from_json(cls, fields: Fields) -> "Identity":
        """Read an identity."""
        address = fields.maybe_object("address")
        return cls(
            id=fields.text("id"),
            status=fields.text("status"),
            validated=fields.flag("validated"),
            validation_errors=tuple(
                ValidationError(error.text("pointer"), error.text("code"))
                for error in fields.objects("validationErrors")
            ),
            created_at=fields.time("createdAt"),
            updated_at=fields.time("updatedAt"),
            first_name=fields.maybe_text("firstName"),
            last_name=fields.maybe_text("lastName"),
            dob=fields.maybe_day("dob"),
            citizenship=fields.maybe_text("citizenship"),
            document_type=fields.maybe_text("documentType"),
            image_urls=fields.texts("imageUrls"),
            address=None if address is None else Address.from_json(address),
            external_id=fields.maybe_text("externalId"),
        )
