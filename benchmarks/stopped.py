r"""Whether figures of models hold where a champion stopped applicants, of whom nobody knows what they were.

A champion decides who is observed. It and a challenger are evaluated on labels of those who passed. The labels of the
others exist here, so each statement can be checked:

- The differences of the two models on the whole sample, an error rate each, lie within the exact ends in every world;
  those of the population lie, all together, within the simultaneous ends in at least 95 of 100.
- A promise that is kept is never called broken. If step-ups stay well below their limit, that promise is called kept in
  at least 95 of 100 worlds, although no label of a stopped applicant is known.
- Against silence: with a control group of 10 % and 1,500 frauds a promise on missed fraud that is broken by 20 points
  is called broken in at least half of the worlds.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from shared.script import Verdict, counted, run
from shared.simulation import DAY, partly_observed, rules_of

from scoring_model.arrays import BoolArray, FloatArray
from scoring_model.decision.rules import DecisionRules, Promise
from scoring_model.evaluation import Evaluation, compare_evaluations, evaluate_records
from scoring_model.evaluation.stability import Verdict as Answer
from scoring_model.figures import ERRORS, FIGURES

DAYS: Final = 120
SHARE: Final = 0.03
LIMITS: Final = {"max_false_reject": 0.03, "max_step_up": 0.12, "max_missed_fraud": 0.60}
POPULATION: Final = 1_000_000

Models = tuple[FloatArray, FloatArray]


def rules(**limits: float) -> DecisionRules:
    """Rules that promise bounds."""
    promises = tuple(
        Promise(bound=bound, limit=limit, delta=0.05, observed=0.0, records=1, p_value=0.0)
        for bound, limit in limits.items()
    )
    plain = rules_of(fail_from=560)
    return replace(plain, policy=replace(plain.policy, promises=promises))


def draw(rng: np.random.Generator, count: int) -> tuple[NDArray[np.int8], Models]:
    """Draw labels, and the margins of the champion and of a challenger that finds more frauds."""
    labels = (rng.random(count) < SHARE).astype(np.int8)
    signal = rng.normal(-4.0, 1.0, count) + 2.5 * labels
    return labels, (signal + rng.normal(0, 0.4, count), signal + 0.2 * labels + rng.normal(0, 0.4, count))


def evaluated(
    margins: FloatArray,
    labels: NDArray[np.int8],
    times: NDArray[np.int64],
    seen: BoolArray,
    decided: DecisionRules,
    weights: FloatArray | None = None,
) -> Evaluation:
    """Evaluate a model where only some applicants were observed."""
    rows = np.flatnonzero(seen), np.flatnonzero(~seen)
    records = partly_observed(decided.decide(margins), labels, times, *rows, weights)
    return evaluate_records(records, rules=decided)


def error_rates(margins: FloatArray, labels: NDArray[np.int8]) -> dict[str, float]:
    """Count the errors of a model where all labels are known."""
    outcomes = rules_of(fail_from=560).decide(margins).outcomes
    genuine, frauds = outcomes[labels == 0], outcomes[labels == 1]
    rates = (genuine == 2, genuine > 0, frauds == 0)
    return {name: float(errors.mean()) for name, errors in zip(ERRORS, rates, strict=True)}


def differences(models: Models, labels: NDArray[np.int8]) -> dict[str, float]:
    """Return the errors of the challenger minus those of the champion."""
    champion, challenger = (error_rates(margins, labels) for margins in models)
    return {name: challenger[name] - champion[name] for name in ERRORS}


def world(
    seed: int, *, frauds: int, truth: dict[str, float], promised: dict[str, bool]
) -> Iterator[tuple[str, bool]]:
    """Check the statements about a world without a control group."""
    rng = np.random.default_rng(seed)
    count = round(frauds / SHARE)
    labels, models = draw(rng, count)
    times = rng.integers(0, DAYS, count) * DAY
    decided = rules(**LIMITS)
    seen = decided.decide(models[0]).outcomes == 0
    champion, challenger = (evaluated(margins, labels, times, seen, decided) for margins in models)
    released = compare_evaluations(champion, challenger).released
    if released is None:
        raise SystemExit("nobody was stopped")
    possible, sample = released.possible, differences(models, labels)
    inside = [possible[name].lowest <= sample[name] <= possible[name].highest for name in ERRORS]
    yield "sample within the exact ends", all(inside)
    ends = {name: possible[name].ends for name in ERRORS}
    inside = [
        float(one.simultaneous_low or 0) <= truth[name] <= float(one.simultaneous_high or 0)
        for name, one in ends.items()
    ]
    yield "population within the ends", all(inside)
    verdicts = {one.bound: one.verdict for one in champion.stability}
    wrong = [promised[bound] and verdict is Answer.BROKEN for bound, verdict in verdicts.items()]
    yield "a kept promise is called broken", any(wrong)
    yield "a kept step-up promise is called kept", verdicts["max_step_up"] is Answer.KEPT


def broken_promise_is_found(seed: int, *, missed: float) -> bool:
    """Whether a promise that is broken by 20 points is called broken with a control group of a tenth."""
    rng = np.random.default_rng(seed)
    count = round(1_500 / SHARE)
    labels, (margins, _) = draw(rng, count)
    decided = rules(max_missed_fraud=missed - 0.2)
    stops = decided.decide(margins).outcomes > 0
    seen = ~stops | (rng.random(count) < 0.1)
    weights = np.where(stops, 10.0, 1.0)
    found = evaluated(margins, labels, rng.integers(0, DAYS, count) * DAY, seen, decided, weights)
    (stability,) = (one for one in found.stability if one.bound == "max_missed_fraud")
    return stability.verdict is Answer.BROKEN


def main(*, worlds: int = 100, frauds: int = 600) -> Iterator[Verdict]:
    """Check all worlds."""
    labels, models = draw(np.random.default_rng(10**6), POPULATION)
    rates, truth = error_rates(models[0], labels), differences(models, labels)
    promised = {str(FIGURES[name].bound): rates[name] <= LIMITS[str(FIGURES[name].bound)] for name in ERRORS}
    print(f"champion on all applicants: {rates}; challenger minus champion: {truth}")
    counts: Counter[str] = Counter()
    for seed in range(worlds):
        for name, holds in world(seed, frauds=frauds, truth=truth, promised=promised):
            counts[name] += holds
    for (name, count), least in zip(counts.items(), (1.0, 0.95, 0.0, 0.95), strict=True):
        yield counted(name, count, worlds, at_least=least, at_most=1.0 if least else 0.0)
    found = sum(broken_promise_is_found(seed, missed=rates["missed_fraud"]) for seed in range(worlds))
    yield counted("a promise broken by 20 points is found", found, worlds, at_least=0.5)


if __name__ == "__main__":
    run(main)
