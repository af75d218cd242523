"""The operations on identities."""

from typing import Final

from starlette.responses import Response
from starlette.types import Scope

from scoring_model.contract.identity import Identity, IdentityInput
from scoring_model.contract.resource import example
from scoring_model.service.clients import Permission
from scoring_model.service.http.operation import Call, Operation, Reference
from scoring_model.service.http.responses import cacheable, created, plain
from scoring_model.service.idempotency import Answer

PATH: Final = "/scoring/v1/identities"
MAX_AGE: Final = 60


async def _create(call: Call) -> Answer[Identity]:
    return await call.service.identities.create(call.caller, call.body, call.request)


async def _get(call: Call) -> Identity:
    return await call.service.identities.get(call.caller, call.resource)


async def _erase(call: Call) -> Identity:
    return await call.service.identities.erase(call.caller, call.resource)


def _created(answer: Answer[Identity], _scope: Scope) -> Response:
    return created(answer, PATH)


def _got(identity: Identity, scope: Scope) -> Response:
    return cacheable(identity.to_json(), scope, MAX_AGE)


def _erased(identity: Identity, _scope: Scope) -> Response:
    return plain(identity)


_NEEDED: Final = Permission.IDENTITIES
_REDACTED: Final = {
    **example(Identity),
    **dict.fromkeys(example(IdentityInput)),
    "status": "REDACTED",
    "validated": False,
}
OPERATIONS: Final = (
    Operation(
        method="POST",
        path=PATH,
        permission=_NEEDED,
        act=_create,
        present=_created,
        body=IdentityInput,
        reference=Reference(
            name="createIdentity",
            summary="Create an identity",
            text="Stores a person and says whether everything that a verification needs is there.",
            shown=Identity,
            statuses=(201,),
        ),
    ),
    Operation(
        method="GET",
        path=PATH + "/{id}",
        permission=_NEEDED,
        act=_get,
        present=_got,
        reference=Reference(
            name="getIdentity",
            summary="Get an identity",
            text="`validated` says whether it can be verified.",
            shown=Identity,
            cached=True,
        ),
    ),
    Operation(
        method="DELETE",
        path=PATH + "/{id}",
        permission=_NEEDED,
        act=_erase,
        present=_erased,
        reference=Reference(
            name="eraseIdentity",
            summary="Erase a person",
            text=(
                "Erases the person of this identity: all personal data in their identities, signals and feature "
                "rows. Answers with the redacted identity; repeating it gives the same answer. Verdicts stay."
            ),
            shown=Identity,
            example=_REDACTED,
        ),
    ),
)
