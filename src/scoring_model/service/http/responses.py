"""Successful responses, with entity tags and `Cache-Control` (RFC 9110, sections 8.8.3 and 13.1.2; RFC 9111)."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Final

from starlette.responses import Response
from starlette.types import Scope

from scoring_model.contract.identity import Identity
from scoring_model.contract.resource import Resource
from scoring_model.contract.verification import Verification
from scoring_model.contract.webhook import Webhook
from scoring_model.service.http.context import context_of, header_values
from scoring_model.service.idempotency import Answer

PENDING_SECONDS: Final = 1
"""`Retry-After` of a pending resource."""

VARY: Final = "x-api-key, x-client-id"
"""What a response depends on beside its path."""

_JSON: Final = "application/json"


def plain(shown: Resource) -> Response:
    """Answer 200 with a resource."""
    return Response(shown.to_json(), media_type=_JSON)


def listed(shown: Iterable[Resource]) -> Response:
    """Answer 200 with an array of resources."""
    body = b"[" + b",".join([resource.to_json() for resource in shown]) + b"]"
    return Response(body, media_type=_JSON)


def replayable(answer: Answer[Webhook]) -> Response:
    """Answer 200, with `Idempotency-Replayed` where an earlier request got the same answer."""
    return Response(answer.resource.to_json(), headers=_replayed(answer), media_type=_JSON)


def created(answer: Answer[Identity] | Answer[Verification], path: str) -> Response:
    """Answer 201, or 202 while the resource is pending, with its `Location`.

    Parameters
    ----------
    path : str
        Of the collection.
    """
    headers = {"Location": f"{path}/{answer.resource.id}", **_replayed(answer)}
    if answer.pending:
        headers["Retry-After"] = str(PENDING_SECONDS)
    return Response(answer.resource.to_json(), 202 if answer.pending else 201, headers, _JSON)


def _replayed(answer: Answer[Any]) -> dict[str, str]:
    return {"Idempotency-Replayed": "true"} if answer.replayed else {}


def cacheable(body: bytes, scope: Scope, max_age: int) -> Response:
    """Answer 200 with JSON that the client may cache, or 304 if it has it already.

    Parameters
    ----------
    max_age : int
        Seconds.
    """
    tag = entity_tag(body)
    headers = {"ETag": tag, "Vary": VARY}
    context_of(scope).cache = f"private, max-age={max_age}"
    wanted = header_values(scope, b"if-none-match")
    if wanted and matches(tag, wanted):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=_JSON)


def entity_tag(body: bytes) -> str:
    """Make a strong entity tag of a body."""
    digest = hashlib.blake2b(body, digest_size=15).digest()
    return f'"{base64.urlsafe_b64encode(digest).decode()}"'


def matches(tag: str, wanted: Sequence[bytes]) -> bool:
    """Whether a strong entity tag without a comma is among the values of `If-None-Match`."""
    tags = [text.strip() for text in b",".join(wanted).decode("latin-1").split(",")]
    return "*" in tags or any(text.removeprefix("W/") == tag for text in tags)
