"""The client for programs that wait for each answer."""

import time
from collections.abc import Callable, Iterator
from functools import wraps
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

import httpx

from scoring_model.client.operations import health, identities, verifications, webhooks
from scoring_model.client.request import Attempt, Steps
from scoring_model.client.retry import RetryPolicy
from scoring_model.client.session import Session
from scoring_model.client.webhook import Webhook

P = ParamSpec("P")
T = TypeVar("T")


class Runner:
    """Does what the steps of a session say.

    Parameters
    ----------
    session : Session
    http : httpx.Client
    sleep : callable
        Waits for so many seconds.
    """

    def __init__(self, session: Session, http: httpx.Client, sleep: Callable[[float], object]) -> None:
        self.session = session
        self.http = http
        self._sleep = sleep

    def run(self, steps: Steps[T]) -> T:
        """Go through the steps; return what they come to."""
        try:
            attempt = next(steps)
            while True:
                attempt = steps.send(self._attempt(attempt))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        finally:
            steps.close()

    def _attempt(self, attempt: Attempt) -> httpx.Response | httpx.RequestError:
        if attempt.delay > 0:
            self._sleep(attempt.delay)
        call = attempt.call
        try:
            return self.http.request(call.method, call.url, headers=call.headers, content=call.content)
        except httpx.RequestError as error:
            return error


class _Group:
    def __init__(self, runner: Runner) -> None:
        self._runner = runner


def _blocking(
    operation: Callable[Concatenate[Session, P], Steps[T]],
) -> Callable[Concatenate[_Group, P], T]:
    @wraps(operation)
    def method(self: _Group, /, *args: P.args, **kwargs: P.kwargs) -> T:
        runner = self._runner
        return runner.run(operation(runner.session, *args, **kwargs))

    return method


def _paged(
    first: Callable[Concatenate[Session, P], Steps[webhooks.Page]],
) -> Callable[Concatenate[_Group, P], Iterator[Webhook]]:
    @wraps(first)
    def method(self: _Group, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[Webhook]:
        runner = self._runner
        steps: Steps[webhooks.Page] | None = first(runner.session, *args, **kwargs)
        while steps is not None:
            page = runner.run(steps)
            yield from page.webhooks
            steps = webhooks.next_page(runner.session, page)

    return method


class Identities(_Group):
    """Persons' records."""

    create = _blocking(identities.create)
    get = _blocking(identities.get)
    erase = _blocking(identities.erase)


class Verifications(_Group):
    """Scorings of persons."""

    create = _blocking(verifications.create)
    get = _blocking(verifications.get)
    wait = _blocking(verifications.wait)
    erase_signals = _blocking(verifications.erase_signals)


class Webhooks(_Group):
    """Where events are sent."""

    create = _blocking(webhooks.create)
    get = _blocking(webhooks.get)
    update = _blocking(webhooks.update)
    delete = _blocking(webhooks.delete)
    list = _paged(webhooks.first_page)
    test = _blocking(webhooks.send_test)
    rotate_secret = _blocking(webhooks.rotate_secret)


class Health(_Group):
    """The service itself."""

    live = _blocking(health.live)
    ready = _blocking(health.ready)


class Client:
    """A client of the scoring service. Threads may share it; connections are used again.

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
    transport : httpx.BaseTransport or None
        For certificates, proxies or connection limits of your own.
    sleep : callable
        Waits for so many seconds.
    monotonic : callable
        Seconds of a clock that never goes back.

    Attributes
    ----------
    identities : Identities
    verifications : Verifications
    webhooks : Webhooks
    health : Health

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
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], object] = time.sleep,
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
