"""Certified thresholds beside MAPIE's risk control: the same margins and the same three bounds.

Both control the share of genuine who fail and the share who are stepped up, and the share of frauds that pass, with a
confidence of 95 % for all three. Per world (independent records, rings of ten, persons of four records) it draws
samples of a known population and counts what each certifies among the scores 10, 20, ..., 1000: thresholds found, draws
with a policy, and draws in which a certified threshold breaks its bound in the population.

MAPIE is used as its documentation describes (https://mapie.readthedocs.io): one `BinaryClassificationController` with
two risks for `step_up_from`, with its default correction for many thresholds, and one with a fixed sequence for
`fail_from`. It has no notion of persons and rings, so it gets all records; a second line gives it the one record of
each that our tests count.

It first checks, in the first draws of each world, that three fixed sequences of MAPIE on these records certify exactly
our thresholds. Exits with 1 if they do not, or if our bounds are broken more often than promised.

Run as ``python benchmarks/thresholds_peers.py --environments DIRECTORY [--draws N]``, where the environment of MAPIE
is created once. A thousand draws take about two minutes on two idle cores.
"""

import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from promises import JUDGED, NOMINAL, WITH_RINGS, share_text, surely_above
from shared.judging import arguments
from shared.processes import run_peer

from promise_simulation import BOUNDS, Sample, World, draw_sample, population_errors
from scoring_model.arrays import BoolArray, IntArray
from scoring_model.evaluation.bounds import FALSE_REJECT, MISSED_FRAUD, STEP_UP
from scoring_model.training.certification import certify

REQUIREMENTS: Final = ("mapie==1.6.0",)
WORLDS: Final = {name: world for name, world in JUDGED.items() if world.members == 1 or world.repeats == 1}
GRID: Final = np.arange(10, 1001, 10)
SEED: Final = 20
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


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Certified:
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
        answer = run_peer(place, REQUIREMENTS, _PEER, json.dumps(asked), path)
    found = np.array(answer["found"], dtype=bool)
    return Certified(step_up=found[:, 0], fail=found[:, 1], seconds=answer["seconds"])


def report(name: str, certified: Certified, samples: list[Sample], ours: Certified) -> None:
    """Print one line of a world, with the ratio of the thresholds found."""
    draws = len(samples)
    print(
        f"  {name:<27} {certified.found:6.1f} thresholds ({certified.found / ours.found:.2f} of ours), a policy in "
        f"{certified.with_policy() / draws:7.2%} of draws, broken in {share_text(certified.broken(samples), draws)}, "
        f"{1000 * certified.seconds / draws:.1f} ms a draw"
    )


def compare(name: str, world: World, place: Path, *, draws: int) -> bool:
    """Compare both in one world; return True if the answers agree and our promises are kept."""
    rng = np.random.default_rng(SEED)
    samples = [draw_sample(world, rng) for _ in range(draws)]
    every = [sample.genuine for sample in samples], [sample.frauds for sample in samples]
    tested = [sample.tested_genuine for sample in samples], [sample.tested_frauds for sample in samples]
    ours = certify_ours(samples)
    same = certify_mapie(place, *(scores[:CHECKED] for scores in tested), use="sequences")
    agree = np.array_equal(same.step_up, ours.step_up[:CHECKED]) and np.array_equal(
        same.fail, ours.fail[:CHECKED]
    )
    print(f"\n{name}, {draws} draws; three fixed sequences of MAPIE {'agree' if agree else 'DISAGREE'}")
    report("ours", ours, samples, ours)
    report("MAPIE, all records", certify_mapie(place, *every, use="documented"), samples, ours)
    if world.members > 1 or world.repeats > 1:
        once = certify_mapie(place, *tested, use="documented")
        report("MAPIE, one record of each", once, samples, ours)
    limit = WITH_RINGS if world.members > 1 else NOMINAL
    return agree and not surely_above(ours.broken(samples), draws, limit)


def main() -> int:
    """Compare both in every world."""
    parser = arguments(__doc__)
    parser.add_argument(
        "--environments", type=Path, required=True, help="Folder for the environment of MAPIE."
    )
    parser.add_argument("--draws", type=int, default=1000)
    options = parser.parse_args()
    place = options.environments / REQUIREMENTS[0].replace("==", "-")
    kept = [compare(name, world, place, draws=options.draws) for name, world in WORLDS.items()]
    print("\nkept" if all(kept) else "\nBROKEN")
    return int(not all(kept))


if __name__ == "__main__":
    sys.exit(main())
