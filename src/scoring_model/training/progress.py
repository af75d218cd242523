"""Progress of a search with the estimated time left: a bar on a terminal, else a line every half minute."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from scoring_model.parallel.progress import Report, time_left

_PRIOR_WEIGHT: Final = 4
"""Weight of the prior of `_survival`, in trials."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialTime:
    """The time that a trial has taken so far.

    Parameters
    ----------
    seconds : tuple of float
        Seconds of each rung reached.
    ended : bool
        Whether it has ended: pruned at its last rung, or complete.
    running : float
        Seconds since its last rung, or since its start; 0 after its end.
    """

    seconds: tuple[float, ...]
    ended: bool
    running: float = 0.0


def seconds_left(
    trials: Sequence[TrialTime], *, rungs: int | None, to_begin: int, processes: int, reduction_factor: int
) -> float | None:
    """Estimate the remaining time of a search.

    A future trial costs the mean time of each rung times the probability of reaching it.

    Parameters
    ----------
    trials : sequence of TrialTime
        Ended and running trials.
    rungs : int or None
        Number of rungs of a trial; None until one of `trials` has reached all.

    Returns
    -------
    float or None
        Seconds, at least 0; None while the cost of the last rung is not known.
    """
    if rungs is None:
        return None
    costs = [
        float(np.mean([trial.seconds[rung] for trial in trials if len(trial.seconds) > rung]))
        for rung in range(rungs)
    ]
    survival = [_survival(trials, rung, reduction_factor) for rung in range(rungs - 1)]
    onward = [0.0]  # expected seconds from the start of each rung on, and 0 after the last one
    for cost, chance in zip(reversed(costs), [0.0, *reversed(survival)], strict=True):
        onward.insert(0, cost + chance * onward[0])
    under_way = [_rest(trial, costs, onward) for trial in trials if not trial.ended]
    total = to_begin * onward[0] + sum(under_way)
    return max([total / processes, *under_way])


def _survival(trials: Sequence[TrialTime], rung: int, reduction_factor: int) -> float:
    """Estimate the probability of continuing from a rung: the observed rate with a prior of 1 / `reduction_factor`."""
    judged = [trial for trial in trials if len(trial.seconds) > rung]
    went_on = [trial for trial in judged if len(trial.seconds) > rung + 1 or not trial.ended]
    return (len(went_on) + _PRIOR_WEIGHT / reduction_factor) / (len(judged) + _PRIOR_WEIGHT)


def _rest(trial: TrialTime, costs: Sequence[float], onward: Sequence[float]) -> float:
    """Estimate the remaining seconds of a running trial; its current rung may have taken longer than expected."""
    rung = len(trial.seconds)
    return max(costs[rung] - trial.running, 0.0) + onward[rung] - costs[rung]


LINE_SECONDS: Final = 30.0
"""Seconds between two lines."""

BAR_SECONDS: Final = 0.5
"""Seconds between two updates of a bar."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Status:
    """The progress of a search.

    Parameters
    ----------
    limit : int or None
        Total number of trials; None if time is the limit.
    share : float
        Completed share of the trials or of the time, in [0, 1].
    seconds_left : float or None
        None while it can't be estimated.
    """

    trials: int
    limit: int | None
    best: float | None
    share: float
    seconds_left: float | None

    def __str__(self) -> str:
        trials = f"{self.trials} trials" if self.limit is None else f"{self.trials} of {self.limit} trials"
        best = "none" if self.best is None else f"{self.best:.4f}"
        left = "estimating the time left" if self.seconds_left is None else time_left(self.seconds_left)
        return f"{trials}, best {best}, {left}"


@contextmanager
def show_progress(
    status: Callable[[], Status],
    *,
    shown: bool,
    report: Report,
    console: Console | None = None,
) -> Iterator[None]:
    """Show the status of a search from a separate thread, so that long trials do not delay it.

    Parameters
    ----------
    status : callable
        Called from that thread.
    shown : bool
        Whether to show a bar; ignored if the console is not a terminal.
    report : callable
        Gets a line of text every `LINE_SECONDS` if there is no bar. Its exceptions are raised at the end.
    """
    console = console or Console(stderr=True)
    has_bar = shown and console.is_terminal
    bar = Progress(
        TextColumn("tuning"),
        BarColumn(),
        TextColumn("{task.fields[text]}"),
        console=console,
        disable=not has_bar,
    )
    task = bar.add_task("tuning", total=1.0, text="")
    over = threading.Event()

    def update() -> None:
        now = status()
        if has_bar:
            bar.update(task, completed=now.share, text=str(now))
        else:
            report(f"tuning: {now}")

    def keep_updating() -> None:
        while not over.wait(BAR_SECONDS if has_bar else LINE_SECONDS):
            update()

    with bar, ThreadPoolExecutor(1) as pool:
        updates = pool.submit(keep_updating)
        try:
            yield
        finally:
            over.set()
        updates.result()
        if has_bar:
            update()
