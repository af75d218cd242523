"""Attempts over TLS and through a proxy: certificates, names and addresses."""

import asyncio
import datetime
import ssl
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from raw_receiver import BODY, HEADERS, LOOPBACK, OK, Receiver, posted, receiving
from scoring_model.service.delivery.egress import Egress
from scoring_model.service.delivery.sender import AiohttpSender, Reply


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
        # What Python 3.13 wants besides, as RFC 5280 does.
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
        .add_extension(_usage(root=root), critical=True)
    )
    return builder.sign(signer, hashes.SHA256())


def _usage(*, root: bool) -> x509.KeyUsage:
    others = "content_commitment key_encipherment data_encipherment key_agreement encipher_only decipher_only"
    return x509.KeyUsage(
        digital_signature=not root, key_cert_sign=root, crl_sign=root, **dict.fromkeys(others.split(), False)
    )


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
