"""The bar that a person at a terminal sees while parameters are searched."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def show_progress(
    trials: int | None, budget_seconds: float | None, *, shown: bool, console: Console | None = None
) -> Iterator[Callable[[int, float, float | None], None]]:
    """Show a bar with the trials done, the best value and the time left.

    Parameters
    ----------
    trials : int or None
        Number of trials to come to; None: the bar runs over `budget_seconds`.
    budget_seconds : float or None
    shown : bool
        Whether to show it; it is never shown where the console is no terminal.
    console : rich.console.Console or None
        None: standard error.

    Yields
    ------
    Callable
        To be called with the number of trials done, the seconds since the start and the best value so far.
    """
    console = console or Console(stderr=True)
    bar = Progress(
        TextColumn("tuning"),
        BarColumn(),
        TextColumn("{task.fields[trials]} trials, best {task.fields[best]}"),
        TimeRemainingColumn(),
        console=console,
        disable=not (shown and console.is_terminal),
    )
    task = bar.add_task("tuning", total=budget_seconds if trials is None else trials, trials=0, best="none")

    def show(done: int, elapsed: float, best: float | None) -> None:
        text = "none" if best is None else f"{best:.4f}"
        bar.update(task, completed=elapsed if trials is None else done, trials=done, best=text)

    with bar:
        yield show
