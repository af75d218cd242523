r"""How often weekly looks at a challenger promote one that is no better, and one that is three points better.

Champion and challenger see the same records through noise of their own, as two models of one recipe do; days differ
in their number of frauds and in how hard these are. Looks begin after 30 days of matured records and follow each week,
with an error of .025 and a power of .85 for three points of recall at a false positive rate of 1 %. Of challengers
that are no better at most 5 % may be promoted, of those that are three points better at least 80 % by the number of
frauds that the first look named.

Then the champion decides who is observed: it stops the 1 % of genuine applicants with the highest margins, and all
frauds above. Looks follow each fourth week, planned for ten points. Of challengers that are no better at most 4 % may
be promoted, whether a control group stands for the stopped ones or not; of those that are ten points better at least
half, with 3,500 frauds and a control group of 3 %, or 1,500 frauds and one of 10 %. Without a control group nobody can
know which one is better: a look waits, and names the range.

At last the same end to end: two forests of one recipe, trained with different seeds on the same past, of which the
first one's certified thresholds stop later applicants, a tenth of whom pass as a control group. At most 4 of 80 may be
promoted.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Final

import numpy as np
from generations import TREES, Applicants, train
from generations import margins as margins_of
from numpy.typing import NDArray
from shared.script import Verdict, counted
from shared.script import run as run_script
from shared.simulation import DAY, partly_observed

from scoring_model.arrays import BoolArray, FloatArray
from scoring_model.configuration import LookSettings
from scoring_model.decision.flips import count_flips
from scoring_model.decision.rules import Decisions
from scoring_model.estimates import Estimate
from scoring_model.evaluation import EvaluatedRecords
from scoring_model.evaluation.draws import Draws
from scoring_model.evaluation.figures import drawn_rankings
from scoring_model.evaluation.metrics import Ranking
from scoring_model.evaluation.paired import least_variances, pair_codes, stopped_flips
from scoring_model.evaluation.possible import possible_differences
from scoring_model.evaluation.sequential import LEAST_DAYS, Answer, Look, look_at
from scoring_model.figures import FIGURES

PLAN: Final = LookSettings()
TEN_POINTS: Final = LookSettings(gain=0.1)
LIMIT: Final = np.array([0.01])
DAYS: Final = 420
GENUINE: Final = 400
NOISE: Final = 0.35
FRAUD_SHARE: Final = 0.03
"""Of `Applicants`."""
BAGGED: Final = {**TREES, "bagging_fraction": 0.7, "bagging_freq": 1}
"""A recipe whose models differ by their seed."""
REPEATS: Final = 300
LARGEST_ERROR: Final = 0.05
LEAST_POWER: Final = 0.80

STOPPED_WORLDS: Final = (
    (3_500, 0.03, 0, None), (1_500, 0.1, 0, None), (3_500, 0.0, 0, None), (3_500, 0.03, 1, 0.5), (1_500, 0.1, 1, 0.5),
)  # fmt: skip
"""Frauds, share of the control group, whether the challenger is better, and the share of promotions that is asked."""


def records(rng: np.random.Generator, *, frauds: float, days: int) -> tuple[FloatArray, ...]:
    """Return labels, days and the signal that both models see."""
    fraud_days = np.repeat(np.arange(days), rng.poisson(frauds * np.exp(rng.normal(-0.08, 0.4, days))))
    genuine_days = np.repeat(np.arange(days), GENUINE)
    hard = rng.normal(0, 0.4, days)[fraud_days]
    signal = np.concatenate([rng.normal(2.2, 1, len(fraud_days)) + hard, rng.normal(0, 1, len(genuine_days))])
    labels = np.concatenate([np.ones(len(fraud_days)), np.zeros(len(genuine_days))])
    return labels, np.concatenate([fraud_days, genuine_days]), signal


def recall(margins: FloatArray, labels: FloatArray) -> float:
    """Return the recall at a false positive rate of 1 %."""
    return float(Ranking.of(margins, labels.astype(np.int64)).counts.at_fpr(LIMIT)[0][0])


def gain_of(points: float) -> float:
    """Find by how much the challenger must rate frauds higher for more recall, on a population of its own."""
    rng = np.random.default_rng(10**6)
    labels, _, signal = records(rng, frauds=200, days=2000)
    noise = rng.normal(0, NOISE, len(signal))
    base, low, high = recall(signal + noise, labels), 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        short = recall(signal + noise + middle * labels, labels) < base + points
        low, high = (middle, high) if short else (low, middle)
    return high


def run(seed: int, *, gain: float, frauds: int) -> tuple[Answer, int, int]:
    """Follow one challenger; return the answer, the frauds that had matured, and those that the first look named."""
    rng = np.random.default_rng(seed)
    labels, day, signal = records(rng, frauds=frauds, days=DAYS)
    models = [signal + more * labels + rng.normal(0, NOISE, len(signal)) for more in (0.0, gain)]
    looks: list[Look] = []
    for until in range(LEAST_DAYS, DAYS, 7):
        held = day < until
        draws = Draws.of((day[held] * DAY).astype(np.int64), repeats=REPEATS)
        rankings = [Ranking.of(margins[held], labels[held].astype(np.int64)) for margins in models]
        values, drawn = zip(*(_measured(one, draws) for one in rankings), strict=True)
        look = look_at(
            PLAN,
            looks,
            difference=values[1] - values[0],
            variance=float(np.var(drawn[1] - drawn[0])),
            frauds=int(labels[held].sum()),
            days=until,
        )
        looks.append(look)
        if look.answer is not Answer.WAIT:
            break
    named = looks[0].frauds + looks[0].more_frauds
    return looks[-1].answer, looks[-1].frauds, named


def run_stopped(seed: int, *, gain: float, frauds: int, control: float) -> Answer:
    """Follow one challenger of a champion that decides who is observed; `frauds` in all the days."""
    rng = np.random.default_rng(seed)
    labels, day, signal = records(rng, frauds=frauds / DAYS, days=DAYS)
    models = [signal + more * labels + rng.normal(0, NOISE, len(signal)) for more in (0.0, gain)]
    stops = models[0] > np.quantile(models[0][labels == 0], 0.99)
    return follow(rng, labels, day, models, stops, control)


def run_trained(seed: int, *, frauds: int = 1_500, control: float = 0.1) -> Answer:
    """Follow a challenger that is the champion's recipe trained again, with another seed."""
    rng = np.random.default_rng(seed)
    past = Applicants.draw(rng, 12_000)
    observed = np.ones(len(past.labels), np.bool_)
    champion, challenger = (
        train(past.rows, past.labels, observed, params=BAGGED, seed=one) for one in (0, 1)
    )
    new = Applicants.draw(rng, round(frauds / FRAUD_SHARE))
    models = [margins_of(one.booster, new.rows) for one in (champion, challenger)]
    day = rng.integers(0, DAYS, len(new.labels))
    return follow(rng, new.labels, day, models, champion.stops(new.rows)[0], control)


