"""What can be asked about verifications."""

from collections.abc import Mapping
from typing import Final

import httpx

from scoring_model.client.errors import StillPending
from scoring_model.client.problem import retry_after
from scoring_model.client.request import Request, Steps, in_path, resource
from scoring_model.client.session import Session
from scoring_model.client.verification import Verification, VerificationStatus

_PATH = "/scoring/v1/verifications"
_SHORTEST_PAUSE: Final = 0.1  # seconds between two polls, whatever the service says
_read = resource(Verification.from_json)


def create(
    session: Session,
    *,
    identity_id: str | None = None,
    signals: Mapping[str, float | bool | str | None] | None = None,
    subject_id: str | None = None,
    previous_verification_id: str | None = None,
    idempotency_key: str | None = None,
) -> Steps[Verification]:
    """Have a person scored: a validated identity, signals of your own identity provider, or both.

    Parameters
    ----------
    identity_id : str or None
        Of a validated identity.
    signals : mapping of str to float, bool, str or None
        At most 200 names; strings of at most 256 characters. A missing name is a missing value.
    subject_id : str or None
        Your own reference for the person, beside signals.
    previous_verification_id : str or None
        The verification of the same person that this follows after STEPPED_UP.
    idempotency_key : str or None
        1 to 255 characters: sent again within 24 hours, it gets the first answer again. None makes one for
        this call and its retries.

    Returns
    -------
    Verification
        COMPLETED with an outcome, or, when the service is busy, PENDING: then `wait` for it.

    Raises
    ------
    Conflict
        If the identity is not validated.
    Invalid
        If neither identity nor signals are given, or a value is malformed; `errors` lists all of them.
    ScoringError
        Whatever else went wrong.
    """
    body = {
        "identityId": identity_id,
        "signals": None if signals is None else dict(signals),
        "subjectId": subject_id,
        "previousVerificationId": previous_verification_id,
    }
    return session.exchange(
        Request(method="POST", path=_PATH, read=_read, body=body, idempotency_key=idempotency_key)
    )


def get(session: Session, verification_id: str) -> Steps[Verification]:
    """Read a verification.

    Parameters
    ----------
    verification_id : str

    Returns
    -------
    Verification
        A completed one perhaps as it was read up to five minutes ago, unless the client keeps no answers.

    Raises
    ------
    NotFound
        If there is none, or it is another client's.
    ScoringError
        Whatever else went wrong.
    """
    return session.exchange(Request(method="GET", path=_one(verification_id), read=_read, cached=True))


def wait(session: Session, verification: Verification | str, *, timeout: float = 60.0) -> Steps[Verification]:
    """Wait until a verification is no longer PENDING.

    Parameters
    ----------
    verification : Verification or str
        As creation gave it, or its identifier. One that is finished is given back at once.
    timeout : float
        Seconds.

    Returns
    -------
    Verification
        COMPLETED or ERROR.

    Raises
    ------
    StillPending
        If the time is up.
    ScoringError
        Whatever else went wrong.
    """
    if isinstance(verification, Verification) and verification.status != VerificationStatus.PENDING:
        return verification
    end = session.now() + timeout
    polls = 0
    delay = 0.0 if isinstance(verification, str) else session.retry.backoff(1)
    while True:
        polls += 1
        request = _poll(verification if isinstance(verification, str) else verification.id)
        verification, advised = yield from session.exchange(
            request, delay=delay, seconds=max(0.0, end - session.now())
        )
        if verification.status != VerificationStatus.PENDING:
            return verification
        delay = _pause(session, polls, advised, left=end - session.now())
        if session.now() + delay > end:
            raise StillPending(verification)


def erase_signals(session: Session, verification_id: str) -> Steps[Verification]:
    """Erase what is kept of a verification's person, its signals among them. The verdict stays.

    Doing it again changes nothing.

    Parameters
    ----------
    verification_id : str

    Returns
    -------
    Verification
        Without its `subject_id`.

    Raises
    ------
    NotFound
        If there is none, or it is another client's.
    ScoringError
        Whatever else went wrong.
    """
    path = f"{_one(verification_id)}/signals"
    return session.exchange(Request(method="DELETE", path=path, read=_read, repeatable=True, clears=True))


def _one(verification_id: str) -> str:
    return f"{_PATH}/{in_path(verification_id)}"


def _poll(verification_id: str) -> Request[tuple[Verification, float | None]]:
    def read(response: httpx.Response) -> tuple[Verification, float | None]:
        return _read(response), retry_after(response)

    return Request(method="GET", path=_one(verification_id), read=read)


def _pause(session: Session, polls: int, advised: float | None, *, left: float) -> float:
    if advised is not None:
        return max(advised, _SHORTEST_PAUSE)
    # The last poll is made when the time is up, not a whole delay before.
    return max(min(session.retry.backoff(polls), left), _SHORTEST_PAUSE)
