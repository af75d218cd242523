"""Calls to a tracking server that may be unreachable, slow, or lost half-way."""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Final, TypeVar

from scoring_model.training.tracking.errors import TrackingError, summary_of

T = TypeVar("T")

_REQUEST_TIMEOUT: Final = "MLFLOW_HTTP_REQUEST_TIMEOUT"
_MAX_RETRIES: Final = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"
_MAX_REQUEST_SECONDS: Final = 60


def call_within(seconds: float, call: Callable[[], T]) -> T:
    """Call a function, and stop waiting for it after some time.

    The call runs in a daemon thread, which is abandoned when time is up, because timeouts of requests do not bound
    name resolution, databases, or responses that arrive byte by byte. What an abandoned call still writes is found
    by its key later.

    Parameters
    ----------
    seconds : float
        Of these, a single request may take a third, at most one minute, unless ``MLFLOW_HTTP_REQUEST_TIMEOUT`` is
        set.
    call : callable

    Raises
    ------
    TrackingError
        If the call fails or takes too long.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except Exception as error:
            future.set_exception(error)

    with _request_limits(min(seconds / 3, _MAX_REQUEST_SECONDS)):
        threading.Thread(target=run, name="tracking", daemon=True).start()
        if not wait([future], timeout=seconds).done:
            raise TrackingError(f"it took longer than {seconds:g} s")
    try:
        return future.result()
    except Exception as error:
        # The cause would show the credentials of the URI in a traceback.
        raise TrackingError(summary_of(error)) from None


@contextmanager
def _request_limits(seconds: float) -> Iterator[None]:
    """Limit the time of each request, and disable MLflow's retries.

    By default MLflow waits two minutes for a response and retries seven times. A retry after a lost response creates
    a second run.
    """
    before = {name: os.environ.get(name) for name in (_REQUEST_TIMEOUT, _MAX_RETRIES)}
    os.environ.setdefault(_REQUEST_TIMEOUT, str(max(1, int(seconds))))
    os.environ[_MAX_RETRIES] = "0"
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
