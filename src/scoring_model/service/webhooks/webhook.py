"""A webhook: the fields that a client sets, how they are stored, its signing secret, and the events that it gets.

The signing secrets, the query of the destination (where clients put tokens) and the description are sealed under the
root secret. A rotation of the master key wraps the root secret anew and leaves them as they are.
"""

import base64
import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from scoring_model.contract.event import EventType
from scoring_model.contract.webhook import EVERYTHING, WebhookContext, WebhookInput, WebhookUpdate
from scoring_model.service.core.errors import parsed
from scoring_model.service.core.rows import WebhookRow
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.store import WHOLE_DATABASE, Store

SECRET_BYTES: Final = 32

UNSEALED_FACT: Final = "unsealed_webhooks"
"""Fact that a migration without keys writes, and that the first process with keys removes."""

_compact: Final = json.JSONEncoder(separators=(",", ":")).encode
_QUERY: Final = "query"
_DESCRIPTION: Final = "description"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookFields:
    """The fields that a client sets.

    Parameters
    ----------
    event_types : tuple of str
        Names of events, prefixes such as ``verification.*``, or ``*``; at least one, without repetition.
    description : str or None
        1 to 200 characters.
    """

    destination_url: str
    active: bool
    event_types: tuple[str, ...]
    description: str | None


def updated(present: WebhookFields, update: WebhookUpdate) -> WebhookFields:
    """Apply an update: a field that is left out keeps its value, and a blank description removes it."""
    kept = present.description if update.description is None else update.description or None
    return WebhookFields(
        destination_url=update.destination_url,
        active=update.active,
        event_types=present.event_types if update.event_types is None else update.event_types,
        description=kept,
    )


def parse_new_webhook(body: Mapping[str, object], *, development: bool) -> WebhookFields:
    """Check the body of a new webhook. Without event types it gets all events.

    Whether the destination may be dialled is not checked here, but for the very address at every attempt.

    Parameters
    ----------
    development : bool
        Whether plain http is allowed.

    Raises
    ------
    Invalid
        If any rule is broken.
    """
    found = parsed(WebhookInput, body, WebhookContext(development))
    everything = WebhookFields(destination_url="", active=True, event_types=(EVERYTHING,), description=None)
    return updated(everything, found)


def parse_webhook_update(body: Mapping[str, object], *, development: bool) -> WebhookUpdate:
    """Check the body that replaces a webhook; parameters and errors as in `parse_new_webhook`."""
    return parsed(WebhookUpdate, body, WebhookContext(development))


def pack_event_types(event_types: Collection[str]) -> str:
    """Write the event types of a webhook as they are stored: a JSON list."""
    return _compact(list(event_types))


def unpack_event_types(packed: str) -> tuple[str, ...]:
    """Read what `pack_event_types` wrote."""
    return tuple(json.loads(packed))


def wants(event_types: Collection[str], event_type: str) -> bool:
    """Whether a webhook with these event types gets events of a type.

    ``verification.completed`` repeats the event of the outcome, so only webhooks that name it exactly get it.

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


def new_secret() -> str:
    """Make a signing secret: ``whsec_`` and base64 of 32 random bytes (Standard Webhooks 1.0)."""
    return "whsec_" + base64.b64encode(os.urandom(SECRET_BYTES)).decode()


def associated_data(column: str, webhook: bytes) -> bytes:
    """Return the associated data of a sealed column: its ciphertext opens in no other column or webhook."""
    return f"webhooks.{column}.".encode() + webhook


def fields_of(row: WebhookRow, secrets: Secrets) -> WebhookFields:
    """Open the fields of a webhook.

    Raises
    ------
    Unreadable
        If another root secret sealed it, or its bytes were changed.
    """
    return WebhookFields(
        destination_url=destination_of(row, secrets),
        active=bool(row.active),
        event_types=unpack_event_types(row.event_types),
        description=_opened(row, _DESCRIPTION, row.description, secrets),
    )


def destination_of(row: WebhookRow, secrets: Secrets) -> str:
    """Return the destination of a webhook with its query; raises as `fields_of` does."""
    return row.destination_url + (_opened(row, _QUERY, row.query, secrets) or "")


def with_fields(row: WebhookRow, fields: WebhookFields, secrets: Secrets) -> WebhookRow:
    """Write fields into the row of a webhook. A sealed field that has not changed keeps its ciphertext."""
    destination, question_mark, query = fields.destination_url.partition("?")
    return row._replace(
        destination_url=destination,
        active=int(fields.active),
        event_types=pack_event_types(fields.event_types),
        query=_sealed(row, _QUERY, row.query, question_mark + query or None, secrets),
        description=_sealed(row, _DESCRIPTION, row.description, fields.description, secrets),
    )


async def seal_migrated(store: Store, secrets: Secrets) -> None:
    """Seal what a migration left unsealed, in one transaction. Every process with keys calls this before it serves."""
    async with store.reading() as reader:
        if await reader.fact(UNSEALED_FACT) is None:
            return
    async with store.writing([WHOLE_DATABASE]) as transaction:
        if await transaction.fact(UNSEALED_FACT) is None:
            return
        numbers = [client.client for client in await transaction.clients()]
        for row in await transaction.webhooks_of(numbers):
            await transaction.update_webhook(
                row._replace(
                    query=_seal(row, _QUERY, row.query, secrets),
                    description=_seal(row, _DESCRIPTION, row.description, secrets),
                )
            )
        await transaction.delete_fact(UNSEALED_FACT)
        await transaction.require_truncation()


def _opened(row: WebhookRow, name: str, sealed: bytes | None, secrets: Secrets) -> str | None:
    return None if sealed is None else secrets.open(associated_data(name, row.id), sealed).decode()


def _sealed(
    row: WebhookRow, name: str, present: bytes | None, wanted: str | None, secrets: Secrets
) -> bytes | None:
    if _opened(row, name, present, secrets) == wanted:
        return present
    return _seal(row, name, None if wanted is None else wanted.encode(), secrets)


def _seal(row: WebhookRow, name: str, plain: bytes | None, secrets: Secrets) -> bytes | None:
    return None if plain is None else secrets.seal(associated_data(name, row.id), plain)
