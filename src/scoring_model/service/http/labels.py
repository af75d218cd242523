"""The operation on labels."""

import asyncio
from functools import partial
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.responses import Response

from scoring_model.contract.label import LabelReport, LabelsInput
from scoring_model.service.clients.clients import Permission
from scoring_model.service.http.authentication import spend
from scoring_model.service.http.operation import Call, Operation, created
from scoring_model.service.labels.requests import Visit

PATH: Final = "/scoring/v1/labels"


@partial(
    Operation,
    method="POST",
    path=PATH,
    permission=Permission.LABELS,
    shown=LabelReport,
    body=LabelsInput,
    batch=True,
    single=True,
)
async def create_labels(call: Call) -> Response:
    """Report labels.

    Reports what became known about verifications, up to 1,000 labels at once. The answer is 200 with a result for each
    label in the same order: a bad label is `REFUSED` with its errors, the others are stored. A label counts in the
    history of later verifications. Labels are never changed: the one
    reported last counts, and `withdrawn` takes back earlier ones. Reporting a label again changes nothing
    (`UNCHANGED`), so a failed request can be repeated as it is. At most 100 errors are listed in an answer, and a
    verification takes 100 labels (`too_many_labels`). A label with an `identityId` is one of all verifications of the
    identity: 10,000 such pairs of label and verification are allowed in a request (422, `too_many_pairs`), and every
    further hundred costs a token of the rate limit. A client has one such request under way: the next one is answered
    with 429, `one_at_a_time`. An event `label.received` goes to webhooks that list
    exactly that name.
    """
    gone = asyncio.ensure_future(call.receive())

    def stay() -> None:
        if gone.done():
            raise ClientDisconnect

    visit = Visit(spend=partial(spend, call.service, call.context, call.caller), stay=stay)
    try:
        answer = await call.service.labels.create(call.caller, call.body, call.request, visit)
    finally:
        gone.cancel()
    return created(call, answer)


OPERATIONS: Final = (create_labels,)
