"""Tell servers of the runs that a folder keeps."""

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scoring_model.training.tracking.errors import TrackingError, masked, reason
from scoring_model.training.tracking.patience import patiently
from scoring_model.training.tracking.reading import Keeping, Kept, read_folder
from scoring_model.training.tracking.settings import Patience
from scoring_model.training.tracking.store import open_uri
from scoring_model.training.tracking.tracking import TrackedRun
from scoring_model.training.tracking.writing import Written, write

PATIENCE = Patience(request=60, total=600.0)
"""Nobody waits for a bundle here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Synced:
    """What a sync did.

    Attributes
    ----------
    copied : tuple of TrackedRun
        Runs that it wrote or finished, where they are now.
    present : int
        Runs that were there already.
    unaddressed : int
        Runs that are meant for no server, when none was named.
    incomplete : int
        Runs that broke off when they were written into the folder.
    """

    copied: tuple[TrackedRun, ...]
    present: int
    unaddressed: int
    incomplete: int


def sync(
    folder: Path,
    *,
    uri: str | None = None,
    patience: Patience = PATIENCE,
    report: Callable[[str], None] = lambda text: None,
) -> Synced:
    """Copy each run of a folder that its server does not have yet; the folder is not changed.

    Parameters
    ----------
    folder : Path
        As `track` left it, here or on another machine.
    uri : str, optional
        Server or database for all runs; by default each goes to the one that it was meant for.
    patience : Patience
        With each run.
    report : callable
        Told of each copy in a line of text.

    Returns
    -------
    Synced

    Raises
    ------
    TrackingError
        When the folder can't be read, or, after everything else was copied, when a server could not be told.
    """
    with _alone(folder):
        keeping = _read(folder)
        copied: list[TrackedRun] = []
        problems: list[str] = []
        present = unaddressed = 0
        for target, runs in _by_target(keeping.runs, uri).items():
            if target is None:
                unaddressed = len(runs)
                continue
            try:
                for written in _copies(target, runs, patience):
                    present += written.was_there
                    if not written.was_there:
                        copied.append(_told(target, written))
                        report(f"run {written.run_id}, version {written.model_version}: {masked(target)}")
            except TrackingError as error:
                problems.append(f"{masked(target)}: {error}")
    if problems:
        raise TrackingError(f"{len(copied)} runs copied, {present} were there; " + "; ".join(problems))
    return Synced(
        copied=tuple(copied), present=present, unaddressed=unaddressed, incomplete=keeping.incomplete
    )


def _read(folder: Path) -> Keeping:
    try:
        return read_folder(folder)
    except TrackingError:
        raise
    except Exception as error:  # of MLflow, the database or the disk
        raise TrackingError(f"{folder}: {reason(error)}") from error


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait for another sync of the same folder: two at once would each find nothing and copy everything."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise TrackingError(f"{folder}: {error.strerror}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _by_target(runs: Sequence[Kept], uri: str | None) -> dict[str | None, list[Kept]]:
    targets: dict[str | None, list[Kept]] = {}
    for run in runs:
        targets.setdefault(uri or run.meant_for, []).append(run)
    return targets


def _copies(target: str, runs: Sequence[Kept], patience: Patience) -> Iterator[Written]:
    """Write runs one after the other, older trainings first, so that versions are numbered in their order."""
    store = patiently(partial(open_uri, target), patience)
    for run in runs:
        yield patiently(partial(write, store, run.telling), patience)


def _told(target: str, written: Written) -> TrackedRun:
    return TrackedRun(run_id=written.run_id, model_version=written.model_version, uri=masked(target))
