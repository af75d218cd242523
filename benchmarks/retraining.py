r"""How often weekly looks at a challenger promote one that is no better, and one that is three points better.

    python benchmarks/retraining.py [--runs 200] [--frauds 16] [--processes 2]

Champion and challenger see the same records through noise of their own, as two models of one recipe do; days differ
in their number of frauds and in how hard these are. Looks begin after 30 days of matured records and follow each week,
with an error of .025 and a power of .85 for three points of recall at a false positive rate of 1 %. Of challengers
that are no better at most 5 % may be promoted, of those that are three points better at least 80 % by the number of
frauds that the first look named.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Final

import numpy as np
from shared.judging import arguments
from shared.simulation import DAY, Figure

from scoring_model.arrays import FloatArray
from scoring_model.configuration import LookSettings
from scoring_model.evaluation.day_draws import DayDraws
from scoring_model.evaluation.figures import drawn_rankings
from scoring_model.evaluation.metrics import Ranking
from scoring_model.evaluation.sequential import LEAST_DAYS, Answer, Look, look_at

PLAN: Final = LookSettings()
LIMIT: Final = np.array([0.01])
DAYS: Final = 420
GENUINE: Final = 400
NOISE: Final = 0.35
REPEATS: Final = 300
LARGEST_ERROR: Final = 0.05
LEAST_POWER: Final = 0.80


def records(rng: np.random.Generator, *, frauds: int, days: int) -> tuple[FloatArray, FloatArray, FloatArray]:
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


def gain_of_three_points() -> float:
    """Find by how much the challenger must rate frauds higher, on a population of its own."""
    rng = np.random.default_rng(10**6)
    labels, _, signal = records(rng, frauds=200, days=2000)
    noise = rng.normal(0, NOISE, len(signal))
    base, low, high = recall(signal + noise, labels), 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        short = recall(signal + noise + middle * labels, labels) < base + PLAN.gain
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
        draws = DayDraws.of((day[held] * DAY).astype(np.int64), repeats=REPEATS)
        champion, challenger = (
            (Ranking.of(margins[held], labels[held].astype(np.int64)), draws) for margins in models
        )
        values, drawn = zip(*(_measured(*one) for one in (champion, challenger)), strict=True)
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


def _measured(ranking: Ranking, draws: DayDraws) -> tuple[float, FloatArray]:
    drawn = [counts.at_fpr(LIMIT)[0][:, 0] for counts in drawn_rankings(ranking, draws)]
    return float(ranking.counts.at_fpr(LIMIT)[0][0]), np.concatenate(drawn)


def main() -> None:
    """Follow challengers of both kinds; exit with an error if a condition is broken."""
    parser = arguments(__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--frauds", type=int, default=16, help="a day")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    gain = gain_of_three_points()
    print(f"{PLAN.gain:.0%} more recall: frauds rated {gain:.3f} higher")
    figures = []
    with ProcessPoolExecutor(given.processes) as pool:
        for name, more in (("no better", 0.0), ("three points better", gain)):
            found = list(pool.map(partial(run, gain=more, frauds=given.frauds), range(given.runs)))
            counts = {answer.value: sum(one == answer for one, _, _ in found) for answer in Answer}
            needed, named = np.median([one[1:] for one in found], axis=0)
            print(f"{name}: {counts}, median frauds {needed:.0f}, named at the first look {named:.0f}")
            in_time = sum(one is Answer.PROMOTE and frauds <= named for one, frauds, named in found)
            figures.append(
                Figure("promoted by the named number", in_time, given.runs, at_least=LEAST_POWER)
                if more
                else Figure("promoted", counts["promote"], given.runs, at_most=LARGEST_ERROR)
            )
            print(f"  {figures[-1]}")
    if not all(figure.holds for figure in figures):
        sys.exit("a condition is broken")


if __name__ == "__main__":
    main()
