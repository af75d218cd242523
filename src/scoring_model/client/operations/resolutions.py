"""Requests about resolutions: how step-ups and reviews ended."""

from datetime import datetime

from scoring_model.client.request import Request, path_of, resource
from scoring_model.contract.resolution import Resolution, Resolutions

_PATH = "/scoring/v1/verifications"
_read = resource(Resolution)
_read_all = resource(Resolutions)


def create(
    verification_id: str,
    *,
    result: str,
    method: str,
    resolved_by: str | None = None,
    note: str | None = None,
    resolved_at: datetime | None = None,
    idempotency_key: str | None = None,
) -> Request[Resolution]:
    """Report how the step-up or review of a completed verification ended.

    Reporting the latest one again changes nothing.

    Parameters
    ----------
    result : str
        ``APPROVED``, ``DECLINED`` or ``ABANDONED``.
    method : str
        ``documentCheck``, ``liveness``, ``manualReview``, ``oneTimeCode`` or ``other``.
    resolved_by : str or None
        Your own reference for who ended it, at most 128 characters.
    note : str or None
        For people, at most 1,000 characters. Encrypted, and erased with the person.
    resolved_at : datetime or None
        With a time zone; by default now.
    idempotency_key : str or None
        As for `identities.create`.

    Raises
    ------
    NotFound
        If the verification does not exist, or belongs to another client.
    Conflict
        If it is not completed, its person was erased, or it has 100 resolutions.
    Invalid
        If a value is malformed; `errors` lists all of them.
    """
    if resolved_at is not None and resolved_at.tzinfo is None:
        raise ValueError("resolved_at must have a time zone")
    body = {
        "result": result,
        "method": method,
        "resolvedBy": resolved_by,
        "note": note,
        "resolvedAt": None if resolved_at is None else resolved_at.isoformat(),
    }
    path = f"{path_of(_PATH, verification_id)}/resolutions"
    return Request(
        method="POST", path=path, read=_read, body=body, idempotency_key=idempotency_key, repeatable=True
    )


def list_of(verification_id: str) -> Request[Resolutions]:
    """Read the resolutions of a verification, oldest first.

    Raises
    ------
    NotFound
        If the verification does not exist, or belongs to another client.
    """
    return Request(method="GET", path=f"{path_of(_PATH, verification_id)}/resolutions", read=_read_all)
