"""Where the service sends its events, as it shows it."""

from dataclasses import dataclass, field
from datetime import datetime

from scoring_model.client.fields import Fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A webhook.

    Parameters
    ----------
    id : str
    active : bool
        Whether events are sent to it.
    event_types : tuple of str
        Names of events, or prefixes such as ``verification.*``.
    disabled_reason : str or None
        Why the service disabled it.
    created_at, updated_at : datetime
        Aware.
    destination_url : str
    description : str or None
        Neither is shown by `repr`: such addresses often hold a password.
    secret : str or None
        ``whsec_...``, for `verify_webhook`. Only creation and rotation show it. Not shown by `repr`.
    """

    id: str
    active: bool
    event_types: tuple[str, ...]
    disabled_reason: str | None
    created_at: datetime
    updated_at: datetime
    destination_url: str = field(repr=False)
    description: str | None = field(default=None, repr=False)
    secret: str | None = field(default=None, repr=False)

    @classmethod
    def from_json(cls, fields: Fields) -> "Webhook":
        """Read a webhook."""
        return cls(
            id=fields.text("id"),
            active=fields.flag("active"),
            event_types=fields.texts("eventTypes"),
            disabled_reason=fields.maybe_text("disabledReason"),
            created_at=fields.time("createdAt"),
            updated_at=fields.time("updatedAt"),
            destination_url=fields.text("destinationUrl"),
            description=fields.maybe_text("description"),
            secret=fields.maybe_text("secret"),
        )
