import asyncio
import base64
import subprocess
import sys
import threading

import pytest

from scoring_model.service.core.rows import ClientRow, PersonKeyRow
from scoring_model.service.keys.data_keys import Vault, finished, follow, rotate
from scoring_model.service.keys.keyring import KeyEncryptionKey, Keyring, UnknownMasterKey
from scoring_model.service.keys.secrets import ROOT_FACT, load_or_create
from scoring_model.service.store import Store
from store_story import run_story, with_store

NOW = 1_700_000_000_000_000
OLD, NEW, LOST = (KeyEncryptionKey(bytes(range(first, first + 32))) for first in (0, 32, 64))
BEFORE, BOTH, AFTER = Keyring(OLD), Keyring(NEW, (OLD,)), Keyring(NEW)
PERSONS = 25


async def _client(store: Store) -> int:
    row = ClientRow(0, "a-client", "A client", "", "identities", 6000, 60, 0, NOW, None)
    async with store.writing(()) as transaction:
        return await transaction.new_client(row)


async def _add_persons(store: Store, vault: Vault, client: int, count: int) -> dict[bytes, bytes]:
    """New persons by the ids of their keys, each with a text that the key sealed."""
    made = [vault.new_key(client, None, NOW) for _ in range(count)]
    async with store.writing(()) as transaction:
        await transaction.insert([row for row, _ in made])
    return {
        row.key_id: key.seal(row.key_id, table="identities", column="payload", row=row.key_id)
        for row, key in made
    }


async def _populated(store: Store) -> dict[bytes, bytes]:
    await load_or_create(store, BEFORE)
    return await _add_persons(store, Vault(BEFORE), await _client(store), PERSONS)


async def _rows(store: Store, texts: dict[bytes, bytes]) -> dict[bytes, PersonKeyRow]:
    async with store.reading() as reader:
        return dict(await reader.person_keys(list(texts)))


async def _root(store: Store) -> bytes | None:
    async with store.reading() as reader:
        return await reader.fact(ROOT_FACT)


async def _assert_opens(store: Store, texts: dict[bytes, bytes], vault: Vault) -> None:
    rows = await _rows(store, texts)
    assert rows.keys() == texts.keys()
    for key_id, sealed in texts.items():
        key = vault.open_key(rows[key_id])
        assert key.open(sealed, table="identities", column="payload", row=key_id) == key_id


@with_store
async def test_privacy_rotation_wraps_everything_under_the_new_key(store: Store) -> None:
    """The older key is needed for nothing, all that was sealed opens, and another rotation changes nothing."""
    texts, reported = await _populated(store), list[int]()
    secrets = await load_or_create(store, BEFORE)
    sealed = secrets.seal(b"webhooks", b"whsec")
    assert not await finished(store, BOTH)
    assert await rotate(store, BOTH, progress=reported.append, batch=10) == PERSONS
    assert reported == [10, 20, 25]
    assert await finished(store, BOTH)
    await _assert_opens(store, texts, Vault(AFTER))
    after = await load_or_create(store, AFTER)
    assert after.check == secrets.check
    assert after.open(b"webhooks", sealed) == b"whsec"
    with pytest.raises(UnknownMasterKey):
        await load_or_create(store, BEFORE)
    rows, root = await _rows(store, texts), await _root(store)
    assert await rotate(store, BOTH) == 0
    assert (await _rows(store, texts), await _root(store)) == (rows, root)


class _Stopped(Exception):
    """A rotation was interrupted."""


@with_store
async def test_a_rotation_that_stopped_halfway_is_resumed(store: Store) -> None:
    """Half-rotated, everything opens with both keys; run again, a rotation does the rest and no more."""

    def stop(done: int) -> None:
        if done >= 10:
            raise _Stopped

    texts = await _populated(store)
    with pytest.raises(_Stopped):
        await rotate(store, BOTH, progress=stop, batch=5)
    keyring = [row.master_id for row in (await _rows(store, texts)).values()]
    assert (keyring.count(NEW.id), keyring.count(OLD.id)) == (10, PERSONS - 10)
    assert not await finished(store, BOTH)
    await _assert_opens(store, texts, Vault(BOTH))
    assert await rotate(store, BOTH, batch=5) == PERSONS - 10
    await _assert_opens(store, texts, Vault(AFTER))


