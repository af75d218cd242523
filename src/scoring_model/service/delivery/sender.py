"""Sends attempts to untrusted receivers: neither their addresses nor their answers are trusted."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Protocol, Self

import aiohttp
from yarl import URL

from scoring_model.service.delivery.dialling import (
    CLIENT,
    CheckedNames,
    Lookup,
    Lookups,
    RefusedAddress,
    UnknownName,
    checked_sockets,
    system_lookup,
)
from scoring_model.service.delivery.egress import AddressPolicy, Egress

CONNECT_SECONDS: Final = 5.0
TOTAL_SECONDS: Final = 15.0
MOST_BODY: Final = 65_536
"""Maximum bytes of a response body that are read; beyond it the connection is closed, and the status counts."""

EXCERPT_LENGTH: Final = 200
_EXCERPT_BYTES: Final = 4 * EXCERPT_LENGTH  # a character of UTF-8 has at most four
_MOST_FIELDS: Final = 64
_MOST_FIELD_BYTES: Final = 8190
# Below the 5 s after which common servers close an idle connection.
_IDLE_SECONDS: Final = 4.0
_TUNNEL_TRIES: Final = 3
_STANDING: Final = {
    "Accept": "*/*",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
    "User-Agent": "scoring-model",
}
# Codes of X509_V_ERR_... in OpenSSL's x509_vfy.h.
_CERTIFICATE: Final = {
    10: "has expired",
    18: "is signed by itself",
    19: "is signed by an unknown authority",
    20: "is signed by an unknown authority",
    62: "is for another name",
    64: "is for another address",
}


@dataclass(frozen=True)
class Reply:
    """The result of one attempt.

    Parameters
    ----------
    status : int or None
        HTTP status, 100 to 599; None without a complete response.
    retry_after : str or None
        The raw header ``Retry-After``, at most 200 characters.
    excerpt : str or None
        At most 200 printable characters: the beginning of the body of an unsuccessful response, or our own text for why
        there was no response.
    """

    status: int | None
    retry_after: str | None = None
    excerpt: str | None = None


class Sender(Protocol):
    """Sends one attempt of a delivery."""

    async def send(self, url: str, headers: Mapping[str, str], body: bytes, *, client: int) -> Reply:
        """POST ``body`` to ``url`` once. Follows no redirects and raises nothing except cancellation.

        Clients share the capacity for name look-ups.
        """


class AiohttpSender:
    """Posts to untrusted receivers.

    Every address that a name resolves to is checked; only checked addresses are dialled, and a connection is reused
    only for the name that it was opened for. Redirects are not followed. Bodies and headers are read up to a limit.
    The environment (proxies, netrc) is ignored.

    Through a proxy every destination is reached by CONNECT to an address that was resolved and checked here; the proxy
    itself, which an operator chose, is not checked. Plain http is never sent through it.

    Parameters
    ----------
    tls : ssl.SSLContext, optional
        By default that of aiohttp: Python's, with the CA certificates of the system.
    lookup : callable
        Returns the addresses of a name.
    connect_seconds, total_seconds : float
        Timeouts for establishing the connection, and for the whole response.
    """

    def __init__(
        self,
        egress: Egress,
        *,
        tls: ssl.SSLContext | None = None,
        lookup: Lookup = system_lookup,
        connect_seconds: float = CONNECT_SECONDS,
        total_seconds: float = TOTAL_SECONDS,
    ) -> None:
        self._policy = AddressPolicy.of(egress.networks, development=egress.development)
        self._schemes = ("https", "http") if egress.development and egress.proxy is None else ("https",)
        self._proxy = None if egress.proxy is None else URL(egress.proxy)
        self._tls: ssl.SSLContext | bool = True if tls is None else tls
        self._names = CheckedNames(self._policy, Lookups(lookup))
        self._connect_seconds = connect_seconds
        self._total_seconds = total_seconds
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections; a later `send` opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def send(self, url: str, headers: Mapping[str, str], body: bytes, *, client: int) -> Reply:
        """POST ``body`` to ``url`` once; see `Sender.send`."""
        CLIENT.set(client)
        try:
            async with asyncio.timeout(self._total_seconds):
                target = URL(url, encoded=True)
                if target.scheme not in self._schemes or target.raw_host is None:
                    return Reply(None, excerpt=f"only {' and '.join(self._schemes)} can be dialled")
                if self._proxy is None:
                    return await self._post(target, headers, body)
                return await self._tunnel(target, target.raw_host, headers, body)
        except Exception as error:  # a receiver must never end the deliverer
            return Reply(None, excerpt=self._reason(error))

    async def _tunnel(self, url: URL, name: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Post through the proxy to a checked address; TLS and ``Host`` use the name."""
        async with asyncio.timeout(self._connect_seconds):
            addresses = await self._names.permitted(name)
        hosted = {**headers, "Host": url.host_port_subcomponent or name}
        failure: aiohttp.ClientError | None = None
        for address in addresses[:_TUNNEL_TRIES]:
            try:
                return await self._post(url.with_host(address), hosted, body, name=name.rstrip("."))
            except (aiohttp.ClientHttpProxyError, aiohttp.ClientConnectorError) as error:
                failure = error  # nothing was posted yet: try another address
        raise failure or RefusedAddress

    async def _post(
        self, url: URL, headers: Mapping[str, str], body: bytes, *, name: str | None = None
    ) -> Reply:
        session = self._session or self._open()
        async with session.post(
            url,
            data=body,
            headers=headers,
            allow_redirects=False,
            proxy=self._proxy,
            server_hostname=name if url.scheme == "https" else None,
        ) as answer:
            return await _reply(answer)

    def _open(self) -> aiohttp.ClientSession:
        """Open the session, which is bound to the running event loop."""
        sockets = None if self._proxy else checked_sockets(self._policy)
        connector = aiohttp.TCPConnector(
            ssl=self._tls,
            resolver=None if self._proxy else self._names,
            use_dns_cache=False,
            socket_factory=sockets,
            keepalive_timeout=_IDLE_SECONDS,
            limit=0,  # the deliverer limits concurrency
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=_STANDING,
            auto_decompress=False,
            trust_env=False,
            timeout=aiohttp.ClientTimeout(connect=self._connect_seconds, ceil_threshold=3600),
            max_line_size=_MOST_FIELD_BYTES,
            max_field_size=_MOST_FIELD_BYTES,
            max_headers=_MOST_FIELDS,
        )
        return self._session

    def _reason(self, error: Exception) -> str:
        """Return our own text for why no response came: an error message may quote the receiver or a secret."""
        cause: BaseException = getattr(error, "os_error", None) or error
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"the certificate {_CERTIFICATE.get(cause.verify_code, 'was not accepted')}"
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return f"no connection within {self._connect_seconds:g} s"
        if isinstance(error, aiohttp.ClientProxyConnectionError):
            return "the proxy could not be reached"
        if isinstance(error, aiohttp.ClientHttpProxyError):
            return f"the proxy refused the tunnel with status {error.status}"
        for kind, reason in _REASONS:
            if isinstance(cause, kind):
                return reason(self) if callable(reason) else reason
        return f"failed: {type(error).__name__}"


