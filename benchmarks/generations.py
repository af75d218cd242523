r"""Whether promises hold for all applicants, and nothing is forgotten, when models decide whose labels are known.

The first records of a world were all observed. Then a model decides, and its successors are trained on the records of
all times, of which those that a model stopped have no label. There is no control group. One fraud in three has a
signal that no champion lets pass. At the end the thresholds of the second and third model meet fresh applicants, as if
all had passed. At most 5 of 100 worlds may break a promise to genuine applicants, and the third model must find at
least nine tenths of the frauds with the signal that the first one found.

"Left out" is for comparison: certified on the observed ones alone, as if the others did not exist.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray
from shared.script import Verdict, at_least, counted, run
from shared.simulation import DAY

from scoring_model.arrays import BoolArray, FloatArray
from scoring_model.configuration import PolicySettings, SplitSettings
from scoring_model.decision.probability import Platt
from scoring_model.decision.rules import DecisionRules
from scoring_model.records import NEVER
from scoring_model.training.assembly import find_shortfalls, fit_rules
from scoring_model.training.fitting import fit
from scoring_model.training.split import split

GENERATIONS: Final = 3
PERIOD: Final = 120 * DAY
MATURITY: Final = 20 * DAY
SPLIT: Final = SplitSettings(
    burn_in=DAY, train=0.7, validation=0.3, test=0.0, gap=0, label_maturity=MATURITY, min_frauds=5
)
POLICY: Final = PolicySettings(
    max_false_reject=0.01, max_step_up=0.05, max_missed_fraud=None, confidence=0.95
)
TREES: Final = {"learning_rate": 0.1, "num_leaves": 15, "min_data_in_leaf": 20}
FRESH: Final = 200_000


class Applicants(NamedTuple):
    """Rows of features, of which the last one is the signal, and labels."""

    rows: FloatArray
    labels: NDArray[np.int8]

    @classmethod
    def draw(cls, rng: np.random.Generator, count: int) -> "Applicants":
        """Draw applicants, 3 % of them frauds."""
        labels = (rng.random(count) < 0.03).astype(np.int8)
        rows = rng.normal(labels[:, None] * 0.9, 1.0, (count, 4))
        rows[:, 3] = rng.random(count) < np.where(labels == 1, 1 / 3, 0.002)
        return cls(rows, labels)


class Model(NamedTuple):
    """A booster with its rules, and whether these keep the bounds."""

    booster: lgb.Booster
    rules: DecisionRules
    keeps: bool

    def stops(self, rows: FloatArray) -> tuple[BoolArray, BoolArray]:
        """Return who is stepped up or failed, and who is failed."""
        outcomes = self.rules.decide(margins(self.booster, rows)).outcomes
        return outcomes > 0, outcomes == 2


def margins(booster: lgb.Booster, rows: FloatArray) -> FloatArray:
    """Return the margins of rows."""
    return np.asarray(booster.predict(rows, raw_score=True))


def train(
    rows: FloatArray,
    labels: NDArray[np.int8],
    observed: BoolArray,
    *,
    leave_out: bool = False,
    params: Mapping[str, float] = TREES,
    seed: int = 0,
) -> Model:
    """Train and certify as `train` does, each applicant a person; `leave_out` certifies on the observed ones alone."""
    times = np.linspace(0, PERIOD * (len(labels) / 12_000), len(labels)).astype(np.int64)
    known = np.where(observed & (labels == 1), labels, np.int8(-1))
    parts = split(
        times,
        known,
        np.where(known == 1, times + DAY, NEVER),
        np.arange(len(labels)),
        SPLIT,
        observed=observed,
    )
    booster = fit(
        rows[parts.train], parts.train_targets, params=params, rounds=60, seed=seed, threads=1,
        feature_names=("a", "b", "c", "signal"), categorical=(), monotone=(0,) * 4,
    )  # fmt: skip
    stopped = parts.stopped[:0] if leave_out else parts.stopped
    places, targets = np.arange(len(parts.validation)), parts.validation_targets
    rules, _, counts = fit_rules(
        margins(booster, rows[parts.validation]),
        targets,
        stopped=margins(booster, rows[stopped]) if len(stopped) else np.empty(0),
        persons=np.concatenate([places[targets == 0], len(places) + np.arange(len(stopped))]),
        rings=places[targets == 1],
        until=parts.boundaries.validation_to,
        settings=POLICY,
        calibration=Platt(slope=1.0, intercept=0.0),
    )
    return Model(booster, rules, keeps=not find_shortfalls(counts, POLICY))


def world(seed: int, *, records: int, leave_out: bool) -> tuple[bool, bool, int, float]:
    """Follow the generations of a world.

    Returns whether the second or third model breaks its bound on false rejects, or on step-ups; how many of the two
    have no thresholds that keep the bounds; the share of frauds with the signal that the third model stops, among those
    that the first one stops.
    """
    rng = np.random.default_rng(seed)
    fresh = Applicants.draw(rng, FRESH)
    genuine, marked = fresh.labels == 0, (fresh.labels == 1) & (fresh.rows[:, 3] == 1)
    past = Applicants.draw(rng, records)
    rows, labels, observed = past.rows, past.labels, np.ones(records, np.bool_)
    broken, without, found = [False, False], 0, []
    for generation in range(GENERATIONS):
        model = train(rows, labels, observed, leave_out=leave_out)
        stopped, failed = model.stops(fresh.rows)
        found.append(stopped & marked)
        if generation:
            broken[0] |= float(failed[genuine].mean()) > (POLICY.max_false_reject or 1)
            broken[1] |= float(stopped[genuine].mean()) > (POLICY.max_step_up or 1)
            without += not model.keeps
        new = Applicants.draw(rng, records)
        rows, labels = np.concatenate([rows, new.rows]), np.concatenate([labels, new.labels])
        observed = np.concatenate([observed, ~model.stops(new.rows)[0]])
    return broken[0], broken[1], without, float(found[-1][found[0]].mean())


def main(*, worlds: int = 100, records: int = 12_000) -> Iterator[Verdict]:
    """Follow the worlds, with so many records of a generation."""
    for name, leave_out in (("each stopped one genuine", False), ("left out", True)):
        ends = [world(seed, records=records, leave_out=leave_out) for seed in range(worlds)]
        rejects, step_ups, without, kept = (np.array(column) for column in zip(*ends, strict=True))
        print(f"{name}: false rejects {rejects.sum()}, step-ups {step_ups.sum()}")
        print(f"  without thresholds: {without.sum()} of {2 * worlds} models")
        print(
            f"  of the frauds with the signal that the first model stopped the third stops {kept.mean():.1%}"
        )
        broken, most = int((rejects | step_ups).sum()), 1.0 if leave_out else 0.05
        yield counted(f"{name}: worlds that break a promise", broken, worlds, at_most=most)
        least = 0.0 if leave_out else 0.9
        yield at_least(f"{name}: least share of these in a world", float(kept.min()), least)


if __name__ == "__main__":
    run(main)
