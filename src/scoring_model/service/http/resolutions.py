"""The operations on resolutions."""

from functools import partial
from typing import Final

from starlette.responses import Response

from scoring_model.contract.resolution import Resolution, ResolutionInput, Resolutions
from scoring_model.service.clients.clients import Permission
from scoring_model.service.http.operation import Call, JsonResponse, Operation, plain
from scoring_model.service.http.verifications import PATH as VERIFICATIONS

PATH: Final = VERIFICATIONS + "/{id}/resolutions"


@partial(
    Operation,
    method="POST",
    path=PATH,
    permission=Permission.RESOLUTIONS,
    shown=Resolution,
    body=ResolutionInput,
    batch=True,
    statuses=(200, 201),
)
async def create_resolution(call: Call) -> Response:
    """Resolve a verification.

    Says how a step-up or a review ended. The verification never changes. A resolution that equals the latest one gets
    that one and 200; a different one is added, at most 100 (409, `too_many_resolutions`), and the one reported last
    counts, from the later of `resolvedAt` and its receipt. Only completed verifications can be resolved (409,
    `not_completed`), and none whose person was erased (409, `erased`). A completed verification with
    `previousVerificationId` ends the step-up that it follows without a call: `APPROVED` where it passed, `DECLINED`
    where it failed. A resolution is no label: who was declined or went away is not known to be genuine.
    """
    answer = await call.service.resolutions.create(call.caller, call.resource, call.body, call.request)
    found = answer.resource
    headers = [(b"idempotency-replayed", b"true")] if answer.replayed else []
    if found.is_new:
        headers.append((b"location", PATH.format(id=found.resolution.verification_id).encode()))
    return JsonResponse(call.write(found.resolution), 201 if found.is_new else 200, headers)


@partial(Operation, method="GET", path=PATH, permission=Permission.RESOLUTIONS, shown=Resolutions)
async def list_resolutions(call: Call) -> Response:
    """List the resolutions of a verification.

    Oldest first; the last one counts.
    """
    found = await call.service.resolutions.list(call.caller, call.resource)
    if call.caller.sandbox:
        marked = (one.model_copy(update={"sandbox": True}) for one in found.resolutions)
        found = Resolutions(resolutions=tuple(marked))
    return plain(call, found)


OPERATIONS: Final = (create_resolution, list_resolutions)
