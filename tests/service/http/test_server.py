"""One process on real sockets: its connections, and its end."""

import asyncio
import json
import random
import socket
import sys
import time

import pytest
from starlette.responses import Response

from http_server import LIVE, Connection, Running, serve, stop
from scoring_model.service.http import application, protocol

CREDENTIALS = b"x-client-id: cl_1\r\nx-api-key: sk_1\r\n"


def post(path: bytes, body: bytes, *headers: bytes) -> bytes:
    """Write a request."""
    lines = [b"Host: a", b"content-type: application/json", *headers]
    if not any(b"length" in header or b"chunked" in header for header in headers):
        lines.append(b"content-length: %d" % len(body))
    return b"POST " + path + b" HTTP/1.1\r\n" + CREDENTIALS + b"\r\n".join(lines) + b"\r\n\r\n" + body


def test_answers_have_a_date_and_name_no_server() -> None:
    """Headers contain the time and do not reveal the software."""

    async def use(server: Running) -> None:
        status, headers, body = await server.answer(LIVE)
        assert (status, body) == (200, b'{"status":"live"}')
        assert "date" in headers
        assert "server" not in headers
        assert headers["x-request-id"]

    serve(use)


def test_an_answer_is_one_packet() -> None:
    """The head of an answer is sent together with its body."""

    async def use(server: Running) -> None:
        connection = await server.connect()
        connection.writer.write(LIVE)
        status, _, _ = await connection.read()
        info = connection.writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 160)
        data_segments_in = int.from_bytes(info[152:156], sys.byteorder)  # `struct tcp_info` of Linux
        assert (status, data_segments_in) == (200, 1)

    serve(use)


