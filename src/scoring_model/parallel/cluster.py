"""Runs tasks on the workers of a Dask cluster, an existing or a local one. Needs the extra `[dask]`."""

import logging
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from importlib.metadata import requires
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

try:
    import dask
    from dask.utils import parse_timedelta
    from distributed import Client, Future, KilledWorker, LocalCluster
    from distributed.client import ClosedClientError, FutureCancelledError
    from distributed.comm import CommClosedError
    from distributed.versions import VersionMismatchWarning, get_package_info
    from packaging.requirements import Requirement
except ImportError as error:
    raise ImportError(f"--dask needs {error.name}: pip install 'scoring-model[dask]'") from error

from scoring_model.parallel.workers import LostWorker, Outcome, WorkerObject

T = TypeVar("T")

_LOCAL: Final = re.compile(r"local:([1-9]\d{0,3})")
_DISCONNECTED: Final = (FutureCancelledError, CommClosedError, ClosedClientError)
"""What distributed raises without its scheduler: which one depends on when the connection is lost."""

_CHECK_SECONDS: Final = 2.0
"""How often to ask for workers while no task ends."""


class DifferentVersions(ValueError):
    """A process of the cluster has other versions of packages than this one, or lacks one."""


def _patience() -> float:
    """Return how many seconds Dask is set to wait for a connection; workers are awaited as long."""
    return float(parse_timedelta(dask.config.get("distributed.comm.timeouts.connect")))


class Cluster:
    """Runs tasks on the workers of a scheduler, which have the same versions of all packages.

    Parameters
    ----------
    client : Client
        Connected to the scheduler.
    extra : str, optional
        Extra of this package that the tasks need, besides the packages that every installation has.

    Attributes
    ----------
    processes : int
        Threads of all workers when the run began, each of which runs one task at a time.
    objects : int
        The workers when the run began.

    Raises
    ------
    LostWorker
        If there is no worker.
    DifferentVersions
        If a process has other versions; the message names each process and package.
    """

    is_here = False

    def __init__(self, client: Client, *, extra: str | None = None) -> None:
        self._client = client
        self._address = str(client.scheduler.address)
        self._packages = _packages(extra)
        self._versions = get_package_info(self._packages)
        try:
            client.wait_for_workers(1, timeout=_patience())
        except TimeoutError:
            raise LostWorker(f"{self._address}: the scheduler has no workers") from None
        self._addresses = self._check_versions()
        self.objects = len(self._addresses)
        self.processes = sum(client.nthreads().values())

    def _check_versions(self) -> tuple[str, ...]:
        found = self._client.get_versions(packages=self._packages)
        places = {"scheduler": found["scheduler"], **found["workers"]}
        if different := [
            f"{place}: {line}"
            for place, versions in places.items()
            for line in _differences(self._versions, versions["packages"])
        ]:
            raise DifferentVersions(
                "the scheduler and all workers need the packages of this process:\n" + "\n".join(different)
            )
        return tuple(found["workers"])

    def run(self, function: Callable[..., T], tasks: Iterable[tuple[Any, ...]]) -> Iterator[tuple[int, T]]:
        """Call a function with the items of each task; see `Workers.run`.

        A task whose worker is lost runs again on another one, so it must be repeatable.

        Raises
        ------
        LostWorker
            If the scheduler or all workers are lost, or a task ended several workers.
        DifferentVersions
            If a worker that joined later has other versions.
        """
        left = enumerate(tasks)
        ended: SimpleQueue[Future] = SimpleQueue()
        under_way: dict[Future, int] = {}
        try:
            while True:
                threads = sum(self._workers().values())  # workers join at any time
                for place, task in islice(left, max(threads - len(under_way), 0 if under_way else 1)):
                    future = self._submit(_call, self._packages, self._versions, function, task)
                    under_way[future] = place
                    future.add_done_callback(ended.put)
                if not under_way:
                    return
                future = self._next(ended)
                place = under_way.pop(future)
                yield place, self._result(future).result()
        finally:
            if under_way and self._client.status == "running":
                self._client.cancel(list(under_way))

    @contextmanager
    def create(self, made: Callable[..., object], *arguments: Any) -> Iterator[list[WorkerObject]]:
        """Create an object in each worker; see `Workers.create`."""
        futures = [
            (address, self._submit(made, *arguments, workers=[address], actor=True))
            for address in self._addresses
        ]
        yield [
            _Actor(self, address, self.wait(address, partial(self._result, future)))
            for address, future in futures
        ]

    def wait(self, address: str, ask: Callable[[float], T]) -> T:
        """Ask for the result of a worker, with a limit of seconds, until there is one or the worker is lost."""
        while True:
            try:
                return ask(_CHECK_SECONDS)
            except TimeoutError:
                if address not in self._workers():
                    raise LostWorker(f"{address}: the worker was lost") from None

    def _submit(self, function: Callable[..., object], *arguments: Any, **options: Any) -> Future:
        try:
            return self._client.submit(function, *arguments, pure=False, **options)
        except _DISCONNECTED as error:
            raise self._lost() from error

    def _next(self, ended: SimpleQueue[Future]) -> Future:
        """Return the next task that ended, as long as there are workers: futures of a closed scheduler never end."""
        missing = 0.0
        while True:
            try:
                return ended.get(timeout=_CHECK_SECONDS)
            except Empty:
                missing = 0.0 if self._workers() else missing + _CHECK_SECONDS
            if missing >= _patience():
                raise LostWorker(f"{self._address}: all workers are gone")

    def _workers(self) -> Mapping[str, int]:
        if self._client.status != "running":
            raise self._lost()
        try:
            found: Mapping[str, int] = self._client.nthreads()
        except (OSError, RuntimeError) as error:  # distributed raises either for a closed connection
            raise self._lost() from error
        return found

    def _lost(self) -> LostWorker:
        return LostWorker(f"{self._address}: the connection to the scheduler was lost")

    def _result(self, future: Future, seconds: float | None = None) -> Any:
        try:
            return future.result(seconds)
        except _DISCONNECTED as error:
            raise self._lost() from error
        except KilledWorker as error:
            raise LostWorker(
                f"{self._address}: a task ended {error.allowed_failures + 1} workers: they were killed, or there was "
                "not enough memory (see --memory)"
            ) from error
        except ModuleNotFoundError as error:
            raise DifferentVersions(f"{self._address}: a worker has no package {error.name}") from error


