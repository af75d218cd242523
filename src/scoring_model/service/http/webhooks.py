"""The operations on webhooks, which all answer 200, and the pagination of their list."""

import base64
import re
from functools import partial
from typing import Final

from starlette.responses import Response

from scoring_model.contract.delivery import Delivery
from scoring_model.contract.resource import Nothing, example
from scoring_model.contract.rules import RuleError
from scoring_model.contract.texts import to_text
from scoring_model.contract.webhook import Webhook, WebhookInput, WebhookUpdate
from scoring_model.service.clients.clients import Permission
from scoring_model.service.core.errors import Invalid
from scoring_model.service.http.lists import LIMIT, OF_DELIVERIES, parsed_query
from scoring_model.service.http.lists import page as answered_page
from scoring_model.service.http.operation import PAGE, Call, Operation, Parameter, cacheable, created, plain

PATH: Final = "/scoring/v1/webhooks"
MAX_AGE: Final = 60
CURSOR: Final = "^[A-Za-z0-9_-]{21}[AQgw]$"
"""Unpadded base64url of 16 bytes (RFC 4648, section 5); the last character has only two bits."""
_ONE: Final = PATH + "/{id}"
_NEEDED: Final = Permission.WEBHOOKS
_WITH_SECRET: Final = {
    **example(Webhook),
    "secret": "whsec_ZXhhbXBsZSBvZiBhIHNlY3JldCBvZiAzMiBieXRlcyE=",
}


def _cursor(text: str) -> bytes:
    resource = base64.urlsafe_b64decode(text + "==") if re.fullmatch(CURSOR, text) else b""
    if cursor_of(resource) != text or not resource:
        raise RuleError("invalid_cursor", "must be that of a Link")
    return resource


def cursor_of(resource: bytes) -> str:
    """Return an opaque cursor for the position after a resource."""
    return base64.urlsafe_b64encode(resource).rstrip(b"=").decode()


_PARAMETERS: Final = {
    "limit": LIMIT,
    "cursor": Parameter(
        "WebhookCursor", "From a `Link` header.", {"type": "string", "pattern": CURSOR}, _cursor
    ),
}


@partial(
    Operation,
    method="GET",
    path=PATH,
    permission=_NEEDED,
    shown=Webhook,
    parameters=_PARAMETERS,
)
async def list_webhooks(call: Call) -> Response:
    """List webhooks.

    In order of creation. `Link` has the next page, if there is one.
    """
    values, errors = parsed_query(call.query, _PARAMETERS)
    if errors:
        raise Invalid(tuple(errors))
    limit = values.get("limit", PAGE)
    found, last = await call.service.webhooks.page(call.caller, limit=limit, after=values.get("cursor"))
    body = b"[" + b",".join([call.write(webhook) for webhook in found]) + b"]"
    headers = {}
    if last is not None:
        headers["Link"] = f'<{PATH}?limit={limit}&cursor={cursor_of(last)}>; rel="next"'
    return Response(body, headers=headers, media_type="application/json")


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
    return created(call, answer)


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
    return plain(call, webhook)


@partial(Operation, method="DELETE", path=_ONE, permission=_NEEDED, shown=Webhook)
async def delete_webhook(call: Call) -> Response:
    """Delete a webhook.

    Drops its waiting deliveries. Returns the deleted webhook.
    """
    webhook = await call.service.webhooks.delete(call.caller, call.resource)
    return plain(call, webhook)


@partial(
    Operation,
    method="GET",
    path=_ONE + "/deliveries",
    permission=_NEEDED,
    shown=Delivery,
    parameters=OF_DELIVERIES,
)
async def list_deliveries(call: Call) -> Response:
    """List the deliveries of a webhook.

    Latest first, without payloads. With `status` a page may have fewer items than `limit`, even none, while more
    follow: the list ends where there is no `Link`. Settled deliveries are kept for 30 days.
    """
    webhooks, webhook = call.service.webhooks, call.resource
    return await answered_page(
        call,
        f"{PATH}/{to_text(webhook)}/deliveries",
        OF_DELIVERIES,
        lambda wanted, limit, after: webhooks.deliveries(
            call.caller, webhook, status=wanted.status, after=after, limit=limit
        ),
    )


@partial(Operation, method="POST", path=_ONE + "/test", permission=_NEEDED, shown=Webhook, body=Nothing)
async def test_webhook(call: Call) -> Response:
    """Send a test event.

    Sends `webhook.test` only to this webhook, even if it is inactive, whatever its event types.
    """
    answer = await call.service.webhooks.test(call.caller, call.resource, call.request)
    return created(call, answer)


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
    return created(call, answer)


OPERATIONS: Final = (
    list_webhooks,
    create_webhook,
    get_webhook,
    update_webhook,
    delete_webhook,
    list_deliveries,
    test_webhook,
    rotate_secret,
)
