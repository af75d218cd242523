import multiprocessing
import os
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

from running_service import killed_with_children
from scoring_model.configuration import TuningSettings
from scoring_model.parallel import HERE, LostWorker, Processes
from scoring_model.training.trial_workers import SearchContext, trial_workers

CONTEXT = SearchContext(
    features={"feature_names": ("a", "b"), "categorical": (), "monotone": ()},
    settings=TuningSettings(folds=2, max_rounds=20, patience=5),
    seed=1,
)
PARAMS = (
    {"learning_rate": 0.2, "num_leaves": 4, "max_depth": 4},
    {"learning_rate": 0.1, "num_leaves": 7, "max_depth": 4},
)


def sample() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, targets and event times."""
    rng = np.random.default_rng(8)
    rows = rng.normal(size=(1000, 2))
    return rows, (rows[:, 0] + rng.normal(size=1000) > 2).astype(np.int8), rng.integers(0, 10**6, 1000)


def test_other_processes_give_the_same_rungs_and_end_with_the_search() -> None:
    """The same parameters give the same rungs in any process, also after an aborted trial; none outlives the search.

    The error of a killed process names its signal; the other process continues.
    """
    with trial_workers(CONTEXT, *sample(), workers=HERE) as (here,):
        expected = [list(here(params)) for params in PARAMS]
    with trial_workers(CONTEXT, *sample(), workers=Processes(2)) as others:
        for run_trial in others:
            with closing(run_trial(PARAMS[0])) as rungs:
                assert next(rungs) == expected[0][0]
            assert [list(run_trial(params)) for params in PARAMS] == expected
        rungs = others[0](PARAMS[0])
        next(rungs)
        first, second = sorted(multiprocessing.active_children(), key=lambda child: child.pid or 0)
        first.kill()
        with pytest.raises(LostWorker, match="ended with code -9"):
            next(rungs)
        assert list(others[1](PARAMS[0])) == expected[0]
        next(others[1](PARAMS[0]))  # a trial under way
        assert second.is_alive()
    assert multiprocessing.active_children() == []


IDLE = """
import runpy, sys, time

if __name__ == "__main__":
    module = runpy.run_path(sys.argv[1])
    with module["trial_workers"](module["CONTEXT"], *module["sample"](), workers=module["Processes"](2)) as (_, other):
        next(other(module["PARAMS"][0]))
        print(flush=True)
        time.sleep(600)
"""


def test_a_killed_search_ends_with_its_processes() -> None:
    """One process waits for a trial, the other one in the middle of a trial; neither outlives the search."""
    command = [sys.executable, "-c", IDLE, __file__]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        killed_with_children(process.pid)
