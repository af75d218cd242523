"""Time to export 1,000 trees of 63 leaves: fixed leaves, reading, graph, and a ready session.

Run as ``python benchmarks/export.py``.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.standard_model import AS_LIGHTGBM_TRAINS, CATEGORICAL, draw_rows, hostile_rows, train

from scoring_model.scorer.session import MarginSession
from scoring_model.training.averaging import fix_leaves
from scoring_model.training.export import to_onnx
from scoring_model.training.model_text import parse_forest

T = TypeVar("T")


def timed(step: str, call: Callable[[], T]) -> tuple[T, float]:
    """Time one step and print it."""
    start = time.perf_counter()
    result = call()
    duration = time.perf_counter() - start
    print(f"{step:<14} {duration:6.2f} s")
    return result, duration


def main() -> None:
    """Export a large model step by step."""
    trained = train(trees=1000, leaves=63, params=AS_LIGHTGBM_TRAINS)
    booster, fixing = timed("fixed leaves", lambda: fix_leaves(trained))
    forest, reading = timed("reading", lambda: parse_forest(booster.model_to_string()))
    names = [f"f{place}" for place in range(forest.feature_count)]
    cuts = np.quantile(booster.predict(draw_rows(3000, seed=5), raw_score=True), np.linspace(0, 1, 1000))
    graph, writing = timed("graph", lambda: to_onnx(forest, cuts=cuts, feature_names=names))
    session, loading = timed("session", lambda: MarginSession(graph))
    rows = hostile_rows(forest, draw_rows(20_000, seed=6), categorical=CATEGORICAL, seed=6)
    if session.margins(rows).tobytes() != booster.predict(rows, raw_score=True).tobytes():
        raise SystemExit("the export is not exact")
    print(f"export {fixing + reading + writing + loading:.2f} s (at most 5), {len(graph) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
