import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring_model.arrays import FloatArray
from scoring_model.scorer.session import MarginSession
from scoring_model.training.averaging import fix_leaves
from scoring_model.training.export import to_onnx
from scoring_model.training.model_text import parse_forest

WIDTH, CATEGORY = 5, 4


def draw(count: int) -> FloatArray:
    """Draw rows with gaps and a category of sixty codes."""
    rng = np.random.default_rng(count)
    rows = rng.normal(size=(count, WIDTH))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[:, CATEGORY] = rng.integers(-1, 60, count)
    return rows


@cache
def model() -> tuple[lgb.Booster, bytes]:
    """Train a small model and write its graph."""
    rows = draw(3000)
    targets = (np.nan_to_num(rows[:, 0]) + np.sin(rows[:, CATEGORY]) > 0.5).astype(np.int64)
    data = lgb.Dataset(rows, targets, categorical_feature=[CATEGORY])
    options = {"objective": "binary", "num_threads": 1, "deterministic": True, "verbosity": -1}
    booster = fix_leaves(lgb.train(options, data, 30))
    names = [f"f{place}" for place in range(WIDTH)]
    return booster, to_onnx(parse_forest(booster.model_to_string()), cuts=None, feature_names=names)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("count", [0, 1, 2, 255, 256, 257, 3001])
def test_bits_do_not_depend_on_threads_or_chunks(threads: int, count: int) -> None:
    """Any number of rows on any number of threads gives the margins of LightGBM, bit for bit."""
    booster, graph = model()
    rows = draw(count)
    expected = booster.predict(rows, raw_score=True) if count else np.zeros(0)
    assert MarginSession(graph, threads=threads).margins(rows).tobytes() == expected.tobytes()


@settings(max_examples=30)
@given(st.lists(st.integers(0, 999), max_size=40))
def test_bits_do_not_depend_on_the_company_of_a_row(chosen: list[int]) -> None:
    """A row alone, in any order and next to any others has one margin."""
    session = MarginSession(model()[1])
    rows = draw(1000)
    alone = [session.margin(rows[index]) for index in chosen]
    assert session.margins(rows[chosen]).tolist() == alone


def test_one_session_serves_many_threads_at_once() -> None:
    """Calls that run at the same time do not disturb each other."""
    booster, graph = model()
    session, rows = MarginSession(graph, threads=2), draw(2000)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(session.margins, [rows] * 16))
    expected = booster.predict(rows, raw_score=True)
    assert all(np.array_equal(answer, expected) for answer in answers)


@pytest.mark.parametrize(
    "layout", [lambda rows: np.asfortranarray(rows), lambda rows: np.repeat(rows, 2, 0)[::2]]
)
def test_layout_in_memory_does_not_matter(layout: Callable[[FloatArray], FloatArray]) -> None:
    """Rows in column order and rows of a strided view give the same margins."""
    session, rows = MarginSession(model()[1]), draw(700)
    assert session.margins(layout(rows)).tolist() == session.margins(rows).tolist()
    assert session.margin(layout(rows)[3]) == session.margins(rows)[3]


@pytest.mark.parametrize(
    "rows", [draw(3).astype(np.float32), draw(3)[:, :4], draw(3)[0], np.zeros((2, 5), int)]
)
def test_rows_of_another_kind_are_refused(rows: FloatArray) -> None:
    """Rows that are not float64, or not as wide as the model, are refused with the shape that was given."""
    with pytest.raises(ValueError, match=r"float64 of shape \(n, 5\), got"):
        MarginSession(model()[1]).margins(rows)


def test_no_threads_are_refused() -> None:
    """A session needs a thread to run on."""
    with pytest.raises(ValueError, match="at least 1, got 0"):
        MarginSession(model()[1], threads=0)


def test_the_runtime_reports_nothing_to_its_makers(tmp_path: Path) -> None:
    """Without an opt-out it writes an identifier of the machine and a queue of reports into the home."""
    graph, home = tmp_path / "graph.onnx", tmp_path / "home"
    graph.write_bytes(model()[1])
    home.mkdir()
    code = (
        "import sys; from pathlib import Path; from scoring_model.scorer.session import MarginSession; "
        "MarginSession(Path(sys.argv[1]).read_bytes())"
    )
    others = {
        name: value for name, value in os.environ.items() if name not in ("CI", "ORT_DISABLE_TELEMETRY")
    }
    environment = {**others, "HOME": str(home), "XDG_CACHE_HOME": ""}
    subprocess.run([sys.executable, "-c", code, str(graph)], env=environment, check=True)
    assert list(home.rglob("*")) == []
