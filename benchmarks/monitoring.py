r"""What the monitor finds and how often it is wrong, in simulations, with 95 % intervals (Wilson).

    python benchmarks/monitoring.py [--windows 200] [--years 1000] [--peers FOLDER] [--compared 40]

With `--peers`, CBPE of NannyML estimates the first windows too, in an environment of its own that is created in FOLDER.
The benchmark ends with an error when a figure misses what is promised:

- drift: at most 11 of 100 fresh samples raise an alarm, with design effects of 1.4 to 3.3 from week to week; half a
  standard deviation in half the rows of 10,000 is named first in 95 of 100;
- rates: a doubled rate of step-ups is found within 5,000 applicants (median), also in the middle of a year; of 1,000
  years without drift at most 66 raise an alarm;
- estimates: at least 180 of 200 intervals cover, under covariate shift; with doubled odds of fraud the answer is "can't
  know" in at least 80 % of windows with 200 matured frauds.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.environments import install_environment

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.bundle import Profile, ReferenceDays, measure_reference_days
from scoring_model.decision.rules import DecisionRules, Decisions, Policy
from scoring_model.decision.scale import ScoreScale
from scoring_model.evaluation.uncertainty import share_of
from scoring_model.monitoring.early import Estimates, Knowledge, estimate_errors
from scoring_model.monitoring.sequences import YEAR_DAYS, rate_alarm
from scoring_model.monitoring.shifts import Blocks, measure_shifts
from scoring_model.training.calibration import fit_platt

DAY: Final = 86_400_000_000
PEERS: Final = ("nannyml==0.13.1", "statsmodels==0.15.0")
"""NannyML imports statsmodels, which it does not require on this Python."""

_PEER: Final = """\
import json, sys, warnings
warnings.simplefilter("ignore")
import nannyml
import numpy as np
import pandas as pd

arrays, found = np.load(sys.argv[1]), []
for place in range(int(arrays["windows"])):
    estimates = {}
    for name, metric in (("missed_fraud", "recall"), ("false_reject", "specificity")):
        reference, window = (
            pd.DataFrame({
                "probability": arrays[f"{part}_probability_{place}"],
                "decision": arrays[f"{part}_{name}_{place}"].astype(int),
                "fraud": arrays[f"{part}_fraud_{place}"].astype(int),
            })
            for part in ("reference", "window")
        )
        estimator = nannyml.CBPE(
            problem_type="classification_binary", y_pred_proba="probability", y_pred="decision", y_true="fraud",
            metrics=[metric], chunk_size=len(window),
        )
        estimator.fit(reference)
        result = estimator.estimate(window.drop(columns="fraud")).filter(period="analysis").to_df()
        row = result[metric].iloc[0]
        low, high = row["lower_confidence_boundary"], row["upper_confidence_boundary"]
        estimates[name] = (float(1 - high), float(1 - low))
    found.append(estimates)
