"""The names of the fields: those of the API, dotted for the parts of an address and for signals."""

from typing import TYPE_CHECKING, Final, Literal

from scoring_model.contract.rules import IDENTITY_RULES
from scoring_model.contract.violation import pointer

IDENTITY_ID: Final = "identityId"
"""Of an export of the service: the identity of a record."""
IDENTITY_FIELDS: Final = tuple(IDENTITY_RULES)

# References are names of things. They say nothing of the person: alone they make no record.
REFERENCE_FIELDS: Final = ("externalId", "subjectId", IDENTITY_ID)
if TYPE_CHECKING:  # a checker of types knows only what is written out
    RequiredField = str
else:
    RequiredField = Literal[tuple(name for name in IDENTITY_FIELDS if name not in REFERENCE_FIELDS[1:])]
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
DECIDED_FIELDS: Final = ("outcome", "resolution", "closedAt")
"""What was finally decided about the applicant, how a step-up or review ended, and when the account was closed."""
EVENT_FIELDS: Final = ("recordId", "eventTime", *LABEL_FIELDS, PROPENSITY)
TIME_FIELDS: Final = ("eventTime", "labelKnownAt", "labelReportedAt", "closedAt")
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
