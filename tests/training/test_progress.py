import io

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


@pytest.mark.parametrize("limits", [(4, None), (None, 60.0)])
def test_a_terminal_shows_the_best_value(limits: tuple[int | None, float | None]) -> None:
    """The bar names the trials done and the best value, whatever limits the search."""
    to = console(terminal=True)
    with show_progress(*limits, shown=True, console=to) as show:
        show(0, 0.0, None)
        show(2, 1.5, 0.61257)
    assert "2 trials, best 0.6126" in written(to)


@pytest.mark.parametrize(("terminal", "shown"), [(False, True), (True, False), (False, False)])
def test_nothing_is_shown_unasked_or_to_a_file(terminal: bool, shown: bool) -> None:
    """Only a terminal where a bar is wanted gets one."""
    to = console(terminal=terminal)
    with show_progress(4, None, shown=shown, console=to) as show:
        show(2, 1.5, 0.6)
    assert written(to) == ""
