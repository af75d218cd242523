"""Events, written in the transaction of the change that they report."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from scoring_model.contract.event import EventType
from scoring_model.service.core import ids
from scoring_model.service.core.rows import EventRow
from scoring_model.service.core.store import Transaction


class NewEvent(NamedTuple):
    """An event before it has a number: whose it is, what happened to which resource, when, and its data.

    `always` keeps it waiting even when no webhook is active, as a test of an inactive one wants.
    """

    client: int
    type: EventType
    resource: bytes
    at: int
    data: str
    always: bool = False


async def write_events(transaction: Transaction, events: Sequence[NewEvent]) -> None:
    """Number events in their order, one sequence a client, and write them.

    An event of a client without an active webhook waits for nobody.
    """
    if not events:
        return
    counts = Counter(event.client for event in events)
    advanced = await transaction.advance(counts)
    sequences = {client: before for client, (before, _) in advanced.items()}
    rows = []
    for event in events:
        sequences[event.client] += 1
        rows.append(
            EventRow(
                ids.new_id(event.at),
                event.client,
                sequences[event.client],
                event.type.value,
                event.resource,
                event.at,
                event.data,
                int(event.always or advanced[event.client][1]),
            )
        )
    await transaction.insert(rows)
