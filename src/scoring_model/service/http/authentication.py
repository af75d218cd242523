"""Authentication: credentials, admission to the queue, then the rate limit, all before routing.

Failed authentications are limited by address.
"""

import base64
import math
import time
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Final

from starlette.types import ASGIApp, Receive, Scope, Send

from scoring_model.service.clients.clients import Caller
from scoring_model.service.core.errors import Overloaded
from scoring_model.service.core.metrics import Steps
from scoring_model.service.http.context import AUTHENTICATED, CONTEXT, FLAGS, RequestContext
from scoring_model.service.http.errors import RateLimited, TooManyFailures, Unauthorized
from scoring_model.service.http.settings import HttpSettings
from scoring_model.service.store import Bucket

if TYPE_CHECKING:
    from scoring_model.service.service import Service

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network

GUARDED = "/scoring"
"""All paths under it need credentials, whether they exist or not."""

LIMITED_SECONDS: Final = 10.0
"""Seconds for which an address stays limited after its last failure above the limit."""

LONGEST_BASIC: Final = 512
"""Bytes of an `Authorization` header that are looked at."""

MOST_LIMITED: Final = 4_096
"""Maximum number of limited addresses in memory; the oldest are evicted."""

_READING: Final = frozenset(("GET", "HEAD"))  # these need no write transaction


