"""The asynchronous client."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx
from tenacity import AsyncRetrying

from scoring_model.client.operations import (
    health,
    identities,
    labels,
    lists,
    resolutions,
    verifications,
    webhooks,
)
from scoring_model.client.operations.pages import Page
from scoring_model.client.operations.verifications import Polling
from scoring_model.client.request import Request, as_method
from scoring_model.client.retry import RetryPolicy
from scoring_model.client.session import PreparedRequest, Session, transport_error
from scoring_model.contract.verification import Verification

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AsyncRunner:
    """Sends requests and retries."""

    session: Session
    http: httpx.AsyncClient
    sleep: Callable[[float], Awaitable[None]]

    async def run(self, request: Request[T], seconds: float | None = None) -> T:
        """Send a request, with retries where they are safe; return the value of its answer."""
        prepared = self.session.begin(request)
        if prepared.is_fresh:
            return prepared.kept.value  # type: ignore[union-attr, no-any-return]
        retrying = AsyncRetrying(sleep=self.sleep, **self.session.retrying(prepared, seconds))
        try:
            response: httpx.Response = await retrying(self._attempt, prepared)
        finally:
            self.session.end(prepared)
        return self.session.finish(prepared, response)

    async def wait(self, polling: Polling) -> Verification:
        """Read a verification until it is finished."""
        if polling.finished is not None:
            return polling.finished
        await self.sleep(polling.first_delay)

        async def poll() -> Verification:
            return await self.run(polling.request, polling.left)

        return await AsyncRetrying(sleep=self.sleep, **polling.retrying())(poll)

    async def _attempt(self, prepared: PreparedRequest[Any]) -> httpx.Response:
        request = prepared.request
        try:
            response = await self.http.request(
                request.method, request.path, headers=prepared.headers, content=prepared.content
            )
        except httpx.RequestError as error:
            raise transport_error(error) from error
        return prepared.checked(response)


class _AsyncGroup:
    def __init__(self, runner: AsyncRunner) -> None:
        self._runner = runner


def _awaited(
    operation: Callable[P, Request[T]],
) -> Callable[Concatenate[_AsyncGroup, P], Coroutine[Any, Any, T]]:
    async def method(self: _AsyncGroup, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._runner.run(operation(*args, **kwargs))

    return as_method(method, operation)


def _paged(first: Callable[P, Request[Page[T]]]) -> Callable[Concatenate[_AsyncGroup, P], AsyncIterator[T]]:
    async def method(self: _AsyncGroup, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        request: Request[Page[T]] | None = first(*args, **kwargs)
        while request is not None:
            page = await self._runner.run(request)
            for item in page.items:
                yield item
            request = page.following

    return as_method(method, first)


def _waiting(
    start: Callable[Concatenate[Session, P], Polling],
) -> Callable[Concatenate[_AsyncGroup, P], Coroutine[Any, Any, Verification]]:
    @wraps(start)
    async def method(self: _AsyncGroup, /, *args: P.args, **kwargs: P.kwargs) -> Verification:
        return await self._runner.wait(start(self._runner.session, *args, **kwargs))

    return method


class AsyncIdentities(_AsyncGroup):
    """Persons' records."""

    create = _awaited(identities.create)
    get = _awaited(identities.get)
    list = _paged(identities.list_all)
    erase = _awaited(identities.erase)


class AsyncVerifications(_AsyncGroup):
    """Scorings of persons."""

    create = _awaited(verifications.create)
    get = _awaited(verifications.get)
    list = _paged(verifications.list_all)
    wait = _waiting(verifications.wait)
    erase_signals = _awaited(verifications.erase_signals)


class AsyncWebhooks(_AsyncGroup):
    """Where events are sent."""

    create = _awaited(webhooks.create)
    get = _awaited(webhooks.get)
    update = _awaited(webhooks.update)
    delete = _awaited(webhooks.delete)
    list = _paged(webhooks.list_all)
    deliveries = _paged(webhooks.deliveries)
    test = _awaited(webhooks.send_test)
    rotate_secret = _awaited(webhooks.rotate_secret)


class AsyncLabels(_AsyncGroup):
    """What became known about verifications."""

    create = _awaited(labels.create)


class AsyncResolutions(_AsyncGroup):
    """How step-ups and reviews ended."""

    create = _awaited(resolutions.create)
    list = _awaited(resolutions.list_of)


class AsyncLists(_AsyncGroup):
    """Values whose applicants pass, are stepped up or fail."""

    add = _awaited(lists.add)
    remove = _awaited(lists.remove)
    list = _awaited(lists.list_all)


class AsyncHealth(_AsyncGroup):
    """The service itself."""

    live = _awaited(health.live)
    ready = _awaited(health.ready)


class AsyncClient:
    """A client of the scoring service for asyncio. Tasks may share it; connections are reused.

    Its parameters are those of `Client`; `sleep` is awaited.
    """

    def __init__(
        self,
        base_url: str,
        *,
        client_id: str,
        api_key: str,
        timeout: float = 10.0,
        retry: RetryPolicy | None = None,
        cache_entries: int = 256,
        idempotency: bool = True,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        session = Session(
            base_url,
            client_id=client_id,
            api_key=api_key,
            retry=retry or RetryPolicy(),
            cache_entries=cache_entries,
            idempotency=idempotency,
            monotonic=monotonic,
        )
        http = httpx.AsyncClient(
            base_url=session.base_url, timeout=timeout, transport=transport, follow_redirects=False
        )
        self._runner = AsyncRunner(session, http, sleep)
        self.identities = AsyncIdentities(self._runner)
        self.verifications = AsyncVerifications(self._runner)
        self.webhooks = AsyncWebhooks(self._runner)
        self.labels = AsyncLabels(self._runner)
        self.resolutions = AsyncResolutions(self._runner)
        self.lists = AsyncLists(self._runner)
        self.health = AsyncHealth(self._runner)

    async def close(self) -> None:
        """Close the connections."""
        await self._runner.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._runner.session.base_url!r})"
