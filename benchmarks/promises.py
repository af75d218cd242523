"""Laws 6 and 7 in simulation: how often a promise certified on a sample fails in its population.

In every draw the scale is fitted again, the thresholds are certified on the same records, and every certified threshold
is compared with the population: a draw counts as broken if any of them breaks its bound, whichever pair is chosen. At a
confidence of 95 % at most 5 % of the draws may be broken (7 % with rings of ten), and fresh records may lie outside of
their two-sample interval in at most 5 % of the draws, each within the error of the simulation. Otherwise the exit code
is 1. Worlds marked "to compare with" break the conditions of the promise.

A chooser who looks first sets bounds after seeing all results, and even the errors of the population. On the ladder of
bounds at most 5 % of the draws may leave this chooser any policy that breaks its promise; a quarter as many draws are
made, since each certifies all values of the ladder. Bounds that are tested as if they had been set before show what
the ladder is for.

With ``--mapie FOLDER`` it compares with MAPIE's risk control instead, which is installed there once: the same margins
and bounds, thresholds among the scores 10, 20, ..., 1000. MAPIE is used as its documentation describes
(https://mapie.readthedocs.io): one `BinaryClassificationController` with two risks for `step_up_from`, with its default
correction for many thresholds, and one with a fixed sequence for `fail_from`. It has no notion of persons and rings, so
it gets all records; a second line gives it the one record of each that our tests count. In the first draws of each
world three fixed sequences of MAPIE on these records must certify exactly our thresholds.
"""

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from shared.processes import run_peer
from shared.script import Verdict, run

from promise_simulation import (
    ANY,
    AS_IF_SET_BEFORE,
    BOUNDS,
    CHEAPEST,
    LOWEST,
    ON_LADDER,
    Sample,
    World,
    draw_sample,
    fresh_shares_outside,
    population_errors,
    simulate,
    simulate_chooser,
)
from scoring_model.arrays import BoolArray, IntArray
from scoring_model.evaluation.bounds import FALSE_REJECT, MISSED_FRAUD, STEP_UP, exact_share
from scoring_model.training.certification import certify

NOMINAL: Final = 0.05
WITH_RINGS: Final = 0.07
SEED: Final = 20

JUDGED: Final = {
    "independent records": World(),
    "repeat persons, 4 records each": World(repeats=4, persons=1500),
    "rings of ten": World(rings=60, members=10),
    "rings of ten and repeat persons": World(rings=60, members=10, repeats=4, persons=1500),
}
COMPARED: Final = {
    "rings of ten, half of them shown as pairs": World(rings=60, members=10, hidden=0.5),
    "rings of ten, counted as ten": World(rings=60, members=10, counted=True),
    "repeat persons, counted as four": World(repeats=4, persons=1500, counted=True),
}

MAPIE: Final = ("mapie==1.6.0",)
WORLDS: Final = {name: world for name, world in JUDGED.items() if world.members == 1 or world.repeats == 1}
"""Those that MAPIE sees."""
GRID: Final = np.arange(10, 1001, 10)
CHECKED: Final = 20
"""Draws of each world in which the answers are compared."""

