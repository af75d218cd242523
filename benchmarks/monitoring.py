r"""What the monitor finds and how often it is wrong, in simulations, with 95 % intervals (Wilson).

With `--peers`, CBPE of NannyML estimates the first windows too, in an environment of its own that is created there.
The benchmark ends with an error when a figure misses what is promised:

- drift: at most 11 of 100 fresh samples raise an alarm, with design effects of 1.4 to 3.3 from week to week; half a
  standard deviation in half the rows of 10,000 is named first in 95 of 100;
- windows of 3, 7, 10, 28 and 30 days, with even and busy weekends, where nothing drifts but weekdays differ: at most 66
  of 600 raise an alarm, none of the ten cells more than 12 of 60; with 26 weeks of reference at most 45 of 600;
- power: a VPN share from 11 to 17 % or a country from 3.3 to 8.2 % in 3,000 records is found or suspected in 57 of 60;
- rates: a doubled rate of step-ups is found within 5,000 applicants (median), also in the middle of a year; of 1,000
  years without drift at most 66 raise an alarm;
- estimates: at least 180 of 200 intervals cover, under covariate shift; with doubled odds of fraud the answer is "can't
  know" in at least 80 % of windows with 200 matured frauds; the same where nobody whom the policy stopped has a label.
"""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from shared.processes import run_peer
from shared.script import Verdict, counted, run
from shared.simulation import DAY

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.bundle import Profile, ReferenceDays, measure_reference_days
from scoring_model.decision.rules import DecisionRules, Decisions, Policy
from scoring_model.decision.scale import ScoreScale
from scoring_model.monitoring.early import Estimates, Knowledge, estimate_errors
from scoring_model.monitoring.sequences import YEAR_DAYS, rate_alarm
from scoring_model.monitoring.shifts import DayCounts, Shifts, measure_shifts, weekday_of
from scoring_model.training.calibration import fit_platt

PEERS: Final = ("nannyml==0.13.1", "statsmodels==0.15.0")
"""NannyML imports statsmodels, which it does not require on this Python."""

