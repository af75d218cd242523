"""The operations on identities."""

from functools import partial
from typing import Final

from starlette.responses import Response

from scoring_model.contract.identity import Identity, IdentityInput
from scoring_model.contract.resource import example
from scoring_model.service.clients.clients import Permission
from scoring_model.service.http.lists import OF_IDENTITIES, page
from scoring_model.service.http.operation import Call, Operation, cacheable, created, plain

PATH: Final = "/scoring/v1/identities"
MAX_AGE: Final = 60
_REDACTED: Final = {
    **example(Identity),
    **dict.fromkeys(example(IdentityInput)),
    "status": "REDACTED",
    "validated": False,
}
_NEEDED: Final = Permission.IDENTITIES


@partial(
    Operation,
    method="POST",
    path=PATH,
    permission=_NEEDED,
    shown=Identity,
    body=IdentityInput,
    statuses=(201,),
)
async def create_identity(call: Call) -> Response:
    """Create an identity.

    Stores a person and reports whether the data is sufficient for a verification: the model that is served now decides
    what `missingFields` lists, for good. To complete an identity, create another.
    """
    answer = await call.service.identities.create(call.caller, call.body, call.request)
    return created(call, answer, PATH)


@partial(Operation, method="GET", path=PATH, permission=_NEEDED, shown=Identity, parameters=OF_IDENTITIES)
async def list_identities(call: Call) -> Response:
    """List identities.

    Latest first. Filters are combined. With `status` a page may have fewer items than `limit`, even none, while more
    follow: the list ends where there is no `Link`. Erasure removes `externalId`, also as a filter.
    """
    operations = call.service.identities
    return await page(
        call,
        PATH,
        OF_IDENTITIES,
        lambda wanted, limit, after: operations.page(call.caller, wanted, after=after, limit=limit),
    )


@partial(Operation, method="GET", path=PATH + "/{id}", permission=_NEEDED, shown=Identity, cached=True)
async def get_identity(call: Call) -> Response:
    """Get an identity.

    `validated` says whether it can be verified, `missingFields` what it lacks.
    """
    identity = await call.service.identities.get(call.caller, call.resource)
    return cacheable(call, identity, MAX_AGE)


@partial(
    Operation, method="DELETE", path=PATH + "/{id}", permission=_NEEDED, shown=Identity, example=_REDACTED
)
async def erase_identity(call: Call) -> Response:
    """Erase a person.

    Erases the person of this identity: all personal data in their identities, signals and feature rows. Answers with
    the redacted identity; repeating it gives the same answer. Verdicts stay.
    """
    identity = await call.service.identities.erase(call.caller, call.resource)
    return plain(call, identity)


OPERATIONS: Final = (create_identity, list_identities, get_identity, erase_identity)
