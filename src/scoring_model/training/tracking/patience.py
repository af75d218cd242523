"""Calls to a server that may be away, slow, or gone in the middle."""

import os
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from scoring_model.training.tracking.errors import TrackingError, reason
from scoring_model.training.tracking.settings import Patience

T = TypeVar("T")


def patiently(call: Callable[[], T], patience: Patience) -> T:
    """Make a call that ends in time, whatever the other side does.

    It runs in a thread that is left behind when time is up: names that don't resolve, databases that don't answer
    and stores that answer a byte at a time have timeouts of their own, or none. What it may still write is found
    by its key later.

    Parameters
    ----------
    call : callable
        May be left in the middle.
    patience : Patience

    Returns
    -------
    object
        What the call gives.

    Raises
    ------
    TrackingError
        When it fails or takes too long, with the reason in a line.
    """
    answers: queue.SimpleQueue[tuple[T] | Exception] = queue.SimpleQueue()

    def run() -> None:
        try:
            answers.put((call(),))
        except Exception as error:
            answers.put(error)

    with _requests(patience):
        threading.Thread(target=run, name="tracking", daemon=True).start()
        try:
            answer = answers.get(timeout=patience.total)
        except queue.Empty:
            raise TrackingError(f"it took longer than {patience.total:g} s") from None
    if isinstance(answer, Exception):
        # The cause would show users and passwords of the URI in a traceback.
        raise TrackingError(reason(answer)) from None
    return answer[0]


@contextmanager
def _requests(patience: Patience) -> Iterator[None]:
    """Bound each request, and repeat none.

    By itself MLflow waits two minutes, seven times, and so makes a second run when the first was made and its
    answer lost.
    """
    ours = {
        "MLFLOW_HTTP_REQUEST_TIMEOUT": os.environ.get("MLFLOW_HTTP_REQUEST_TIMEOUT", str(patience.request)),
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    }
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
