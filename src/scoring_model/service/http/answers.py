"""Answers that nobody keeps: of changes, and of lists."""

from collections.abc import Iterable
from typing import Any, Final

from starlette.responses import Response

from scoring_model.contract.identity import Identity
from scoring_model.contract.resource import Resource
from scoring_model.contract.verification import Verification
from scoring_model.service.core.resources import Answer

PENDING_SECONDS: Final = 1
"""After which it pays to ask for what is pending."""


def plain(shown: Resource) -> Response:
    """Answer 200 with a resource."""
    return Response(shown.to_json(), media_type="application/json")


def listed(shown: Iterable[Resource]) -> Response:
    """Answer 200 with an array of resources."""
    body = b"[" + b",".join([resource.to_json() for resource in shown]) + b"]"
    return Response(body, media_type="application/json")


def replayable(answer: Answer[Any], shown: Resource) -> Response:
    """Answer 200, and say so where it is an answer that was given before."""
    headers = {"Idempotency-Replayed": "true"} if answer.replayed else None
    return Response(shown.to_json(), headers=headers, media_type="application/json")


def created(answer: Answer[Any], shown: Identity | Verification, path: str) -> Response:
    """Answer 201, or 202 while it is not finished, with the place of what was created.

    Parameters
    ----------
    answer : Answer
    shown : Identity or Verification
    path : str
        That of all resources of its kind.
    """
    headers = {"Location": f"{path}/{shown.id}"}
    if answer.pending:
        headers["Retry-After"] = str(PENDING_SECONDS)
    if answer.replayed:
        headers["Idempotency-Replayed"] = "true"
    status = 202 if answer.pending else 201
    return Response(shown.to_json(), status, headers, "application/json")
