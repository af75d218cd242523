"""Too many, silent or slow connections are closed, and others are answered."""

import asyncio
import json
import resource
from ipaddress import ip_network
from typing import Final

import pytest

from http_server import LIVE, Connection, Running, serve, stop
from scoring_model.service.http import connections
from scoring_model.service.http.authentication import connecting_address
from scoring_model.service.process import connections_within_descriptors

CREDENTIALS: Final = b"x-client-id: cl_1\r\nx-api-key: sk_1\r\n"
LIST: Final = b"GET /scoring/v1/webhooks HTTP/1.1\r\nHost: a\r\n"
AUTHENTICATED: Final = LIST + CREDENTIALS + b"\r\n"
POST: Final = b"POST /scoring/v1/identities HTTP/1.1\r\nHost: a\r\ncontent-type: application/json\r\n"
FILE: Final = b"GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: a\r\n\r\n"


async def keep_sending(connection: Connection) -> None:
    """Send requests until the other end closes."""
    while True:
        connection.writer.write(LIVE)
        await connection.writer.drain()
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("setting", ["max_connections", "max_connections_per_address"])
def test_silent_connections_make_room(setting: str) -> None:
    """At either limit the oldest connection without good credentials ends, and the new one is answered."""

    async def use(server: Running) -> None:
        known = await server.connect()
        known.writer.write(AUTHENTICATED)
        assert (await known.read())[0] == 200
        silent = [await server.connect() for _ in range(4)]
        assert (await server.answer(LIVE))[0] == 200
        assert await silent[0].ended()
        for one in (known, silent[-1]):
            one.writer.write(AUTHENTICATED)
            assert (await one.read())[0] == 200

    serve(use, **{setting: 4})


def test_authenticated_connections_do_not_count_by_address() -> None:
    """Any number of them may come from one address."""

    async def use(server: Running) -> None:
        known = [await server.connect() for _ in range(2)]
        for _ in range(3):
            for one in known:
                one.writer.write(AUTHENTICATED)
                assert (await one.read())[0] == 200
            known.append(await server.connect())
        known[-1].writer.write(AUTHENTICATED)
        assert (await known[-1].read())[0] == 200

    serve(use, max_connections_per_address=2)


def test_health_is_answered_when_all_connections_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond authenticated connections up to the limit there is 503 for all but health checks, one of them each."""
    monkeypatch.setattr(connections, "RESERVED", 2)

    async def use(server: Running) -> None:
        known = [await server.connect() for _ in range(2)]
        for one in known:
            one.writer.write(AUTHENTICATED)
            assert (await one.read())[0] == 200
        waiting = [await server.connect() for _ in range(2)]
        status, headers, _ = await server.answer(LIVE)
        assert (status, headers["connection"]) == (200, "close")
        assert await waiting[0].ended()
        status, headers, body = await server.answer(AUTHENTICATED)
        assert (status, json.loads(body)["code"], headers["retry-after"]) == (503, "unavailable", "1")
        known[0].writer.close()
        await known[0].writer.wait_closed()
        await asyncio.sleep(0)
        assert (await server.answer(AUTHENTICATED))[0] == 200

    serve(use, max_connections=2)


def test_a_proxy_has_as_many_connections_as_it_likes() -> None:
    """Trusted networks and unknown ends are not counted by address, IPv6 by its /64."""
    trusted = (ip_network("10.0.0.0/8"),)
    assert connecting_address("10.1.2.3", trusted) is None
    assert connecting_address("::ffff:10.1.2.3", trusted) is None
    assert connecting_address(None, trusted) is None
    assert connecting_address("192.0.2.1", trusted) == "192.0.2.1"
    assert connecting_address("2001:db8::1", ()) == connecting_address("2001:db8::2", ()) == "2001:db8::/64"


def test_descriptors_bound_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit on open files is raised to the hard one, and connections stay below it."""
    set_to: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda _kind, limits: set_to.append(limits))
    for hard, wanted, fitting in (
        (1024, 4096, 768),
        (300, 4096, 150),
        (20_000, 4096, 4096),
        (resource.RLIM_INFINITY, 5, 5),
        (1, 5, 1),
    ):
        monkeypatch.setattr(resource, "getrlimit", lambda _kind, hard=hard: (64, hard))
        assert connections_within_descriptors(wanted) == fitting
        assert set_to.pop() == (hard, hard)


