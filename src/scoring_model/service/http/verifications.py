"""The operations on verifications."""

from functools import partial
from typing import Final

from starlette.responses import Response

from scoring_model.contract.resource import example
from scoring_model.contract.verification import Verification, VerificationInput, VerificationStatus
from scoring_model.service.clients.clients import Permission
from scoring_model.service.http.lists import OF_VERIFICATIONS, page
from scoring_model.service.http.operation import Call, Operation, cacheable, created, plain

PATH: Final = "/scoring/v1/verifications"
MAX_AGE: Final = 300
_NEEDED: Final = Permission.VERIFICATIONS
_PENDING: Final = {
    **example(Verification),
    "status": "PENDING",
    "reasonCodes": [],
    **dict.fromkeys(("scoringOutcome", "scoringScore", "modelVersion", "policyVersion", "completedAt")),
}


@partial(
    Operation,
    method="POST",
    path=PATH,
    permission=_NEEDED,
    shown=Verification,
    body=VerificationInput,
    batch=True,
    statuses=(201, 202),
    pending=_PENDING,
)
async def create_verification(call: Call) -> Response:
    """Create a verification.

    Scores a person while you wait. Under overload the answer is 202 with a `PENDING` verification, which is finished
    later: read it after `Retry-After`, or wait for a webhook. An array gives `batch_unsupported`.
    """
    answer = await call.service.verifications.create(call.caller, call.body, call.request)
    return created(call, answer, PATH)


@partial(
    Operation,
    method="GET",
    path=PATH,
    permission=_NEEDED,
    shown=Verification,
    parameters=OF_VERIFICATIONS,
)
async def list_verifications(call: Call) -> Response:
    """List verifications.

    Latest first. Filters are combined, and verifications that are created meanwhile move nothing to another page. With
    filters a page may have fewer items than `limit`, even none, while more follow: the list ends where there is no
    `Link`. Erasure removes `subjectId`, also as a filter.
    """
    operations = call.service.verifications
    return await page(
        call,
        PATH,
        OF_VERIFICATIONS,
        lambda wanted, limit, after: operations.page(call.caller, wanted, after=after, limit=limit),
    )


@partial(Operation, method="GET", path=PATH + "/{id}", permission=_NEEDED, shown=Verification, cached=True)
async def get_verification(call: Call) -> Response:
    """Get a verification.

    Only a completed one may be cached and has an `ETag`.
    """
    found = await call.service.verifications.get(call.caller, call.resource)
    # A pending one changes soon; people look into one that ended in a fault.
    if found.status != VerificationStatus.COMPLETED:
        return plain(call, found)
    return cacheable(call, found, MAX_AGE)


@partial(Operation, method="DELETE", path=PATH + "/{id}/signals", permission=_NEEDED, shown=Verification)
async def erase_signals(call: Call) -> Response:
    """Erase the person of a verification.

    Erases signals, `subjectId` and feature rows of the person of this verification. The verdict stays.
    """
    found = await call.service.verifications.erase_signals(call.caller, call.resource)
    return plain(call, found)


OPERATIONS: Final = (create_verification, list_verifications, get_verification, erase_signals)