class _Actor:
    """An object in a worker of the cluster."""

    def __init__(self, cluster: Cluster, address: str, actor: Any) -> None:
        self._cluster, self._address, self._actor = cluster, address, actor

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method; see `WorkerObject.call`."""
        try:
            return self._cluster.wait(self._address, getattr(self._actor, method)(*arguments).result)
        except LostWorker:
            raise
        except (OSError, RuntimeError) as error:  # distributed raises either for an actor without its worker
            raise LostWorker(f"{self._address}: the worker was lost: {error}") from error


@contextmanager
def connect(address: str, *, extra: str | None = None) -> Iterator[Cluster]:
    """Connect to a scheduler, or start a local one that ends with the block.

    Parameters
    ----------
    address : str
        Address of a scheduler, such as ``tcp://scheduler:8786``, or ``local:N`` for N processes on this machine.

    Raises
    ------
    ValueError
        If the address has another form.
    LostWorker, DifferentVersions
    """
    local = _LOCAL.fullmatch(address)
    if local is None and "://" not in address:
        raise ValueError(f"--dask must be like tcp://scheduler:8786 or local:2, got {address!r}")
    with _local(int(local[1])) if local else nullcontext(address) as place, _client(place) as client:
        yield Cluster(client, extra=extra)


def _local(processes: int) -> AbstractContextManager[Any]:
    """Start a scheduler that only this user can send tasks to, and processes of one thread."""
    # Parts are as large as --memory allows; a second limit would stop workers in the middle of one.
    cluster: AbstractContextManager[Any] = LocalCluster(
        n_workers=processes,
        threads_per_worker=1,
        memory_limit=0,
        # The scheduler serves its state over HTTP even without a dashboard, by default on a fixed port of all networks.
        scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
        security=True,
        silence_logs=logging.CRITICAL,  # errors of tasks are raised here
    )
    return cluster


@contextmanager
def _client(place: Any) -> Iterator[Client]:
    try:
        with warnings.catch_warnings():
            # All packages are compared afterwards, with an error.
            warnings.simplefilter("ignore", VersionMismatchWarning)
            client = Client(place)
    except OSError as error:
        raise LostWorker(f"{place}: the scheduler cannot be reached: {error}") from error
    logger = logging.getLogger("distributed.client")
    level = logger.level
    logger.setLevel(
        logging.CRITICAL
    )  # a lost scheduler is raised here; the client would log further attempts
    try:
        with client:
            yield client
    finally:
        logger.setLevel(level)


def _packages(extra: str | None) -> list[str]:
    """Return the names of this package and of those it requires with the extras."""
    found = [Requirement(text) for text in requires("scoring-model") or ()]
    extras = ["", "dask", *([] if extra is None else [extra])]
    return [
        "scoring-model",
        *(
            one.name
            for one in found
            if one.marker is None or any(one.marker.evaluate({"extra": name}) for name in extras)
        ),
    ]


def _differences(ours: Mapping[str, str | None], theirs: Mapping[str, str | None]) -> Iterator[str]:
    for name, version in ours.items():
        if theirs.get(name) != version:
            yield f"{name} {theirs.get(name) or 'is missing'}, here {version or 'it is missing'}"


def _call(
    packages: Sequence[str],
    versions: Mapping[str, str | None],
    function: Callable[..., T],
    task: tuple[Any, ...],
) -> Outcome[T]:
    """Run a task on a worker, which may have joined after the versions were compared."""
    if different := list(_differences(versions, get_package_info(packages))):
        raise DifferentVersions("a worker needs the packages of the client:\n" + "\n".join(different))
    return Outcome.of(function, task)