_PEER: Final = """\
import json, sys
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
CDF: Final = ndtr
RATE, BOUND, CAP = 0.0466, 0.05, 0.02
REFERENCE, WINDOW, WEEK_SPREAD = 25_000, 10_000, 0.2


class Traffic(NamedTuple):
    """Applicants whose numbers and categories differ between weekdays and between weeks, and drift in nothing.

    `spread` is the standard deviation of the mean of each number from week to week, in standard deviations of
    applicants; `odds` are log-odds of categories; `loads` are relative numbers of applicants from Monday on.
    """

    spread: FloatArray
    weekdays: FloatArray
    odds: FloatArray
    week_odds: FloatArray
    weekday_odds: FloatArray
    loads: FloatArray

    @classmethod
    def draw(
        cls,
        rng: np.random.Generator,
        *,
        week: float,
        numbers: int,
        categories: int,
        differ: float,
        weekend: float,
    ) -> "Traffic":
        """Draw numbers and categories whose shares in a week of `week` records have design effects of 1.4 to 3.3."""
        effects = rng.uniform(1.4, 3.3, numbers)
        shares = rng.uniform(0.02, 0.4, categories)
        own = np.sqrt((rng.uniform(1.4, 3.3, categories) - 1) / (week * shares * (1 - shares)))
        free = (np.arange(7) >= 5)[:, np.newaxis]
        return cls(
            spread=np.sqrt((effects - 1) * 0.25 / (week * NormalDist().pdf(0) ** 2)),
            weekdays=rng.normal(0, differ, (7, numbers)) + free * rng.normal(0, 3 * differ, numbers),
            odds=np.log(shares / (1 - shares)),
            week_odds=own,
            weekday_odds=rng.normal(0, differ, (7, categories))
            + free * rng.normal(0, 3 * differ, categories),
            loads=np.where(np.arange(7) >= 5, weekend, 1.0),
        )

    def days(
        self,
        rng: np.random.Generator,
        *,
        first: int,
        count: int,
        records: float,
        shifted: int | None = None,
        shares: tuple[tuple[int, float, float], ...] = (),
    ) -> DayCounts:
        """Draw days, with so many records expected in all.

        The number `shifted` is half a standard deviation higher in half the rows. `shares` are categories with their
        shares before and on these days.
        """
        days = np.arange(first, first + count)
        weekday = weekday_of(days)
        week = (
            days - weekday - days[0] + weekday[0]
        ) // 7  # of the calendar, whatever day the window begins on
        weeks = int(week[-1]) + 1
        means = self.weekdays[weekday] + rng.normal(0, self.spread, (weeks, len(self.spread)))[week]
        below = CDF(CUTS - means[..., np.newaxis])
        if shifted is not None:
            below[:, shifted] = (below[:, shifted] + CDF(CUTS - 0.5 - means[:, shifted, np.newaxis])) / 2
        odds = self.odds + self.weekday_odds[weekday]
        odds = odds + rng.normal(0, self.week_odds, (weeks, len(self.odds)))[week]
        for place, before, after in shares:
            odds[:, place] += np.log(after / (1 - after)) - np.log(before / (1 - before))
        loads = self.loads[weekday]
        sizes = np.maximum(rng.poisson(records * loads / loads.sum()), 1)
        parts = np.diff(below, axis=2, prepend=0.0, append=1.0)
        counts = rng.multinomial(sizes[:, np.newaxis], parts / parts.sum(axis=2, keepdims=True))
        above = (sizes[:, np.newaxis, np.newaxis] - counts.cumsum(axis=2)[..., :-1]).reshape(count, -1)
        own = rng.binomial(sizes[:, np.newaxis], 1 / (1 + np.exp(-odds)))
        return DayCounts(days=days, records=sizes, hits=np.hstack([above, own]))

    @property
    def families(self) -> IntArray:
        """Codes of the families: numbers and categories."""
        return np.repeat([0, 1], [len(self.spread) * len(CUTS), len(self.odds)])


def alarms_of(found: Shifts) -> BoolArray:
    """Return which shares drifted."""
    return found.statistics > (np.inf if found.limits is None else np.nan_to_num(found.limits, nan=np.inf))


def drift(samples: int = 100) -> Iterator[Verdict]:
    """Count false alarms and shifts that are named first."""
    for weeks in (4, 8):
        rng, alarms, first = np.random.default_rng(weeks), 0, 0
        for _ in range(samples):
            world = Traffic.draw(
                rng, week=WINDOW // weeks, numbers=FEATURES, categories=0, differ=0.0, weekend=1.0
            )
            reference = world.days(rng, first=0, count=98, records=14 * 1250)
            window = partial(world.days, rng, first=102, count=7 * weeks, records=WINDOW)
            alarms += int(alarms_of(measure_shifts(reference, window(), world.families)).any())
            moved = measure_shifts(reference, window(shifted=7), world.families)
            largest = int(np.argmax(moved.statistics))
            first += int(largest // len(CUTS) == 7 and alarms_of(moved)[largest])
        where = f"{FEATURES} features, 14 weeks of reference, {weeks} of window"
        yield counted(f"drift, {where}: false alarms", alarms, samples, at_most=0.11)
        yield counted(f"drift, {where}: shift named first", first, samples, at_least=0.95)


def any_days(windows: int = 60) -> Iterator[Verdict]:
    """Count false alarms of windows that are not whole weeks, where nothing but the weekday differs."""
    for weeks, at_most in ((14, 66 / 600), (26, 45 / 600)):
        total = 0
        for weekend in (1.0, 2.5):
            for days in (3, 7, 10, 28, 30):
                rng, alarms = np.random.default_rng((weeks, days, int(weekend))), 0
                for _ in range(windows):
                    world = Traffic.draw(
                        rng, week=1250, numbers=100, categories=47, differ=0.2, weekend=weekend
                    )
                    reference = world.days(rng, first=0, count=7 * weeks, records=1250 * weeks)
                    window = world.days(
                        rng, first=7 * weeks + int(rng.integers(0, 40)), count=days, records=1250 * days / 7
                    )
                    alarms += int(alarms_of(measure_shifts(reference, window, world.families)).any())
                total += alarms
                name = f"windows, {weeks} weeks of reference, weekends times {weekend:g}, {days} days: false alarms"
                yield counted(name, alarms, windows, at_most=12 / 60)
        yield counted(
            f"windows, {weeks} weeks of reference: false alarms of all", total, 10 * windows, at_most=at_most
        )


def small_changes(windows: int = 60) -> Iterator[Verdict]:
    """Count changes of one category among 147 subjects in 3,000 records that are found or suspected."""
    for name, before, after in (("VPN", 0.11, 0.17), ("a country", 0.033, 0.082)):
        for days in (10, 17):
            rng, found, suspected = np.random.default_rng(days), 0, 0
            for _ in range(windows):
                world = Traffic.draw(rng, week=1250, numbers=100, categories=47, differ=0.2, weekend=2.5)
                own = np.log(before / (1 - before))
                world.odds[0], world.week_odds[0] = own, np.sqrt(1.5 / (1250 * before * (1 - before)))
                reference = world.days(rng, first=0, count=98, records=1250 * 14)
                window = world.days(rng, first=100, count=days, records=3000, shares=((0, before, after),))
                shifts, place = measure_shifts(reference, window, world.families), 100 * len(CUTS)
                found += int(alarms_of(shifts)[place])
                limits = np.inf if shifts.suspect_limits is None else shifts.suspect_limits[place]
                suspected += int(shifts.statistics[place] > limits)
            where = f"power, {name} from {before:.1%} to {after:.1%}, 3,000 records in {days} days"
            yield counted(f"{where}: found", found, windows)
            yield counted(f"{where}: found or suspected", suspected, windows, at_least=0.95)


def rates(years: int) -> Iterator[Verdict]:
    """Count false alarms in years, and delays within 5,000 applicants."""
    limit, rng = BOUND * (1 - CAP) + CAP, np.random.default_rng(0)
    for name, rate in (("4.66 %", RATE), ("the largest rate that is allowed", limit)):
        alarms = 0
        for _ in range(years):
            records = rng.poisson(100, YEAR_DAYS)
            events = rng.binomial(records, rate)
            alarms += rate_alarm(events, records, limit=limit, error=0.05).raised is not None
        yield counted(f"rates, {name}: years with an alarm", alarms, years, at_most=0.066)
    for start in (0, YEAR_DAYS // 2):
        delays = []
        for _ in range(200):
            records = rng.poisson(100, YEAR_DAYS)
            events = rng.binomial(records, np.where(np.arange(YEAR_DAYS) < start, RATE, 2 * RATE))
            raised = rate_alarm(events, records, limit=limit, error=0.05).raised
            delays.append(np.inf if raised is None else float(records[start : raised + 1].sum()))
        print(f"rates, doubled on day {start}: median delay {np.median(delays):,.0f} applicants")
        within = sum(delay <= 5000 for delay in delays)
        yield counted(f"rates, doubled on day {start}: within 5,000", within, len(delays), at_least=0.5)


class Sample(NamedTuple):
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


class Trained(NamedTuple):
    """A reference with rules that were fitted on it."""

    sample: Sample
    rules: DecisionRules
    days: ReferenceDays


def labels(outcomes: NDArray[np.int8], frauds: BoolArray, *, stops: bool) -> NDArray[np.int8]:
    """Return what becomes known; with `stops` nothing of those who fail, and of every second who is stepped up."""
    half = np.arange(len(outcomes)) % 2 == 0
    return np.where(stops & ((outcomes == 2) | (outcomes == 1) & half), -1, frauds).astype(np.int8)


def trained(rng: np.random.Generator, *, stops: bool = False) -> Trained:
    """Fit probability and thresholds on 14 weeks, in which the same thresholds may have stopped applicants."""
    found = sample(rng, REFERENCE, 98, centre=-5.8)
    cuts = np.linspace(-9, 0, 1000)
    ends = np.quantile(found.margins, [0.95, 0.998])
    step_up, fail = np.searchsorted(cuts, ends)
    targets = labels(
        np.searchsorted(ends, found.margins, side="right").astype(np.int8), found.frauds, stops=stops
    )
    known = targets >= 0
    rules = DecisionRules(
        scale=ScoreScale(cuts=cuts, extrapolated_from=1001),
        calibration=fit_platt(found.margins[known], targets[known]),
        policy=Policy(step_up_from=int(step_up), fail_from=int(fail)),
    )
    decisions = rules.decide(found.margins)
    days = measure_reference_days(
        np.zeros((REFERENCE, 0)),
        profile=Profile(records=REFERENCE, features={}, scores=(0.0,) * 101),
        names=(),
        persons=np.arange(REFERENCE),
        event_times=found.times,
        decisions=decisions,
        targets=targets,
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


def estimated(model: Trained, window: Sample, *, matured: int = 0, stops: bool = False) -> Estimates:
    """Estimate a window, the earliest records of which are mature until there are so many frauds."""
    order = np.argsort(window.times)
    mature = np.zeros(len(order), dtype=bool)
    mature[order[np.cumsum(window.frauds[order]) <= matured]] = matured > 0
    decisions = model.rules.decide(window.margins)
    targets = np.where(mature, labels(decisions.outcomes, window.frauds, stops=stops), -1).astype(np.int8)
    return estimate_errors(model.days, model.rules.calibration, decisions, window.times, targets)


def estimates(windows: int, peers: Path | None, compared: int, *, stops: bool = False) -> Iterator[Verdict]:
    """Count intervals that cover what is realised by all, and windows in which nothing can be known.

    With `stops` the labels of those whom the policy stopped are missing, of the reference and of the window.
    """
    where, rng = "estimates without labels of the stopped" if stops else "estimates", np.random.default_rng(1)
    covered = dict.fromkeys(("missed_fraud", "false_reject"), 0)
    widths: dict[str, list[float]] = {name: [] for name in covered}
    truths, arrays = [], {"windows": np.array(min(compared, windows))}
    doubled = same = 0
    for place in range(windows):
        model = trained(rng, stops=stops)
        shift, width = rng.uniform(-0.3, 0.6), rng.uniform(1.3, 1.7)
        window = sample(rng, WINDOW, 28, centre=-5.8 + shift, width=width)
        truth = realised(model.rules.decide(window.margins), window.frauds)
        for name, one in estimated(model, window, stops=stops).overall.items():
            if name in covered and one.low is not None and one.high is not None:
                covered[name] += int(one.low <= truth[name] <= one.high)
                widths[name].append(one.high - one.low)
        truths.append(truth)
        if peers is not None and place < compared:
            arrays |= _columns(model, window, place)
        for more in (0.0, float(np.log(2))):
            late = sample(rng, 20_000, 98, centre=-5.6, more=more)
            known = estimated(model, late, matured=200, stops=stops).knowledge
            doubled += int(more > 0 and known is Knowledge.CANNOT_KNOW)
            same += int(more == 0 and known is Knowledge.CANNOT_KNOW)
    for name, count in covered.items():
        print(f"{where}, {name}: median width of the interval {np.median(widths[name]):.4f}")
        yield counted(f"{where}, {name}: intervals that cover", count, windows, at_least=0.9)
    yield counted(f"{where}, odds doubled, 200 matured frauds: can't know", doubled, windows, at_least=0.8)
    yield counted(f"{where}, odds as before, 200 matured frauds: can't know", same, windows)
    if peers is not None:
        yield from _peer(arrays, truths[:compared], peers)


def _columns(model: Trained, window: Sample, place: int) -> dict[str, FloatArray | IntArray | BoolArray]:
    """Return what CBPE reads of a reference and a window."""
    found: dict[str, FloatArray | IntArray | BoolArray] = {}
    for part, one in (("reference", model.sample), ("window", window)):
        decisions = model.rules.decide(one.margins)
        values = decisions.probabilities, decisions.outcomes > 0, decisions.outcomes == 2, one.frauds
        names = "probability", "missed_fraud", "false_reject", "fraud"
        found |= {f"{part}_{name}_{place}": value for name, value in zip(names, values, strict=True)}
    return found


def _peer(
    arrays: dict[str, FloatArray | IntArray | BoolArray], truths: list[dict[str, float]], peers: Path
) -> Iterator[Verdict]:
    """Let CBPE estimate the same windows."""
    path = peers / "windows.npz"
    peers.mkdir(exist_ok=True)
    np.savez(path, **arrays)  # type: ignore[arg-type]
    began = time.monotonic()
    found = run_peer(peers / "nannyml", PEERS, _PEER, path)
    print(f"NannyML: {time.monotonic() - began:.0f} s for {len(truths)} windows")
    for name in ("missed_fraud", "false_reject"):
        ends = [one[name] for one in found]
        print(f"NannyML, {name}: median width of the band {np.median(np.diff(ends)):.4f}")
        inside = sum(low <= truth[name] <= high for (low, high), truth in zip(ends, truths, strict=True))
        yield counted(f"NannyML, {name}: bands that cover", inside, len(truths))


def main(
    *, windows: int = 200, years: int = 1000, peers: Path | None = None, compared: int = 40
) -> Iterator[Verdict]:
    """Measure everything; NannyML estimates the first `compared` windows too."""
    yield from drift()
    yield from any_days()
    yield from small_changes()
    yield from rates(years)
    yield from estimates(windows, peers, compared)
    yield from estimates(windows, None, 0, stops=True)


if __name__ == "__main__":
    run(main)
