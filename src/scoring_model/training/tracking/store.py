"""Clients of MLflow stores: a server, a database, or the SQLite file beside the bundles."""

import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mlflow import MlflowClient
import re
import threading
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import TypeVar

DATABASE: Final = "mlflow.db"
ARTIFACTS: Final = "artifacts"


def uri_of(folder: Path) -> str:
    """Return the URI of the SQLite store of a folder."""
    return f"sqlite:///{folder.resolve() / DATABASE}"


def client_of(uri: str) -> "MlflowClient":
    """Make a client for tracking and registry; a server gets no request yet, a database is created if missing.

    MLflow is imported here because that takes seconds. Its telemetry and the messages that it prints are disabled.
    """
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    os.environ["DO_NOT_TRACK"] = "true"
    os.environ["MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"] = "true"
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
    from mlflow import MlflowClient

    with warnings.catch_warnings():
        # MLflow's own tables use an option that SQLAlchemy 2.1 deprecates.
        warnings.filterwarnings("ignore", message="The ``noload`` loader strategy is deprecated")
        return MlflowClient(tracking_uri=uri, registry_uri=uri)


def pages(search: Callable[..., Any], *arguments: Any, **options: Any) -> Iterator[Any]:
    """Yield the results of all pages of one of the client's search methods."""
    token: str | None = None
    while True:
        page = search(*arguments, page_token=token, **options)
        yield from page
        token = page.token
        if not token:
            return


_USERINFO: Final = re.compile(r"(?<=://)[^/@\s]+@")
_HALF: Final = 120


class TrackingError(ValueError):
    """A run could not be logged, or a store could not be read. The bundle is not affected."""


def without_credentials(text: str) -> str:
    """Remove user and password from every URL in a text.

    Examples
    --------
    >>> without_credentials("https://risk:s3cret@mlflow.example/api")
    'https://mlflow.example/api'
    """
    return _USERINFO.sub("", text)


def summary_of(error: Exception) -> str:
    """Summarise an error in one line without credentials.

    A long text, such as a server's error page, is cut in the middle, because its cause often stands at the end.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = without_credentials(lines[0] if lines else type(error).__name__)
    return text if len(text) <= 2 * _HALF else f"{text[:_HALF]} ... {text[-_HALF:]}"


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
