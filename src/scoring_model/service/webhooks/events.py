"""The events that webhooks get, and their words: thin, and without a word of a person."""

from collections.abc import Mapping
from typing import Final

from scoring_model.contract.event import EventType
from scoring_model.contract.identity import IdentityStatus
from scoring_model.contract.ids import to_text
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.verification import VerificationStatus
from scoring_model.service.core.compact import to_json
from scoring_model.service.core.rows import VerificationRow

_OF_IDENTITY: Final = {
    IdentityStatus.INCOMPLETE: (EventType.IDENTITY_CREATED,),
    IdentityStatus.VALIDATED: (EventType.IDENTITY_CREATED, EventType.IDENTITY_VALIDATED),
    IdentityStatus.INVALID: (EventType.IDENTITY_CREATED, EventType.IDENTITY_INVALID),
}
_OF_OUTCOME: Final[Mapping[Outcome | None, EventType]] = {
    Outcome.PASSED: EventType.VERIFICATION_PASSED,
    Outcome.STEPPED_UP: EventType.VERIFICATION_STEPPED_UP,
    Outcome.FAILED: EventType.VERIFICATION_FAILED,
}


def events_of_new_identity(status: IdentityStatus) -> tuple[EventType, ...]:
    """Name the events of a creation, in their order.

    Parameters
    ----------
    status : IdentityStatus
        INCOMPLETE, VALIDATED or INVALID.

    Raises
    ------
    KeyError
        If it is REDACTED: nothing is created so.
    """
    return _OF_IDENTITY[status]


def events_of_verification(status: VerificationStatus, outcome: Outcome | None) -> tuple[EventType, ...]:
    """Name the events of a verification that has come to a status, in their order.

    Parameters
    ----------
    outcome : Outcome or None
        Of a COMPLETED one.

    Returns
    -------
    tuple of EventType
        Empty while it is PENDING. A COMPLETED one has two, of which a webhook that names neither exactly gets
        that of the outcome.

    Raises
    ------
    KeyError
        If a COMPLETED one has no outcome.
    """
    if status is VerificationStatus.COMPLETED:
        return (EventType.VERIFICATION_COMPLETED, _OF_OUTCOME[outcome])
    return (EventType.VERIFICATION_ERROR,) if status is VerificationStatus.ERROR else ()


def identity_data(resource: bytes, status: IdentityStatus) -> str:
    """Write the data of an event of an identity.

    Parameters
    ----------
    resource : bytes
        Identifier of the identity.

    Returns
    -------
    str
        JSON object with `id` and `status`, without the sequence.
    """
    return to_json({"id": to_text(resource), "status": status.value}).decode()


def verification_data(row: VerificationRow) -> str:
    """Write the data of an event of a verification.

    Parameters
    ----------
    row : VerificationRow
        As it was written in the same transaction.

    Returns
    -------
    str
        JSON object with `id`, `identityId`, `status`, `scoringOutcome`, `scoringScore` and `modelVersion`,
        without the sequence.
    """
    return to_json(
        {
            "id": to_text(row.id),
            "identityId": None if row.identity_id is None else to_text(row.identity_id),
            "status": row.status,
            "scoringOutcome": row.outcome,
            "scoringScore": row.score,
            "modelVersion": row.model_version,
        }
    ).decode()


def webhook_data(resource: bytes, disabled_reason: str | None = None) -> str:
    """Write the data of an event of a webhook.

    Parameters
    ----------
    resource : bytes
        Identifier of the webhook.
    disabled_reason : str, optional
        Why it was disabled.

    Returns
    -------
    str
        JSON object with `id` and, where there is a reason, `disabledReason`, without the sequence. The
        destination is left out: its query may hold a secret of the client.
    """
    reason = {} if disabled_reason is None else {"disabledReason": disabled_reason}
    return to_json({"id": to_text(resource), **reason}).decode()


def numbered(data: str, sequence: int) -> str:
    """Write the place of an event among those of its client into its data.

    Parameters
    ----------
    data : str
        JSON object that is not empty.

    Returns
    -------
    str
        The same with `sequence` at its end.

    Examples
    --------
    >>> numbered('{"id":"x"}', 7)
    '{"id":"x","sequence":7}'
    """
    return f'{data[:-1]},"sequence":{sequence}}}'