@pytest.mark.parametrize(
    "headers",
    [{"x-a": "a\r\nx-b: b"}, {"x-a": "a\0"}, {"content-length": "1"}, {"content-length": "3"}],
)
def test_no_malformed_response_is_sent(headers: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A header with a line break, or a body of another length than its header says, ends the connection unsent."""

    async def use(server: Running) -> None:
        monkeypatch.setattr(application, "JsonResponse", lambda _: Response(b"ok", headers=headers))
        connection = await server.connect()
        connection.writer.write(LIVE)
        assert await connection.ended()

    serve(use)


def test_bodies_that_are_too_long_are_refused_while_they_come() -> None:
    """In chunks or declared by length, a client that is still sending gets 413, and the connection stays open."""

    async def use(server: Running) -> None:
        chunk = b"8000\r\n" + b" " * 0x8000 + b"\r\n"
        chunked = post(b"/scoring/v1/identities", chunk * 320, b"transfer-encoding: chunked") + b"0\r\n\r\n"
        sized = post(b"/scoring/v1/identities", b" " * 10_000_000)
        for request in (chunked, sized):
            connection = await server.connect()
            connection.writer.write(request)
            status, _, body = await connection.read()
            assert (status, json.loads(body)["code"]) == (413, "body_too_large")
            connection.writer.write(LIVE)
            assert (await connection.read())[0] == 200

    serve(use)


def test_bodies_that_never_end_end_with_their_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """The discarded part of a body is bounded."""
    monkeypatch.setattr(protocol, "DISCARDED_BYTES", 1_000_000)

    async def use(server: Running) -> None:
        connection = await server.connect()
        connection.writer.write(post(b"/scoring/v1/identities", b"", b"content-length: 9000000000"))
        assert (await connection.read())[0] == 413
        with pytest.raises(ConnectionError):
            await flood(connection.writer)

    serve(use)


async def flood(writer: asyncio.StreamWriter) -> None:
    """Send 640 MB, unless stopped."""
    for _ in range(10_000):
        writer.write(b" " * 65_536)
        await writer.drain()


def test_clients_that_wait_for_leave_are_refused_without_it() -> None:
    """`Expect: 100-continue` gets 413 for a body that is too long, and 100 for a valid one."""

    async def use(server: Running) -> None:
        expect = (b"expect: 100-continue",)
        status, _, _ = await server.answer(
            post(b"/scoring/v1/identities", b"", *expect, b"content-length: 999999")
        )
        assert status == 413
        connection = await server.connect()
        connection.writer.write(post(b"/scoring/v1/identities", b"", *expect, b"content-length: 2"))
        assert await connection.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.writer.write(b"{}")
        assert (await connection.read())[0] == 201

    serve(use)


def test_slow_headers_are_given_up() -> None:
    """A silent connection, or one with endless headers, is closed."""

    async def use(server: Running) -> None:
        silent, begun = await server.connect(), await server.connect()
        begun.writer.write(b"GET /health/live HTTP/1.1\r\nHost: a\r\nx-a: ")
        assert await silent.ended()
        assert await begun.ended()
        kept = await server.connect()
        kept.writer.write(LIVE)
        await kept.read()
        await asyncio.sleep(0.5)  # idle between requests is something else
        kept.writer.write(LIVE)
        assert (await kept.read())[0] == 200

    serve(use, head_seconds=0.3)


@pytest.mark.parametrize("line", [b"x-a: " + b"a" * 400_000, b"a: b\r\n" * 60_000])
def test_headers_that_never_end_are_refused(line: bytes) -> None:
    """One header or many: past a bound the connection ends with 431."""

    async def use(server: Running) -> None:
        connection = await server.connect()
        connection.writer.write(b"GET /health/live HTTP/1.1\r\n" + line)
        status, headers, body = await connection.read()
        assert (status, headers["connection"]) == (431, "close")
        assert json.loads(body)["requestId"] == headers["x-request-id"]

    serve(use)


def test_headers_of_any_bytes_are_no_fault() -> None:
    """Header values that are not text are wrong credentials, or ignored."""

    async def use(server: Running) -> None:
        odd = bytes(range(0x80, 0x100)) + b"\t\xc3"
        request = (
            b"GET /scoring/v1/webhooks HTTP/1.1\r\nHost: a\r\nx-client-id: " + odd + b"\r\nx-api-key: " + odd
        )
        assert (await server.answer(request + b"\r\n\r\n"))[0] == 401
        for name in (b"idempotency-key", b"content-type", b"if-none-match", b"accept", b"x-forwarded-for"):
            request = post(b"/scoring/v1/identities", b"{}", name + b": " + odd)
            assert (await server.answer(request))[0] in (201, 415, 422)

    serve(use)


def test_random_damage_is_never_a_fault() -> None:
    """Whatever bytes of a request are changed, the server neither fails nor stops."""
    whole = post(
        b"/scoring/v1/verifications?limit=1",
        b'{"signals":{"a":1},"subjectId":"\\u00e9"}',
        b"idempotency-key: k",
    )
    chance = random.Random(7)

    async def use(server: Running) -> None:
        for _ in range(300):
            damaged = bytearray(whole)
            for _ in range(chance.randint(1, 4)):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            connection = await server.connect()
            connection.writer.write(bytes(damaged))
            connection.writer.write_eof()
            head = await connection.reader.readline()
            assert head == b"" or int(head.split()[1]) < 500, bytes(damaged)
        assert (await server.answer(LIVE))[0] == 200

    serve(use, body_seconds=0.05)


async def _busy(server: Running, *, seconds: float) -> Connection:
    """Open a connection with a request whose answer takes so long."""
    server.service.delay = seconds
    connection = await server.connect()
    connection.writer.write(post(b"/scoring/v1/identities", b"{}"))
    await asyncio.sleep(0.1)
    return connection


def test_shutdown_finishes_what_is_under_way() -> None:
    """After SIGTERM a request under way is answered, idle connections end, new ones are refused, then all closes."""

    async def use(server: Running) -> None:
        idle = await server.connect()
        idle.writer.write(LIVE)
        await idle.read()
        busy = await _busy(server, seconds=0.6)
        stop()
        assert await idle.ended()
        with pytest.raises(ConnectionError):
            await server.connect()
        assert not server.closed
        status, headers, _ = await busy.read()
        assert (status, headers["connection"]) == (201, "close")
        await server.task

    serve(use)


def test_shutdown_gives_notice() -> None:
    """For a time after SIGTERM the process reports not ready but still accepts connections."""

    async def use(server: Running) -> None:
        stop()
        ready = b"GET /health/ready HTTP/1.1\r\nHost: a\r\n\r\n"
        status, headers, body = await server.answer(ready)
        assert (status, json.loads(body)["code"]) == (503, "not_ready")
        assert headers["retry-after"] == "1"
        await asyncio.sleep(0.3)  # longer than the server takes to see a signal
        assert (await server.answer(post(b"/scoring/v1/identities", b"{}")))[0] == 201
        assert not server.task.done()
        stop()  # a second signal does not wait for that
        async with asyncio.timeout(20):
            await server.task

    serve(use, notice_seconds=5.0)


def test_notice_has_an_end() -> None:
    """After the notice connections are refused, without another signal."""

    async def use(server: Running) -> None:
        stop()
        async with asyncio.timeout(20):
            await server.task
        with pytest.raises(ConnectionError):
            await server.connect()

    serve(use, notice_seconds=0.2)


def test_shutdown_has_an_end() -> None:
    """A longer request is cancelled and answered, and resources are closed, all within the grace period."""
    grace = 2.0

    async def use(server: Running) -> None:
        busy = await _busy(server, seconds=60)
        began = time.monotonic()
        stop()
        status, headers, body = await busy.read()
        assert (status, headers["connection"]) == (503, "close")
        assert json.loads(body)["code"] == "unavailable"
        async with asyncio.timeout(20):
            await server.task
        assert server.closed[0] - began < grace

    serve(use, grace_seconds=grace)


def test_shutdown_at_the_second_signal() -> None:
    """A second signal stops the server immediately."""

    async def use(server: Running) -> None:
        busy = await _busy(server, seconds=60)
        stop()
        await asyncio.sleep(0.3)
        assert not server.task.done()
        stop()
        async with asyncio.timeout(20):
            await server.task
        assert (await busy.read())[0] == 503

    serve(use, grace_seconds=100.0)


def test_head_has_no_body_on_the_wire() -> None:
    """HEAD gives the length of what GET would send, sends nothing, and the connection goes on."""

    async def use(server: Running) -> None:
        connection = await server.connect()
        connection.writer.write(LIVE.replace(b"GET", b"HEAD") + LIVE)
        head = await connection.reader.readuntil(b"\r\n\r\n")
        assert b"content-length: 17\r\n" in head
        assert (await connection.read())[0] == 200

    serve(use)
