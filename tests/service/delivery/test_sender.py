"""Attempts over real sockets: receivers that are honest, slow, endless or redirecting."""

import asyncio
from pathlib import Path

import pytest

from raw_receiver import BODY, HEADERS, LOCAL, LOOPBACK, OK, Answer, Receiver, posted, receiving
from scoring_model.service.delivery.egress import Egress
from scoring_model.service.delivery.sender import (
    EXCERPT_LENGTH,
    MOST_BODY,
    AiohttpSender,
    Reply,
    Sender,
    cleaned,
)


def answered(answer: Answer | bytes, *, seconds: float = 15) -> tuple[Reply, Receiver]:
    """What one attempt gives when a receiver answers so."""

    async def run() -> tuple[Reply, Receiver]:
        async with receiving(answer) as receiver:
            return await posted(receiver, AiohttpSender(LOCAL, total_seconds=seconds)), receiver

    return asyncio.run(run())


def test_the_attempt_arrives_as_it_was_given() -> None:
    """Webhooks, delivery: path, headers and body arrive untouched, and 2xx is success."""

    async def run() -> Receiver:
        async with receiving(OK) as receiver, AiohttpSender(LOCAL) as sender:
            used: Sender = sender
            url = f"http://{LOOPBACK}:{receiver.port}/a/../b%7e?q=a+b%20c"
            assert await used.send(url, HEADERS, BODY, client=1) == Reply(200)
            return receiver

    receiver = asyncio.run(run())
    head, _, body = receiver.requests[0].partition(b"\r\n\r\n")
    assert body == BODY
    assert head.startswith(b"POST /a/../b%7e?q=a+b%20c HTTP/1.1\r\n")
    lines = head.lower().split(b"\r\n")
    for name, value in HEADERS.items():
        assert f"{name}: {value}".lower().encode() in lines
    assert b"content-type: application/json" in lines
    assert not [line for line in lines if line.startswith((b"cookie", b"authorization"))]


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", Reply(204)),
        (b"HTTP/1.1 410 Gone\r\nContent-Length: 4\r\n\r\ngone", Reply(410, None, "gone")),
        (
            b"HTTP/1.1 429 Slow\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n",
            Reply(429, "120", None),
        ),
        (
            b"HTTP/1.1 503 No\r\nRetry-After: Fri, 01 Jan 2027 00:00:00 GMT\r\nContent-Length: 0\r\n\r\n",
            Reply(503, "Fri, 01 Jan 2027 00:00:00 GMT", None),
        ),
        (
            b"HTTP/1.1 500 X\r\nConnection: close\r\nContent-Length: 6\r\n\r\na\x1b[2J\x00",
            Reply(500, None, "a [2J"),
        ),
    ],
)
def test_the_answer_is_reported(answer: bytes, reply: Reply) -> None:
    """Webhooks, delivery: of an answer only status, Retry-After and a cleaned excerpt of the body are kept."""
    assert answered(answer)[0] == reply


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_answers(status: int) -> None:
    """Webhooks, delivery: redirects are not followed, wherever they lead."""

    async def run() -> None:
        async with receiving(OK) as inner:
            redirect = f"HTTP/1.1 {status} X\r\nLocation: {inner.url}\r\nContent-Length: 0\r\n\r\n"
            async with receiving(redirect.encode()) as receiver:
                assert await posted(receiver) == Reply(status)
            assert not inner.peers

    asyncio.run(run())


async def hang(writer: asyncio.StreamWriter) -> None:
    """Send nothing."""
    await asyncio.Event().wait()


def trickle(begin: bytes) -> Answer:
    """Write bytes without end."""

    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(begin)
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.005)

    return write


@pytest.mark.parametrize(
    "answer",
    [
        hang,
        trickle(b""),
        trickle(b"HTTP/1.1 200 OK\r\nX: "),
        trickle(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"),
        trickle(b"HTTP/1.1 200 OK\r\n\r\n"),
    ],
)
def test_slow_receivers_get_their_time_and_no_more(answer: Answer) -> None:
    """Webhooks, delivery: the time in all is bounded, however the bytes come."""
    reply, _ = answered(answer, seconds=0.2)
    assert reply.status is None
    assert reply.excerpt in (
        "no complete answer within 0.2 s",
        "the answer was not HTTP, or its headers were too long",
    )


@pytest.mark.parametrize(
    "begin",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3b9aca00\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n",
    ],
)
def test_gigabytes_are_not_read(begin: bytes) -> None:
    """Webhooks, delivery: a body is read to a bound, then the connection is closed, and the status counts."""
    written = 0

    async def flood(writer: asyncio.StreamWriter) -> None:
        nonlocal written
        writer.write(begin)
        while True:
            writer.write(b"x" * 65_536)
            written += 65_536
            await writer.drain()

    reply, _ = answered(flood)
    assert reply == Reply(200)
    # What the buffers of both kernels and of both programs take stands beside what was read.
    assert written < MOST_BODY + 32 * 2**20


