"""How far a search is: a bar at a terminal, a line every half minute everywhere else."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

LINE_SECONDS: Final = 30.0
"""Between two lines."""

BAR_SECONDS: Final = 0.5
"""Between two updates of a bar."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Status:
    """How far a search is.

    Parameters
    ----------
    trials : int
        That are over.
    limit : int or None
        Trials to come to; None where time is the limit.
    best : float or None
        Best value so far.
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
    console : rich.console.Console or None
        None: standard error.
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