class AuthenticationMiddleware:
    """ASGI middleware that authenticates the requests below `GUARDED` and sets the caller of their context."""

    def __init__(self, app: ASGIApp, service: "Service", settings: HttpSettings) -> None:
        self._app = app
        self._service = service
        self._trusted = settings.trusted_proxies
        self._basic = settings.basic_auth
        self._limited: dict[str, float] = {}  # end of the limit, by address
        self._quotas: dict[int, list[tuple[bytes, bytes]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request and forward it.

        Raises
        ------
        Unauthorized, TooManyFailures, Overloaded, RateLimited
        """
        path: str = scope["path"]
        if not (path == GUARDED or path.startswith(GUARDED + "/")):
            await self._app(scope, receive, send)
            return
        context: RequestContext = scope[CONTEXT]
        steps = Steps()
        context.caller = caller = await self._authenticate(scope)
        if FLAGS in scope:
            scope[FLAGS].add(AUTHENTICATED)
        waits = context.method not in _READING
        if waits:
            try:
                self._service.queue.enter(caller.client)
            except Overloaded:
                # Takes no token and reads no bucket: the headers repeat the last known state.
                full = Bucket(allowed=True, left=caller.quota, full_in=0.0, next_in=0.0)
                context.headers += self._quotas.get(caller.client) or _quota_headers(caller, full)
                raise
        try:
            bucket = await self._service.rate_limits.take_token(caller)
            self._quotas[caller.client] = headers = _quota_headers(caller, bucket)
            context.headers += headers
            if not bucket.allowed:
                raise RateLimited(_seconds_to_wait(bucket))
            steps.end("authentication")
            await self._app(scope, receive, send)
        finally:
            if waits:
                self._service.queue.leave(caller.client)

    async def _authenticate(self, scope: Scope) -> Caller:
        context: RequestContext = scope[CONTEXT]
        pair = _pair_of(context) if not self._basic else _pair_or_basic(context)
        if pair is not None:
            caller = await self._service.credentials.authenticate(
                *pair,
                # Usually no address is limited, and the address of the request is not needed.
                limited=bool(self._limited)
                and self._limited.get(self._address(scope), 0.0) > time.monotonic(),
            )
            if caller is not None:
                return caller
        address = self._address(scope)
        bucket = await self._service.rate_limits.take_failure(address)
        if not bucket.allowed:
            self._limit(address)
            raise TooManyFailures(_seconds_to_wait(bucket))
        raise Unauthorized(basic=self._basic and not _of_browser(context))

    def _limit(self, address: str) -> None:
        self._limited.pop(address, None)  # keep the order of the last failures
        while self._limited and (
            len(self._limited) >= MOST_LIMITED or next(iter(self._limited.values())) <= time.monotonic()
        ):
            del self._limited[next(iter(self._limited))]
        self._limited[address] = time.monotonic() + LIMITED_SECONDS

    def _address(self, scope: Scope) -> str:
        peer = scope.get("client")
        forwarded = scope[CONTEXT].received.get(b"x-forwarded-for", ())
        return limited_address(None if peer is None else peer[0], forwarded, self._trusted)


def _pair_of(context: RequestContext) -> tuple[str, str] | None:
    """Return client id and key of the two headers; None unless each is there once."""
    client_id = context.received.get(b"x-client-id", ())
    api_key = context.received.get(b"x-api-key", ())
    # Implementations differ in which value of a repeated header they use.
    if len(client_id) == len(api_key) == 1:
        return client_id[0].decode("latin-1"), api_key[0].decode("latin-1")
    return None


def _pair_or_basic(context: RequestContext) -> tuple[str, str] | None:
    """Return client id and key of the two headers, or of HTTP Basic; None of both together (RFC 7617, section 2)."""
    received = context.received
    given = received.get(b"authorization", ())
    if not given:
        return _pair_of(context)
    if b"x-client-id" in received or b"x-api-key" in received or len(given) > 1 or _of_browser(context):
        return None
    scheme, _, encoded = given[0].partition(b" ")
    if scheme.lower() != b"basic" or len(given[0]) > LONGEST_BASIC:
        return None
    try:
        client_id, colon, api_key = (
            base64.b64decode(encoded.strip(), validate=True).decode("latin-1").partition(":")
        )
    except ValueError:
        return None
    return (client_id, api_key) if colon else None


def _of_browser(context: RequestContext) -> bool:
    """Whether a page of another origin may have made a browser send the request."""
    received = context.received
    return b"origin" in received or any(name.startswith(b"sec-fetch-") for name in received)


async def spend(service: "Service", context: RequestContext, caller: Caller, tokens: int) -> None:
    """Take further tokens for a large request, and report in its headers what is left.

    Raises
    ------
    RateLimited
        If the client has fewer; it keeps them.
    """
    bucket = await service.rate_limits.take_token(caller, tokens)
    headers = dict(_quota_headers(caller, bucket))
    context.headers = [(name, headers.get(name, value)) for name, value in context.headers]
    if not bucket.allowed:
        raise RateLimited(_seconds_to_wait(bucket))


def _quota_headers(caller: Caller, bucket: Bucket) -> list[tuple[bytes, bytes]]:
    """Return headers with a client's quota and window, and its remaining quota with the seconds until it is full.

    References
    ----------
    draft-ietf-httpapi-ratelimit-headers, sections 3 and 4.
    """
    policy = f'"default";q={caller.quota};w={caller.quota_seconds}'
    limit = f'"default";r={max(0, bucket.left)};t={math.ceil(bucket.full_in)}'
    return [(b"ratelimit-policy", policy.encode()), (b"ratelimit", limit.encode())]


def _seconds_to_wait(bucket: Bucket) -> int:
    """Return whole seconds until there is a token, at least 1 (RFC 9110, section 10.2.3)."""
    return max(1, math.ceil(bucket.next_in))


def limited_address(peer: str | None, forwarded: Sequence[bytes], trusted: Sequence[IpNetwork]) -> str:
    """Return the key by which failures are limited.

    Parameters
    ----------
    peer : str or None
        Address of the other end of the connection.
    forwarded : sequence of bytes
        Values of `X-Forwarded-For`, in the order of the request.
    trusted : sequence of networks
        Proxies whose header is trusted.

    Returns
    -------
    str
        An IPv4 address, or the /64 of an IPv6 address, whose owner controls all addresses in it. Of forwarded
        addresses, the rightmost one that is not a trusted proxy: clients can forge those to its left. All peers without
        an address, such as those of a Unix socket, share one key.
    """
    address = _parsed(peer or "")
    if address is None:
        return "unknown"
    if _is_trusted(address, trusted):
        address = _forwarded(address, forwarded, trusted)
    return str(address) if isinstance(address, IPv4Address) else str(ip_network((address, 64), strict=False))


@lru_cache(maxsize=4096)
def connecting_address(peer: str | None, trusted: tuple[IpNetwork, ...]) -> str | None:
    """Return the key by which connections are limited, as `limited_address`.

    None without an address, and for a trusted proxy, which must limit connections itself.
    """
    address = _parsed(peer or "")
    if address is None or _is_trusted(address, trusted):
        return None
    return limited_address(peer, (), ())


def _forwarded(address: IpAddress, forwarded: Sequence[bytes], trusted: Sequence[IpNetwork]) -> IpAddress:
    """Follow trusted proxies back to the first hop that is not one or is unreadable."""
    for entry in reversed(b",".join(forwarded).split(b",")):
        hop = _parsed(_without_port(entry.decode("latin-1").strip()))
        if hop is None:
            break
        address = hop
        if not _is_trusted(hop, trusted):
            break
    return address


def _parsed(text: str) -> IpAddress | None:
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _without_port(entry: str) -> str:
    if entry.startswith("["):
        return entry[1:].partition("]")[0]
    return entry.partition(":")[0] if entry.count(":") == 1 else entry


def _is_trusted(address: IpAddress, trusted: Sequence[IpNetwork]) -> bool:
    return any(address in network for network in trusted)
