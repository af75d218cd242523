"""Answers that nobody keeps: of changes, and of lists."""

from typing import Any, Final

from starlette.responses import Response

from scoring_model.service.core.compact import to_json
from scoring_model.service.core.resources import Answer

PENDING_SECONDS: Final = 1
"""After which it pays to ask for what is pending."""


def plain(document: object) -> Response:
    """Answer 200 with a document."""
    return Response(to_json(document), media_type="application/json")


def replayable(answer: Answer[Any], document: object) -> Response:
    """Answer 200, and say so where it is an answer that was given before."""
    headers = {"Idempotency-Replayed": "true"} if answer.replayed else None
    return Response(to_json(document), headers=headers, media_type="application/json")


def created(answer: Answer[Any], document: dict[str, Any], path: str) -> Response:
    """Answer 201, or 202 while it is not finished, with the place of what was created.

    Parameters
    ----------
    answer : Answer
    document : dict of str to object
        With its `id`.
    path : str
        That of all resources of its kind.
    """
    headers = {"Location": f"{path}/{document['id']}"}
    if answer.pending:
        headers["Retry-After"] = str(PENDING_SECONDS)
    if answer.replayed:
        headers["Idempotency-Replayed"] = "true"
    status = 202 if answer.pending else 201
    return Response(to_json(document), status, headers, "application/json")
