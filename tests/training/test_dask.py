"""Trials and folds on the workers of a Dask scheduler, against those of this process."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client

from backtest_use import UNCHECKED
from dask_use import cluster, worker
from identity_use import write_configuration
from program import Captured, refused
from scoring_model.batch.plan import Limits
from scoring_model.configuration import TuningSettings, load_configuration
from scoring_model.parallel import HERE, LostWorker, Workers
from scoring_model.parallel.cluster import connect
from scoring_model.training.backtest import backtest
from scoring_model.training.rungs import Rung
from scoring_model.training.thinned_files import prepare_files
from scoring_model.training.trial_workers import SearchContext, trial_workers
from scoring_model.training.tuning import SearchOptions, Tuning, tune

SETTINGS = TuningSettings(folds=2, max_rounds=20, patience=5, trials=6)
PARAMS = {"learning_rate": 0.2, "num_leaves": 4, "max_depth": 4}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A scheduler with one worker of one thread, so that trials do not depend on timing."""
    with cluster(tmp_path_factory.mktemp("dask"), workers=1) as (found, _):
        yield found


def sample() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, targets and event times."""
    rng = np.random.default_rng(8)
    rows = rng.normal(size=(1000, 2))
    return rows, (rows[:, 0] + rng.normal(size=1000) > 2).astype(np.int8), rng.integers(0, 10**6, 1000)


def search(journal: Path, on: Workers) -> Tuning:
    """Tune on the sample."""
    return tune(
        *sample(),
        SearchOptions(threads=1, journal=journal, progress=False, workers=on),
        feature_names=("a", "b"),
        categorical=(),
        monotone=(0, 0),
        settings=SETTINGS,
        seed=1,
    )


def test_a_worker_makes_the_trials_of_this_process(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also a trial that stops at a rung; rows are in files beside the journal only while the search runs."""
    monkeypatch.chdir(tmp_path)
    expected = search(tmp_path / "here.journal", HERE)
    with connect(address, extra="train") as workers:
        found = search(Path("there.journal"), workers)
    assert found == expected
    assert {row["state"] for row in found.trials} == {"complete", "pruned"}
    assert {path.suffix for path in tmp_path.iterdir()} <= {".journal", ".lock"}


def test_a_lost_worker_ends_its_trial(address: str, tmp_path: Path) -> None:
    """The trial of a killed worker ends with an error; that of the other one continues."""
    context = SearchContext(
        features={"feature_names": ("a", "b"), "categorical": (), "monotone": ()},
        settings=SETTINGS,
        seed=1,
    )
    with worker(tmp_path, address) as second, Client(address) as client:
        client.wait_for_workers(2, timeout=60)
        with (
            connect(address, extra="train") as workers,
            trial_workers(context, *sample(), workers=workers) as both,
        ):
            trials = [run_trial(PARAMS) for run_trial in both]
            first = [next(trial) for trial in trials]
            second.kill()
            followed = [_following(trial) for trial in trials]
    assert first[0] == first[1]
    lost = [found for found in followed if isinstance(found, LostWorker)]
    assert len(lost) == 1
    assert "the worker was lost" in str(lost[0])


def _following(trial: Iterator[Rung]) -> Rung | LostWorker:
    try:
        return next(trial)
    except LostWorker as error:
        return error


def test_a_worker_trains_the_folds_of_this_process(
    small: Path, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same thresholds, figures and scores; the folder of the run, a relative path, is the worker's too."""
    monkeypatch.chdir(tmp_path)
    use = write_configuration(tmp_path, UNCHECKED)
    here, there = (
        backtest(small, use, folds=1, threads=1, dask=dask, work=Path("work")) for dask in (None, address)
    )
    assert there.to_json() == here.to_json()
    assert here.scores.keys() == there.scores.keys()
    assert all(np.array_equal(there.scores[fold], scores) for fold, scores in here.scores.items())
    assert not Path("work").exists()


def test_a_worker_reads_thinned_files(small: Path, address: str, tmp_path: Path) -> None:
    """The same kept records with the same features; what was spilled is removed."""
    thinned = UNCHECKED.replace("training:\n", "training:\n  thinning: {genuine: 0.5}\n")
    configuration = load_configuration(write_configuration(tmp_path, thinned))
    limits = Limits(part_rows=1_000, piece_rows=2_000)
    given: dict[str, Any] = {"quarantine": tmp_path / "quarantine.csv", "limits": limits, "processes": 1}
    here = prepare_files([str(small)], configuration, work=tmp_path / "here", **given)
    with connect(address, extra="train") as workers:
        there = prepare_files([str(small)], configuration, work=tmp_path / "there", stages=workers, **given)
    assert list(there.table.record_ids) == list(here.table.record_ids)
    assert 1_000 < len(here.table) < 4_500
    assert there.rows.tobytes() == here.rows.tobytes()
    assert not (tmp_path / "there").exists()


def test_commands_refuse_an_address_that_is_none(small: Path, tmp_path: Path, capsys: Captured) -> None:
    """`train` and `backtest` with another form of address: an error that gives the two forms."""
    use = write_configuration(tmp_path, UNCHECKED)
    given = (small, "--config", use, "--dask", "remote")
    for command in (
        ("train", *given, "--out", tmp_path / "a"),
        ("backtest", *given, "--report", tmp_path / "b.html"),
    ):
        assert "like tcp://scheduler:8786 or local:2, got 'remote'" in refused(capsys, *command)
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "b.html").exists()
