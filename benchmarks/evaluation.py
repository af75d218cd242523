r"""Time and memory of an evaluation of a million records: 1,000 draws of days, groups and every curve.

    python benchmarks/evaluation.py [--records 1000000] [--days 730] [--frauds 0.015]

First, some draws of a smaller file are compared with those of repeating its records.
"""

import argparse
import resource
import time
from collections.abc import Callable

import numpy as np

from scoring_model.configuration import CostSettings
from scoring_model.decision.probability import Platt
from scoring_model.decision.rules import DecisionRules, Policy
from scoring_model.decision.scale import ScoreScale
from scoring_model.evaluation import EvaluatedRecords, Evaluation, evaluate_records
from scoring_model.evaluation.day_draws import DAY, DayDraws, draw_days
from scoring_model.evaluation.figures import measure_figures
from scoring_model.records import Column

RULES = DecisionRules(
    scale=ScoreScale(cuts=np.linspace(-6, 4, 1000), extrapolated_from=800),
    calibration=Platt(slope=1.0, intercept=0.0),
    policy=Policy(step_up_from=400, fail_from=700),
)
COSTS = CostSettings(fraud_loss=100, reject_cost=10, step_up_cost=1, step_up_effectiveness=0.8)
CURVES = ("scores", "roc", "capacity", "reliability", "thresholds", "weeks")


def invent(size: int, *, days: int, frauds: float) -> EvaluatedRecords:
    """Draw decisions on records of persons with two records on average, in a hundred countries and two channels."""
    rng = np.random.default_rng(7)
    labels = (rng.random(size) < frauds).astype(np.int8)
    countries = Column(
        tuple(f"C{code:02}" for code in range(100)), (rng.zipf(1.5, size) % 100).astype(np.int32)
    )
    channels = Column(("app", "web"), rng.integers(-1, 2, size).astype(np.int32))
    return EvaluatedRecords(
        decisions=RULES.decide(rng.normal(2.0 * labels - 4, 1.0)),
        labels=labels,
        event_times=rng.integers(0, days * DAY, size),
        persons=rng.integers(0, max(size // 2, 1), size),
        columns={"country": countries, "channel": channels},
    )


def check() -> None:
    """Compare draws with files in which the records of each day are repeated as often as it was drawn."""
    records = invent(5_000, days=40, frauds=0.1)
    drawn = measure_figures(records, DayDraws.of(records.event_times, repeats=5), costs=COSTS).draws
    day_of = records.event_times // DAY
    for number, draw in enumerate(draw_days(40, repeats=5)):
        rows = np.repeat(np.arange(len(records)), draw[day_of])
        repeated = EvaluatedRecords(
            decisions=records.decisions.take(rows),
            labels=records.labels[rows],
            event_times=records.event_times[rows],
        )
        alone = measure_figures(repeated, DayDraws.of(repeated.event_times, repeats=0), costs=COSTS).estimates
        for name, estimate in alone.items():
            if "capacity" not in name:  # a day that is drawn twice has two queues
                expected = np.array(estimate.value, dtype=np.float64)  # None is NaN
                np.testing.assert_allclose(drawn[name][number], expected, rtol=1e-12, err_msg=name)


def timed(name: str, work: Callable[[], object]) -> None:
    """Print the seconds of some work."""
    started = time.perf_counter()
    work()
    print(f"{name:<24}{time.perf_counter() - started:8.2f} s", flush=True)


def main() -> None:
    """Check, then measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--days", type=int, default=730)
    parser.add_argument("--frauds", type=float, default=0.015)
    given = parser.parse_args()
    check()
    print("draws are those of repeated records")
    records = invent(given.records, days=given.days, frauds=given.frauds)
    print(f"{given.records:,} records, {given.days} days, {int(records.labels.sum()):,} frauds")
    found: list[Evaluation] = []

    def evaluate() -> None:
        by = {"country": None, "channel": None}
        found.append(evaluate_records(records, rules=RULES, costs=COSTS, by=by))

    timed("evaluation with groups", evaluate)
    for name in CURVES:
        timed(name, lambda name=name: getattr(found[0].curves, name))  # type: ignore[misc]
    print(f"{'memory':<24}{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:8.2f} GB")


if __name__ == "__main__":
    main()
