"""The operations on verifications."""

from typing import Final

from starlette.responses import Response
from starlette.types import Scope

from scoring_model.contract.resource import example
from scoring_model.contract.verification import Verification, VerificationInput, VerificationStatus
from scoring_model.service.clients import Permission
from scoring_model.service.http.operation import Call, Operation, Reference
from scoring_model.service.http.responses import cacheable, created, plain
from scoring_model.service.idempotency import Answer

PATH: Final = "/scoring/v1/verifications"
MAX_AGE: Final = 300


async def _create(call: Call) -> Answer[Verification]:
    return await call.service.verifications.create(call.caller, call.body, call.request)


async def _get(call: Call) -> Verification:
    return await call.service.verifications.get(call.caller, call.resource)


async def _erase(call: Call) -> Verification:
    return await call.service.verifications.erase_signals(call.caller, call.resource)


def _created(answer: Answer[Verification], _scope: Scope) -> Response:
    return created(answer, PATH)


def _got(verification: Verification, scope: Scope) -> Response:
    # A pending one changes soon; people look into one that ended in a fault.
    if verification.status != VerificationStatus.COMPLETED:
        return plain(verification)
    return cacheable(verification.to_json(), scope, MAX_AGE)


def _erased(verification: Verification, _scope: Scope) -> Response:
    return plain(verification)


_NEEDED: Final = Permission.VERIFICATIONS
_PENDING: Final = {
    **example(Verification),
    "status": "PENDING",
    "reasonCodes": [],
    **dict.fromkeys(("scoringOutcome", "scoringScore", "modelVersion", "policyVersion", "completedAt")),
}
OPERATIONS: Final = (
    Operation(
        method="POST",
        path=PATH,
        permission=_NEEDED,
        act=_create,
        present=_created,
        body=VerificationInput,
        batch=True,
        reference=Reference(
            name="createVerification",
            summary="Create a verification",
            text=(
                "Scores a person while you wait. Under overload the answer is 202 with a `PENDING` verification, "
                "which is finished later: read it after `Retry-After`, or wait for a webhook. An array gives "
                "`batch_unsupported`."
            ),
            shown=Verification,
            statuses=(201, 202),
            pending=_PENDING,
        ),
    ),
    Operation(
        method="GET",
        path=PATH + "/{id}",
        permission=_NEEDED,
        act=_get,
        present=_got,
        reference=Reference(
            name="getVerification",
            summary="Get a verification",
            text="Only a completed one may be cached and carries an `ETag`.",
            shown=Verification,
            cached=True,
        ),
    ),
    Operation(
        method="DELETE",
        path=PATH + "/{id}/signals",
        permission=_NEEDED,
        act=_erase,
        present=_erased,
        reference=Reference(
            name="eraseSignals",
            summary="Erase the person of a verification",
            text=(
                "Erases signals, `subjectId` and feature rows of the person of this verification. "
                "The verdict stays."
            ),
            shown=Verification,
        ),
    ),
)
