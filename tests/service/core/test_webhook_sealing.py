"""The sealed parts of webhooks: at rest, through changes and rotations, and after a migration without keys."""

from pathlib import Path

import pytest

import delivery_use
from scoring_model.service.clients import Caller
from scoring_model.service.core.rows import FactRow, WebhookRow
from scoring_model.service.core.store import TRUNCATION_FACT
from scoring_model.service.keys.data_keys import rotate
from scoring_model.service.keys.keyring import KeyEncryptionKey, Keyring, Unreadable
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.webhooks import (
    UNSEALED_FACT,
    WebhookFields,
    destination_of,
    fields_of,
    with_fields,
)
from service_use import MASTERS, World, eventually, file_of, opened, select, table, tell
from store_story import write
from stored_rows import webhook_row

URL = "https://example.com/hook?token=s3cret&x=?"
HOOK = {"destinationUrl": URL, "active": True, "description": "of the back office"}
SECRETS = Secrets(bytes(32))


def fields(url: str, description: str | None = None) -> WebhookFields:
    """What a client decides of an active webhook."""
    return WebhookFields(destination_url=url, active=True, event_types=("*",), description=description)


@pytest.mark.parametrize("url", ["https://h", "https://h?", "https://h/a", URL, "http://[::1]:80/a?b/c"])
@pytest.mark.parametrize("description", [None, "d"])
def test_what_was_sealed_opens_again(url: str, description: str | None) -> None:
    """Any destination and description come back; nothing from the first question mark on is in the clear."""
    row = with_fields(webhook_row(), fields(url, description), SECRETS)
    assert fields_of(row, SECRETS) == fields(url, description)
    assert destination_of(row, SECRETS) == url
    assert row.destination_url == url.partition("?")[0]


def test_sealed_parts_open_in_their_place_alone() -> None:
    """Neither in another column nor for another webhook nor under another root secret."""
    row = with_fields(webhook_row(), fields(URL, "d"), SECRETS)
    for moved in (row._replace(query=row.description), webhook_row(query=row.query)):
        with pytest.raises(Unreadable):
            destination_of(moved, SECRETS)
    with pytest.raises(Unreadable):
        destination_of(row, Secrets(bytes([1] * 32)))


def test_what_says_the_same_keeps_its_bytes() -> None:
    """So that whoever compares rows sees whether a destination has changed."""
    row = with_fields(webhook_row(), fields(URL, "d"), SECRETS)
    assert with_fields(row, fields(URL, "d"), SECRETS) == row
    changed = with_fields(row, fields(URL + "y", "d"), SECRETS)
    assert (changed.query != row.query, changed.description) == (True, row.description)


async def shown(world: World, caller: Caller, hook: bytes) -> tuple[str, str | None]:
    """What a client sees of a webhook."""
    found = await world.service.webhooks.get(caller, hook)
    return found.destination_url, found.description


def test_webhooks_show_what_is_sealed_at_rest(store_url: str, sealed: Path) -> None:
    """Also after a rotation of the master key, which leaves the sealed bytes as they are."""
    newer = Keyring(KeyEncryptionKey(bytes([7] * 32)), (MASTERS.primary,))

    async def story(world: World) -> None:
        caller = await world.client()
        made = (await world.service.webhooks.create(caller, HOOK, None)).resource
        assert (made.destination_url, made.description) == (URL, "of the back office")
        (row,) = await table(world.url, WebhookRow)
        assert (row.destination_url, made.active) == ("https://example.com/hook", True)
        assert b"s3cret" not in (row.query or b"s3cret")
        assert b"office" not in (row.description or b"office")
        await rotate(world.store, newer)
        async with opened(world.url, sealed, keyring=lambda: Keyring(newer.primary)) as again:
            assert await shown(again, caller, made.id) == (URL, "of the back office")
            assert await table(world.url, WebhookRow) == [row]

    tell(store_url, sealed, story)


def test_the_first_process_with_keys_seals_what_a_migration_left(store_url: str, sealed: Path) -> None:
    """Clients see what they saw; nothing stays in the clear, on SQLite not even in the files."""

    async def story(world: World) -> None:
        caller = await world.client()
        plain = webhook_row(client=caller.client, query=b"?token=s3cret", description=b"office")
        bare = webhook_row(client=caller.client)
        await write(world.store, plain, bare, FactRow(UNSEALED_FACT, b""))
        async with opened(world.url, sealed) as again:
            assert await shown(again, caller, plain.id) == ("https://example.com/?token=s3cret", "office")
            assert await shown(again, caller, bare.id) == ("https://example.com/", None)
            rows = await table(world.url, WebhookRow)
            assert all(text not in repr(rows).encode() for text in (b"s3cret", b"office"))
            assert UNSEALED_FACT not in {row.name for row in await table(world.url, FactRow)}
        async with opened(world.url, sealed):
            assert await table(world.url, WebhookRow) == rows

        async def gone() -> bool:
            return not await select(world.url, f"SELECT 1 FROM facts WHERE name = '{TRUNCATION_FACT}'")

        await eventually(gone)
        if store_url.startswith("sqlite"):
            path = file_of(store_url)
            held = path.read_bytes() + path.with_name(path.name + "-wal").read_bytes()
            assert b"s3cret" not in held

    tell(store_url, sealed, story)


def test_deliveries_go_to_the_whole_destination(store_url: str) -> None:
    """The deliverer opens the query."""

    async def story(world: delivery_use.World) -> None:
        hook = await world.hook()
        async with world.store.writing([]) as transaction:
            await transaction.update_webhook(with_fields(hook, fields(URL), delivery_use.SECRETS))
        await world.events()
        await world.drain()
        assert [sent.url for sent in world.sender.sent] == [URL]

    delivery_use.tell(store_url, story)
