"""The parts of a webhook that are sealed: the query of its destination, where clients put tokens, and its description.

They are sealed under the root secret, as the signing secrets are. A rotation of the master key wraps the root secret
anew and leaves them as they are.
"""

from typing import Final

from scoring_model.service.core.rows import WebhookRow
from scoring_model.service.core.store import WHOLE_DATABASE, Store
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.webhooks.webhook import (
    WebhookFields,
    pack_event_types,
    sealed_place,
    unpack_event_types,
)

UNSEALED_FACT: Final = "unsealed_webhooks"
"""Name of the fact that is there from a migration without keys until the first process that has them."""

_QUERY: Final = "query"
_DESCRIPTION: Final = "description"


def fields_of(row: WebhookRow, secrets: Secrets) -> WebhookFields:
    """Open what a client decided of a webhook.

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
    """The whole destination of a webhook.

    Raises
    ------
    Unreadable
        As `fields_of`.
    """
    return row.destination_url + (_opened(row, _QUERY, row.query, secrets) or "")


def with_fields(row: WebhookRow, fields: WebhookFields, secrets: Secrets) -> WebhookRow:
    """Write what a client decided into the row of a webhook. A sealed part that says the same keeps its bytes."""
    destination, mark, query = fields.destination_url.partition("?")
    return row._replace(
        destination_url=destination,
        active=int(fields.active),
        event_types=pack_event_types(fields.event_types),
        query=_sealed(row, _QUERY, row.query, mark + query or None, secrets),
        description=_sealed(row, _DESCRIPTION, row.description, fields.description, secrets),
    )


async def seal_migrated(store: Store, secrets: Secrets) -> None:
    """Seal what a migration left unsealed, if it did; in one transaction, so that nobody sees a part of it.

    Every process that has the keys calls this before it serves.

    Raises
    ------
    StoreUnavailable
    """
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
    return None if sealed is None else secrets.open(sealed_place(name, row.id), sealed).decode()


def _sealed(
    row: WebhookRow, name: str, present: bytes | None, wanted: str | None, secrets: Secrets
) -> bytes | None:
    if _opened(row, name, present, secrets) == wanted:
        return present
    return _seal(row, name, None if wanted is None else wanted.encode(), secrets)


def _seal(row: WebhookRow, name: str, plain: bytes | None, secrets: Secrets) -> bytes | None:
    return None if plain is None else secrets.seal(sealed_place(name, row.id), plain)
