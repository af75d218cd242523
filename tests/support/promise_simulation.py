"""Laws 6 and 7 in simulation: samples of a known population, and the promises certified on each.

Margins are normal; those of frauds are shifted up. Members of a group (a ring of frauds, the records of one person)
share a part of their margin. In every draw the scale is fitted again on the genuine records that the tests then use.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from scipy.special import ndtr
from scipy.stats import betabinom

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.configuration import CostSettings, PolicySettings
from scoring_model.decision.rules import NEVER_REACHED
from scoring_model.decision.scale import MAX_SCORE, ScoreScale
from scoring_model.evaluation.cost import expected_cost
from scoring_model.history.rings import find_rings
from scoring_model.training.certification import Certification, certify, certify_limits, delta_of
from scoring_model.training.ladder import LADDER, certify_on_ladder
from scoring_model.training.preparation import one_of_each
from scoring_model.training.scale import fit_scale
from scoring_model.training.thresholds import choose_policy

BOUNDS: Final = PolicySettings(max_false_reject=0.005, max_step_up=0.15, max_missed_fraud=0.5)
COSTS: Final = CostSettings(
    fraud_loss=50, reject_cost=20, step_up_cost=2, step_up_effectiveness=0.8, prevalence=0.02
)
SHIFT: Final = 2.0
"""How much higher the margins of frauds are, in standard deviations."""

ANY: Final = "any certified pair"
"""A certified threshold breaks its bound, whichever pair is then chosen."""
LOWEST: Final = "the lowest pair"
CHEAPEST: Final = "the cheapest pair"

ON_LADDER: Final = "any policy of the ladder"
AS_IF_SET_BEFORE: Final = "bounds as if set before"
"""Each value of the ladder is tested at the delta of a bound that was set before."""
_RUNGS: Final = [dict(zip(LADDER, values, strict=True)) for values in zip(*LADDER.values(), strict=True)]
"""The lowest value of each bound, the next one of each, and so on: together all values of the ladder."""


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """A population, and how it is sampled.

    Parameters
    ----------
    persons, repeats : int
        Genuine persons of a sample, and the records of each.
    rings, members : int
        Rings of frauds, and the records of each.
    common : float
        Share of the variance that is common to the records of one person or ring, in [0, 1].
    hidden : float
        Chance that the link keys show a ring as pairs only.
    counted : bool
        True to test every record as if it were independent.
    """

    persons: int = 3000
    repeats: int = 1
    rings: int = 300
    members: int = 1
    common: float = 0.9
    hidden: float = 0.0
    counted: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """Number of draws without a promise, and with a broken bound: by any threshold, and by a chosen pair."""

    draws: int
    infeasible: int
    broken: Mapping[str, int]


def simulate(world: World, *, draws: int, seed: int, bounds: PolicySettings = BOUNDS) -> Tally:
    """Draw samples and compare the certified promises of each with the population."""
    broken: Counter[str] = Counter(dict.fromkeys((*bounds.limits(), ANY, LOWEST, CHEAPEST), 0))
    infeasible = 0
    for sample in _samples(world, draws, seed):
        certification = certify(sample.tested_genuine, sample.tested_frauds, settings=bounds)
        if certification.shortfalls():
            infeasible += 1
        else:
            broken.update(_broken(sample, certification, bounds))
    return Tally(draws=draws, infeasible=infeasible, broken=dict(broken))


def fresh_shares_outside(*, draws: int, records: int, seed: int) -> dict[int, tuple[int, bool]]:
    """Compare scales with fresh records of the same population.

    The number of m fresh records above the k-th highest of n is beta-binomial, whatever the distribution of margins.

    Returns
    -------
    dict
        By each hundred points: in how many draws the share of the fresh records lies outside of its two-sample interval
        at 95 %, and whether the score is extrapolated, where no such law holds and only too many are counted.
    """
    rng = np.random.default_rng(seed)
    outside = dict.fromkeys(range(100, MAX_SCORE + 1, 100), 0)
    extrapolated_from = MAX_SCORE + 1
    intervals = {score: _two_sample(records, score) for score in outside}
    for _ in range(draws):
        scale = fit_scale(_on_grid(rng.normal(size=records)))
        extrapolated_from = scale.extrapolated_from
        fresh = scale.scores(_on_grid(rng.normal(size=records)))
        for score, (low, high) in intervals.items():
            reached = np.count_nonzero(fresh >= score)
            outside[score] += int(reached > high or (reached < low and score < extrapolated_from))
    return {score: (count, score >= extrapolated_from) for score, count in outside.items()}


def simulate_chooser(world: World, *, draws: int, seed: int) -> Tally:
    """Draw samples whose bounds are set after all results, and the population's errors, were seen.

    In each draw every value of the ladder is tested for every bound. A draw is broken if any of them is certified at a
    threshold that breaks it: then some chooser could have made a policy that breaks its promise. It is infeasible if no
    thresholds keep `BOUNDS`, rounded up to the ladder.

    Returns
    -------
    Tally
        Broken draws with the tests of the ladder, and with each value tested as if it had been set before.
    """
    rng = np.random.default_rng(seed)
    broken: Counter[str] = Counter({ON_LADDER: 0, AS_IF_SET_BEFORE: 0})
    infeasible = 0
    for _ in range(draws):
        sample = draw_sample(world, rng)
        scores, confidence = (sample.tested_genuine, sample.tested_frauds), BOUNDS.confidence
        asked = certify_on_ladder(*scores, limits=BOUNDS.limits(), confidence=confidence)
        infeasible += bool(asked.shortfalls())
        on_ladder = [certify_on_ladder(*scores, limits=limits, confidence=confidence) for limits in _RUNGS]
        delta = delta_of(confidence) / len(LADDER)
        before = [certify_limits(*scores, limits=limits, delta=delta) for limits in _RUNGS]
        broken[ON_LADDER] += any(_has_false_certificate(sample, found) for found in on_ladder)
        broken[AS_IF_SET_BEFORE] += any(_has_false_certificate(sample, found) for found in before)
    return Tally(draws=draws, infeasible=infeasible, broken=dict(broken))


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One scored draw of a world: the scores of all records, and those of the tested ones."""

    scale: ScoreScale
    genuine: IntArray
    frauds: IntArray
    tested_genuine: IntArray
    tested_frauds: IntArray


