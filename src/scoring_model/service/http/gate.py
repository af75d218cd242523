"""Who may pass: credentials, then the rate limit, before anything is told about paths."""

from starlette.types import ASGIApp, Receive, Scope, Send

from scoring_model.service.core.resources import Caller
from scoring_model.service.http.addresses import limited_address
from scoring_model.service.http.exchange import exchange_of, header_values
from scoring_model.service.http.facade import Service
from scoring_model.service.http.quota import quota_headers, seconds_to_wait
from scoring_model.service.http.refusals import RateLimited, TooManyFailures, Unauthorized
from scoring_model.service.http.settings import HttpSettings

GUARDED = "/scoring"
"""Everything under it needs credentials, whether it exists or not."""


class Gate:
    """ASGI middleware that lets clients pass, and anybody to what is not guarded.

    Parameters
    ----------
    app : ASGI application
        Finds the caller in the exchange.
    service : Service
    settings : HttpSettings
    """

    def __init__(self, app: ASGIApp, service: Service, settings: HttpSettings) -> None:
        self._app = app
        self._service = service
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request, and pass it on.

        Raises
        ------
        Unauthorized, TooManyFailures, RateLimited
        """
        path: str = scope["path"]
        if path == GUARDED or path.startswith(GUARDED + "/"):
            exchange = exchange_of(scope)
            exchange.caller = caller = await self._authenticated(scope)
            bucket = await self._service.take_token(caller)
            exchange.headers += quota_headers(caller, bucket)
            if not bucket.allowed:
                raise RateLimited(seconds_to_wait(bucket))
        await self._app(scope, receive, send)

    async def _authenticated(self, scope: Scope) -> Caller:
        client_id = header_values(scope, b"x-client-id")
        api_key = header_values(scope, b"x-api-key")
        # Of a header that came twice, different readers believe different values.
        if len(client_id) == len(api_key) == 1:
            caller = await self._service.authenticate(
                client_id[0].decode("latin-1"), api_key[0].decode("latin-1")
            )
            if caller is not None:
                return caller
        await self._count_failure(scope)
        raise Unauthorized

    async def _count_failure(self, scope: Scope) -> None:
        peer = scope.get("client")
        address = limited_address(
            None if peer is None else peer[0],
            header_values(scope, b"x-forwarded-for"),
            self._settings.trusted_proxies,
        )
        bucket = await self._service.take_failure(address)
        if not bucket.allowed:
            raise TooManyFailures(seconds_to_wait(bucket))
