"""Check law 4 on a million hostile rows, then compare speed with LightGBM: one row, a million rows, and reasons.

Run as ``python benchmarks/inference.py``. Ratios are medians of paired runs, the project's right after its
peer's, because the machine may be busy.
"""

import argparse
import bisect
import sys
import time
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Final

import lightgbm as lgb
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.standard_model import (
    AS_LIGHTGBM_TRAINS,
    CATEGORICAL,
    FEATURES,
    default_catalogue,
    draw_rows,
    hostile_rows,
    train,
)

from scoring_model.arrays import FloatArray
from scoring_model.decision.contributions import Contributions
from scoring_model.scorer.session import MarginSession
from scoring_model.training.averaging import fix_leaves
from scoring_model.training.export import to_onnx
from scoring_model.training.model_text import parse_forest

THREADS: Final = 2
CHUNK: Final = 100_000
STEP_UP, FAIL = 500, 750


def seconds(call: Callable[[], object]) -> float:
    """Time one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def check_margins(booster: lgb.Booster, session: MarginSession, rows: FloatArray) -> None:
    """Compare margins bit by bit; exit if one differs."""
    differing = 0
    for start in range(0, len(rows), CHUNK):
        chunk = rows[start : start + CHUNK]
        expected = booster.predict(chunk, raw_score=True, num_threads=THREADS)
        differing += int(np.count_nonzero(session.margins(chunk).view(np.int64) != expected.view(np.int64)))
    print(f"hostile rows that differ from LightGBM in a bit: {differing:,} of {len(rows):,}")
    if differing:
        raise SystemExit("the export is not exact: nothing is timed")


def time_one_row(booster: lgb.Booster, session: MarginSession, rows: FloatArray, cuts: list[float]) -> None:
    """Time margin, score and outcome of one row."""

    def decide(row: FloatArray) -> str:
        score = bisect.bisect_right(cuts, session.margin(row))
        return "FAILED" if score >= FAIL else "STEPPED_UP" if score >= STEP_UP else "PASSED"

    own = [seconds(partial(decide, row)) for row in rows]
    peer = [seconds(partial(booster.predict, row, raw_score=True, num_threads=1)) for row in rows[:, None]]
    own_us, peer_us = np.median(own) * 1e6, np.median(peer) * 1e6
    print(
        f"one row, median: {own_us:.1f} us (at most 50), LightGBM {peer_us:.1f} us, {peer_us / own_us:.2f} x"
    )


def time_many_rows(booster: lgb.Booster, session: MarginSession, rows: FloatArray, pairs: int) -> None:
    """Time all rows on the same cores, in paired runs."""
    ratios = []
    for _ in range(pairs):
        peer = seconds(lambda: booster.predict(rows, raw_score=True, num_threads=THREADS))
        own = seconds(lambda: session.margins(rows))
        ratios.append(peer / own)
        print(f"  {len(rows) / own:,.0f} rows/s, LightGBM {len(rows) / peer:,.0f} rows/s, {peer / own:.2f} x")
    print(f"{len(rows):,} rows, median of {pairs} pairs: {np.median(ratios):.2f} x (at least 1.3)")


def time_reasons(booster: lgb.Booster, contributions: Contributions, rows: FloatArray) -> None:
    """Check and time the contributions of one row."""
    values = np.array([contributions.explain(row) for row in rows])
    expected = booster.predict(rows, pred_contrib=True, num_threads=THREADS)
    largest = np.abs(values - expected[:, :-1]).max()
    if largest > 1e-9:
        raise SystemExit(f"contributions differ from LightGBM by {largest:.1e}")
    own = [seconds(partial(contributions.explain, row)) for row in rows]
    peer = [seconds(partial(booster.predict, row, pred_contrib=True, num_threads=1)) for row in rows[:, None]]
    own_ms, peer_ms = np.median(own) * 1e3, np.median(peer) * 1e3
    print(
        f"reasons of one row, median: {own_ms:.2f} ms (at most 2), LightGBM {peer_ms:.2f} ms, "
        f"{peer_ms / own_ms:.2f} x, largest difference {largest:.1e}"
    )


def measure(
    name: str, booster: lgb.Booster, rows: FloatArray, *, categorical: Collection[int], pairs: int
) -> None:
    """Check and time one model on its rows."""
    booster = fix_leaves(booster)
    forest = parse_forest(booster.model_to_string())
    share = np.mean(forest.category_set >= 0)
    print(f"\n{name}: {forest.tree_count} trees, {len(forest.feature):,} splits, {share:.0%} categorical")
    sample = rows[:3000]
    cuts = np.quantile(booster.predict(sample, raw_score=True), np.linspace(0, 1, 1000))
    session = MarginSession(to_onnx(forest, cuts=cuts, feature_names=booster.feature_name()), threads=THREADS)
    check_margins(booster, session, hostile_rows(forest, rows, categorical=categorical, seed=6))
    time_one_row(booster, session, sample, cuts.tolist())
    time_many_rows(booster, session, rows, pairs)
    time_reasons(booster, Contributions(forest), sample[:300])


def main() -> None:
    """Measure the standard model, one of the default catalogue, one without categories, and a harder one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows to check and to time")
    parser.add_argument("--pairs", type=int, default=5, help="runs in pairs")
    options = parser.parse_args()
    rows = draw_rows(options.rows, seed=7)
    numbers = np.ascontiguousarray(rows[:, : FEATURES - len(CATEGORICAL)])
    measure("standard model", train(), rows, categorical=CATEGORICAL, pairs=options.pairs)
    booster, few, codes = default_catalogue()
    many = few[np.random.default_rng(8).integers(0, len(few), options.rows)]
    measure("default catalogue", booster, many, categorical=codes, pairs=options.pairs)
    numeric = train(features=numbers.shape[1])
    measure("without categories", numeric, numbers, categorical=(), pairs=options.pairs)
    harder = train(params=AS_LIGHTGBM_TRAINS)
    measure("mostly categories", harder, rows, categorical=CATEGORICAL, pairs=options.pairs)


if __name__ == "__main__":
    main()
