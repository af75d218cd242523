import multiprocessing
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from scoring_model.configuration import TuningSettings
from scoring_model.configuration.training import ALLOWED_PARAMS
from scoring_model.parallel import LostWorker, Processes
from scoring_model.training import progress, trial_workers, tuning
from scoring_model.training.journal import JournalError
from scoring_model.training.rungs import Rung
from scoring_model.training.space import STARTING_POINTS
from scoring_model.training.tuning import SearchOptions, Tuning, is_cut_short, tune

TRIALS = 9
FEATURES: dict[str, Any] = {
    "feature_names": list("abcdef"),
    "categorical": [2],
    "monotone": [1, 0, 0, 0, 0, 0],
}


def sample() -> tuple[NDArray[np.float64], NDArray[np.int8], NDArray[np.int64]]:
    """Draw rows, frauds that depend on them, and event times."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(1500, 6))
    rows[:, 2] = rng.integers(0, 12, 1500)
    score = rows[:, 0] + rows[:, 1] * rows[:, 3] + (rows[:, 2] == 3) + rng.normal(size=1500)
    return rows, (score > 2.5).astype(np.int8), rng.integers(0, 10**12, 1500)


def search(journal: Path, **changed: Any) -> Tuning:
    """Tune on the sample."""
    rows, targets, times = changed.pop("data", None) or sample()
    limits = {"max_rounds": 30, "patience": 5, **changed.pop("limits", {"trials": TRIALS})}
    names = {one.name for one in fields(SearchOptions)}
    options = {
        "threads": 1,
        "progress": False,
        **{name: changed.pop(name) for name in names & changed.keys()},
    }
    given = {"seed": 11, **FEATURES, **changed}
    how = SearchOptions(journal=journal, **options)
    return tune(rows, targets, times, how, settings=TuningSettings(**limits), **given)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Tuning:
    """All trials in one search."""
    return search(tmp_path_factory.mktemp("journal") / "journal.log")


def test_the_same_search_finds_the_same(tmp_path: Path, uninterrupted: Tuning) -> None:
    """A second search, with more threads too, gives the same trials."""
    assert search(tmp_path / "one.log", threads=3) == uninterrupted


def test_a_search_that_its_most_trees_end_is_cut_short(tmp_path: Path) -> None:
    """The result shows a search with too few trees; one that stops by itself and trees from elsewhere are not found."""
    _, targets, times = sample()
    short, long = (
        {"trials": 2, "max_rounds": 4, "patience": 3},
        {"trials": 2, "max_rounds": 300, "patience": 5},
    )
    for limits, expected in ((short, True), (long, False)):
        found = search(tmp_path / f"{expected}.log", limits=limits)
        assert is_cut_short(found.rounds, targets, times, TuningSettings(**limits)) is expected
    assert not is_cut_short(100, targets, times, TuningSettings(**short))
    assert not is_cut_short(4, np.zeros_like(targets), times, TuningSettings(**short))


def test_a_resumed_search_makes_the_same_trials(tmp_path: Path, uninterrupted: Tuning) -> None:
    """A search that stops after any trial and resumes equals an uninterrupted one."""
    journal = tmp_path / "journal.log"
    for trials in (1, 2, 5, 8, TRIALS):
        part = search(journal, resume=True, limits={"trials": trials})
        assert part.trials == uninterrupted.trials[:trials]
    assert part == uninterrupted


def test_the_first_trials_of_a_longer_journal_count(tmp_path: Path) -> None:
    """A search for fewer trials than its journal holds gives the result of those few trials."""
    few = search(tmp_path / "few.log", limits={"trials": 3})
    search(tmp_path / "many.log", limits={"trials": 5})
    assert search(tmp_path / "many.log", resume=True, limits={"trials": 3}) == few


KILLED = """
import os, signal, sys
import optuna
from pathlib import Path
from scoring_model.training import rungs
from importlib.util import module_from_spec, spec_from_file_location

spec = spec_from_file_location("test_tuning", sys.argv[1])
module = module_from_spec(spec)
spec.loader.exec_module(module)
place = {"average_precision": rungs._Course, "tell": optuna.Study}[sys.argv[3]]
original, calls = getattr(place, sys.argv[3]), []

def fatal(*args, **options):
    calls.append(1)
    if len(calls) == int(sys.argv[4]):
        os.kill(os.getpid(), signal.SIGKILL)
    return original(*args, **options)

