import io
import time

import pytest
from rich.console import Console

from scoring_model.training.progress import show_progress


def console(*, terminal: bool) -> Console:
    """Make a console that writes into memory."""
    return Console(file=io.StringIO(), force_terminal=terminal, width=100)


def written(to: Console) -> str:
    """Give what was written to it."""
    assert isinstance(to.file, io.StringIO)
    return to.file.getvalue()


@pytest.mark.parametrize(("limits", "left"), [((4, None), "0:02 left"), ((None, 60.0), "0:58 left")])
def test_a_terminal_shows_the_best_value(limits: tuple[int | None, float | None], left: str) -> None:
    """The bar names the trials done, the best value and the time left, whatever limits the search."""
    to, lines = console(terminal=True), list[str]()
    with show_progress(*limits, shown=True, report=lines.append, console=to) as show:
        show(0, 0.0, None)
        show(2, 1.5, 0.61257)
    assert f"2 trials, best 0.6126, {left}" in written(to)
    assert lines == []


@pytest.mark.parametrize(("terminal", "shown"), [(False, True), (True, False), (False, False)])
def test_nothing_is_shown_unasked_or_to_a_file(terminal: bool, shown: bool) -> None:
    """Only a terminal where a bar is wanted gets one."""
    to, lines = console(terminal=terminal), list[str]()
    with show_progress(4, None, shown=shown, report=lines.append, console=to) as show:
        show(2, 1.5, 0.6)
    assert written(to) == ""
    assert lines == []  # the first half minute is not over


def test_without_a_bar_a_line_comes_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search of ten minutes that is told of every second reports every half minute, with the time left.

    Trials of an earlier run count, but not for how long one takes.
    """
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    lines: list[str] = []
    with show_progress(640, None, shown=True, report=lines.append, console=console(terminal=False)) as show:
        for second in range(601):
            now[0] = float(second)
            show(40 + second, now[0], None if second < 100 else 0.5)
    assert len(lines) == 20
    assert lines[0] == "tuning: 70 trials, best none, 9:30 left"
    assert lines[-1] == "tuning: 640 trials, best 0.5000, 0:00 left"
