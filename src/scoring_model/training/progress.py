"""Progress of a search, with an estimate of the time left: a bar at a terminal, elsewhere a line every half minute."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

_PRIOR_WEIGHT: Final = 4
"""Trials that the prior of `_survival` is worth."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialTime:
    """The time that a trial has taken so far.

    Parameters
    ----------
    seconds : tuple of float
        Of each rung that it has reached.
    ended : bool
        Whether it is over: pruned at its last rung, or complete.
    running : float
        Seconds since its last rung, or since its start; 0 when it is over.
    """

    seconds: tuple[float, ...]
    ended: bool
    running: float = 0.0


def seconds_left(
    trials: Sequence[TrialTime], *, rungs: int | None, to_begin: int, processes: int, reduction_factor: int
) -> float | None:
    """Estimate the time that a search will still take.

    A trial to come costs the mean time of each rung, times the chance that it gets there.

    Parameters
    ----------
    trials : sequence of TrialTime
        Those that are over and those under way.
    rungs : int or None
        That a trial has, one of `trials` having reached them all; None before.

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
    """Chance that a trial goes on from a rung: as often as seen, beginning with one in `reduction_factor`."""
    judged = [trial for trial in trials if len(trial.seconds) > rung]
    went_on = [trial for trial in judged if len(trial.seconds) > rung + 1 or not trial.ended]
    return (len(went_on) + _PRIOR_WEIGHT / reduction_factor) / (len(judged) + _PRIOR_WEIGHT)


def _rest(trial: TrialTime, costs: Sequence[float], onward: Sequence[float]) -> float:
    """Seconds that a trial under way still needs; the rung that it is on may have taken longer than expected."""
    rung = len(trial.seconds)
    return max(costs[rung] - trial.running, 0.0) + onward[rung] - costs[rung]


LINE_SECONDS: Final = 30.0
"""Between two lines."""

BAR_SECONDS: Final = 0.5
"""Between two updates of a bar."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Status:
    """The progress of a search.

    Parameters
    ----------
    limit : int or None
        Trials to come to; None where time is the limit.
    share : float
        Of the trials or of the time, in [0, 1].
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
        return f"{trials}, best {best}, {self._time_left()}"

    def _time_left(self) -> str:
        if self.seconds_left is None:
            return "estimating the time left"
        minutes, seconds = divmod(round(self.seconds_left), 60)
        hours, minutes = divmod(minutes, 60)
        clock = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
        return f"about {clock} left"


@contextmanager
def show_progress(
    status: Callable[[], Status],
    *,
    shown: bool,
    report: Callable[[str], None],
    console: Console | None = None,
) -> Iterator[None]:
    """Show the status of a search from a thread of its own, however long a trial takes.

    Parameters
    ----------
    status : callable
        Called from that thread.
    shown : bool
        Whether to show a bar; where the console is no terminal there is none.
    report : callable
        Gets a line of text every `LINE_SECONDS` where there is no bar. What it raises is raised at the end.
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
