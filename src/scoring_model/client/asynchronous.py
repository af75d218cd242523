"""The client for programs that do other things while an answer is on its way."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx

from scoring_model.client.operations import health, identities, verifications, webhooks
from scoring_model.client.request import Attempt, Steps
from scoring_model.client.retry import RetryPolicy
from scoring_model.client.session import Session
from scoring_model.client.webhook import Webhook

P = ParamSpec("P")
T = TypeVar("T")


class AsyncRunner:
    """Does what the steps of a session say.

    Parameters
    ----------
    session : Session
    http : httpx.AsyncClient
    sleep : callable
        Waits for so many seconds. Awaited.
    """

    def __init__(
        self, session: Session, http: httpx.AsyncClient, sleep: Callable[[float], Awaitable[object]]
    ) -> None:
        self.session = session
        self.http = http
        self._sleep = sleep

    async def run(self, steps: Steps[T]) -> T:
        """Go through the steps; return what they come to."""
        try:
            attempt = next(steps)
            while True:
                attempt = steps.send(await self._attempt(attempt))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        finally:
            steps.close()

    async def _attempt(self, attempt: Attempt) -> httpx.Response | httpx.RequestError:
        if attempt.delay > 0:
            await self._sleep(attempt.delay)
        call = attempt.call
        try:
            return await self.http.request(call.method, call.url, headers=call.headers, content=call.content)
        except httpx.RequestError as error:
            return error


class _Group:
    def __init__(self, runner: AsyncRunner) -> None:
        self._runner = runner


def _awaited(
    operation: Callable[Concatenate[Session, P], Steps[T]],
) -> Callable[Concatenate[_Group, P], Coroutine[Any, Any, T]]:
    @wraps(operation)
    async def method(self: _Group, /, *args: P.args, **kwargs: P.kwargs) -> T:
        runner = self._runner
        return await runner.run(operation(runner.session, *args, **kwargs))

    return method


def _paged(
    first: Callable[Concatenate[Session, P], Steps[webhooks.Page]],
) -> Callable[Concatenate[_Group, P], AsyncIterator[Webhook]]:
    @wraps(first)
    async def method(self: _Group, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[Webhook]:
        runner = self._runner
        steps: Steps[webhooks.Page] | None = first(runner.session, *args, **kwargs)
        while steps is not None:
            page = await runner.run(steps)
            for webhook in page.webhooks:
                yield webhook
            steps = webhooks.next_page(runner.session, page)

    return method


class AsyncIdentities(_Group):
    """Persons' records."""

    create = _awaited(identities.create)
    get = _awaited(identities.get)
    erase = _awaited(identities.erase)


class AsyncVerifications(_Group):
    """Scorings of persons."""

    create = _awaited(verifications.create)
    get = _awaited(verifications.get)
    wait = _awaited(verifications.wait)
    erase_signals = _awaited(verifications.erase_signals)


class AsyncWebhooks(_Group):
    """Where events are sent."""

    create = _awaited(webhooks.create)
    get = _awaited(webhooks.get)
    update = _awaited(webhooks.update)
    delete = _awaited(webhooks.delete)
    list = _paged(webhooks.first_page)
    test = _awaited(webhooks.send_test)
    rotate_secret = _awaited(webhooks.rotate_secret)


class AsyncHealth(_Group):
    """The service itself."""

    live = _awaited(health.live)
    ready = _awaited(health.ready)


class AsyncClient:
    """A client of the scoring service for asyncio. Tasks may share it; connections are used again.

    Parameters
    ----------
    base_url : str
        Where the service is reached, such as ``https://scoring.example.com``.
    client_id, api_key : str
        The credentials.
    timeout : float
        Seconds to connect, and between two signs of life of an answer.
    retry : RetryPolicy or None
        When requests are sent again; None for the policy's own values.
    cache_entries : int
        How many answers are kept as long as the service allows; 0 keeps none.
    idempotency : bool
        Whether every POST without an idempotency key gets one. Without keys a POST whose answer was lost is
        not sent again.
    transport : httpx.AsyncBaseTransport or None
        For certificates, proxies or connection limits of your own.
    sleep : callable
        Waits for so many seconds. Awaited.
    monotonic : callable
        Seconds of a clock that never goes back.

    Attributes
    ----------
    identities : AsyncIdentities
    verifications : AsyncVerifications
    webhooks : AsyncWebhooks
    health : AsyncHealth

    Raises
    ------
    ValueError
        If the address or a credential can't be one.
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
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
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
