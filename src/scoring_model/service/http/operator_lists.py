"""The operations on lists."""

from functools import partial
from typing import Final

from starlette.responses import Response

from scoring_model.contract.operator_list import (
    ListChanged,
    ListEntriesInput,
    ListRemovalInput,
    OperatorLists,
)
from scoring_model.service.clients.clients import Permission
from scoring_model.service.http.authentication import spend
from scoring_model.service.http.operation import Call, Operation, created, plain

PATH: Final = "/scoring/v1/lists"


@partial(
    Operation,
    method="POST",
    path=PATH + "/entries",
    permission=Permission.LISTS,
    shown=ListChanged,
    body=ListEntriesInput,
    batch=True,
    single=True,
)
async def add_list_entries(call: Call) -> Response:
    """Add values to a list.

    A list belongs to the history scope of the client, and decides at once: who has one of its values passes, is
    stepped up or fails, whatever the model says. Pass lists come first, then fail lists, step-up lists, and rules of
    the operator. Adding a value again changes nothing, so a failed request can be repeated; with another `until` it
    gets that end. Up to 1,000 values at once, every further hundred costs a token of the rate limit; 20 lists,
    besides those that the operator gives to all clients, of 200,000 values (422, `too_many_lists`,
    `too_many_entries`). Values are stored as hashes and never shown. A client has one such request under way: the next
    one is answered with 429, `one_at_a_time`.
    """
    pay = partial(spend, call.service, call.context, call.caller)
    return created(call, await call.service.lists.add(call.caller, call.body, call.request, pay))


@partial(
    Operation,
    method="POST",
    path=PATH + "/removals",
    permission=Permission.LISTS,
    shown=ListChanged,
    body=ListRemovalInput,
    batch=True,
    single=True,
)
async def remove_list_entries(call: Call) -> Response:
    """Remove values from a list.

    From now on they decide nothing. Values that are not on the list are counted and change nothing. Limits are those
    of adding.
    """
    pay = partial(spend, call.service, call.context, call.caller)
    return created(call, await call.service.lists.remove(call.caller, call.body, call.request, pay))


@partial(Operation, method="GET", path=PATH, permission=Permission.LISTS, shown=OperatorLists)
async def show_lists(call: Call) -> Response:
    """Show the lists of the client's history scope.

    How many values each has and when it was last changed; never which.
    """
    return plain(call, await call.service.lists.list_all(call.caller))


OPERATIONS: Final = (add_list_entries, remove_list_entries, show_lists)
