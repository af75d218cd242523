"""The blocking client."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx
from tenacity import Retrying

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
class Runner:
    """Sends requests and retries."""

    session: Session
    http: httpx.Client
    sleep: Callable[[float], None]

    def run(self, request: Request[T], seconds: float | None = None) -> T:
        """Send a request, with retries where they are safe; return the value of its answer."""
        prepared = self.session.begin(request)
        if prepared.is_fresh:
            return prepared.kept.value  # type: ignore[union-attr, no-any-return]
        retrying = Retrying(sleep=self.sleep, **self.session.retrying(prepared, seconds))
        try:
            response = retrying(self._attempt, prepared)
        finally:
            self.session.end(prepared)
        return self.session.finish(prepared, response)

    def wait(self, polling: Polling) -> Verification:
        """Read a verification until it is finished."""
        if polling.finished is not None:
            return polling.finished
        self.sleep(polling.first_delay)

        def poll() -> Verification:
            return self.run(polling.request, polling.left)

        return Retrying(sleep=self.sleep, **polling.retrying())(poll)

    def _attempt(self, prepared: PreparedRequest[Any]) -> httpx.Response:
        request = prepared.request
        try:
            response = self.http.request(
                request.method, request.path, headers=prepared.headers, content=prepared.content
            )
        except httpx.RequestError as error:
            raise transport_error(error) from error
        return prepared.checked(response)


class _BlockingGroup:
    def __init__(self, runner: Runner) -> None:
        self._runner = runner


def _blocking(operation: Callable[P, Request[T]]) -> Callable[Concatenate[_BlockingGroup, P], T]:
    def method(self: _BlockingGroup, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._runner.run(operation(*args, **kwargs))

    return as_method(method, operation)


def _paged(first: Callable[P, Request[Page[T]]]) -> Callable[Concatenate[_BlockingGroup, P], Iterator[T]]:
    def method(self: _BlockingGroup, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        request: Request[Page[T]] | None = first(*args, **kwargs)
        while request is not None:
            page = self._runner.run(request)
            yield from page.items
            request = page.following

    return as_method(method, first)


def _waiting(
    start: Callable[Concatenate[Session, P], Polling],
) -> Callable[Concatenate[_BlockingGroup, P], Verification]:
    @wraps(start)
    def method(self: _BlockingGroup, /, *args: P.args, **kwargs: P.kwargs) -> Verification:
        return self._runner.wait(start(self._runner.session, *args, **kwargs))

    return method


class Identities(_BlockingGroup):
    """Persons' records."""

    create = _blocking(identities.create)
    get = _blocking(identities.get)
    list = _paged(identities.list_all)
    erase = _blocking(identities.erase)


class Verifications(_BlockingGroup):
    """Scorings of persons."""

    create = _blocking(verifications.create)
    get = _blocking(verifications.get)
    list = _paged(verifications.list_all)
    wait = _waiting(verifications.wait)
    erase_signals = _blocking(verifications.erase_signals)


class Webhooks(_BlockingGroup):
    """Where events are sent."""

    create = _blocking(webhooks.create)
    get = _blocking(webhooks.get)
    update = _blocking(webhooks.update)
    delete = _blocking(webhooks.delete)
    list = _paged(webhooks.list_all)
    deliveries = _paged(webhooks.deliveries)
    test = _blocking(webhooks.send_test)
    rotate_secret = _blocking(webhooks.rotate_secret)


class Labels(_BlockingGroup):
    """What became known about verifications."""

    create = _blocking(labels.create)


class Resolutions(_BlockingGroup):
    """How step-ups and reviews ended."""

    create = _blocking(resolutions.create)
    list = _blocking(resolutions.list_of)


class Lists(_BlockingGroup):
    """Values whose applicants pass, are stepped up or fail."""

    add = _blocking(lists.add)
    remove = _blocking(lists.remove)
    list = _blocking(lists.list_all)


class Health(_BlockingGroup):
    """The service itself."""

    live = _blocking(health.live)
    ready = _blocking(health.ready)


class Client:
    """A client of the scoring service. Threads may share it; connections are reused.

    Parameters
    ----------
    base_url : str
        Base URL of the service, such as ``https://scoring.example.com``.
    client_id, api_key : str
        The credentials.
    timeout : float
        Seconds to connect, and between two reads of a response.
    retry : RetryPolicy or None
        None for the default policy.
    cache_entries : int
        Maximum number of cached answers; 0 turns the cache off.
    idempotency : bool
        Whether every POST without an idempotency key gets one. Without a key, a POST whose answer was lost is not
        retried.
    transport : httpx.BaseTransport or None
        For certificates, proxies or connection limits of your own.
    sleep : callable
        Waits for a number of seconds.
    monotonic : callable
        Returns the seconds of a monotonic clock.

    Raises
    ------
    ValueError
        If the base URL or a credential is malformed.
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
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
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
        http = httpx.Client(
            base_url=session.base_url, timeout=timeout, transport=transport, follow_redirects=False
        )
        self._runner = Runner(session, http, sleep)
        self.identities = Identities(self._runner)
        self.verifications = Verifications(self._runner)
        self.webhooks = Webhooks(self._runner)
        self.labels = Labels(self._runner)
        self.resolutions = Resolutions(self._runner)
        self.lists = Lists(self._runner)
        self.health = Health(self._runner)

    def close(self) -> None:
        """Close the connections."""
        self._runner.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._runner.session.base_url!r})"
