"""What a client decides of a webhook, the secret that signs its deliveries, and which events it gets."""

import base64
import json
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from scoring_model.contract.event import EventType
from scoring_model.contract.webhook import EVERYTHING, WebhookContext, WebhookInput, WebhookUpdate
from scoring_model.service.core.body import parsed

SECRET_BYTES: Final = 32
_compact: Final = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookFields:
    """What a client decides of a webhook.

    Parameters
    ----------
    destination_url : str
        As it was sent.
    event_types : tuple of str
        Names of events, prefixes such as ``verification.*``, or ``*``; at least one, each once.
    description : str or None
        1 to 200 characters.
    """

    destination_url: str
    active: bool
    event_types: tuple[str, ...]
    description: str | None


def updated(present: WebhookFields, update: WebhookUpdate) -> WebhookFields:
    """Change what is there: a field that is left out keeps its value, and a blank description takes it away."""
    kept = present.description if update.description is None else update.description or None
    return WebhookFields(
        destination_url=update.destination_url,
        active=update.active,
        event_types=present.event_types if update.event_types is None else update.event_types,
        description=kept,
    )


def parse_new_webhook(body: Mapping[str, object], *, development: bool) -> WebhookFields:
    """Check the body of a new webhook. Without event types it gets all events.

    Parameters
    ----------
    body : mapping of str to object
        As JSON has it.
    development : bool
        Whether http will do.

    Raises
    ------
    Invalid
        If any rule is broken. Whether the destination may be dialled is not checked here: that is decided for the
        very address, whenever it is dialled.
    """
    found = parsed(WebhookInput, body, WebhookContext(development))
    everything = WebhookFields(destination_url="", active=True, event_types=(EVERYTHING,), description=None)
    return updated(everything, found)


def parse_webhook_update(body: Mapping[str, object], *, development: bool) -> WebhookUpdate:
    """Check the body that replaces a webhook; parameters and errors as in `parse_new_webhook`."""
    return parsed(WebhookUpdate, body, WebhookContext(development))


def pack_event_types(event_types: Collection[str]) -> str:
    """Write the event types of a webhook as they are kept: a JSON list."""
    return _compact(list(event_types))


def unpack_event_types(packed: str) -> tuple[str, ...]:
    """Read what `pack_event_types` wrote."""
    return tuple(json.loads(packed))


def new_secret() -> str:
    """Make the secret of a webhook.

    Returns
    -------
    str
        ``whsec_`` and base64 of 32 random bytes.

    References
    ----------
    Standard Webhooks 1.0, "Signature scheme".
    """
    return "whsec_" + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def secret_place(webhook: bytes) -> bytes:
    """Name the place where a secret of a webhook is sealed; see `sealed_place`."""
    return sealed_place("secret", webhook)


def sealed_place(column: str, webhook: bytes) -> bytes:
    """Name the place where something of a webhook is sealed: it opens in no other column and for no other webhook.

    Parameters
    ----------
    webhook : bytes
        Its id.
    """
    return f"webhooks.{column}.".encode() + webhook


def wants(event_types: Collection[str], event_type: str) -> bool:
    """Whether a webhook gets events of a type.

    ``verification.completed`` says again what the event of the outcome says, so it goes only to those that
    name it.

    Parameters
    ----------
    event_types : collection of str
        Of the webhook.

    Examples
    --------
    >>> wants(["verification.*"], "verification.failed"), wants(["*"], "verification.completed")
    (True, False)
    """
    if event_type in event_types:
        return True
    if event_type == EventType.VERIFICATION_COMPLETED:
        return False
    return EVERYTHING in event_types or f"{event_type.partition('.')[0]}.*" in event_types
