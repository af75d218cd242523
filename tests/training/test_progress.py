"""What a search shows of itself: a bar at a terminal, lines elsewhere."""

import io
import threading

import pytest
from rich.console import Console

from scoring_model.training import progress
from scoring_model.training.progress import Status, show_progress


def console(*, terminal: bool) -> Console:
    """Make a console that writes into memory."""
    return Console(file=io.StringIO(), force_terminal=terminal, width=100)


def written(to: Console) -> str:
    """Give what was written to it."""
    assert isinstance(to.file, io.StringIO)
    return to.file.getvalue()


def status(**changed: object) -> Status:
    """A search in the middle."""
    given = {"trials": 2, "limit": 4, "best": 0.61257, "share": 0.5, "seconds_left": 501.4, **changed}
    return Status(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({}, "2 of 4 trials, best 0.6126, about 8:21 left"),
        ({"limit": None, "best": None}, "2 trials, best none, about 8:21 left"),
        ({"seconds_left": 3661.0}, "2 of 4 trials, best 0.6126, about 1:01:01 left"),
        ({"seconds_left": 0.0}, "2 of 4 trials, best 0.6126, about 0:00 left"),
        ({"seconds_left": None}, "2 of 4 trials, best 0.6126, estimating the time left"),
    ],
)
def test_a_status_as_text(changed: dict[str, object], text: str) -> None:
    """Trials done, best value and time left, or that it is not known yet."""
    assert str(status(**changed)) == text


def test_a_terminal_shows_the_status() -> None:
    """The bar carries the text of the status, and no line is reported."""
    to, lines = console(terminal=True), list[str]()
    with show_progress(status, shown=True, report=lines.append, console=to):
        pass
    assert str(status()) in written(to)
    assert lines == []


@pytest.mark.parametrize(("terminal", "shown"), [(False, True), (True, False), (False, False)])
def test_nothing_is_shown_unasked_or_to_a_file(terminal: bool, shown: bool) -> None:
    """Only a terminal where a bar is wanted gets one; the first line comes after half a minute."""
    to, lines = console(terminal=terminal), list[str]()
    with show_progress(status, shown=shown, report=lines.append, console=to):
        pass
    assert (written(to), lines) == ("", [])


def test_lines_come_while_a_trial_takes_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a bar the status is reported again and again, though the search does nothing that would cause it."""
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.001)
    lines, third = list[str](), threading.Event()

    def report(line: str) -> None:
        lines.append(line)
        if len(lines) == 3:
            third.set()

    with show_progress(status, shown=True, report=report, console=console(terminal=False)):
        assert third.wait(10)
    assert set(lines) == {f"tuning: {status()}"}


def test_an_error_of_the_listener_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `report` raises in the other thread ends the search with that error, and hides none of the search."""
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    called = threading.Event()

    def broken(_: str) -> None:
        called.set()
        raise BrokenPipeError

    def watch(error: Exception | None) -> None:
        called.clear()
        with show_progress(status, shown=False, report=broken, console=console(terminal=False)):
            assert called.wait(10)
            if error is not None:
                raise error

    with pytest.raises(BrokenPipeError):
        watch(None)
    with pytest.raises(KeyError):
        watch(KeyError("of the search"))