def _within(sender: AiohttpSender) -> str:
    return f"no complete answer within {sender._total_seconds:g} s"


# From the specific to the general: the first match is reported.
_REASONS: Final[tuple[tuple[type[BaseException], str | Callable[[AiohttpSender], str]], ...]] = (
    (RefusedAddress, "no address of the destination may be dialled"),
    (UnknownName, "the name of the destination could not be looked up"),
    (TimeoutError, _within),
    (ssl.SSLError, "the TLS handshake failed"),
    (aiohttp.ServerDisconnectedError, "the connection ended before the answer"),
    (aiohttp.ClientPayloadError, "the connection ended within the answer"),
    (aiohttp.ClientResponseError, "the answer was not HTTP, or its headers were too long"),
    (aiohttp.InvalidURL, "the URL can't be dialled"),
    (ConnectionRefusedError, "the connection was refused"),
    (ConnectionError, "the connection was closed unexpectedly"),
    (OSError, "the destination could not be reached"),
)


async def _reply(answer: aiohttp.ClientResponse) -> Reply:
    begin = await _beginning(answer)
    if not 100 <= answer.status <= 599:
        return Reply(None, excerpt="the answer was not HTTP, or its headers were too long")
    success = 200 <= answer.status < 300
    after = answer.headers.get("Retry-After")
    return Reply(
        answer.status,
        retry_after=None if after is None else cleaned(after),
        excerpt=None if success else cleaned(begin.decode("utf-8", "replace")) or None,
    )


async def _beginning(answer: aiohttp.ClientResponse) -> bytes:
    """Read a body up to its limit and keep its beginning."""
    begin = b""
    size = 0
    async for chunk in answer.content.iter_any():
        begin += chunk[: _EXCERPT_BYTES - len(begin)]
        size += len(chunk)
        if size > MOST_BODY:
            answer.close()
            break
    return begin


def cleaned(text: str) -> str:
    r"""Return an excerpt: at most 200 printable characters; runs of others become a space.

    Control characters could manipulate an operator's terminal, direction marks could disguise the text, and
    PostgreSQL rejects NUL.

    Examples
    --------
    >>> cleaned("no\x1b[2J such\r\n\x00 hook")
    'no [2J such hook'
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:EXCERPT_LENGTH]
