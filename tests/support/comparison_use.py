"""Comparisons to draw and to judge."""

from functools import cache

import numpy as np

from scoring_model.decision.probability import Platt
from scoring_model.decision.rules import DecisionRules, Policy
from scoring_model.decision.scale import ScoreScale
from scoring_model.evaluation import Comparison, EvaluatedRecords, compare_evaluations, evaluate_records
from scoring_model.records import Column
from scoring_model.records.times import DAY

RULES = DecisionRules(
    scale=ScoreScale(cuts=np.linspace(-4, 4, 1000), extrapolated_from=800),
    calibration=Platt(slope=1.0, intercept=0.0),
    policy=Policy(step_up_from=563, fail_from=700),
)


@cache
def compared(gain: float = 0.3, *, size: int = 3000, days: int = 40, noise: float = 0.3) -> Comparison:
    """A challenger with a gain for frauds and noise of its own, in three countries."""
    rng = np.random.default_rng(0)
    labels = (rng.random(size) < 0.2).astype(np.int8)
    shared, own = rng.normal(0, 1, size), rng.normal(0, noise, (2, size))
    countries = Column(("DE", "FR", "IT"), rng.integers(0, 3, size).astype(np.int32))
    times = rng.integers(0, days * DAY, size)
    champion, challenger = (
        evaluate_records(
            EvaluatedRecords(
                decisions=RULES.decide((1.0 + more) * labels + shared + extra),
                labels=labels,
                event_times=times,
                record_ids=tuple(f"r{row}" for row in range(size)),
                columns={"country": countries},
            ),
            rules=RULES,
            by={"country": None},
        )
        for more, extra in zip((0.0, gain), own, strict=True)
    )
    return compare_evaluations(
        champion, challenger, explain=lambda row, stricter: ("A", "B") if stricter else ("C",)
    )