ROTATE_SLOWLY = """
import asyncio, sys, time
from scoring_model.service.keys.keyring import parse_master_keys
from scoring_model.service.keys.data_keys import rotate
from scoring_model.service.store import open_store

def reported(done):
    print(done, flush=True)
    time.sleep(60 if done >= 3 else 0)

async def run():
    store = await open_store(sys.argv[1])
    await rotate(store, parse_master_keys(sys.stdin.read(), source="stdin"), progress=reported, batch=1)

asyncio.run(run())
"""


def test_nothing_is_lost_when_a_rotation_is_killed(store_url: str) -> None:
    """A rotation that dies by kill -9 leaves everything readable, and another one finishes it."""
    texts = run_story(store_url, _populated)
    command = [sys.executable, "-c", ROTATE_SLOWLY, store_url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n".join(base64.b64encode(key.secret).decode() for key in (NEW, OLD)))
        process.stdin.close()
        assert [process.stdout.readline() for _ in range(3)] == ["1\n", "2\n", "3\n"]
        process.kill()

    async def resumed(store: Store) -> None:
        await _assert_opens(store, texts, Vault(BOTH))
        assert await rotate(store, BOTH) == PERSONS - 3
        await _assert_opens(store, texts, Vault(AFTER))

    run_story(store_url, resumed)


@with_store
async def test_a_lost_master_key_stops_a_rotation(store: Store) -> None:
    """A row that no key of the source opens is named by the id of its master key, and stays as it is."""
    texts = await _populated(store)
    lost = await _add_persons(store, Vault(Keyring(LOST)), 1, 1)
    with pytest.raises(UnknownMasterKey) as caught:
        await rotate(store, BOTH)
    assert caught.value.master_id == LOST.id
    assert not await finished(store, BOTH)
    await _assert_opens(store, texts | lost, Vault(Keyring(NEW, (OLD, LOST))))


@with_store
async def test_a_database_without_persons_is_rotated_too(store: Store) -> None:
    """The root secret alone is reason enough for a rotation; a database that nobody used gets none by it."""
    assert await finished(store, AFTER)
    assert await rotate(store, AFTER) == 0
    assert await _root(store) is None
    await load_or_create(store, BEFORE)
    assert not await finished(store, BOTH)
    assert await rotate(store, BOTH) == 0
    assert await finished(store, BOTH)
    await load_or_create(store, AFTER)


@with_store
async def test_a_running_server_reads_on_and_learns_the_new_key(store: Store) -> None:
    """A server that started before the rotation opens old and new rows and, once it followed, wraps anew."""
    texts = await _populated(store)
    server, other = (Vault(BEFORE, reload=lambda: BOTH) for _ in range(2))
    await follow(store, server)
    assert server.keyring == BEFORE
    await rotate(store, BOTH)
    late = await _add_persons(store, server, 1, 3)
    assert not await finished(store, BOTH)
    await _assert_opens(store, texts | late, other)
    await follow(store, server)
    early = await _add_persons(store, server, 1, 3)
    assert {row.master_id for row in (await _rows(store, early)).values()} == {NEW.id}
    assert await rotate(store, BOTH) == len(late)
    assert await finished(store, BOTH)
    await _assert_opens(store, texts | late | early, Vault(AFTER))


@with_store
async def test_a_slow_source_holds_up_nobody(store: Store) -> None:
    """While a server reads its source again, which may be a command that takes seconds, requests are answered."""
    answered = threading.Event()

    def slow() -> Keyring:
        assert answered.wait(10), "nobody was answered meanwhile"
        return BOTH

    await _populated(store)
    await rotate(store, BOTH)
    server = Vault(BEFORE, reload=slow)
    following = asyncio.ensure_future(follow(store, server))
    await asyncio.sleep(0.01)
    async with store.reading() as reader:
        await reader.clients()
    answered.set()
    await following
    assert server.keyring == BOTH


def test_privacy_a_key_erased_meanwhile_stays_erased(store_url: str) -> None:
    """A rotation never restores an erased key."""

    async def erase(store: Store, key_id: bytes) -> None:
        async with store.writing(()) as transaction:
            await transaction.erase(key_id, NOW)

    async def raced(store: Store) -> None:
        texts = await _populated(store)
        erased = list(texts)[::2]
        await asyncio.gather(rotate(store, BOTH, batch=1), *(erase(store, key_id) for key_id in erased))
        assert await finished(store, BOTH)
        kept = {key_id: sealed for key_id, sealed in texts.items() if key_id not in erased}
        assert (await _rows(store, texts)).keys() == kept.keys()
        await _assert_opens(store, kept, Vault(AFTER))

    run_story(store_url, raced)
