"""A store of MLflow: a server, a database, or the SQLite file beside the bundles."""

import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scoring_model.training.tracking.errors import TrackingError

if TYPE_CHECKING:
    from mlflow import MlflowClient

DATABASE: Final = "mlflow.db"
ARTIFACTS: Final = "artifacts"


@dataclass(frozen=True, slots=True)
class Store:
    """A store that can be read and written.

    Attributes
    ----------
    client : MlflowClient
    uri : str
        Of tracking and registry.
    artifacts : str or None
        Where new experiments keep their artifacts; None: where the store says.
    """

    client: "MlflowClient"
    uri: str
    artifacts: str | None = None


def open_folder(folder: Path, *, create: bool) -> Store:
    """Open the SQLite store of a folder.

    Parameters
    ----------
    folder : Path
    create : bool
        Whether to make what is missing.

    Returns
    -------
    Store

    Raises
    ------
    TrackingError
        When there is none and none is to be made.
    """
    folder = folder.resolve()
    if create:
        folder.mkdir(parents=True, exist_ok=True)
    elif not (folder / DATABASE).is_file():
        raise TrackingError(f"{folder}: holds no {DATABASE}")
    store = open_uri(f"sqlite:///{folder / DATABASE}")
    # A database without a server would put artifacts into the working directory.
    return Store(store.client, store.uri, artifacts=(folder / ARTIFACTS).as_uri())


def open_uri(uri: str) -> Store:
    """Open what a URI names; a server is not asked anything yet.

    MLflow's globals are not touched. It takes seconds to import, reports its use if let, and prints where a run
    can be seen.
    """
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    os.environ["DO_NOT_TRACK"] = "true"
    os.environ["MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"] = "true"
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
    from mlflow import MlflowClient

    with warnings.catch_warnings():
        # MLflow's own tables use an option that SQLAlchemy 2.1 deprecates.
        warnings.filterwarnings("ignore", message="The ``noload`` loader strategy is deprecated")
        return Store(MlflowClient(tracking_uri=uri, registry_uri=uri), uri)


def pages(search: Callable[[str | None], Any]) -> Iterator[Any]:
    """Give what all pages of a search hold.

    Parameters
    ----------
    search : callable
        From the token of a page, None for the first, to that page.
    """
    token: str | None = None
    while True:
        page = search(token)
        yield from page
        token = page.token
        if not token:
            return
