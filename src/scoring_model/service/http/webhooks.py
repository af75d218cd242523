"""The operations on webhooks, which all answer 200, and the pagination of their list."""

import base64
import re
from collections.abc import Mapping
from functools import partial
from typing import Final

from starlette.responses import Response

from scoring_model.contract.resource import Nothing, example
from scoring_model.contract.violation import Violation
from scoring_model.contract.webhook import Webhook, WebhookInput, WebhookUpdate
from scoring_model.service.clients import Permission
from scoring_model.service.core.errors import Invalid
from scoring_model.service.http.operation import PAGE, Call, Operation, cacheable, created, plain

PATH: Final = "/scoring/v1/webhooks"
MAX_AGE: Final = 60
_ONE: Final = PATH + "/{id}"
_NEEDED: Final = Permission.WEBHOOKS
_WITH_SECRET: Final = {
    **example(Webhook),
    "secret": "whsec_ZXhhbXBsZSBvZiBhIHNlY3JldCBvZiAzMiBieXRlcyE=",
}


@partial(
    Operation,
    method="GET",
    path=PATH,
    permission=_NEEDED,
    shown=Webhook,
    parameters=frozenset(("limit", "cursor")),
)
async def list_webhooks(call: Call) -> Response:
    """List webhooks.

    In order of creation. `Link` has the next page, if there is one.
    """
    limit, after = page(call.query)
    found, last = await call.service.webhooks.page(call.caller, limit=limit, after=after)
    body = b"[" + b",".join([webhook.to_json() for webhook in found]) + b"]"
    headers = {}
    if last is not None:
        headers["Link"] = f'<{PATH}?limit={limit}&cursor={cursor_of(last)}>; rel="next"'
    return Response(body, headers=headers, media_type="application/json")


def page(query: Mapping[str, str]) -> tuple[int, bytes | None]:
    """Parse the pagination parameters of a query; returns the page length and the id after which it begins.

    Raises
    ------
    Invalid
        With all violations.
    """
    errors: list[Violation] = []
    limit, after = PAGE, None
    if "limit" in query:
        text = query["limit"]
        limit = int(text) if re.fullmatch("[0-9]{1,3}", text) else 0
        if not 1 <= limit <= PAGE:
            errors.append(Violation("", "invalid_limit", f"query parameter limit must be 1 to {PAGE}"))
    if "cursor" in query:
        after = _id_of(query["cursor"])
        if after is None:
            errors.append(Violation("", "invalid_cursor", "query parameter cursor must be that of a Link"))
    if errors:
        raise Invalid(tuple(errors))
    return limit, after


def cursor_of(resource: bytes) -> str:
    """Return an opaque cursor for the position after a resource."""
    return base64.urlsafe_b64encode(resource).rstrip(b"=").decode()


def _id_of(cursor: str) -> bytes | None:
    if not re.fullmatch("[A-Za-z0-9_-]{22}", cursor):
        return None
    resource = base64.urlsafe_b64decode(cursor + "==")
    return resource if cursor_of(resource) == cursor else None


@partial(
    Operation,
    method="POST",
    path=PATH,
    permission=_NEEDED,
    shown=Webhook,
    body=WebhookInput,
    example=_WITH_SECRET,
)
async def create_webhook(call: Call) -> Response:
    """Create a webhook.

    The secret is shown here and never again. At most 50 per client.
    """
    answer = await call.service.webhooks.create(call.caller, call.body, call.request)
    return created(answer, answer.resource)


@partial(Operation, method="GET", path=_ONE, permission=_NEEDED, shown=Webhook, cached=True)
async def get_webhook(call: Call) -> Response:
    """Get a webhook.

    `secret` is null here.
    """
    webhook = await call.service.webhooks.get(call.caller, call.resource)
    return cacheable(call, webhook, MAX_AGE)


@partial(Operation, method="PUT", path=_ONE, permission=_NEEDED, shown=Webhook, body=WebhookUpdate)
async def update_webhook(call: Call) -> Response:
    """Update a webhook.

    `active: true` enables a webhook that the service disabled, and clears `disabledReason`.
    """
    webhook = await call.service.webhooks.update(call.caller, call.resource, call.body)
    return plain(webhook)


@partial(Operation, method="DELETE", path=_ONE, permission=_NEEDED, shown=Webhook)
async def delete_webhook(call: Call) -> Response:
    """Delete a webhook.

    Drops its waiting deliveries. Returns the deleted webhook.
    """
    webhook = await call.service.webhooks.delete(call.caller, call.resource)
    return plain(webhook)


@partial(Operation, method="POST", path=_ONE + "/test", permission=_NEEDED, shown=Webhook, body=Nothing)
async def test_webhook(call: Call) -> Response:
    """Send a test event.

    Sends `webhook.test` only to this webhook, even if it is inactive, whatever its event types.
    """
    answer = await call.service.webhooks.test(call.caller, call.resource, call.request)
    return created(answer, answer.resource)


@partial(
    Operation,
    method="POST",
    path=_ONE + "/rotate-secret",
    permission=_NEEDED,
    shown=Webhook,
    body=Nothing,
    example=_WITH_SECRET,
)
async def rotate_secret(call: Call) -> Response:
    """Rotate the secret of a webhook.

    The secret is shown here and never again. The old one also signs for 24 hours; a second rotation ends the oldest
    immediately.
    """
    answer = await call.service.webhooks.rotate_secret(call.caller, call.resource, call.request)
    return created(answer, answer.resource)


OPERATIONS: Final = (
    list_webhooks,
    create_webhook,
    get_webhook,
    update_webhook,
    delete_webhook,
    test_webhook,
    rotate_secret,
)