def follow(
    rng: np.random.Generator,
    labels: FloatArray | NDArray[np.int8],
    day: FloatArray | NDArray[np.int64],
    models: Sequence[FloatArray],
    stops: BoolArray,
    control: float,
) -> Answer:
    """Look each fourth week at two models, by their margins, of which the first one stops applicants."""
    drawn = rng.random(len(labels)) < control
    weights = np.where(stops, 1 / control, 1.0) if control else None
    looks: list[Look] = []
    for until in range(LEAST_DAYS + 28, DAYS, 28):
        seen, missing = (np.flatnonzero((day < until) & mask) for mask in (~stops | drawn, stops & ~drawn))
        times, known = (day * DAY).astype(np.int64), labels.astype(np.int8)
        records_of = [
            partly_observed(decided(margins, stops), known, times, seen, missing, weights)
            for margins in models
        ]
        looks.append(look_at_both(records_of, looks))
        if looks[-1].answer is not Answer.WAIT:
            break
    return looks[-1].answer


def decided(margins: FloatArray, stops: BoolArray) -> Decisions:
    """Make decisions; only their margins and who is stopped count here."""
    probabilities = 1 / (1 + np.exp(-margins))
    return Decisions(margins, np.zeros(len(margins), dtype=np.int64), stops.astype(np.int8), probabilities)