def test_heads_that_trickle_end() -> None:
    """A head whose bytes arrive in time but never end is cut off, also if it has only empty lines."""

    async def use(server: Running) -> None:
        for piece in (b"GET / HTTP/1.1\r\nx: ", b"\r\n"):
            connection = await server.connect()
            connection.writer.write(piece)
            ended = asyncio.create_task(connection.ended())
            while not ended.done():
                connection.writer.write(piece[-1:])
                await asyncio.sleep(0.05)
            assert ended.result()

    serve(use, head_seconds=0.3)


@pytest.mark.parametrize("credentials", [CREDENTIALS, b""])
def test_bodies_that_trickle_end(credentials: bytes) -> None:
    """A body that does not arrive in time gets 408 and the end, or only the end if its request was answered before."""

    async def use(server: Running) -> None:
        connection = await server.connect()
        connection.writer.write(POST + credentials + b"content-length: 100000\r\n\r\n")
        if not credentials:
            assert (await connection.read())[0] == 401
        answered = asyncio.create_task(connection.read() if credentials else connection.ended())
        while not answered.done():
            connection.writer.write(b" ")
            await asyncio.sleep(0.05)
        if credentials:
            assert answered.result()[0] == 408  # type: ignore[index]
            assert await connection.ended()
        else:
            assert answered.result() is True

    serve(use, body_seconds=0.3)


def test_responses_that_nobody_reads_are_cut() -> None:
    """Of pipelined requests one is under way, and a client that does not read its answer is cut off."""

    async def use(server: Running) -> None:
        connection = await server.connect()
        connection.writer.transport.pause_reading()  # type: ignore[attr-defined]
        connection.writer.write(FILE * 200 + AUTHENTICATED)
        with pytest.raises(ConnectionError):
            await keep_sending(connection)
        assert server.service.tokens == []

    serve(use, write_seconds=0.3)


def test_slow_readers_get_all() -> None:
    """A client that reads each piece in time gets the whole file, however long it takes."""

    async def use(server: Running) -> None:
        _, _, whole = await server.answer(FILE)
        connection = await server.connect()
        connection.writer.write(FILE)
        await connection.reader.readuntil(b"\r\n\r\n")
        received = b""
        while len(received) < len(whole):
            received += await connection.reader.read(100_000)
            await asyncio.sleep(0.02)
        assert received == whole

    serve(use, write_seconds=2.0)


def test_shutdown_does_not_wait_for_those_who_do_not_read() -> None:
    """After half of the grace they are cut, although they may have longer otherwise."""

    async def use(server: Running) -> None:
        connection = await server.connect()
        connection.writer.transport.pause_reading()  # type: ignore[attr-defined]
        connection.writer.write(FILE * 20)
        await asyncio.sleep(0.2)
        stop()
        await asyncio.wait((server.task,), timeout=20)
        assert server.task.done()

    serve(use, write_seconds=1000.0, grace_seconds=2.0)


def test_bytes_under_way_have_a_bound() -> None:
    """Past it unauthenticated connections with the most bytes end; if there are none, a body gets 503."""

    async def use(server: Running) -> None:
        greedy = await server.connect()
        greedy.writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nx: " + b"x" * 50_000)
        body = b'{"firstName":"Ada"}' + b" " * 40_000
        request = POST + CREDENTIALS + b"content-length: %d\r\n\r\n" % len(body) + body
        await asyncio.sleep(0.1)
        first = await server.connect()
        first.writer.write(AUTHENTICATED)
        assert (await first.read())[0] == 200
        server.service.delay = 1.0
        first.writer.write(request)
        await asyncio.sleep(0.3)
        assert await greedy.ended()
        second = await server.connect()
        second.writer.write(AUTHENTICATED)
        assert (await second.read())[0] == 200
        second.writer.write(request)
        status, headers, _ = await second.read()
        assert (status, headers["retry-after"]) == (503, "1")
        assert (await server.answer(LIVE))[0] == 200
        assert (await first.read())[0] == 201
        assert (await server.answer(request))[0] == 201

    serve(use, max_body=60_000, max_buffered=70_000)