_PEER: Final = """\
import json, sys, time, warnings
import numpy as np
from mapie.risk_control import BinaryClassificationController as Controller

asked, records = json.loads(sys.argv[1]), np.load(sys.argv[2])
# MAPIE takes probabilities. From the safest threshold of genuine records to the riskiest one, as its fixed sequence is.
descending = np.array(asked["grid"])[::-1] / 1001
delta = asked["delta"]


def certified(scores, labels, risk, target, confidence, method, order):
    controller = Controller(
        lambda x: np.column_stack([1 - x[:, 0], x[:, 0]]), risk, target, confidence_level=confidence,
        list_predict_params=order, fwer_method=method, best_predict_param_choice="recall",
    )
    controller.calibrate(scores[:, None] / 1001, labels)
    return np.isin(descending[::-1], controller.valid_predict_params).tolist()


def as_documented(scores, labels):
    fpr, recall = asked["max_step_up"], 1 - asked["max_missed_fraud"]
    step_up = certified(
        scores, labels, ["fpr", "recall"], [fpr, recall], 1 - 2 * delta, "bonferroni_holm", descending
    )
    return step_up, sequence(scores, labels, "fpr", asked["max_false_reject"], descending)


def sequence(scores, labels, risk, target, order):
    return certified(scores, labels, risk, target, 1 - delta, "fixed_sequence", order)


def three_sequences(scores, labels):
    low = sequence(scores, labels, "fpr", asked["max_step_up"], descending)
    high = sequence(scores, labels, "recall", 1 - asked["max_missed_fraud"], descending[::-1])
    step_up = [first and last for first, last in zip(low, high)]
    return step_up, sequence(scores, labels, "fpr", asked["max_false_reject"], descending)


warnings.simplefilter("ignore")  # it warns whenever it certifies nothing
use = {"documented": as_documented, "sequences": three_sequences}[asked["use"]]
started, found = time.perf_counter(), []
for genuine, frauds in zip(records["genuine"], records["frauds"]):
    scores = np.concatenate([genuine, frauds]).astype(float)
    labels = np.repeat([0, 1], [len(genuine), len(frauds)])
    found.append(use(scores, labels))
print(json.dumps({"found": found, "seconds": time.perf_counter() - started}))
"""


def share_text(count: int, draws: int) -> str:
    """Format a share of the draws with its exact 95 % interval."""
    share = exact_share(count, draws)
    return f"{share.value:6.2%} ({share.low:.2%} to {share.high:.2%})"


def at_most(name: str, count: int, draws: int, limit: float) -> Verdict:
    """Judge whether a share of the draws exceeds a limit by more than the simulation error."""
    low = exact_share(count, draws).low
    return Verdict(low is None or low <= limit, f"{name:<24} {share_text(count, draws)}, at most {limit:.0%}")


def limit_of(world: World) -> float:
    """Return the share of draws that may be broken."""
    return WITH_RINGS if world.members > 1 else NOMINAL


def show(what: str, count: int, draws: int) -> None:
    """Print a share that is not judged."""
    print(f"      {what:<24} {share_text(count, draws)}")


def judge_world(world: World, *, draws: int) -> Iterator[Verdict]:
    """Simulate one world."""
    tally, limit = simulate(world, draws=draws, seed=SEED), limit_of(world)
    yield Verdict(tally.infeasible < draws / 2, f"{tally.infeasible} draws promised nothing")
    for what, count in tally.broken.items():
        if what in (ANY, LOWEST, CHEAPEST):
            yield at_most(what, count, draws, limit)
        else:
            show(what, count, draws)
    if world.members > 1:
        yield Verdict(tally.broken[ANY] <= limit * draws, f"{ANY}, without the error of the simulation")


def judge_chooser(world: World, *, draws: int) -> Iterator[Verdict]:
    """Simulate a chooser who looks first."""
    tally = simulate_chooser(world, draws=draws, seed=SEED)
    print(
        f"      a chooser who looks first, {draws} draws: {tally.infeasible} without a policy for three bounds"
    )
    yield at_most(ON_LADDER, tally.broken[ON_LADDER], draws, NOMINAL)
    show(f"{AS_IF_SET_BEFORE} (to compare with)", tally.broken[AS_IF_SET_BEFORE], draws)


def judge_fresh(*, draws: int, records: int) -> Iterator[Verdict]:
    """Compare scales with fresh records."""
    print(f"\nfresh records outside of the two-sample interval at 95 %, {records} records each")
    found = fresh_shares_outside(draws=draws, records=records, seed=SEED)
    for score, (outside, extrapolated) in found.items():
        note = ", extrapolated: too many alone are counted" if extrapolated else ""
        yield at_most(f"{score}{note}", outside, draws, NOMINAL)