setattr(place, sys.argv[3], fatal)
module.search(Path(sys.argv[2]), resume=True)
"""


def test_a_killed_search_makes_the_same_trials(tmp_path: Path, uninterrupted: Tuning) -> None:
    """A search killed in a fold or before a trial is stored loses and changes nothing."""
    journal = tmp_path / "journal.log"
    for place, call in (("average_precision", 2), ("tell", 5)):
        killed = subprocess.run(
            [sys.executable, "-c", KILLED, __file__, str(journal), place, str(call)],
            capture_output=True,
            check=False,
        )
        assert (killed.returncode, killed.stdout, killed.stderr) == (-9, b"", b"")
    assert b'"op_code":4' in journal.read_bytes()
    assert search(journal, resume=True) == uninterrupted


def test_a_budget_stops_between_trials(tmp_path: Path) -> None:
    """Any budget completes at least one trial; the trials are the first ones of a longer search."""
    short = search(tmp_path / "short.log", limits={"trials": None, "budget": 1})
    assert short == search(tmp_path / "one.log", limits={"trials": 1})


def test_a_journal_of_other_data_or_settings_is_refused(tmp_path: Path) -> None:
    """The error names other rows, targets, times, features, seeds or rates; threads and length may differ."""
    journal = tmp_path / "journal.log"
    search(journal, limits={"trials": 1})
    rows, targets, times = sample()
    for changed, name in (
        ({"data": (rows + 1e-9, targets, times)}, "rows"),
        ({"data": (rows, np.roll(targets, 1), times)}, "targets"),
        ({"data": (rows, targets, times + 1)}, "event times"),
        ({"monotone": [0] * 6}, "features"),
        ({"seed": 12}, "seed"),
        ({"limits": {"trials": 1, "thinning": 0.2}}, "settings"),
    ):
        with pytest.raises(JournalError, match=f"belongs to other {name}$"):
            search(journal, resume=True, **changed)
    search(journal, resume=True, threads=3, limits={"trials": 2})
    with pytest.raises(JournalError, match="pass --resume"):
        search(journal)


def test_the_table_shows_every_trial(uninterrupted: Tuning) -> None:
    """The start points come first, one of the complete trials wins, and a pruned one has no rounds."""
    trials = uninterrupted.trials
    assert [row["trial"] for row in trials] == list(range(TRIALS))
    for row, point in zip(trials, STARTING_POINTS, strict=False):
        assert point.items() <= row.items()
    assert len({(row["learning_rate"], row["max_cat_to_onehot"]) for row in trials}) == TRIALS
    complete = [row for row in trials if row["state"] == "complete"]
    pruned = [row for row in trials if row["state"] == "pruned"]
    assert len(complete) + len(pruned) == TRIALS
    assert pruned
    assert all(row["rounds"] is None for row in pruned)
    won = next(row for row in complete if uninterrupted.params.items() <= row.items())
    assert (won["value"], won["rounds"]) == (uninterrupted.value, uninterrupted.rounds)
    assert uninterrupted.best == max(row["value"] or 0.0 for row in complete)
    assert set(uninterrupted.params) < ALLOWED_PARAMS


def test_rounds_grow_with_the_square_root_of_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folds of 40, 60 and 80 % with 10, 20 and 30 trees give the median of 15.8, 25.8 and 33.5."""

    def run_trial(*_: object) -> Iterator[Rung]:
        yield Rung(values=(0.5,), rounds=(10, 20, 30), last=True)

    monkeypatch.setattr(trial_workers, "run_trial", run_trial)
    assert search(tmp_path / "journal.log", limits={"trials": 1}).rounds == 26


@pytest.mark.parametrize(
    ("lead", "wins"), [((0.02, 0.0, 0.01), True), ((0.03, 0.0, 0.0), False), ((0.0, 0.0, 0.0), False)]
)
def test_a_lead_within_its_standard_error_loses_to_the_best_starting_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lead: tuple[float, ...], wins: bool
) -> None:
    """A mean lead of .01 over three folds wins with a standard error of .0058, and loses with one of .01."""
    starts = [(0.1, 0.2, 0.3), (0.4, 0.6, 0.5), *[(0.2, 0.2, 0.2)] * (len(STARTING_POINTS) - 2)]
    values = iter([*starts, tuple(np.add(starts[1], lead).tolist()), (0.1, 0.1, 0.1)])

    def run_trial(*_: object) -> Iterator[Rung]:
        yield Rung(values=next(values), rounds=(10, 10, 10), last=True)

    monkeypatch.setattr(trial_workers, "run_trial", run_trial)
    found = search(tmp_path / "journal.log", limits={"trials": len(STARTING_POINTS) + 2})
    assert STARTING_POINTS[1].items() <= found.params.items() if not wins else found.value > 0.5
    assert found.best == pytest.approx(0.5 + float(np.mean(lead)))
    assert found.value == (found.best if wins else 0.5)


