"""Ambiguous framing: no bytes are misread as a request or a header."""

import asyncio
import json
from typing import Final

import pytest

from http_server import LIVE, Connection, Running, serve
from scoring_model.service.http import framing

CREDENTIALS: Final = b"x-client-id: cl_1\r\nx-api-key: sk_1\r\n"
PATH: Final = b"/scoring/v1/identities"


def post(body: bytes, *headers: bytes, credentials: bytes = CREDENTIALS) -> bytes:
    """Write a request of JSON, whose framing the headers say."""
    lines = b"".join(header + b"\r\n" for header in (b"Host: a", b"content-type: application/json", *headers))
    return b"POST " + PATH + b" HTTP/1.1\r\n" + credentials + lines + b"\r\n" + body


def chunked(trailers: bytes, *, credentials: bytes = CREDENTIALS) -> bytes:
    """Write a request in chunks with trailers."""
    return post(
        b"1\r\n{\r\n1\r\n}\r\n0\r\n" + trailers + b"\r\n",
        b"transfer-encoding: chunked",
        credentials=credentials,
    )


async def statuses(connection: Connection, count: int) -> list[int]:
    """Of so many answers."""
    return [(await connection.read())[0] for _ in range(count)]


@pytest.mark.parametrize("protocol", [b"h2c", b"websocket", b"TLS/1.2, x"])
def test_an_upgrade_is_ignored(protocol: bytes) -> None:
    """The request is served with its body (RFC 9110, section 7.8), and what follows it is the next request."""
    headers = (b"Connection: Upgrade, HTTP2-Settings", b"uPgRade: " + protocol, b"HTTP2-Settings: AAMAAABk")

    async def use(server: Running) -> None:
        connection = await server.connect()
        sized, pieces = post(b"{}", *headers, b"content-length: 2"), chunked(b"")
        connection.writer.write(
            sized + LIVE + pieces.replace(b"Host", b"Connection: upgrade\r\nUpgrade: x\r\nHost")
        )
        connection.writer.write(LIVE)
        assert await statuses(connection, 4) == [201, 200, 201, 200]

    serve(use)


