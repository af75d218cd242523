"""What both clients do between a question and its answer: credentials, keys, retries, the cache.

Nothing here sends or waits. `Session.exchange` says what to do, and `Client` or `AsyncClient` does it.
"""

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

import httpx

from scoring_model.client.cache import Cache, Kept
from scoring_model.client.errors import ApiError, TransportError
from scoring_model.client.fields import Malformed
from scoring_model.client.problem import problem, unreadable
from scoring_model.client.request import Attempt, Call, Request, Steps, checked_key, encoded
from scoring_model.client.retry import RetryPolicy, may_repeat

T = TypeVar("T")
_CREDENTIAL: Final = re.compile(r"[\x21-\x7e]{1,1024}", re.ASCII)
_NEVER_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_IDEMPOTENT: Final = frozenset({"GET", "PUT", "DELETE"})


class Session:
    """One client's dealings with one service. Threads may share it.

    Parameters
    ----------
    base_url : str
        http or https, perhaps with a path.
    client_id, api_key : str
        The credentials.
    retry : RetryPolicy
    cache_entries : int
        How many answers are kept at most; 0 keeps none.
    idempotency : bool
        Whether a POST without an idempotency key gets one.
    monotonic : callable
        Seconds of a clock that never goes back.

    Raises
    ------
    ValueError
        If the address or a credential can't be one. The text does not repeat it.
    """

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

    def exchange(self, request: Request[T], *, delay: float = 0.0, seconds: float | None = None) -> Steps[T]:
        """Ask the service, again where that is allowed and may help.

        Parameters
        ----------
        request : Request
        delay : float
            Seconds to wait before the first attempt.
        seconds : float or None
            No attempt starts later than this from now; None for what the retry policy says.

        Returns
        -------
        T
            What was read from the answer.

        Raises
        ------
        ApiError
            If the service refused.
        TransportError
            If no answer came.
        """
        kept = self._kept(request)
        if kept is not None and self.now() < kept.fresh_until:
            return kept.value  # type: ignore[no-any-return]
        age, asked = self._cache.age, self.now()
        try:
            response = yield from self._answered(request, kept, delay, seconds)
        finally:
            if request.clears:
                self._cache.clear()
        value = _value(request, response, kept)
        if request.cached:
            self._cache.put(request.path, value, response, now=asked, age=age)
        return value

    def _kept(self, request: Request[Any]) -> Kept | None:
        return self._cache.get(request.path) if request.cached else None

    def _answered(
        self, request: Request[Any], kept: Kept | None, delay: float, seconds: float | None
    ) -> Steps[httpx.Response]:
        call = self._call(request, kept)
        last = self.now() + (self.retry.total_seconds if seconds is None else seconds)
        attempt = 0
        while True:
            answer = yield Attempt(call, delay)
            if isinstance(answer, httpx.Response) and _is_answer(answer, request, kept):
                return answer
            attempt += 1
            failure = _failure(answer)
            delay = self._delay(failure, attempt)
            if not self._again(failure, call, request, attempt) or self.now() + delay > last:
                raise failure from (answer if isinstance(answer, httpx.RequestError) else None)

    def _delay(self, failure: ApiError | TransportError, attempt: int) -> float:
        stated = failure.retry_after if isinstance(failure, ApiError) else None
        return self.retry.backoff(attempt) if stated is None else stated

    def _again(
        self, failure: ApiError | TransportError, call: Call, request: Request[Any], attempt: int
    ) -> bool:
        keyed = "Idempotency-Key" in call.headers
        repeatable = request.repeatable or keyed or request.method == "GET"
        idempotent = repeatable or request.method in _IDEMPOTENT
        return attempt < self.retry.attempts and may_repeat(
            failure, repeatable=repeatable, idempotent=idempotent
        )

    def _call(self, request: Request[Any], kept: Kept | None) -> Call:
        headers = {"Accept": "application/json, application/problem+json"}
        if request.credentials:
            headers |= self._credentials
        if request.method == "POST":
            headers |= self._idempotency_key(request)
        if kept is not None and kept.etag is not None:
            headers["If-None-Match"] = kept.etag
        content = None
        if request.body is not None:
            content = encoded(request.body)
            headers["Content-Type"] = "application/json"
        return Call(request.method, request.path, request.query, headers, content)

    def _idempotency_key(self, request: Request[Any]) -> dict[str, str]:
        if request.idempotency_key is not None:
            return {"Idempotency-Key": checked_key(request.idempotency_key)}
        return {"Idempotency-Key": str(uuid4())} if self._idempotency else {}


def _is_answer(response: httpx.Response, request: Request[Any], kept: Kept | None) -> bool:
    if response.status_code == httpx.codes.NOT_MODIFIED:
        return kept is not None
    return response.is_success or response.status_code in request.accepts


def _failure(answer: httpx.Response | httpx.RequestError) -> ApiError | TransportError:
    if isinstance(answer, httpx.Response):
        return problem(answer)
    return TransportError(type(answer).__name__, sent=not isinstance(answer, _NEVER_SENT))


def _value(request: Request[T], response: httpx.Response, kept: Kept | None) -> T:
    if response.status_code == httpx.codes.NOT_MODIFIED and kept is not None:
        return kept.value  # type: ignore[no-any-return]
    try:
        return request.read(response)
    except Malformed as error:
        raise unreadable(response, str(error)) from None


def _base(text: str) -> str:
    if not _is_base(text):
        raise ValueError("base_url must be http or https, with a host, without user, query and fragment")
    return text


def _is_base(text: str) -> bool:
    try:
        url, parts = httpx.URL(text), urlsplit(text)
    except (httpx.InvalidURL, ValueError):
        return False
    sound = url.scheme in {"http", "https"} and parts.hostname and not url.userinfo
    return bool(sound) and "?" not in text and "#" not in text


def _credential(name: str, text: str) -> str:
    if not _CREDENTIAL.fullmatch(text):
        raise ValueError(f"{name} must be printable ASCII without spaces")
    return text
