"""Frauds from probabilities: the fit against scipy, coverage under covariate shift, and contradiction."""

import numpy as np
import pytest
from scipy.optimize import minimize

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.monitoring.recalibration import MaturedCounts, contradiction, draw_frauds, recalibrate

GROUPS = np.linspace(-8, 1, 28)
Weeks = tuple[IntArray, IntArray]


def chances(log_odds: FloatArray) -> FloatArray:
    """Return the logistic function."""
    return 1 / (1 + np.exp(-log_odds))


def draw(
    rng: np.random.Generator,
    weeks: int,
    size: int,
    *,
    centre: float = -5.6,
    more: float = 0.0,
    spread: float = 0.2,
) -> Weeks:
    """Draw weeks of records by group, whose frauds have log-odds that differ between weeks."""
    shares = np.exp(-0.5 * ((GROUPS - centre) / 1.5) ** 2)
    records = rng.multinomial(size, shares / shares.sum(), weeks)
    odds = GROUPS + more + rng.normal(0, spread, (weeks, 1))
    return records, rng.binomial(records, chances(odds))


def counts(found: Weeks) -> MaturedCounts:
    """Matured counts of weeks."""
    return MaturedCounts(log_odds=GROUPS, records=found[0], frauds=found[1])


def test_the_line_is_the_likeliest() -> None:
    """Scipy finds the same intercept and slope, with the same prior."""
    records, frauds = draw(np.random.default_rng(0), 14, 1500, more=0.4)
    n, k = records.sum(axis=0), frauds.sum(axis=0)

    def loss(line: FloatArray) -> float:
        odds = line[0] + line[1] * GROUPS
        prior = line[0] ** 2 / 8 + (line[1] - 1) ** 2 / 2
        return float(np.sum(n * np.logaddexp(0, odds) - k * odds) + prior)

    best = minimize(loss, np.array([0.0, 1.0]), tol=1e-10).x
    assert recalibrate(counts((records, frauds)), draws=10).line == pytest.approx(best, abs=1e-4)


def test_intervals_cover_what_is_realised_under_covariate_shift() -> None:
    """The share of frauds below a threshold, in windows with another mix of applicants: nominal 95 %."""
    rng, covered = np.random.default_rng(1), 0
    for _ in range(60):
        found = recalibrate(counts(draw(rng, 14, 1800)), draws=300)
        records, frauds = draw(rng, 4, 2500, centre=-5.6 + rng.uniform(-0.3, 0.6))
        cells = np.tile(GROUPS, 4), records.ravel(), np.repeat(np.arange(4), len(GROUPS))
        _, drawn = draw_frauds(found, *cells)
        below = cells[0] < -3
        low, high = np.quantile(drawn[:, below].sum(axis=1) / drawn.sum(axis=1), [0.025, 0.975])
        covered += bool(low <= frauds.ravel()[below].sum() / frauds.sum() <= high)
    assert covered >= 54


def test_doubled_odds_contradict_and_the_same_odds_seldom_do() -> None:
    """With about 200 matured frauds."""
    rng, doubled, same = np.random.default_rng(2), 0, 0
    for _ in range(60):
        reference = recalibrate(counts(draw(rng, 14, 1800)), draws=2)
        doubled += (
            contradiction(reference, recalibrate(counts(draw(rng, 8, 900, more=np.log(2))), draws=2)) > 1
        )
        same += contradiction(reference, recalibrate(counts(draw(rng, 8, 1700)), draws=2)) > 1
    assert doubled >= 48
    assert same <= 9