print(json.dumps(found))
"""
"""One minus the recall is the share of frauds that pass, one minus the specificity that of genuine who fail."""

FEATURES: Final = 40
CUTS: Final = np.array([NormalDist().inv_cdf(share) for share in np.arange(0.1, 1, 0.1)])
CDF: Final = np.vectorize(NormalDist().cdf)
RATE, BOUND, CAP = 0.0466, 0.05, 0.02
REFERENCE, WINDOW, WEEK_SPREAD = 25_000, 10_000, 0.2


@dataclass(frozen=True, slots=True)
class Figure:
    """A count of a total that is promised to be at least or at most a share."""

    name: str
    count: int
    total: int
    at_least: float = 0.0
    at_most: float = 1.0

    @property
    def holds(self) -> bool:
        """Whether the observed share is as promised."""
        return self.at_least <= self.count / self.total <= self.at_most

    def __str__(self) -> str:
        share = share_of(self.count, self.total)
        ends = f"{share.low:.3f} to {share.high:.3f}"
        return f"{self.name}: {self.count} of {self.total} ({ends}) {'' if self.holds else 'MISSED'}".rstrip()


def drifting_weeks(
    rng: np.random.Generator, sizes: IntArray, spread: FloatArray, *, shifted: int | None = None
) -> Blocks:
    """Draw features whose weekly means differ; one of them half a standard deviation higher in half the rows."""
    hits = []
    for size in sizes.tolist():
        means = rng.normal(0, spread)
        below = CDF(CUTS - means[:, np.newaxis])
        if shifted is not None:
            below[shifted] = (below[shifted] + CDF(CUTS - 0.5 - means[shifted])) / 2
        shares = np.diff(below, axis=1, prepend=0.0, append=1.0)
        counts = rng.multinomial(size, shares / shares.sum(axis=1, keepdims=True))
        hits.append(size - counts.cumsum(axis=1)[:, :-1].ravel())
    return Blocks(records=sizes, hits=np.array(hits))


def drift(samples: int = 100) -> Iterator[Figure]:
    """Count false alarms and shifts that are named first."""
    for weeks in (4, 8):
        rng, alarms, first = np.random.default_rng(weeks), 0, 0
        for _ in range(samples):
            week = WINDOW // weeks
            effects = rng.uniform(1.4, 3.3, FEATURES)
            spread = np.sqrt((effects - 1) * 0.25 / (week * NormalDist().pdf(0) ** 2))
            sizes, own = rng.integers(round(0.7 * 1250), round(1.3 * 1250), 14), np.full(weeks, week)
            reference = drifting_weeks(rng, sizes, spread)
            found = measure_shifts(reference, drifting_weeks(rng, own, spread))
            alarms += int(found.statistics.max() > (found.limit or np.inf))
            moved = measure_shifts(reference, drifting_weeks(rng, own, spread, shifted=7))
            largest = int(np.argmax(moved.statistics))
            first += int(largest // len(CUTS) == 7 and moved.statistics[largest] > (moved.limit or np.inf))
        where = f"{FEATURES} features, 14 weeks of reference, {weeks} of window"
        yield Figure(f"drift, {where}: false alarms", alarms, samples, at_most=0.11)
        yield Figure(f"drift, {where}: shift named first", first, samples, at_least=0.95)


def rates(years: int) -> Iterator[Figure]:
    """Count false alarms in years, and delays within 5,000 applicants."""
    limit, rng = BOUND * (1 - CAP) + CAP, np.random.default_rng(0)
    for name, rate in (("4.66 %", RATE), ("the largest rate that is allowed", limit)):
        alarms = 0
        for _ in range(years):
            records = rng.poisson(100, YEAR_DAYS)
            events = rng.binomial(records, rate)
            alarms += rate_alarm(events, records, limit=limit, error=0.05).raised is not None
        yield Figure(f"rates, {name}: years with an alarm", alarms, years, at_most=0.066)
    for start in (0, YEAR_DAYS // 2):
        delays = []
        for _ in range(200):
            records = rng.poisson(100, YEAR_DAYS)
            events = rng.binomial(records, np.where(np.arange(YEAR_DAYS) < start, RATE, 2 * RATE))
            raised = rate_alarm(events, records, limit=limit, error=0.05).raised
            delays.append(np.inf if raised is None else float(records[start : raised + 1].sum()))
        print(f"rates, doubled on day {start}: median delay {np.median(delays):,.0f} applicants")
        within = sum(delay <= 5000 for delay in delays)
        yield Figure(f"rates, doubled on day {start}: within 5,000", within, len(delays), at_least=0.5)


@dataclass(frozen=True, slots=True)
class Sample:
    """Records with their true classes."""

    margins: FloatArray
    times: IntArray
    frauds: BoolArray


def sample(
    rng: np.random.Generator, size: int, days: int, *, centre: float, width: float = 1.5, more: float = 0.0
) -> Sample:
    """Draw records whose odds of fraud follow the margin and differ between weeks."""
    margins, times = rng.normal(centre, width, size), rng.integers(0, days * DAY, size)
    weeks = rng.normal(0, WEEK_SPREAD, days // 7 + 1)[times // (7 * DAY)]
    return Sample(margins, times, rng.random(size) < 1 / (1 + np.exp(-(1.1 * margins + 0.3 + more + weeks))))


@dataclass(frozen=True, slots=True)
class Trained:
    """A reference with rules that were fitted on it."""

    sample: Sample
    rules: DecisionRules
    days: ReferenceDays


def trained(rng: np.random.Generator) -> Trained:
    """Fit probability and thresholds on a reference period of 14 weeks."""
    found = sample(rng, REFERENCE, 98, centre=-5.8)
    cuts = np.linspace(-9, 0, 1000)
    step_up, fail = np.searchsorted(cuts, np.quantile(found.margins, [0.95, 0.998]))
    rules = DecisionRules(
        scale=ScoreScale(cuts=cuts, extrapolated_from=1001),
        calibration=fit_platt(found.margins, found.frauds.astype(np.int8)),
        policy=Policy(step_up_from=int(step_up), fail_from=int(fail)),
    )
    decisions = rules.decide(found.margins)
    days = measure_reference_days(
        np.zeros((REFERENCE, 0)),
        profile=Profile(records=REFERENCE, features={}, scores=(0.0,) * 101),
        names=(),
        persons=np.arange(REFERENCE),
        event_times=found.times,
        margins=found.margins,
        scores=decisions.scores,
        outcomes=decisions.outcomes,
        targets=found.frauds.astype(np.int8),
        thresholds=(rules.policy.step_up_from, rules.policy.fail_from),
        contributions=np.zeros((1, 0)),
    )
    return Trained(found, rules, days)


def realised(decisions: Decisions, frauds: BoolArray) -> dict[str, float]:
    """Return the rates that the labels show."""
    return {
        "missed_fraud": float(np.mean(decisions.outcomes[frauds] == 0)),
        "false_reject": float(np.mean(decisions.outcomes[~frauds] == 2)),
    }


def estimated(model: Trained, window: Sample, *, matured: int = 0) -> Estimates:
    """Estimate a window, the earliest records of which are mature until there are so many frauds."""
    order = np.argsort(window.times)
    mature = np.zeros(len(order), dtype=bool)
    mature[order[np.cumsum(window.frauds[order]) <= matured]] = matured > 0
    targets = np.where(mature, window.frauds, -1).astype(np.int8)
    decisions = model.rules.decide(window.margins)
    return estimate_errors(model.days, model.rules.calibration, decisions, window.times, targets)


def estimates(windows: int, peers: Path | None, compared: int) -> Iterator[Figure]:
    """Count intervals that cover what is realised, and windows in which nothing can be known."""
    rng = np.random.default_rng(1)
    covered = dict.fromkeys(("missed_fraud", "false_reject"), 0)
    widths: dict[str, list[float]] = {name: [] for name in covered}
    truths, arrays = [], {"windows": np.array(min(compared, windows))}
    doubled = same = 0
    for place in range(windows):
        model = trained(rng)
        shift, width = rng.uniform(-0.3, 0.6), rng.uniform(1.3, 1.7)
        window = sample(rng, WINDOW, 28, centre=-5.8 + shift, width=width)
        truth = realised(model.rules.decide(window.margins), window.frauds)
        for name, one in estimated(model, window).overall.items():
            if name in covered and one.low is not None and one.high is not None:
                covered[name] += int(one.low <= truth[name] <= one.high)
                widths[name].append(one.high - one.low)
        truths.append(truth)
        if peers is not None and place < compared:
            arrays |= _columns(model, window, place)
        for more in (0.0, float(np.log(2))):
            late = sample(rng, 20_000, 98, centre=-5.6, more=more)
            known = estimated(model, late, matured=200).knowledge
            doubled += int(more > 0 and known is Knowledge.CANNOT_KNOW)
            same += int(more == 0 and known is Knowledge.CANNOT_KNOW)
    for name, count in covered.items():
        print(f"estimates, {name}: median width of the interval {np.median(widths[name]):.4f}")
        yield Figure(f"estimates, {name}: intervals that cover", count, windows, at_least=0.9)
    yield Figure("estimates, odds doubled, 200 matured frauds: can't know", doubled, windows, at_least=0.8)
    yield Figure("estimates, odds as before, 200 matured frauds: can't know", same, windows)
    if peers is not None:
        yield from _peer(arrays, truths[:compared], peers)


def _columns(model: Trained, window: Sample, place: int) -> dict[str, FloatArray | IntArray | BoolArray]:
    """Return what CBPE reads of a reference and a window."""
    found: dict[str, FloatArray | IntArray | BoolArray] = {}
    for part, one in (("reference", model.sample), ("window", window)):
        decisions = model.rules.decide(one.margins)
        found[f"{part}_probability_{place}"] = decisions.probabilities
        found[f"{part}_missed_fraud_{place}"] = decisions.outcomes > 0
        found[f"{part}_false_reject_{place}"] = decisions.outcomes == 2
        found[f"{part}_fraud_{place}"] = one.frauds
    return found


def _peer(
    arrays: dict[str, FloatArray | IntArray | BoolArray], truths: list[dict[str, float]], peers: Path
) -> Iterator[Figure]:
    """Let CBPE estimate the same windows."""
    programs = install_environment(peers / "nannyml", PEERS)
    path = peers / "windows.npz"
    np.savez(path, **arrays)  # type: ignore[arg-type]
    began = time.monotonic()
    done = subprocess.run(
        [programs / "python", "-c", _PEER, path], check=True, capture_output=True, text=True
    )
    print(f"NannyML: {time.monotonic() - began:.0f} s for {len(truths)} windows")
    found = json.loads(done.stdout.splitlines()[-1])
    for name in ("missed_fraud", "false_reject"):
        ends = [one[name] for one in found]
        print(
            f"NannyML, {name}: median width of the band {np.median([high - low for low, high in ends]):.4f}"
        )
        inside = sum(low <= truth[name] <= high for (low, high), truth in zip(ends, truths, strict=True))
        yield Figure(f"NannyML, {name}: bands that cover", inside, len(truths))


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--windows", type=int, default=200)
    parser.add_argument("--years", type=int, default=1000)
    parser.add_argument("--peers", type=Path, default=None)
    parser.add_argument("--compared", type=int, default=40, help="windows that NannyML estimates too")
    arguments = parser.parse_args()
    missed = False
    for figures in (
        drift(),
        rates(arguments.years),
        estimates(arguments.windows, arguments.peers, arguments.compared),
    ):
        for figure in figures:
            print(figure, flush=True)
            missed |= not figure.holds
    if missed:
        sys.exit("a figure misses what is promised")


if __name__ == "__main__":
    main()
