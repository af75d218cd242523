"""What the service tells a webhook: that something happened to a resource, and no more."""

from dataclasses import dataclass
from datetime import datetime

from scoring_model.client.fields import Fields


@dataclass(frozen=True, slots=True, kw_only=True)
class EventData:
    """What an event is about. What does not apply to it is None.

    Parameters
    ----------
    id : str or None
        Of the verification, identity or webhook.
    identity_id, status, scoring_outcome, model_version : str or None
    scoring_score : int or None
        0 to 1000.
    sequence : int or None
        Grows by one with every event of the client, in the order in which things happened. Events may arrive
        in another order.
    """

    id: str | None = None
    identity_id: str | None = None
    status: str | None = None
    scoring_outcome: str | None = None
    scoring_score: int | None = None
    model_version: str | None = None
    sequence: int | None = None

    @classmethod
    def from_json(cls, fields: Fields) -> "EventData":
        """Read what an event is about."""
        return cls(
            id=fields.maybe_text("id"),
            identity_id=fields.maybe_text("identityId"),
            status=fields.maybe_text("status"),
            scoring_outcome=fields.maybe_text("scoringOutcome"),
            scoring_score=fields.maybe_whole("scoringScore"),
            model_version=fields.maybe_text("modelVersion"),
            sequence=fields.maybe_whole("sequence"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event that was delivered.

    Parameters
    ----------
    id : str
        The same whenever the delivery is repeated: keep it, to do things once.
    type : str
        Such as ``verification.passed``.
    timestamp : datetime
        When it happened. Aware.
    data : EventData
    """

    id: str
    type: str
    timestamp: datetime
    data: EventData

    @classmethod
    def from_json(cls, id: str, fields: Fields) -> "Event":  # noqa: A002 - as the field is called
        """Read an event.

        Parameters
        ----------
        id : str
            Of the delivery, which is not in the body.
        fields : Fields
            The body.
        """
        data = fields.maybe_object("data") or Fields({})
        return cls(
            id=id,
            type=fields.text("type"),
            timestamp=fields.time("timestamp"),
            data=EventData.from_json(data),
        )
