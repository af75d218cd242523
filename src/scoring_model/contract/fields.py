"""The names of the fields: those of the API, dotted for the parts of an address and for signals."""

from typing import Final, Literal

from scoring_model.contract.violation import pointer

PERSON_FIELDS: Final = ("firstName", "lastName", "dob", "citizenship", "documentType", "imageUrls")
ADDRESS_PARTS: Final = ("line1", "line2", "city", "region", "postalCode", "country")
ADDRESS_FIELDS: Final = tuple(f"address.{part}" for part in ADDRESS_PARTS)
IDENTITY_ID: Final = "identityId"
"""Of an export of the service: the identity of a record."""
# References are names of things. They say nothing of the person: alone they make no record.
REFERENCE_FIELDS: Final = ("externalId", "subjectId", IDENTITY_ID)
IDENTITY_FIELDS: Final = (*PERSON_FIELDS, *ADDRESS_FIELDS, *REFERENCE_FIELDS)
RequiredField = Literal[
    "firstName",
    "lastName",
    "dob",
    "citizenship",
    "documentType",
    "imageUrls",
    "address.line1",
    "address.line2",
    "address.city",
    "address.region",
    "address.postalCode",
    "address.country",
    "externalId",
]
"""A field of an identity that a configuration may require."""
REQUIRED_FIELDS: Final[tuple[RequiredField, ...]] = (
    "firstName",
    "lastName",
    "dob",
    "citizenship",
    "documentType",
    "imageUrls",
    "address.country",
)
"""What an identity needs where the configuration says nothing."""
LABEL_FIELDS: Final = ("label", "labelKnownAt", "labelReportedAt")
PROPENSITY: Final = "propensity"
"""Probability with which a record of this outcome of the policy passed, so that its label could become known."""
EVENT_FIELDS: Final = ("recordId", "eventTime", *LABEL_FIELDS, PROPENSITY)
SIGNAL_PREFIX: Final = "signals."
NESTED: Final = ("address", "signals")


def signal_field(name: str) -> str:
    """Name the field of a signal, which the client's identity provider gives this name.

    Examples
    --------
    >>> signal_field("device")
    'signals.device'
    """
    return SIGNAL_PREFIX + name


def field_pointer(field: str) -> str:
    """Point at a field in a body, where the parts of an address and signals are nested.

    Examples
    --------
    >>> field_pointer("address.line1"), field_pointer("dob")
    ('/address/line1', '/dob')
    """
    parent, dot, name = field.partition(".")
    return pointer(parent, name) if dot and parent in NESTED else pointer(field)