def test_one_trial_in_two_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial is promoted if it is in the better half of those that reached its rung, itself included.

    Of an odd number the smaller part goes on, and of one that one. The last rung alone decides who wins.
    """
    first = iter([0.3, 0.2, 0.4, 0.35, 0.5, 0.45, 0.6, 0.1, 0.55])
    reached: list[int] = []

    def run_trial(*_: object) -> Iterator[Rung]:
        value = next(first)
        reached.append(0)
        for step, last in enumerate((False, False, True)):
            reached[-1] = step
            yield Rung(values=(1 - value if last else value,), rounds=(10, 10, 10), last=last)

    monkeypatch.setattr(trial_workers, "run_trial", run_trial)
    found = search(tmp_path / "journal.log")
    assert reached == [2, 0, 2, 1, 2, 2, 2, 0, 2]
    assert found.value == 0.7
    assert [row["state"] == "complete" for row in found.trials] == [step == 2 for step in reached]


def test_several_processes_share_one_study(tmp_path: Path) -> None:
    """Two processes make the requested trials, each once, and continue what one of them left."""
    journal = tmp_path / "journal.log"
    search(journal, limits={"trials": 3})
    found = search(journal, resume=True, workers=Processes(2), limits={"trials": 8})
    assert [row["trial"] for row in found.trials] == list(range(8))
    assert len({(row["learning_rate"], row["max_cat_to_onehot"]) for row in found.trials}) == 8
    assert found.trials[:3] == search(tmp_path / "alone.log", limits={"trials": 3}).trials
    assert search(journal, resume=True, limits={"trials": 8}) == found


def test_a_process_that_dies_ends_the_search_and_loses_its_trial_only(tmp_path: Path) -> None:
    """The journal keeps the finished trials, and a resumed search makes the rest."""
    journal = tmp_path / "journal.log"
    killed: list[int] = []

    def kill_one(_: str) -> None:
        children = multiprocessing.active_children()
        if children and not killed:
            killed.append(1)
            children[0].kill()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "LINE_SECONDS", 0.01)
        with pytest.raises(LostWorker, match="ended with code -9"):
            search(journal, workers=Processes(2), report=kill_one, limits={"trials": 200})
    left = search(journal, resume=True, limits={"trials": 1}).trials
    assert left[-1]["state"] == "complete"
    assert len(search(journal, resume=True, limits={"trials": 12}).trials) == 12


@pytest.mark.parametrize("limits", [{"trials": 1}, {"trials": None, "budget": 1}])
def test_a_resumed_search_completes_a_trial_beyond_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: dict[str, int | None]
) -> None:
    """A resumed search completes a trial even if its limit was reached without a complete one."""
    ahead, stopped = threading.Event(), threading.Event()

    def die(_: object) -> Iterator[Rung]:
        yield Rung(values=(0.9,), rounds=(10,), last=False)
        ahead.set()
        assert stopped.wait(10)
        time.sleep(0.2)  # the other process begins no more meanwhile: this trial could still be complete
        raise LostWorker("a process ended")

    def be_stopped(_: object) -> Iterator[Rung]:
        assert ahead.wait(10)
        try:
            yield Rung(values=(0.1,), rounds=(10,), last=False)
        finally:
            stopped.set()

    def be_complete(*_: object) -> Iterator[Rung]:
        yield Rung(values=(0.5,), rounds=(10, 10, 10), last=True)

    journal = tmp_path / "journal.log"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "trial_workers", lambda *_, **__: nullcontext([die, be_stopped]))
        with pytest.raises(LostWorker):
            search(journal, workers=Processes(2), limits={"trials": 2})
    monkeypatch.setattr(trial_workers, "run_trial", be_complete)
    found = search(journal, resume=True, limits=limits)
    assert [row["state"] for row in found.trials] == ["pruned", "complete"]
    assert found.value == 0.5


def test_a_search_reports_how_long_it_will_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimate starts with the first complete trial, or at once if the journal has one."""
    lines, heard = list[str](), threading.Event()

    def report(line: str) -> None:
        lines.append(line)
        heard.set()

    def hear() -> str:
        heard.clear()
        assert heard.wait(10)
        heard.clear()  # that line may have been begun before
        assert heard.wait(10)
        return lines[-1]

    def run_trial(*_: object) -> Iterator[Rung]:
        said.append(hear())
        yield Rung(values=(0.5,), rounds=(10,), last=False)
        yield Rung(values=(0.5,), rounds=(10, 10, 10), last=True)

    monkeypatch.setattr(progress, "LINE_SECONDS", 0.001)
    monkeypatch.setattr(trial_workers, "run_trial", run_trial)
    said: list[str] = []
    search(tmp_path / "journal.log", report=report, limits={"trials": 2})
    assert said[0] == "tuning: 0 of 2 trials, best none, estimating the time left"
    assert said[1].startswith("tuning: 1 of 2 trials, best 0.5000, about 0:0")
    search(tmp_path / "journal.log", report=report, resume=True, limits={"trials": 3})
    assert said[2].startswith("tuning: 2 of 3 trials, best 0.5000, about 0:0")


def test_time_left_after_the_budget_is_unknown_during_the_first_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time left is that of the budget; after it, unknown instead of 0 while the first trial runs."""
    lines, heard = list[str](), threading.Event()

    def report(line: str) -> None:
        lines.append(line)
        if "estimating" in line:
            heard.set()

    def run_trial(*_: object) -> Iterator[Rung]:
        assert heard.wait(10)
        yield Rung(values=(0.5,), rounds=(10, 10, 10), last=True)

    monkeypatch.setattr(progress, "LINE_SECONDS", 0.001)
    monkeypatch.setattr(trial_workers, "run_trial", run_trial)
    search(tmp_path / "journal.log", report=report, limits={"trials": None, "budget": 300_000})
    assert lines[0] == "tuning: 0 trials, best none, about 0:00 left"


def test_nothing_is_written_without_a_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Without a terminal there is no bar, no log and no warning from a library."""
    search(tmp_path / "journal.log", progress=True, limits={"trials": 1})
    assert capfd.readouterr() == ("", "")
