"""Requests about verifications."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import httpx
from tenacity import RetryCallState, retry_if_exception_type

from scoring_model.client.errors import StillPending, retry_after
from scoring_model.client.operations.pages import Page, first_page, reader
from scoring_model.client.request import Request, path_of, resource
from scoring_model.client.session import Session
from scoring_model.contract.verification import Verification, VerificationStatus

_PATH = "/scoring/v1/verifications"
_SHORTEST_PAUSE: Final = 0.1  # seconds between two polls, whatever the service says
_read = resource(Verification)
_read_page = reader(Verification)


def create(
    *,
    identity_id: str | None = None,
    signals: Mapping[str, float | bool | str | None] | None = None,
    subject_id: str | None = None,
    previous_verification_id: str | None = None,
    idempotency_key: str | None = None,
) -> Request[Verification]:
    """Score a person by a validated identity, signals of your own identity provider, or both.

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
        As for `identities.create`.

    Returns
    -------
    Verification
        COMPLETED with an outcome, or, when the service is busy, PENDING: then `wait` for it.

    Raises
    ------
    Conflict
        If the identity is not validated; `missing_fields` lists what it lacks.
    Invalid
        If neither identity nor signals are given, or a value is malformed; `errors` lists all of them.
    """
    body = {
        "identityId": identity_id,
        "signals": None if signals is None else dict(signals),
        "subjectId": subject_id,
        "previousVerificationId": previous_verification_id,
    }
    return Request(method="POST", path=_PATH, read=_read, body=body, idempotency_key=idempotency_key)


def get(verification_id: str) -> Request[Verification]:
    """Read a verification. A cached answer of a completed one may be up to five minutes old.

    Raises
    ------
    NotFound
        If it does not exist, or belongs to another client.
    """
    return Request(method="GET", path=path_of(_PATH, verification_id), read=_read, cached=True)


def list_all(
    *,
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    outcome: str | None = None,
    status: str | None = None,
    identity_id: str | None = None,
    subject_id: str | None = None,
    model_version: str | None = None,
    resolution: str | None = None,
    page_size: int = 100,
) -> Request[Page[Verification]]:
    """Iterate over verifications, latest first, read lazily in pages of 1 to 100. Filters are combined.

    Verifications that are created meanwhile are not visited, and none is visited twice.

    Parameters
    ----------
    created_after, created_before : datetime or None
        Both exclusive, with a time zone.
    outcome : str or None
        Such as `Outcome.FAILED`.
    status : str or None
        Such as `VerificationStatus.PENDING`.
    identity_id, subject_id, model_version : str or None
        As the verification has it. After erasure there is no `subject_id`.
    resolution : str or None
        ``approved``, ``declined`` or ``abandoned``, as the latest resolution says, or ``none``.

    Raises
    ------
    Invalid
        If a filter is malformed; `errors` lists all of them.
    """
    return first_page(
        _PATH,
        _read_page,
        page_size,
        createdAfter=created_after,
        createdBefore=created_before,
        outcome=outcome,
        status=status,
        identityId=identity_id,
        subjectId=subject_id,
        modelVersion=model_version,
        resolution=resolution,
    )


def wait(session: Session, verification: Verification | str, *, timeout: float = 60.0) -> "Polling":
    """Wait until a verification is no longer PENDING.

    Parameters
    ----------
    verification : Verification or str
        The created verification, or its identifier. A finished one is returned immediately.
    timeout : float
        Seconds.

    Returns
    -------
    Verification
        COMPLETED or ERROR.

    Raises
    ------
    StillPending
        If the timeout expires.
    """
    return Polling(session, verification, session.now() + timeout)


def erase_signals(verification_id: str) -> Request[Verification]:
    """Erase the personal data of a verification, including `subject_id` and signals. The verdict stays.

    Repeating it changes nothing.

    Raises
    ------
    NotFound
        If it does not exist, or belongs to another client.
    """
    path = f"{path_of(_PATH, verification_id)}/signals"
    return Request(method="DELETE", path=path, read=_read, repeatable=True, clears=True)


@dataclass(frozen=True, slots=True)
class Polling:
    """Reads a verification until it is finished, or `end` is reached on the clock of the session."""

    session: Session
    verification: Verification | str
    end: float

    @property
    def finished(self) -> Verification | None:
        """The verification, where nothing is left to wait for."""
        given = self.verification
        return None if isinstance(given, str) or given.status == VerificationStatus.PENDING else given

    @property
    def first_delay(self) -> float:
        """Seconds before the first poll: none where nothing is known yet."""
        return 0.0 if isinstance(self.verification, str) else self.session.retry.backoff(1)

    @property
    def left(self) -> float:
        """Seconds that are left for requests."""
        return max(0.0, self.end - self.session.now())

    @property
    def request(self) -> Request[Verification]:
        """Reads the verification; raises `StillPending` with the seconds after which the service asks to read again."""

        def read(response: httpx.Response) -> Verification:
            found = _read(response)
            if found.status == VerificationStatus.PENDING:
                raise StillPending(found, retry_after(response))
            return found

        given = self.verification
        path = path_of(_PATH, given if isinstance(given, str) else given.id)
        return Request(method="GET", path=path, read=read)

    def retrying(self) -> dict[str, Any]:
        """Give tenacity's options for the polls."""
        return {
            "retry": retry_if_exception_type(StillPending),
            "wait": self._pause,
            "stop": lambda state: self.session.now() + state.upcoming_sleep > self.end,
            "reraise": True,
        }

    def _pause(self, state: RetryCallState) -> float:
        failure = None if state.outcome is None else state.outcome.exception()
        pause = failure.retry_after if isinstance(failure, StillPending) else None
        if pause is None:
            # The last poll is made when the time is up, not a whole delay before.
            pause = min(self.session.retry.backoff(state.attempt_number), self.end - self.session.now())
        return max(pause, _SHORTEST_PAUSE)
