"""The operations on verifications."""

from typing import Final

from starlette.responses import Response
from starlette.types import Scope

from scoring_model.contract.verification import VerificationStatus
from scoring_model.service.core import resources
from scoring_model.service.core.resources import Answer, Verification
from scoring_model.service.http.answers import created, plain
from scoring_model.service.http.caching import cacheable
from scoring_model.service.http.operation import Body, Call, Operation
from scoring_model.service.http.representations import verification_shown

PATH: Final = "/scoring/v1/verifications"
MAX_AGE: Final = 300


async def _create(call: Call) -> Answer[Verification]:
    return await call.service.verifications.create(call.caller, call.body, call.request)


async def _get(call: Call) -> Verification:
    return await call.service.verifications.get(call.caller, call.resource)


async def _erase(call: Call) -> Verification:
    return await call.service.verifications.erase_signals(call.caller, call.resource)


def _created(answer: Answer[Verification], _scope: Scope) -> Response:
    return created(answer, verification_shown(answer.resource), PATH)


def _got(verification: Verification, scope: Scope) -> Response:
    shown = verification_shown(verification)
    # One that is pending changes soon; one that ended in a fault is asked for by people who look into it.
    if verification.status is not VerificationStatus.COMPLETED:
        return plain(shown)
    return cacheable(shown.to_json(), scope, MAX_AGE)


def _erased(verification: Verification, _scope: Scope) -> Response:
    return plain(verification_shown(verification))


_NEEDED: Final = resources.Permission.VERIFICATIONS
OPERATIONS: Final = (
    Operation(
        method="POST",
        path=PATH,
        permission=_NEEDED,
        act=_create,
        present=_created,
        body=Body.OBJECT,
        batch=True,
    ),
    Operation(method="GET", path=PATH + "/{id}", permission=_NEEDED, act=_get, present=_got),
    Operation(method="DELETE", path=PATH + "/{id}/signals", permission=_NEEDED, act=_erase, present=_erased),
)
