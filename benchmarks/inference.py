"""Check law 4 on a million hostile rows, then compare speed with LightGBM: one row, a million rows, and reasons.

Two models of the default catalogue with 300 trees of 31 leaves: one trained
as the project trains, and a harder one with LightGBM's default parameters, most of whose splits are of categories.
Ratios are medians of paired runs, the project's right after its peer's, because the machine may be busy.
"""

import bisect
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import lightgbm as lgb
import numpy as np
from shared.bundles import AS_THE_PROJECT_TRAINS, default_booster
from shared.script import Verdict, at_least, at_most, run

from hostile_rows import hostile_rows
from scoring_model.arrays import FloatArray
from scoring_model.decision.contributions import Contributions
from scoring_model.scorer.session import MarginSession
from scoring_model.training.export import to_onnx
from scoring_model.training.fitting import Params
from scoring_model.training.model_text import parse_forest

MODELS: Final[dict[str, Params]] = {
    "as the project trains": AS_THE_PROJECT_TRAINS,
    "as LightGBM trains by default": {"learning_rate": 0.05, "num_leaves": 31},
}
RECORDS: Final = 60_000
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


def median_of(call: Callable[[FloatArray], object], rows: FloatArray) -> float:
    """Median seconds of a call for one row."""
    return float(np.median([seconds(partial(call, row)) for row in rows]))


def time_one_row(
    booster: lgb.Booster, session: MarginSession, rows: FloatArray, cuts: list[float]
) -> Verdict:
    """Time margin, score and outcome of one row."""

    def decide(row: FloatArray) -> str:
        score = bisect.bisect_right(cuts, session.margin(row))
        return "FAILED" if score >= FAIL else "STEPPED_UP" if score >= STEP_UP else "PASSED"

    own = 1e6 * median_of(decide, rows)
    peer = 1e6 * median_of(partial(booster.predict, raw_score=True, num_threads=1), rows[:, None])
    return at_most(f"one row, LightGBM {peer:.1f} us, {peer / own:.2f} x; median us", own, 50)


def time_many_rows(booster: lgb.Booster, session: MarginSession, rows: FloatArray, pairs: int) -> Verdict:
    """Time all rows on the same cores, in paired runs."""
    ratios = []
    for _ in range(pairs):
        peer = seconds(lambda: booster.predict(rows, raw_score=True, num_threads=THREADS))
        own = seconds(lambda: session.margins(rows))
        ratios.append(peer / own)
        print(f"  {len(rows) / own:,.0f} rows/s, LightGBM {len(rows) / peer:,.0f} rows/s, {peer / own:.2f} x")
    return at_least(f"{len(rows):,} rows, median ratio of {pairs} pairs", float(np.median(ratios)), 1.3)


def time_reasons(booster: lgb.Booster, contributions: Contributions, rows: FloatArray) -> Verdict:
    """Check and time the contributions of one row."""
    values = np.array([contributions.explain(row) for row in rows])
    expected = booster.predict(rows, pred_contrib=True, num_threads=THREADS)
    largest = np.abs(values - expected[:, :-1]).max()
    if largest > 1e-9:
        raise SystemExit(f"contributions differ from LightGBM by {largest:.1e}")
    own = 1e3 * median_of(contributions.explain, rows)
    peer = 1e3 * median_of(partial(booster.predict, pred_contrib=True, num_threads=1), rows[:, None])
    name = f"reasons of one row, LightGBM {peer:.2f} ms, {peer / own:.2f} x, largest difference {largest:.1e}"
    return at_most(f"{name}; median ms", own, 2)


def measure(name: str, params: Params, *, rows: int, pairs: int) -> Iterator[Verdict]:
    """Check and time one model."""
    booster, prepared, _, _ = default_booster(RECORDS, params=params)
    started = time.process_time()
    forest = parse_forest(booster.model_to_string())
    share = np.mean(forest.category_set >= 0)
    print(f"\n{name}: {forest.tree_count} trees, {len(forest.feature):,} splits, {share:.0%} categorical")
    many = prepared.rows[np.random.default_rng(8).integers(0, len(prepared.rows), rows)]
    cuts = np.quantile(booster.predict(many[:3000], raw_score=True), np.linspace(0, 1, 1000))
    session = MarginSession(to_onnx(forest, cuts=cuts, feature_names=booster.feature_name()), threads=THREADS)
    print(f"export and session: {time.process_time() - started:.2f} CPU s")
    categorical = prepared.feature_options["categorical"]
    check_margins(booster, session, hostile_rows(forest, many, categorical=categorical, seed=6))
    yield time_one_row(booster, session, many[:3000], cuts.tolist())
    yield time_many_rows(booster, session, many, pairs)
    yield time_reasons(booster, Contributions(forest), many[:300])


def main(*, rows: int = 1_000_000, pairs: int = 5) -> Iterator[Verdict]:
    """Check and time so many rows of both models, in pairs of runs."""
    for name, params in MODELS.items():
        yield from measure(name, params, rows=rows, pairs=pairs)


if __name__ == "__main__":
    run(main)
