"""The operations on identities."""

from typing import Final

from starlette.responses import Response
from starlette.types import Scope

from scoring_model.service.core import resources
from scoring_model.service.core.resources import Answer, Identity
from scoring_model.service.http.answers import created, plain
from scoring_model.service.http.caching import cacheable
from scoring_model.service.http.operation import Body, Call, Operation
from scoring_model.service.http.representations import identity_shown

PATH: Final = "/scoring/v1/identities"
MAX_AGE: Final = 60


async def _create(call: Call) -> Answer[Identity]:
    return await call.service.identities.create(call.caller, call.body, call.request)


async def _get(call: Call) -> Identity:
    return await call.service.identities.get(call.caller, call.resource)


async def _erase(call: Call) -> Identity:
    return await call.service.identities.erase(call.caller, call.resource)


def _created(answer: Answer[Identity], _scope: Scope) -> Response:
    return created(answer, identity_shown(answer.resource), PATH)


def _got(identity: Identity, scope: Scope) -> Response:
    return cacheable(identity_shown(identity).to_json(), scope, MAX_AGE)


def _erased(identity: Identity, _scope: Scope) -> Response:
    return plain(identity_shown(identity))


_NEEDED: Final = resources.Permission.IDENTITIES
OPERATIONS: Final = (
    Operation(method="POST", path=PATH, permission=_NEEDED, act=_create, present=_created, body=Body.OBJECT),
    Operation(method="GET", path=PATH + "/{id}", permission=_NEEDED, act=_get, present=_got),
    Operation(method="DELETE", path=PATH + "/{id}", permission=_NEEDED, act=_erase, present=_erased),
)