def test_a_long_refusal_is_reported_in_short() -> None:
    """Of a body only a short beginning stays, in characters and not in bytes."""
    body = "é\u202e".encode() * MOST_BODY
    reply, _ = answered(b"HTTP/1.1 500 X\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    assert reply.status == 500
    assert reply.excerpt is not None
    assert len(reply.excerpt) <= EXCERPT_LENGTH
    assert "\u202e" not in reply.excerpt


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 20_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: x\r\n" * 1000 + b"\r\n",
        b"HTTP/1.1 200 " + b"O" * 20_000 + b"\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/1.1 999 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
    ],
)
def test_what_is_no_answer_is_reported_in_our_words(answer: bytes) -> None:
    """Headers are read to a bound, and what is no HTTP is a failure without a status."""
    reply, _ = answered(answer)
    assert reply == Reply(None, None, "the answer was not HTTP, or its headers were too long")


@pytest.mark.parametrize(
    ("begin", "excerpt"),
    [
        (b"", "the connection ended before the answer"),
        (b"HTTP/1.1 200 OK\r\nX: y", "the connection ended before the answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "the connection ended within the answer"),
    ],
)
def test_half_an_answer_is_none(begin: bytes, excerpt: str) -> None:
    """An answer that breaks off has no status: what stood before it may have meant nothing."""

    async def half(writer: asyncio.StreamWriter) -> None:
        writer.write(begin)
        await writer.drain()
        writer.close()

    assert answered(half)[0] == Reply(None, None, excerpt)


def test_nobody_there() -> None:
    """A port that nobody listens to is a failure in our own words."""

    async def run() -> Reply:
        async with receiving(OK) as receiver:
            pass
        return await posted(receiver)

    assert asyncio.run(run()) == Reply(None, None, "the connection was refused")


@pytest.mark.parametrize(
    "url",
    [
        "http://{loopback}:{port}/",
        "https://{loopback}:{port}/",
        "https://[::ffff:127.0.0.1]:{port}/",
        "https://localhost:{port}/",
        "https://inside.example:{port}/",
        "https://2130706433:{port}/",
        "https://127.1:{port}/",
        "https://[::1%25lo]:{port}/",
        "ftp://{loopback}:{port}/",
        "https://:{port}/",
        "nonsense",
        "",
    ],
)
def test_this_machine_is_dialled_under_development_alone(url: str) -> None:
    """Webhooks, delivery: however this machine is written, nothing ever connects to it."""

    async def run() -> Receiver:
        async with receiving(OK) as receiver:  # which counts a connection before any TLS
            sender = AiohttpSender(Egress(), lookup=lambda host: [LOOPBACK, "::1"])
            reply = await posted(receiver, sender, url.format(loopback=LOOPBACK, port=receiver.port))
            assert reply.status is None
            assert reply.excerpt
            return receiver

    assert asyncio.run(run()).peers == 0


def test_the_environment_has_no_say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Proxies and passwords of the environment are not used."""
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine {LOOPBACK} login a password b\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))

    async def run() -> None:
        async with receiving(OK) as proxy, receiving(OK) as receiver:
            for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
                monkeypatch.setenv(name, f"http://{LOOPBACK}:{proxy.port}")
            assert await posted(receiver) == Reply(200)
            assert not proxy.peers
            assert b"uthorization" not in receiver.requests[0]

    asyncio.run(run())


def test_a_sender_that_was_closed_opens_again() -> None:
    """Closing ends connections, not the sender."""

    async def run() -> None:
        async with receiving(OK) as receiver:
            sender = AiohttpSender(LOCAL)
            for _ in range(2):
                assert await sender.send(receiver.url, HEADERS, BODY, client=1) == Reply(200)
                await sender.close()
            await sender.close()

    asyncio.run(run())


def test_excerpts_are_short_and_printable() -> None:
    """Excerpts contain no control characters for a terminal or a database."""
    every = "".join(map(chr, range(0x3000))) + "\ud800\U000e0001"
    assert cleaned(every).isprintable()
    assert len(cleaned(every)) == EXCERPT_LENGTH
    assert cleaned("\r\n\t\x00") == ""
