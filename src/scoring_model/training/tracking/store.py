"""Clients of MLflow stores: a server, a database, or the SQLite file beside the bundles."""

import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mlflow import MlflowClient

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
