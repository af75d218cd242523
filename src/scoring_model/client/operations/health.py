"""What can be asked about the service itself, without credentials and without retries."""

from typing import Final

import httpx

from scoring_model.client.request import Request, Steps
from scoring_model.client.session import Session

_NOT_NOW: Final = frozenset({503})


def live(session: Session) -> Steps[bool]:
    """Whether the service runs.

    Returns
    -------
    bool

    Raises
    ------
    ScoringError
        If it was not reached.
    """
    return _ask(session, "/health/live")


def ready(session: Session) -> Steps[bool]:
    """Whether the service can answer: its database is there and a model is loaded.

    Returns
    -------
    bool

    Raises
    ------
    ScoringError
        If it was not reached.
    """
    return _ask(session, "/health/ready")


def _ask(session: Session, path: str) -> Steps[bool]:
    return session.exchange(
        Request(method="GET", path=path, read=_is_well, credentials=False, accepts=_NOT_NOW),
        seconds=0.0,
    )


def _is_well(response: httpx.Response) -> bool:
    return response.status_code not in _NOT_NOW
