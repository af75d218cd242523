"""The body of a delivery: thin, without a word of a person, the same bytes at every attempt."""

import json

from scoring_model.records.times import rfc3339
from scoring_model.service.core.rows import EventRow
from scoring_model.service.webhooks.events import numbered


def payload(event: EventRow) -> bytes:
    """Write an event as its receivers get it.

    Returns
    -------
    bytes
        JSON object with `type`, `timestamp` (of the event, RFC 3339) and `data`, which ends with `sequence`.
        It is a function of the row, so that attempts differ by their signatures alone.
    """
    data = numbered(event.data, event.sequence)
    head = f'{{"type":{json.dumps(event.type)},"timestamp":"{rfc3339(event.created_at)}"'
    return f'{head},"data":{data}}}'.encode()
