"""How far a search is: a bar for a person at a terminal, a line now and then for everybody else."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

Show = Callable[[int, float, float | None], None]
"""Takes the number of trials done, the seconds since the start, and the best value so far."""

LINE_SECONDS: Final = 30.0
"""Between two lines at least."""


@contextmanager
def show_progress(
    trials: int | None,
    budget_seconds: float | None,
    *,
    shown: bool,
    report: Callable[[str], None],
    console: Console | None = None,
) -> Iterator[Show]:
    """Show the trials done, the best value and the time left.

    Parameters
    ----------
    trials : int or None
        Number of trials to come to; None: the bar runs over `budget_seconds`.
    budget_seconds : float or None
    shown : bool
        Whether to show a bar; where the console is no terminal there is none.
    report : callable
        Told in a line of text where there is no bar, not more often than every `LINE_SECONDS`.
    console : rich.console.Console or None
        None: standard error.

    Yields
    ------
    Show
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
    task = bar.add_task("tuning", total=budget_seconds if trials is None else trials, text="")
    reported = time.monotonic()
    begun: int | None = None

    def show(done: int, elapsed: float, best: float | None) -> None:
        nonlocal reported, begun
        begun = done if begun is None else begun
        text = _text(done, best, _left(trials, budget_seconds, done, done - begun, elapsed))
        bar.update(task, completed=elapsed if trials is None else done, text=text)
        if not has_bar and time.monotonic() - reported >= LINE_SECONDS:
            reported = time.monotonic()
            report(f"tuning: {text}")

    with bar:
        yield show


def _left(
    trials: int | None, budget_seconds: float | None, done: int, made: int, elapsed: float
) -> float | None:
    """Seconds left: of the budget, or as the trials made so far took."""
    if trials is None:
        return max(0.0, (budget_seconds or 0.0) - elapsed)
    return elapsed / made * max(0, trials - done) if made else None


def _text(done: int, best: float | None, left: float | None) -> str:
    value = "none" if best is None else f"{best:.4f}"
    text = f"{done} trials, best {value}"
    if left is None:
        return text
    minutes, seconds = divmod(round(left), 60)
    return f"{text}, {minutes}:{seconds:02} left"
