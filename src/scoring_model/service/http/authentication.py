"""Authentication: credentials, admission to the queue, then the rate limit, all before routing."""

from typing import TYPE_CHECKING, Final

from starlette.types import ASGIApp, Receive, Scope, Send

from scoring_model.service.clients import Caller
from scoring_model.service.core.errors import Overloaded
from scoring_model.service.core.store import Bucket
from scoring_model.service.http.context import context_of, header_values
from scoring_model.service.http.errors import RateLimited, Unauthorized
from scoring_model.service.http.rate_limit import FailureLimit, quota_headers, seconds_to_wait
from scoring_model.service.http.settings import HttpSettings

if TYPE_CHECKING:
    from scoring_model.service.service import Service

GUARDED = "/scoring"
"""Everything under it needs credentials, whether it exists or not."""

_READING: Final = frozenset(("GET", "HEAD"))  # these wait for no transaction


class AuthenticationMiddleware:
    """ASGI middleware that authenticates the requests below `GUARDED` and sets the caller of their context."""

    def __init__(self, app: ASGIApp, service: "Service", settings: HttpSettings) -> None:
        self._app = app
        self._service = service
        self._failures = FailureLimit(service, settings)
        self._quotas: dict[int, list[tuple[bytes, bytes]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request and pass it on.

        Raises
        ------
        Unauthorized, TooManyFailures, Overloaded, RateLimited
        """
        path: str = scope["path"]
        if not (path == GUARDED or path.startswith(GUARDED + "/")):
            await self._app(scope, receive, send)
            return
        context = context_of(scope)
        context.caller = caller = await self._authenticated(scope)
        if context.method in _READING:
            await self._limited(caller, scope, receive, send)
            return
        try:
            self._service.queue.enter(caller.client)
        except Overloaded:
            # Spends no token and reads no bucket: the headers repeat the last known state.
            context.headers += self._quotas.get(caller.client) or quota_headers(caller, _full(caller))
            raise
        try:
            await self._limited(caller, scope, receive, send)
        finally:
            self._service.queue.leave(caller.client)

    async def _limited(self, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        bucket = await self._service.rate_limits.take_token(caller)
        self._quotas[caller.client] = headers = quota_headers(caller, bucket)
        context_of(scope).headers += headers
        if not bucket.allowed:
            raise RateLimited(seconds_to_wait(bucket))
        await self._app(scope, receive, send)

    async def _authenticated(self, scope: Scope) -> Caller:
        client_id = header_values(scope, b"x-client-id")
        api_key = header_values(scope, b"x-api-key")
        # Readers differ in which value of a repeated header they take.
        if len(client_id) == len(api_key) == 1:
            caller = await self._service.credentials.authenticate(
                client_id[0].decode("latin-1"),
                api_key[0].decode("latin-1"),
                limited=self._failures.is_limited(scope),
            )
            if caller is not None:
                return caller
        await self._failures.count(scope)
        raise Unauthorized


def _full(caller: Caller) -> Bucket:
    return Bucket(allowed=True, left=caller.quota, full_in=0.0, next_in=0.0)
