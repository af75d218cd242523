"""The resources that clients see, identities, verifications and webhooks, and the client of a request.

Identifiers are 16 bytes, instants integer microseconds since 1970-01-01 UTC.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

from scoring_model.contract.identity import IdentityStatus
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.verification import VerificationStatus

T = TypeVar("T")


class Permission(StrEnum):
    """What an API key may be used for."""

    IDENTITIES = "identities"
    VERIFICATIONS = "verifications"
    WEBHOOKS = "webhooks"


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated client.

    Parameters
    ----------
    client : int
        Its number in the store.
    client_id : str
        Its public name.
    history_scope : str
        The clients of one scope share history; a client has its own unless the operator says otherwise.
    permissions : frozenset of Permission
    quota : int
        Requests that its bucket holds.
    quota_seconds : int
        In which the bucket fills.
    """

    client: int
    client_id: str
    history_scope: str
    permissions: frozenset[Permission]
    quota: int
    quota_seconds: int


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """The answer to a POST.

    Parameters
    ----------
    resource : T
    pending : bool
        Whether it was accepted but is not finished (202).
    replayed : bool
        Whether it was answered before, under the same idempotency key.
    """

    resource: T
    pending: bool = False
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Implausible:
    """A well-formed value of an identity that is implausible: JSON Pointer and name of the rule."""

    pointer: str
    code: str


@dataclass(frozen=True, slots=True)
class Identity:
    """An identity.

    Parameters
    ----------
    id : bytes
    values : mapping of str to object
        Canonical values by field name, dotted for parts of the address; what is missing is absent. Empty after
        erasure.
    status : IdentityStatus
    validation_errors : tuple of Implausible
    created_at, updated_at : int
    """

    id: bytes
    values: Mapping[str, object] = field(repr=False)
    status: IdentityStatus
    validation_errors: tuple[Implausible, ...]
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class Verification:
    """A verification.

    Parameters
    ----------
    id : bytes
    identity_id, previous_id : bytes or None
    subject_id : str or None
        The client's own reference for the person; None after erasure.
    status : VerificationStatus
    outcome : Outcome or None
    score : int or None
        0 to 1000.
    reasons : tuple of (str, str)
        Code and sentence, strongest first.
    model_version, policy_version : str or None
    created_at : int
    completed_at : int or None
    """

    id: bytes
    identity_id: bytes | None
    previous_id: bytes | None
    subject_id: str | None = field(repr=False)
    status: VerificationStatus
    outcome: Outcome | None
    score: int | None
    reasons: tuple[tuple[str, str], ...]
    model_version: str | None
    policy_version: str | None
    created_at: int
    completed_at: int | None


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook.

    Parameters
    ----------
    id : bytes
    destination_url : str
    active : bool
    event_types : tuple of str
    description : str or None
    secret : str or None
        ``whsec_...``; only where it is shown, by creation and rotation.
    disabled_reason : str or None
    created_at, updated_at : int
    """

    id: bytes
    destination_url: str
    active: bool
    event_types: tuple[str, ...]
    description: str | None
    secret: str | None = field(repr=False)
    disabled_reason: str | None
    created_at: int
    updated_at: int
