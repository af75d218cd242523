"""The operations on webhooks, which all answer 200, and the pages of their list."""

import base64
import re
from collections.abc import Mapping
from typing import Final

from starlette.responses import Response
from starlette.types import Scope

from scoring_model.contract.body import Nothing
from scoring_model.contract.resource import example
from scoring_model.contract.violation import Violation
from scoring_model.contract.webhook import Webhook, WebhookInput, WebhookUpdate
from scoring_model.service.clients import Permission
from scoring_model.service.core.errors import Invalid
from scoring_model.service.http.operation import PAGE, Call, Operation, Reference
from scoring_model.service.http.responses import cacheable, listed, plain, replayable
from scoring_model.service.idempotency import Answer

PATH: Final = "/scoring/v1/webhooks"
MAX_AGE: Final = 60
_LIMIT: Final = re.compile(r"[0-9]{1,3}", re.ASCII)
_CURSOR: Final = re.compile(r"[A-Za-z0-9_-]{22}", re.ASCII)


async def _create(call: Call) -> Answer[Webhook]:
    return await call.service.webhooks.create(call.caller, call.body, call.request)


async def _get(call: Call) -> Webhook:
    return await call.service.webhooks.get(call.caller, call.resource)


async def _update(call: Call) -> Webhook:
    return await call.service.webhooks.update(call.caller, call.resource, call.body)


async def _delete(call: Call) -> Webhook:
    return await call.service.webhooks.delete(call.caller, call.resource)


async def _test(call: Call) -> Answer[Webhook]:
    return await call.service.webhooks.test(call.caller, call.resource, call.request)


async def _rotate(call: Call) -> Answer[Webhook]:
    return await call.service.webhooks.rotate_secret(call.caller, call.resource, call.request)


async def _list(call: Call) -> tuple[list[Webhook], str | None]:
    """A page, and the path of the next one."""
    limit, after = page(call.query)
    found, go_on = await call.service.webhooks.page(call.caller, limit=limit, after=after)
    return found, None if go_on is None else f"{PATH}?limit={limit}&cursor={cursor_of(go_on)}"


def page(query: Mapping[str, str]) -> tuple[int, bytes | None]:
    """Read the page of a list from the query.

    Returns
    -------
    limit : int
        1 to `PAGE`.
    after : bytes or None
        The page begins after the resource of this id.

    Raises
    ------
    Invalid
        With all violations.
    """
    errors: list[Violation] = []
    limit, after = PAGE, None
    if "limit" in query:
        text = query["limit"]
        limit = int(text) if _LIMIT.fullmatch(text) else 0
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
    """Write the place after a resource, in another form than its id."""
    return base64.urlsafe_b64encode(resource).rstrip(b"=").decode()


def _id_of(cursor: str) -> bytes | None:
    if not _CURSOR.fullmatch(cursor):
        return None
    resource = base64.urlsafe_b64decode(cursor + "==")
    return resource if cursor_of(resource) == cursor else None


def _answered(answer: Answer[Webhook], _scope: Scope) -> Response:
    return replayable(answer)


def _got(webhook: Webhook, scope: Scope) -> Response:
    return cacheable(webhook.to_json(), scope, MAX_AGE)


def _changed(webhook: Webhook, _scope: Scope) -> Response:
    return plain(webhook)


def _listed(found: tuple[list[Webhook], str | None], _scope: Scope) -> Response:
    webhooks, following = found
    response = listed(webhooks)
    if following is not None:
        response.headers["Link"] = f'<{following}>; rel="next"'
    return response


_NEEDED: Final = Permission.WEBHOOKS
_ONE: Final = PATH + "/{id}"
_WITH_SECRET: Final = {
    **example(Webhook),
    "secret": "whsec_ZXhhbXBsZSBvZiBhIHNlY3JldCBvZiAzMiBieXRlcyE=",
}
_SHOWN_ONCE: Final = "The secret is shown here and never again."
OPERATIONS: Final = (
    Operation(
        method="GET",
        path=PATH,
        permission=_NEEDED,
        act=_list,
        present=_listed,
        parameters=frozenset(("limit", "cursor")),
        reference=Reference(
            name="listWebhooks",
            summary="List webhooks",
            text="In the order of creation. `Link` names the next page, if there is one.",
            shown=Webhook,
        ),
    ),
    Operation(
        method="POST",
        path=PATH,
        permission=_NEEDED,
        act=_create,
        present=_answered,
        body=WebhookInput,
        reference=Reference(
            name="createWebhook",
            summary="Create a webhook",
            text=f"{_SHOWN_ONCE} At most 50 per client.",
            shown=Webhook,
            example=_WITH_SECRET,
        ),
    ),
    Operation(
        method="GET",
        path=_ONE,
        permission=_NEEDED,
        act=_get,
        present=_got,
        reference=Reference(
            name="getWebhook",
            summary="Get a webhook",
            text="`secret` is null here.",
            shown=Webhook,
            cached=True,
        ),
    ),
    Operation(
        method="PUT",
        path=_ONE,
        permission=_NEEDED,
        act=_update,
        present=_changed,
        body=WebhookUpdate,
        reference=Reference(
            name="updateWebhook",
            summary="Update a webhook",
            text="`active: true` enables a webhook that the service disabled, and clears `disabledReason`.",
            shown=Webhook,
        ),
    ),
    Operation(
        method="DELETE",
        path=_ONE,
        permission=_NEEDED,
        act=_delete,
        present=_changed,
        reference=Reference(
            name="deleteWebhook",
            summary="Delete a webhook",
            text="Drops its waiting deliveries. Answers with the webhook as it was.",
            shown=Webhook,
        ),
    ),
    Operation(
        method="POST",
        path=_ONE + "/test",
        permission=_NEEDED,
        act=_test,
        present=_answered,
        body=Nothing,
        reference=Reference(
            name="testWebhook",
            summary="Send a test event",
            text=(
                "Sends `webhook.test` to this webhook alone, whatever its event types and even when it is inactive."
            ),
            shown=Webhook,
        ),
    ),
    Operation(
        method="POST",
        path=_ONE + "/rotate-secret",
        permission=_NEEDED,
        act=_rotate,
        present=_answered,
        body=Nothing,
        reference=Reference(
            name="rotateSecret",
            summary="Rotate the secret of a webhook",
            text=(
                f"{_SHOWN_ONCE} The old one signs too for 24 hours; a second rotation ends the oldest at once."
            ),
            shown=Webhook,
            example=_WITH_SECRET,
        ),
    ),
)