def test_a_body_is_no_request() -> None:
    """A request within the body of another is never answered, also where an upgrade or a tunnel is asked for."""

    async def use(server: Running) -> None:
        inner = b"DELETE /scoring/v1/identities/x HTTP/1.1\r\nHost: a\r\n" + CREDENTIALS + b"\r\n"
        connection = await server.connect()
        upgrade = (b"Connection: upgrade", b"Upgrade: h2c", b"content-length: %d" % len(inner))
        connection.writer.write(post(inner, *upgrade) + LIVE)
        assert await statuses(connection, 2) == [400, 200]  # the body is no JSON
        tunnel = await server.connect()
        tunnel.writer.write(b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n" + LIVE)
        assert (await tunnel.read())[0] == 400
        assert await tunnel.ended()

    serve(use)


def test_trailers_are_never_headers() -> None:
    """Credentials and forwarded addresses in trailers are ignored."""

    async def use(server: Running) -> None:
        connection = await server.connect()
        trailers = CREDENTIALS + b"X-Forwarded-For: 198.51.100.7\r\n"
        # In two parts, so that the trailers are there before the application looks at the headers.
        connection.writer.write(chunked(trailers, credentials=b"") + chunked(trailers) + LIVE)
        assert await statuses(connection, 3) == [401, 201, 200]
        assert server.service.failed_from == ["127.0.0.1"]

    serve(use)


@pytest.mark.parametrize(
    "section",
    [b"x: " + b"a" * 9_000, b"a: b\r\n" * 1_500, b"x: " + b"a" * 8_300 + b"\r\n\r\n"],
    ids=["one", "many", "whole"],
)
def test_long_trailers_end_the_connection(section: bytes) -> None:
    """Above 8 KiB nothing more is read or kept."""

    async def use(server: Running) -> None:
        connection = await server.connect()
        connection.writer.write(post(b"0\r\n" + section, b"transfer-encoding: chunked"))
        assert await connection.ended()

    serve(use)


@pytest.mark.parametrize("body", [b"1;" + b"x" * 9_000, b"1;x=" + b"y" * 500 + b"\r\n \r\n", b"1\r\n \r\n"])
def test_framing_has_a_bound(body: bytes) -> None:
    """One long chunk extension, many short ones, or chunks of one byte: past 64 KiB of them the connection ends."""

    async def use(server: Running) -> None:
        connection = await server.connect()
        connection.writer.write(
            post(body * (2 * framing.FRAMING_BYTES // 3 + 1), b"transfer-encoding: chunked")
        )
        assert await connection.ended()

    serve(use)


def test_bodies_in_any_pieces_are_the_same() -> None:
    """A body in chunks with extensions and trailers arrives whole, wherever the network cuts it."""
    whole = post(
        b'00a;a="b;c"\r\n{"firstName\r\n7\r\n":"Ada"\r\n1\r\n}\r\n000;z\r\na: b\r\nc:\r\n\r\n',
        b"transfer-encoding: Chunked \t",
    ).replace(b"00a;", b"00b;")

    async def use(server: Running) -> None:
        connection = await server.connect()
        for cut in range(1, len(whole)):
            connection.writer.write(whole[:cut])
            await connection.writer.drain()
            connection.writer.write(whole[cut:])
            status, _, body = await connection.read()
            assert (status, json.loads(body)["firstName"]) == (201, "Ada")

    serve(use)


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /health/live HTTP/1.1\r\n\r\n",
        b"GET /health/live HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        b"GET /health/live HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n",
        b"GET /health/live HTTP/2.0\r\nHost: a\r\n\r\n",
        b"GET /health/live HTTP/0.9\r\nHost: a\r\n\r\n",
        b"GET /health/live\r\nHost: a\r\n\r\n",
        b"OPTIONS /health/live RTSP/1.0\r\nHost: a\r\n\r\n",
        b"POST /health/live HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /health/live HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"POST /health/live HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n",
        b"POST /health/live HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        b"POST /health/live HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
        b"POST /health/live HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\na",
        b"POST /health/live HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na",
        b"POST /health/live HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\na",
        b"POST /health/live HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\na",
        b"POST /health/live HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\na",
        b"POST /health/live HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
        b"GET /health/live HTTP/1.1\nHost: a\n\n\r\n\r\n",
        b"GET /health/live HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n",
        b"GET /health/live HTTP/1.1\r\nHost : a\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET /health/live HTTP/1.1\r\nHost: a\r\nx-a: \x00\r\n\r\n",
        b"GET /health/live HTTP/1.1\r\nbad name: a\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET  HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\ncontent-length: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_unclear_requests_are_refused(request_bytes: bytes) -> None:
    """Two readers could disagree about them: 400 as a problem, the end, and nothing behind them is answered."""

    async def use(server: Running) -> None:
        connection = await server.connect()
        connection.writer.write(request_bytes + LIVE)
        status, headers, body = await connection.read()
        assert (status, json.loads(body)["code"]) == (400, "malformed_request")
        assert json.loads(body)["instance"] == f"urn:uuid:{headers['x-request-id']}"
        assert headers["content-type"] == "application/problem+json"
        assert headers["cache-control"] == "no-store"
        assert headers["connection"] == "close"
        assert await connection.ended()

    serve(use)


UNCLEAR: Final = (
    b"5\nhello\r\n0\r\n\r\n",
    b"5 \r\nhello\r\n0\r\n\r\n",
    b"0x5\r\nhello\r\n",
    b"-5\r\nhello\r\n",
    b"fffffffffffffffffff\r\nhello\r\n",
    b"0\r\nx: y\n\n",
    b"0\r\nx y\r\n\r\n",
    b"1\r\nabc",
)


def test_unclear_chunks_are_refused() -> None:
    """A request that is not answered yet gets 400, one that was only its end: never a second answer."""

    async def refused(server: Running, body: bytes, credentials: bytes, status: int) -> bool:
        connection = await server.connect()
        connection.writer.write(post(b"", b"transfer-encoding: chunked", credentials=credentials))
        if status == 401:
            assert (await connection.read())[0] == 401, body
        connection.writer.write(body + b"\r\n\r\n" + LIVE)
        if status == 400:
            assert (await connection.read())[0] == 400, body
        return await connection.ended()

    async def use(server: Running) -> None:
        answers = ((CREDENTIALS, 400), (b"", 401))
        tried = [(body, *answer) for body in UNCLEAR for answer in answers]
        ended = await asyncio.gather(*(refused(server, *one) for one in tried))
        assert [one for one, has_ended in zip(tried, ended, strict=True) if not has_ended] == []

    serve(use)


def test_old_clients_are_served() -> None:
    """HTTP/1.0 without `Host` gets its answer, which ends the connection: health checks send that."""

    async def use(server: Running) -> None:
        connection = await server.connect()
        connection.writer.write(b"\r\nGET /health/live HTTP/1.0\r\n\r\n")
        status, headers, _ = await connection.read()
        assert (status, headers["connection"]) == (200, "close")
        assert await connection.ended()

    serve(use)


def test_blanks_behind_values_are_no_part_of_them() -> None:
    """Credentials, types and lengths mean the same with trailing blanks (RFC 9110, section 5.5)."""

    async def use(server: Running) -> None:
        request = post(b"{}", b"content-length: 2 \t", b"idempotency-key: k \t")
        request = request.replace(b"sk_1\r\n", b"sk_1 \t \r\n").replace(b"json\r\n", b"json\t\r\n")
        assert (await server.answer(request))[0] == 201
        assert [request.key for request in server.service.requests if request is not None] == ["k"]

    serve(use)
