"""State shared by both clients: credentials, idempotency keys, retries and cache, without I/O."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
from tenacity import RetryCallState, retry_if_exception

from scoring_model.client.cache import Cache, Kept
from scoring_model.client.errors import ApiError, TransportError, problem, unreadable
from scoring_model.client.request import Request, broken_rules
from scoring_model.client.retry import RetryPolicy, may_repeat

T = TypeVar("T")
_CREDENTIAL: Final = re.compile(r"[\x21-\x7e]{1,1024}", re.ASCII)
_KEY: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?", re.ASCII)
_NEVER_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_IDEMPOTENT: Final = frozenset({"GET", "PUT", "DELETE"})


@dataclass(frozen=True, slots=True)
class PreparedRequest(Generic[T]):
    """A request with its headers and content, the same for every attempt.

    Parameters
    ----------
    kept : Kept or None
        The cached answer.
    age : int
        Age of the cache at the start.
    began : float
        Start on the clock of the session.
    """

    request: Request[T]
    headers: dict[str, str] = field(repr=False)
    content: bytes | None = field(repr=False)
    kept: Kept | None
    age: int
    began: float

    @property
    def is_fresh(self) -> bool:
        """Whether the cached answer is fresh."""
        return self.kept is not None and self.began < self.kept.fresh_until

    def checked(self, response: httpx.Response) -> httpx.Response:
        """Return an answer, or raise its `ApiError`."""
        if response.status_code == httpx.codes.NOT_MODIFIED:
            is_answer = self.kept is not None
        else:
            is_answer = response.is_success or response.status_code in self.request.accepts
        if not is_answer:
            raise problem(response)
        return response


class Session:
    """The state of one client of one service; see `Client` for the parameters. Threads may share it."""

    def __init__(
        self,
        base_url: str,
        *,
        client_id: str,
        api_key: str,
        retry: RetryPolicy,
        cache_entries: int,
        idempotency: bool,
        monotonic: Callable[[], float],
    ) -> None:
        if cache_entries < 0:
            raise ValueError("cache_entries must be at least 0")
        self.base_url = _base(base_url)
        self.retry = retry
        self.now = monotonic
        self._credentials = {
            "x-client-id": _credential("client_id", client_id),
            "x-api-key": _credential("api_key", api_key),
        }
        self._cache = Cache(cache_entries)
        self._idempotency = idempotency

    def begin(self, request: Request[T]) -> PreparedRequest[T]:
        """Prepare a request; raises `TypeError` or `ValueError` if its body or key can't be sent."""
        kept = self._cache.get(request.path) if request.cached else None
        content = None
        if request.body is not None:
            given = {name: value for name, value in request.body.items() if value is not None}
            content = json.dumps(given, allow_nan=False, separators=(",", ":")).encode()
        return PreparedRequest(
            request, self._headers(request, kept), content, kept, self._cache.age, self.now()
        )

    def retrying(self, prepared: PreparedRequest[Any], seconds: float | None = None) -> dict[str, Any]:
        """Return tenacity's options: no attempt starts later than `seconds` from now, by default the policy's limit."""
        request, policy = prepared.request, self.retry
        repeatable = request.repeatable or "Idempotency-Key" in prepared.headers or request.method == "GET"
        idempotent = repeatable or request.method in _IDEMPOTENT
        last = self.now() + (policy.total_seconds if seconds is None else seconds)

        def wait(state: RetryCallState) -> float:
            failure = None if state.outcome is None else state.outcome.exception()
            stated = failure.retry_after if isinstance(failure, ApiError) else None
            return policy.backoff(state.attempt_number) if stated is None else stated

        def stop(state: RetryCallState) -> bool:
            return state.attempt_number >= policy.attempts or self.now() + state.upcoming_sleep > last

        def again(failure: BaseException) -> bool:
            return request.retried and may_repeat(failure, repeatable=repeatable, idempotent=idempotent)

        return {"wait": wait, "stop": stop, "retry": retry_if_exception(again), "reraise": True}

    def finish(self, prepared: PreparedRequest[T], response: httpx.Response) -> T:
        """Read an answer and cache it if allowed; raise `UnreadableAnswer` if it violates the interface."""
        request, kept = prepared.request, prepared.kept
        if response.status_code == httpx.codes.NOT_MODIFIED and kept is not None:
            value = kept.value
        else:
            try:
                value = request.read(response)
            except ValueError as error:
                raise unreadable(response, broken_rules(error)) from None
        if request.cached:
            self._cache.put(request.path, value, response, now=prepared.began, age=prepared.age)
        return value  # type: ignore[no-any-return]

    def end(self, prepared: PreparedRequest[Any]) -> None:
        """Clear the cache if the request may have changed resources, even if it failed."""
        if prepared.request.clears:
            self._cache.clear()

    def _headers(self, request: Request[Any], kept: Kept | None) -> dict[str, str]:
        headers = {"Accept": "application/json, application/problem+json"}
        if request.credentials:
            headers |= self._credentials
        key = request.idempotency_key
        if key is None and self._idempotency and request.method == "POST":
            key = str(uuid4())
        if key is not None:
            if not _KEY.fullmatch(key):
                raise ValueError(
                    "idempotency_key must be 1 to 255 printable ASCII characters without outer spaces"
                )
            headers["Idempotency-Key"] = key
        if kept is not None and kept.etag is not None:
            headers["If-None-Match"] = kept.etag
        if request.body is not None:
            headers["Content-Type"] = "application/json"
        return headers


def transport_error(error: httpx.RequestError) -> TransportError:
    """Make the error of a request without an answer."""
    return TransportError(type(error).__name__, sent=not isinstance(error, _NEVER_SENT))


def _base(text: str) -> str:
    try:
        url, parts = httpx.URL(text), urlsplit(text)
        sound = url.scheme in {"http", "https"} and parts.hostname and not url.userinfo
    except (httpx.InvalidURL, ValueError):
        sound = False
    if not sound or "?" in text or "#" in text:
        raise ValueError("base_url must be http or https, with a host, without user, query and fragment")
    return text


def _credential(name: str, text: str) -> str:
    if not _CREDENTIAL.fullmatch(text):
        raise ValueError(f"{name} must be printable ASCII without spaces")
    return text
