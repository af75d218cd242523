"""The operations on webhooks. All of them answer 200."""

from typing import Final

from starlette.responses import Response
from starlette.types import Scope

from scoring_model.service.core import resources
from scoring_model.service.core.resources import Answer, Webhook
from scoring_model.service.http.answers import listed, plain, replayable
from scoring_model.service.http.caching import cacheable
from scoring_model.service.http.operation import Body, Call, Operation
from scoring_model.service.http.parameters import cursor_of, page
from scoring_model.service.http.representations import webhook_shown

PATH: Final = "/scoring/v1/webhooks"
MAX_AGE: Final = 60


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


def _answered(answer: Answer[Webhook], _scope: Scope) -> Response:
    return replayable(answer, webhook_shown(answer.resource))


def _got(webhook: Webhook, scope: Scope) -> Response:
    return cacheable(webhook_shown(webhook).to_json(), scope, MAX_AGE)


def _changed(webhook: Webhook, _scope: Scope) -> Response:
    return plain(webhook_shown(webhook))


def _listed(found: tuple[list[Webhook], str | None], _scope: Scope) -> Response:
    webhooks, following = found
    response = listed(map(webhook_shown, webhooks))
    if following is not None:
        response.headers["Link"] = f'<{following}>; rel="next"'
    return response


_NEEDED: Final = resources.Permission.WEBHOOKS
_ONE: Final = PATH + "/{id}"
OPERATIONS: Final = (
    Operation(
        method="GET",
        path=PATH,
        permission=_NEEDED,
        act=_list,
        present=_listed,
        parameters=frozenset(("limit", "cursor")),
    ),
    Operation(method="POST", path=PATH, permission=_NEEDED, act=_create, present=_answered, body=Body.OBJECT),
    Operation(method="GET", path=_ONE, permission=_NEEDED, act=_get, present=_got),
    Operation(method="PUT", path=_ONE, permission=_NEEDED, act=_update, present=_changed, body=Body.OBJECT),
    Operation(method="DELETE", path=_ONE, permission=_NEEDED, act=_delete, present=_changed),
    Operation(
        method="POST", path=_ONE + "/test", permission=_NEEDED, act=_test, present=_answered, body=Body.EMPTY
    ),
    Operation(
        method="POST",
        path=_ONE + "/rotate-secret",
        permission=_NEEDED,
        act=_rotate,
        present=_answered,
        body=Body.EMPTY,
    ),
)