class Certified(NamedTuple):
    """Whether each score of `GRID` is certified in each draw, both of shape (draws, 100); seconds for all draws."""

    step_up: BoolArray
    fail: BoolArray
    seconds: float

    @property
    def found(self) -> float:
        """Mean number of certified thresholds of a draw, both kinds together."""
        return float(self.step_up.sum(axis=1).mean() + self.fail.sum(axis=1).mean())

    def with_policy(self) -> int:
        """Count the draws in which both thresholds can be chosen."""
        return int(np.count_nonzero(self.step_up.any(axis=1) & self.fail.any(axis=1)))

    def broken(self, samples: list[Sample]) -> int:
        """Count the draws in which a certified threshold breaks its bound in the population."""
        limits, count = BOUNDS.limits(), 0
        for sample, step_up, fail in zip(samples, self.step_up, self.fail, strict=True):
            breaks = {name: population_errors(sample.scale, name)[GRID - 1] > limits[name] for name in limits}
            bad = (breaks[STEP_UP] | breaks[MISSED_FRAUD]) & step_up | breaks[FALSE_REJECT] & fail
            count += bool(bad.any())
        return count


def certify_ours(samples: list[Sample]) -> Certified:
    """Certify on one record of each person and ring."""
    started, step_up, fail = time.perf_counter(), [], []
    for sample in samples:
        found = certify(sample.tested_genuine, sample.tested_frauds, settings=BOUNDS)
        step_up.append(np.isin(GRID, found.step_up))
        fail.append(np.isin(GRID, found.fail))
    return Certified(step_up=np.array(step_up), fail=np.array(fail), seconds=time.perf_counter() - started)


def certify_mapie(place: Path, genuine: list[IntArray], frauds: list[IntArray], *, use: str) -> Certified:
    """Certify with MAPIE, in its own environment."""
    limits = BOUNDS.limits()
    delta = round(1 - BOUNDS.confidence, 12) / len(limits)
    asked = {**limits, "use": use, "grid": GRID.tolist(), "delta": delta}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.npz"
        np.savez(path, genuine=np.array(genuine), frauds=np.array(frauds))
        answer = run_peer(place, MAPIE, _PEER, json.dumps(asked), path)
    found = np.array(answer["found"], dtype=bool)
    return Certified(step_up=found[:, 0], fail=found[:, 1], seconds=answer["seconds"])


def compare(world: World, place: Path, *, draws: int) -> Iterator[Verdict]:
    """Compare with MAPIE in one world."""
    rng = np.random.default_rng(SEED)
    samples = [draw_sample(world, rng) for _ in range(draws)]
    every = [sample.genuine for sample in samples], [sample.frauds for sample in samples]
    tested = [sample.tested_genuine for sample in samples], [sample.tested_frauds for sample in samples]
    ours = certify_ours(samples)
    same = certify_mapie(place, *(scores[:CHECKED] for scores in tested), use="sequences")
    agree = np.array_equal(same[:2], [ours.step_up[:CHECKED], ours.fail[:CHECKED]])
    yield Verdict(agree, "three fixed sequences of MAPIE certify the same")
    certified = {"ours": ours, "MAPIE, all records": certify_mapie(place, *every, use="documented")}
    if world.members > 1 or world.repeats > 1:
        certified["MAPIE, one record of each"] = certify_mapie(place, *tested, use="documented")
    for name, one in certified.items():
        print(
            f"      {name:<27} {one.found:6.1f} thresholds ({one.found / ours.found:.2f} of ours), a policy in "
            f"{one.with_policy() / draws:7.2%} of draws, broken in {share_text(one.broken(samples), draws)}, "
            f"{1000 * one.seconds / draws:.1f} ms a draw"
        )
    yield at_most("ours broken", ours.broken(samples), draws, limit_of(world))


def main(*, draws: int = 2000, mapie: Path | None = None) -> Iterator[Verdict]:
    """Simulate every world."""
    print(f"{draws} draws each; shares in which a bound is broken, 95 % intervals of Clopper and Pearson")
    if mapie is not None:
        for name, world in WORLDS.items():
            print(f"\n{name}")
            yield from compare(world, mapie / "mapie", draws=draws)
        return
    for name, world in JUDGED.items():
        print(f"\n{name}")
        yield from judge_world(world, draws=draws)
        yield from judge_chooser(world, draws=max(draws // 4, 1))
    yield from judge_fresh(draws=draws, records=5000)
    for name, world in COMPARED.items():
        tally = simulate(world, draws=draws, seed=SEED)
        print(f"\n{name} (to compare with): {tally.infeasible} draws promised nothing")
        for what, count in tally.broken.items():
            show(what, count, draws)


if __name__ == "__main__":
    run(main)
