import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
from numpy.typing import NDArray

from scoring_model.training.fitting import fit

NAMES = [f"signals.f{i}" for i in range(8)]
CATEGORY = 3


def sample(n: int = 3000, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Draw rows with missing values and a category, and frauds that depend on them."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, len(NAMES)))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[:, CATEGORY] = rng.integers(0, 40, n)
    signal = np.nan_to_num(rows[:, 0]) + np.nan_to_num(rows[:, 1]) * np.nan_to_num(rows[:, 2])
    noise = rng.normal(size=n)
    return rows, (signal + 2 * (rows[:, CATEGORY] % 7 == 0) + noise > 2.5).astype(np.int8)


def fitted(**changed: Any) -> lgb.Booster:
    """Train on the sample."""
    rows, targets = sample()
    options: dict[str, Any] = {
        "rows": rows,
        "targets": targets,
        "params": {"num_leaves": 15, "min_data_in_leaf": 10},
        "rounds": 25,
        "feature_names": NAMES,
        "categorical": [CATEGORY],
        "monotone": [1, *[0] * 7],
        "seed": 7,
        "threads": 1,
    }
    return fit(**(options | changed))


def text(params: Mapping[str, Any] | None = None, **changed: Any) -> str:
    """Train on the sample and return the text of the model."""
    given = changed if params is None else {"params": params, **changed}
    return str(fitted(**given).model_to_string())


SAMPLED = {"bagging_fraction": 0.7, "bagging_freq": 1, "feature_fraction": 0.5}


@pytest.mark.parametrize("params", [{}, SAMPLED, SAMPLED | {"bagging_fraction": 0.3}, {"extra_trees": True}])
@pytest.mark.parametrize("threads", [3, 5])
def test_threads_change_no_byte(params: dict[str, float], threads: int) -> None:
    """The text of the model is the same with any number of threads, with sampled rows and features."""
    params = {"num_leaves": 15, "min_data_in_leaf": 10, **params}
    assert text(params, threads=threads) == text(params)


def test_two_threads_equal_one() -> None:
    """Two threads, with few trees only: on busy cores pairs of threads wait in busy loops."""
    assert text(SAMPLED, rounds=3, threads=2) == text(SAMPLED, rounds=3)


def test_the_text_names_no_number_of_threads() -> None:
    """The parameters in the text have 0 threads instead of the number of the run."""
    assert [line for line in text(threads=3).splitlines() if "thread" in line] == ["[num_threads: 0]"]


def test_the_seed_matters_where_something_is_drawn() -> None:
    """Another seed draws other rows and features; the same seed draws the same ones."""
    assert text(SAMPLED, seed=8) != text(SAMPLED)
    assert text(SAMPLED) == text(SAMPLED)


def test_the_layout_of_the_rows_does_not_matter() -> None:
    """Rows in Fortran order and targets of another type train the same model."""
    rows, targets = sample()
    assert text(rows=np.asfortranarray(rows), targets=targets.astype(np.float64)) == text()


def test_monotone_features_only_rise() -> None:
    """The margin never falls with a feature that may only raise it."""
    rows, _ = sample()
    booster = fitted(params={"num_leaves": 31, "min_data_in_leaf": 5}, rounds=40, seed=1)
    grid = np.linspace(-3, 3, 41)
    for row in rows[:20]:
        moved = np.tile(row, (len(grid), 1))
        moved[:, 0] = grid
        assert np.all(np.diff(np.asarray(booster.predict(moved, raw_score=True), dtype=np.float64)) >= 0)


def test_names_rounds_and_order_are_kept() -> None:
    """The booster has the requested names and number of trees, and ranks frauds above genuine records."""
    booster = fitted(params={}, rounds=12, monotone=[0] * 8, seed=1)
    assert booster.feature_name() == NAMES
    assert booster.num_trees() == 12
    fresh, truth = sample(seed=1)
    margins = np.asarray(booster.predict(fresh, raw_score=True))
    assert margins[truth == 1].mean() > margins[truth == 0].mean() + 1


def test_all_errors_are_named_at_once() -> None:
    """Fixed parameters, wrong rounds and wrong shapes are refused in one error."""
    rows, targets = sample(100)
    with pytest.raises(
        ValueError, match=r"params.objective: may not be set; rounds.*rows and targets.*monotone"
    ):
        fitted(
            rows=rows,
            targets=targets[:-1],
            params={"objective": 1, "num_threads": 4, "num_leaves": 4},
            rounds=0,
            monotone=[0],
        )


@pytest.mark.parametrize(
    ("given", "used"),
    [({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "PASSIVE"}, "None")],
)
def test_threads_of_a_fit_soon_sleep_while_they_wait(given: dict[str, str], used: str) -> None:
    """OpenMP is told before LightGBM loads it, unless the user has said something else."""
    code = (
        "import os, sys; import scoring_model.training.run; assert 'lightgbm' not in sys.modules; "
        "print(os.environ.get('GOMP_SPINCOUNT'))"
    )
    kept = {
        name: value for name, value in os.environ.items() if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=kept | given, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == used