@lru_cache(maxsize=1)
def _samples(world: World, draws: int, seed: int) -> Sequence[Sample]:
    """The samples of a world, which takes longer to draw than to test: several bounds are tested on the same."""
    rng = np.random.default_rng(seed)
    return [draw_sample(world, rng) for _ in range(draws)]


def draw_sample(world: World, rng: np.random.Generator) -> Sample:
    """Draw the records of a world, fit the scale on the genuine ones, and choose the tested ones."""
    genuine = _margins(world.persons, world.repeats, world.common, rng)
    frauds = _margins(world.rings, world.members, world.common, rng) + SHIFT
    scale = fit_scale(_on_grid(genuine))
    scores = scale.scores(_on_grid(genuine)), scale.scores(_on_grid(frauds))
    groups = np.repeat(np.arange(world.persons), world.repeats), _rings(world, rng)
    tested = scores
    if not world.counted:
        tested = tuple(  # type: ignore[assignment]
            kind[one_of_each(group)] for kind, group in zip(scores, groups, strict=True)
        )
    return Sample(
        scale=scale,
        genuine=scores[0],
        frauds=scores[1],
        tested_genuine=tested[0],
        tested_frauds=tested[1],
    )


def _margins(groups: int, members: int, common: float, rng: np.random.Generator) -> FloatArray:
    """Draw standard normal margins; members of one group share a part."""
    shared = np.repeat(rng.normal(size=groups), members)
    return np.asarray(np.sqrt(common) * shared + np.sqrt(1 - common) * rng.normal(size=groups * members))


def _rings(world: World, rng: np.random.Generator) -> IntArray:
    """Find rings by two link keys, each of which joins neighbours in pairs: together they make a chain of each ring."""
    records = world.rings * world.members
    ring, place = np.divmod(np.arange(records), world.members)
    shown = np.repeat(rng.random(world.rings) >= world.hidden, world.members)
    address = ring * world.members + place // 2
    device = np.where(shown, ring * world.members + (place + 1) // 2, -1)
    return find_rings([address, device], np.arange(records))


def _on_grid(margins: FloatArray) -> FloatArray:
    return np.asarray(np.round(margins * 2.0**40) / 2.0**40)


def _has_false_certificate(sample: Sample, certification: Certification) -> bool:
    """Whether some threshold is certified for a bound that it breaks in the population.

    Errors are monotone in the threshold. So one is, exactly if the mildest threshold that breaks the bound passes.
    """
    for bound, test in certification.tests.items():
        risks = population_errors(sample.scale, bound)
        breaking = 1 + np.flatnonzero(risks > test.limit)
        if len(breaking):
            mildest = int(breaking[-1] if test.safest == NEVER_REACHED else breaking[0])
            if test.passes(mildest, limit=test.limit):
                return True
    return False


def _broken(sample: Sample, certification: Certification, bounds: PolicySettings) -> Iterator[str]:
    """Promises that fail in the population."""
    worst = _worst(certification)
    limits = bounds.limits()
    broken = [name for name, limit in limits.items() if _risk(sample.scale, name, worst[name]) > limit]
    yield from broken
    if broken:
        yield ANY
    cost = expected_cost(sample.genuine, sample.frauds, COSTS)
    for name, policy in (
        (LOWEST, choose_policy(certification)),
        (CHEAPEST, choose_policy(certification, cost=cost)),
    ):
        at = _thresholds(policy.step_up_from, policy.step_up_from, policy.fail_from)
        if any(_risk(sample.scale, bound, at[bound]) > limit for bound, limit in limits.items()):
            yield name


def _worst(certification: Certification) -> dict[str, int]:
    """For each bound the certified threshold that breaks it soonest."""
    return _thresholds(certification.step_up[0], certification.step_up[-1], certification.fail[0])


def _thresholds(lowest: int, highest: int, fail_from: int) -> dict[str, int]:
    return {"max_false_reject": fail_from, "max_step_up": lowest, "max_missed_fraud": highest}


def _risk(scale: ScoreScale, bound: str, threshold: int) -> float:
    """Error in the population that a bound limits."""
    return float(population_errors(scale, bound)[threshold - 1])


def population_errors(scale: ScoreScale, bound: str) -> FloatArray:
    """Error in the population at each threshold from 1 to 1001."""
    cuts = np.append(scale.cuts, np.inf)
    return np.asarray(ndtr(cuts - SHIFT) if bound == "max_missed_fraud" else ndtr(-cuts))


def _two_sample(records: int, score: int) -> tuple[int, int]:
    """Central 95 % interval for fresh records at or above a score, for two samples of one size."""
    allowed = int(records / 10 ** (score / 250))
    if not allowed:
        return 0, records
    spec = betabinom(records, allowed, records - allowed + 1)
    return int(spec.ppf(0.025)), int(spec.ppf(0.975))
