"""Progress of a search: a bar on a terminal, lines elsewhere."""

import io
import threading

import pytest
from rich.console import Console

from scoring_model.training import progress
from scoring_model.training.progress import Status, TrialTime, seconds_left, show_progress


def console(*, terminal: bool) -> Console:
    """Return a console that writes to memory."""
    return Console(file=io.StringIO(), force_terminal=terminal, width=100)


def written(to: Console) -> str:
    """Return its output."""
    assert isinstance(to.file, io.StringIO)
    return to.file.getvalue()


def status(**changed: object) -> Status:
    """A search half-way."""
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
    """The text has the trials done, the best value and the time left, or that it is not known yet."""
    assert str(status(**changed)) == text


def test_a_terminal_shows_the_status() -> None:
    """The bar shows the text of the status, and no line is reported."""
    to, lines = console(terminal=True), list[str]()
    with show_progress(status, shown=True, report=lines.append, console=to):
        pass
    assert str(status()) in written(to)
    assert lines == []


@pytest.mark.parametrize(("terminal", "shown"), [(False, True), (True, False), (False, False)])
def test_a_bar_needs_a_terminal_and_a_request(terminal: bool, shown: bool) -> None:
    """The bar is shown on a terminal only, and only on request; the first line comes after 30 seconds."""
    to, lines = console(terminal=terminal), list[str]()
    with show_progress(status, shown=shown, report=lines.append, console=to):
        pass
    assert (written(to), lines) == ("", [])


def test_lines_are_reported_during_a_long_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a bar the status is reported at intervals, also during a long trial."""
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
    """An error of `report` in the other thread ends the search, and hides no error of the search."""
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


def ended(*seconds: float) -> TrialTime:
    """Return a trial that is over."""
    return TrialTime(seconds=seconds, ended=True)


def left(
    trials: list[TrialTime], *, rungs: int | None = 3, to_begin: int = 0, processes: int = 1
) -> float | None:
    """Estimate the time left if one trial in two is promoted."""
    return seconds_left(trials, rungs=rungs, to_begin=to_begin, processes=processes, reduction_factor=2)


def test_no_estimate_before_a_complete_trial() -> None:
    """Before the first complete trial there is no estimate, even if trials were pruned."""
    assert left([ended(1.0), ended(1.0, 4.0)], rungs=None, to_begin=10) is None


def test_trials_to_come_cost_less_than_the_first() -> None:
    """After one complete trial of 1, 4 and 16 s each later one is expected to take 1 + 0.6 (4 + 0.6 * 16) s.

    One trial went on from either rung, and the prior counts four of which two did: 3 of 5.
    """
    assert left([ended(1.0, 4.0, 16.0)], to_begin=39) == pytest.approx(39 * (1 + 0.6 * (4 + 0.6 * 16)))


def test_the_promoted_share_is_estimated() -> None:
    """If one trial in ten is promoted, the higher rungs count a tenth."""
    trials = [ended(1.0, 10.0)] * 100 + [ended(1.0)] * 900
    assert left(trials, rungs=2, to_begin=1) == pytest.approx(1 + 0.1 * 10, rel=0.01)


def test_a_running_trial_needs_the_rest_of_its_rung_and_later_rungs() -> None:
    """After three of four seconds in a rung one is left, and none if the rung takes longer than expected."""
    complete = ended(1.0, 4.0, 16.0)
    chance = (2 + 2) / (2 + 4)  # of the first rung: both trials went on
    beyond = (1 + 2) / (1 + 4) * 16.0
    for running, rest in ((3.0, 1.0), (9.0, 0.0)):
        under_way = TrialTime(seconds=(1.0,), ended=False, running=running)
        assert left([complete, under_way]) == pytest.approx(rest + beyond)
    new = TrialTime(seconds=(), ended=False)
    assert left([complete, new]) == pytest.approx(1.0 + 0.6 * (4.0 + beyond))
    assert left([complete, TrialTime(seconds=(1.0,), ended=False), new]) == pytest.approx(
        4.0 + beyond + 1.0 + chance * (4.0 + beyond)
    )


def test_processes_share_the_trials_to_come() -> None:
    """Two processes take half the time for many trials, and the time of one process for the last trial."""
    complete = ended(1.0, 4.0, 16.0)
    alone, shared = (left([complete], to_begin=100, processes=processes) for processes in (1, 2))
    assert alone is not None
    assert shared == pytest.approx(alone / 2)
    last = TrialTime(seconds=(1.0, 4.0), ended=False)
    assert left([complete, last], processes=2) == pytest.approx(16.0)


def test_a_search_that_is_over_needs_no_time() -> None:
    """Without running or remaining trials the time left is 0."""
    assert left([ended(1.0, 4.0, 16.0), ended(1.0)]) == 0.0
