"""Attempts over real sockets: receivers that are honest, slow, endless, redirecting or impersonating."""

import asyncio
import datetime
import ssl
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from scoring_model.service.delivery.egress import Egress
from scoring_model.service.delivery.sender import (
    EXCERPT_LENGTH,
    MOST_BODY,
    AiohttpSender,
    Reply,
    Sender,
    cleaned,
)

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
HEADERS = {"webhook-id": "msg_1", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA"}
BODY = b'{"type":"webhook.test"}'
LOOPBACK = "127.0.0.1"
LOCAL = Egress(development=True)

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Receiver:
    """What came to a server, and where it is."""

    port: int = 0
    peers: int = 0
    requests: list[bytes] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Its address in plain http."""
        return f"http://{LOOPBACK}:{self.port}/hook"


def fixed(answer: bytes) -> Answer:
    """Answer with the same bytes, always."""

    async def write(writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()

    return write


async def _serve(
    receiver: Receiver, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    receiver.peers += 1
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
            body = await reader.readexactly(int(length[0].split(b":")[1]) if length else 0)
            receiver.requests.append(head + body)
            await answer(writer)
    except (EOFError, OSError, asyncio.CancelledError):
        writer.transport.abort()


@asynccontextmanager
async def receiving(
    answer: Answer | bytes, *, tls: ssl.SSLContext | None = None, host: str = LOOPBACK
) -> AsyncIterator[Receiver]:
    """Run a server of raw bytes; what still runs at the end is broken off."""
    receiver = Receiver()
    answered = fixed(answer) if isinstance(answer, bytes) else answer
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(_serve(receiver, answered, reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    if tls is not None:
        tls.sni_callback = lambda _socket, name, _context: receiver.names.append(name)
    server = await asyncio.start_server(connected, host, 0, ssl=tls, backlog=512)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def posted(receiver: Receiver, sender: AiohttpSender | None = None, url: str | None = None) -> Reply:
    """Send one attempt in plain http."""
    async with sender or AiohttpSender(LOCAL) as used:
        return await used.send(url or receiver.url, HEADERS, BODY, client=1)


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


# TLS


@cache
def authority() -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    """An authority of certificates."""
    key = ec.generate_private_key(ec.SECP256R1())
    return key, _signed(
        "authority.example", key.public_key(), "authority.example", key, valid=True, root=True
    )


def _signed(
    name: str,
    key: ec.EllipticCurvePublicKey,
    issuer: str,
    signer: ec.EllipticCurvePrivateKey,
    *,
    valid: bool,
    root: bool = False,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 3 * day)
        .not_valid_after(now + day if valid else now - day)
        .add_extension(x509.BasicConstraints(ca=root, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([_alternative(name)]), critical=False)
    )
    return builder.sign(signer, hashes.SHA256())


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def trusting() -> ssl.SSLContext:
    """What a sender needs to trust our authority and no other."""
    pem = authority()[1].public_bytes(serialization.Encoding.PEM).decode()
    return ssl.create_default_context(cadata=pem)


def server_tls(name: str, *, valid: bool = True, own: bool = False) -> ssl.SSLContext:
    """What a server of a name needs; its certificate may be out of date or signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer, signer = (name, key) if own else ("authority.example", authority()[0])
    certificate = _signed(name, key.public_key(), issuer, signer, valid=valid)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(private + certificate.public_bytes(serialization.Encoding.PEM))
        file.flush()
        context.load_cert_chain(file.name)
    return context


def here(host: str) -> Sequence[str]:
    """All names are this machine."""
    return [LOOPBACK]


def inside(lookup: Callable[[str], Sequence[str]] = here, *, proxy: str | None = None) -> AiohttpSender:
    """A sender outside development that may dial 127.0.0.1, and of this machine nothing else."""
    return AiohttpSender(Egress(networks=(f"{LOOPBACK}/32",), proxy=proxy), tls=trusting(), lookup=lookup)


def test_a_named_network_is_dialled_with_tls_of_the_name() -> None:
    """Webhooks, delivery: an address is dialled in place of a name, and the certificate is that of the name."""

    async def run() -> None:
        async with receiving(OK, tls=server_tls("hook.example")) as receiver:
            for host in ("hook.example", "hook.example.", "HOOK.example"):
                url = f"https://{host}:{receiver.port}/"
                assert await posted(receiver, inside(), url) == Reply(200)
            assert {name and name.lower() for name in receiver.names} == {"hook.example"}

    asyncio.run(run())


@pytest.mark.parametrize(
    ("tls", "excerpt"),
    [
        (lambda: server_tls("other.example"), "the certificate is for another name"),
        (lambda: server_tls("hook.example", valid=False), "the certificate has expired"),
        (lambda: server_tls("hook.example", own=True), "the certificate is signed by itself"),
    ],
)
def test_wrong_certificates_get_nothing(tls: Callable[[], ssl.SSLContext], excerpt: str) -> None:
    """A receiver without a valid certificate gets no byte of the attempt."""

    async def run() -> tuple[Reply, Receiver]:
        async with receiving(OK, tls=tls()) as receiver:
            return await posted(receiver, inside(), f"https://hook.example:{receiver.port}/"), receiver

    reply, receiver = asyncio.run(run())
    assert reply == Reply(None, None, excerpt)
    assert not receiver.requests


def test_what_speaks_no_tls_gets_nothing() -> None:
    """A server of another protocol is distinguished from one with a bad certificate."""

    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ready\r\n")
        await writer.drain()
        writer.close()

    async def run() -> Reply:
        async with await asyncio.start_server(greet, LOOPBACK, 0) as server, inside() as sender:
            port = server.sockets[0].getsockname()[1]
            return await sender.send(f"https://hook.example:{port}/", HEADERS, BODY, client=1)

    assert asyncio.run(run()) == Reply(None, None, "the TLS handshake failed")


def test_a_name_that_moves_inside_is_not_followed() -> None:
    """Webhooks, delivery: of DNS that changes between look-ups the address that was checked is dialled."""
    answers = [[LOOPBACK], ["127.0.0.2"], [LOOPBACK, "127.0.0.2"]]
    asked: list[str] = []

    def moving(host: str) -> Sequence[str]:
        asked.append(host)
        return answers[len(asked) - 1]

    async def run() -> None:
        close = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        async with receiving(close, tls=server_tls("hook.example"), host="0.0.0.0") as receiver:
            url = f"https://hook.example:{receiver.port}/"
            async with inside(moving) as sender:
                assert await sender.send(url, HEADERS, BODY, client=1) == Reply(200)
                refused = await sender.send(url, HEADERS, BODY, client=1)
                assert refused == Reply(None, None, "no address of the destination may be dialled")
                assert receiver.peers == 1
                assert await sender.send(url, HEADERS, BODY, client=1) == Reply(200)

    asyncio.run(run())
    assert (
        len(asked) == 3
    )  # once for each connection: nothing is looked up between the check and the dialling


def test_a_connection_serves_its_own_name_alone() -> None:
    """Connections are used again for the same name, never for another at the same address."""

    async def run() -> None:
        async with receiving(OK, tls=server_tls("hook.example")) as receiver, inside() as sender:
            for _ in range(3):
                assert (
                    await sender.send(f"https://hook.example:{receiver.port}/", HEADERS, BODY, client=1)
                ).status == 200
            assert receiver.peers == 1
            other = await sender.send(f"https://other.example:{receiver.port}/", HEADERS, BODY, client=1)
            assert other == Reply(None, None, "the certificate is for another name")

    asyncio.run(run())


def test_names_that_lead_nowhere() -> None:
    """A name without an address, and one whose look-up hangs, are failures with fixed texts."""
    gate = threading.Event()

    def nowhere(host: str) -> Sequence[str]:
        if host == "slow.example":
            gate.wait(20)
        raise OSError(-2, "secret of the resolver")

    async def run() -> None:
        sender = AiohttpSender(Egress(), lookup=nowhere, connect_seconds=0.1)
        async with sender:
            unknown = await sender.send("https://no.example/", HEADERS, BODY, client=1)
            assert unknown == Reply(None, None, "the name of the destination could not be looked up")
            slow = await sender.send("https://slow.example/", HEADERS, BODY, client=1)
            assert slow == Reply(None, None, "no connection within 0.1 s")

    asyncio.run(run())
    gate.set()


# The proxy


@dataclass
class Proxy:
    """What a proxy was asked for."""

    port: int = 0
    asked: list[bytes] = field(default_factory=list)


@asynccontextmanager
async def proxying(refusals: Sequence[bytes] = ()) -> AsyncIterator[Proxy]:
    """Run a proxy of CONNECT that refuses some targets."""
    proxy = Proxy()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        proxy.asked.append(head)
        target = head.split()[1]
        if head.split()[0] != b"CONNECT" or target in refusals:
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            writer.close()
            return
        host, _, port = target.decode().rpartition(":")
        far_reader, far_writer = await asyncio.open_connection(host.strip("[]"), int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer), return_exceptions=True)

    server = await asyncio.start_server(connected, LOOPBACK, 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()


def test_the_proxy_is_asked_for_the_checked_address() -> None:
    """Webhooks, delivery: with a proxy the address is looked up and checked here, and TLS is that of the name."""

    async def run() -> None:
        async with receiving(OK, tls=server_tls("hook.example")) as receiver, proxying() as proxy:
            async with inside(proxy=f"http://user:word@{LOOPBACK}:{proxy.port}") as sender:
                url = f"https://hook.example:{receiver.port}/hook"
                assert await sender.send(url, HEADERS, BODY, client=1) == Reply(200)
                assert await sender.send(url, HEADERS, BODY, client=1) == Reply(200)
                other = await sender.send(f"https://other.example:{receiver.port}/", HEADERS, BODY, client=1)
                assert other == Reply(None, None, "the certificate is for another name")
            assert receiver.names[0] == "hook.example"
            assert f"\r\nhost: hook.example:{receiver.port}\r\n".encode() in receiver.requests[0].lower()
            assert b"proxy-authorization" not in receiver.requests[0].lower()
            target = f"CONNECT {LOOPBACK}:{receiver.port} ".encode()
            assert all(head.startswith(target) for head in proxy.asked)
            assert b"proxy-authorization: basic" in proxy.asked[0].lower()
            assert b"webhook-" not in b"".join(proxy.asked)

    asyncio.run(run())


def test_the_proxy_never_hears_of_a_refused_address() -> None:
    """Webhooks, delivery: a name inside, and plain http, are refused before the proxy is asked."""

    async def run() -> None:
        async with proxying() as proxy:
            via = f"http://{LOOPBACK}:{proxy.port}"
            async with inside(lambda host: ["127.0.0.2", "10.0.0.1"], proxy=via) as sender:
                for url in ("https://hook.example/", "https://127.0.0.2/", "https://[::ffff:10.0.0.1]/"):
                    reply = await sender.send(url, HEADERS, BODY, client=1)
                    assert reply == Reply(None, None, "no address of the destination may be dialled")
            async with AiohttpSender(Egress(development=True, proxy=via), lookup=here) as sender:
                reply = await sender.send("http://hook.example/", HEADERS, BODY, client=1)
                assert reply == Reply(None, None, "only https can be dialled")
            assert not proxy.asked

    asyncio.run(run())


def test_a_proxy_that_refuses_is_asked_for_the_next_address() -> None:
    """A tunnel that is refused is tried to another address of the name, and the refusal is reported if all are."""

    async def run() -> None:
        async with receiving(OK, tls=server_tls("hook.example")) as receiver:
            url = f"https://hook.example:{receiver.port}/"
            first = f"8.8.8.8:{receiver.port}".encode()
            second = f"{LOOPBACK}:{receiver.port}".encode()
            lookup = ["8.8.8.8", LOOPBACK]
            async with proxying([first]) as proxy:
                via = f"http://{LOOPBACK}:{proxy.port}"
                assert await posted(receiver, inside(lambda host: lookup, proxy=via), url) == Reply(200)
            async with proxying([first, second]) as proxy:
                via = f"http://{LOOPBACK}:{proxy.port}"
                refused = await posted(receiver, inside(lambda host: lookup, proxy=via), url)
                assert refused == Reply(None, None, "the proxy refused the tunnel with status 403")
            gone = await posted(receiver, inside(lambda host: lookup, proxy=via), url)
            assert gone == Reply(None, None, "the proxy could not be reached")

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