def look_at_both(models: Sequence[EvaluatedRecords], looks: Sequence[Look]) -> Look:
    """Look at two models as `look_again` does, at the one figure that decides."""
    champion, challenger = models
    draws = Draws.of(champion.event_times, repeats=REPEATS)
    labels = champion.labels.astype(np.int64)
    rankings = [Ranking.of(one.decisions.margins, labels, one.weights) for one in models]
    values, drawn = zip(*(_measured(one, draws, champion.weights) for one in rankings), strict=True)
    variance = max(
        float(np.var(drawn[1] - drawn[0])), least_variances(champion, challenger).get(PLAN.figure, 0.0)
    )
    lowest = highest = values[1] - values[0]
    if champion.not_observed is not None:
        lowest, highest = recall_bounds(champion, challenger)
    return look_at(
        TEN_POINTS,
        looks,
        difference=lowest,
        variance=variance,
        frauds=int(labels.sum()),
        days=draws.days,
        highest=highest,
    )


def recall_bounds(champion: EvaluatedRecords, challenger: EvaluatedRecords) -> tuple[float, float]:
    """Return the lowest and the highest difference over all labels of the stopped ones."""
    flips = count_flips(pair_codes(champion, challenger))[0]
    sampled = dict.fromkeys(FIGURES, Estimate(value=0.0, low=0.0, high=0.0, records=1))
    stopped = stopped_flips(champion, challenger)
    found = possible_differences(champion, challenger, flips, stopped, sampled)[PLAN.figure]
    return found.lowest, found.highest


def _measured(ranking: Ranking, draws: Draws, weights: FloatArray | None = None) -> tuple[float, FloatArray]:
    drawn = [counts.at_fpr(LIMIT)[0][:, 0] for counts in drawn_rankings(ranking, draws, weights)]
    return float(ranking.counts.at_fpr(LIMIT)[0][0]), np.concatenate(drawn)


def main(*, runs: int = 200, trained: int = 80, frauds: int = 16, processes: int = 2) -> Iterator[Verdict]:
    """Follow challengers of both kinds, and pairs of trained models; `frauds` of the first kind are those of a day."""
    gain = gain_of(PLAN.gain)
    print(f"{PLAN.gain:.0%} more recall: frauds rated {gain:.3f} higher")
    with ProcessPoolExecutor(processes) as pool:
        for name, more in (("no better", 0.0), ("three points better", gain)):
            ends = list(pool.map(partial(run, gain=more, frauds=frauds), range(runs)))
            counts = {answer.value: sum(one == answer for one, _, _ in ends) for answer in Answer}
            needed, named = np.median([one[1:] for one in ends], axis=0)
            print(f"{name}: {counts}, median frauds {needed:.0f}, named at the first look {named:.0f}")
            in_time = sum(one is Answer.PROMOTE and needed <= named for one, needed, named in ends)
            if more:
                yield counted("promoted by the named number", in_time, runs, at_least=LEAST_POWER)
            else:
                yield counted("promoted", counts["promote"], runs, at_most=LARGEST_ERROR)
        ten = gain_of(TEN_POINTS.gain)
        for total, control, better, least in STOPPED_WORLDS:
            number = runs if least is None else runs // 2
            follow = partial(run_stopped, gain=ten * better, frauds=total, control=control)
            promoted = sum(one is Answer.PROMOTE for one in pool.map(follow, range(number)))
            what = f"{'ten points better' if better else 'no better'}, {total:,} frauds, control group {control:.0%}"
            bounds = {"at_most": 0.04} if least is None else {"at_least": least}
            yield counted(f"promoted: {what}", promoted, number, **bounds)
        again = Counter(pool.map(run_trained, range(trained)))
        print(f"trained again: kept {again[Answer.KEEP]}")
        yield counted("promoted: trained again", again[Answer.PROMOTE], trained, at_most=LARGEST_ERROR)


if __name__ == "__main__":
    run_script(main)
