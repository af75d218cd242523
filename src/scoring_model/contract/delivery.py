"""A delivery: one event on its way to one webhook."""

from typing import Annotated

from pydantic import ConfigDict, Field, WithJsonSchema

from scoring_model.contract.event import EventType
from scoring_model.contract.resource import (
    Instant,
    Resource,
    Sandbox,
    Uuid,
)

DELIVERY_STATUSES = ("WAITING", "DELIVERED", "DEAD", "DROPPED")


class Delivery(Resource):
    """The delivery of an event to a webhook, without its payload. Settled ones are kept for 30 days."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "msg_0197b0a7223a7c8190d4a5b6c7d8e9f0",
                    "eventId": "0197b0a7-2239-7b52-8d1e-0f1a2b3c4d5e",
                    "eventType": "verification.stepped_up",
                    "resourceId": "0197b0a7-11aa-7d02-9b1c-6f5e4d3c2b1a",
                    "sequence": 7,
                    "status": "WAITING",
                    "attempts": 2,
                    "responseStatus": 503,
                    "error": "HTTP 503",
                    "createdAt": "2026-01-31T09:26:54.021000Z",
                    "dueAt": "2026-01-31T09:31:59.400000Z",
                    "finishedAt": None,
                }
            ]
        }
    )

    id: Annotated[str, Field(pattern="^msg_[0-9a-f]{32}$", description="As in the header `webhook-id`.")]
    event_id: Uuid
    event_type: Annotated[str, WithJsonSchema({"enum": [name.value for name in EventType]})]
    resource_id: Annotated[Uuid, Field(description="The identity, verification or webhook of the event.")]
    sequence: Annotated[int, Field(ge=1)]
    status: Annotated[
        str,
        WithJsonSchema(
            {
                "enum": list(DELIVERY_STATUSES),
                "description": "`DEAD`: no attempts left. `DROPPED`: the webhook was made inactive or deleted.",
            }
        ),
    ]
    attempts: Annotated[int, Field(ge=0)]
    response_status: Annotated[int | None, Field(description="HTTP status of the last attempt.")] = None
    error: Annotated[str | None, Field(max_length=200, description="Of the last attempt, shortened.")] = None
    created_at: Instant
    due_at: Annotated[Instant | None, Field(description="Of the next attempt.")] = None
    finished_at: Instant | None = None
    sandbox: Sandbox = None
