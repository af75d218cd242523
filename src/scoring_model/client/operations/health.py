"""Requests about the service itself, without credentials and retries."""

from typing import Final

import httpx

from scoring_model.client.request import Request

_NOT_NOW: Final = frozenset({503})


def live() -> Request[bool]:
    """Whether the service runs."""
    return _ask("/health/live")


def ready() -> Request[bool]:
    """Whether the service can answer: its database is there and a model is loaded."""
    return _ask("/health/ready")


def _ask(path: str) -> Request[bool]:
    return Request(method="GET", path=path, read=_is_well, credentials=False, accepts=_NOT_NOW, retried=False)


def _is_well(response: httpx.Response) -> bool:
    return response.status_code not in _NOT_NOW
