"""Delays of known frauds: an independent oracle, coverage in simulations, and dependence on the score."""

import numpy as np
import pytest

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.evaluation.delays import (
    MIN_OLD_FRAUDS,
    delay_distribution,
    estimated_frauds,
    score_dependence,
)

OLDEST = 240


def known(
    rng: np.random.Generator, count: int, *, growth: float = 0.0, mean: float = 40.0
) -> tuple[IntArray, IntArray, IntArray]:
    """Draw frauds of ages 1 to `OLDEST` days; return delays and ages of the known ones, and the ages of all.

    `growth` makes recent frauds more frequent.
    """
    every = np.arange(1, OLDEST + 1)
    chances = np.exp(-growth * every)
    ages = rng.choice(every, count, p=chances / chances.sum())
    delays = np.floor(rng.exponential(mean, count)).astype(np.int64)
    within = delays <= OLDEST
    seen = within & (delays <= ages)
    return delays[seen], ages[seen], ages[within]


def by_expectation(delays: IntArray, ages: IntArray, oldest: int) -> dict[int, float]:
    """Maximise the likelihood of truncated delays by self-consistency (Turnbull 1976): an independent oracle."""
    support = np.unique(delays[delays <= oldest])
    kept = delays <= oldest
    masses = np.full(len(support), 1 / len(support))
    inside = support <= ages[kept, np.newaxis]
    counts = np.array([np.count_nonzero(delays[kept] == one) for one in support], dtype=np.float64)
    for _ in range(20_000):
        seen = inside @ masses
        expected = counts + masses * ((~inside) / seen[:, np.newaxis]).sum(axis=0)
        new: FloatArray = expected / expected.sum()
        if np.abs(new - masses).max() < 1e-12:
            break
        masses = new
    return dict(zip(support.tolist(), np.cumsum(masses).tolist(), strict=True))


@pytest.mark.parametrize("seed", range(4))
def test_it_maximises_the_likelihood_of_truncated_delays(seed: int) -> None:
    """The product limit is the distribution that self-consistency finds."""
    rng = np.random.default_rng(seed)
    ages = rng.integers(1, 13, 150)
    delays = rng.integers(0, 13, 150)
    seen = delays <= ages
    found = delay_distribution(delays[seen], ages[seen])
    assert found is not None
    expected = by_expectation(delays[seen], ages[seen], found.oldest)
    assert found.delays.tolist() == list(expected)
    assert found.shares == pytest.approx(list(expected.values()), abs=1e-6)


@pytest.mark.parametrize("growth", [-0.01, 0.0, 0.02])
def test_intervals_cover_however_the_share_of_frauds_moves(growth: float) -> None:
    """The share that is known at maturity, and the number of frauds of a young part: covered in 95 %."""
    rng, covered, counted = np.random.default_rng(7), 0, 0
    truth = (1 - np.exp(-61 / 40)) / (1 - np.exp(-(OLDEST + 1) / 40))
    for _ in range(200):
        delays, ages, every = known(rng, 900, growth=growth)
        found = delay_distribution(delays, ages)
        assert found is not None
        share = found.share_at(60)
        assert share.low is not None
        assert share.high is not None
        covered += share.low <= truth <= share.high
        frauds = estimated_frauds(found, ages[(ages >= 60) & (ages < 120)])
        assert frauds.low is not None
        assert frauds.high is not None
        counted += bool(frauds.low <= np.count_nonzero((every >= 60) & (every < 120)) <= frauds.high)
    assert covered >= 182
    assert counted >= 185  # the number of all is known to be at least that of the known ones


def test_shares_of_known_frauds_alone_are_biased() -> None:
    """With more recent frauds, the plain share of known ones within 60 days is too high by far; ours is not."""
    rng = np.random.default_rng(0)
    delays, ages, _ = known(rng, 40_000, growth=0.02)
    found = delay_distribution(delays, ages)
    assert found is not None
    truth = (1 - np.exp(-61 / 40)) / (1 - np.exp(-(OLDEST + 1) / 40))
    assert np.mean(delays <= 60) > truth + 0.05
    assert found.share_at(60).value == pytest.approx(truth, abs=0.01)
    assert found.known_by(np.array([60, 10_000])) == pytest.approx([truth, 1.0], abs=0.01)


def test_too_few_frauds_give_no_distribution() -> None:
    """Ten of them must be as old as the largest age that is seen."""
    rng = np.random.default_rng(0)
    ages = rng.integers(50, 100, MIN_OLD_FRAUDS)
    assert delay_distribution(ages[1:] - 40, ages[1:]) is None
    found = delay_distribution(ages - 40, ages)
    assert found is not None
    assert found.oldest == ages.min()


def test_where_all_are_known_at_once_there_is_still_doubt() -> None:
    """No late fraud was seen: the share is 1, and its lower end is not."""
    ages = np.arange(20, 120)
    found = delay_distribution(np.full(100, 3), ages)
    assert found is not None
    share = found.share_at(10)
    assert share.value == 1
    assert 0.9 < (share.low or 0) < 1
    assert found.share_at(2).value == 0
    assert estimated_frauds(found, np.array([1])).absence == "no value"


def test_dependence_on_the_score_is_found_and_not_invented() -> None:
    """At most 8 % of independent scores are significant at 5 %; scores that speed frauds up by half mostly are."""
    rng, false, right = np.random.default_rng(3), 0, 0
    for _ in range(200):
        ages, scores = rng.integers(1, OLDEST, 500), rng.random(500)
        chances = []
        for slope in (0.0, 1.4):
            delays = np.floor(rng.exponential(60 * np.exp(-slope * scores))).astype(np.int64)
            seen = delays <= ages
            chances.append(score_dependence(delays[seen], ages[seen], scores[seen]))
        assert None not in chances
        false += (chances[0] or 0) < 0.05
        right += (chances[1] or 0) < 0.05
    assert 2 <= false <= 16
    assert right >= 170
    assert score_dependence(np.array([1]), np.array([5]), np.array([0.5])) is None


def test_delays_of_young_events_do_not_shorten_the_estimate() -> None:
    """Of exponential delays that are seen only when they are over, the estimate finds the true quantile."""
    rng = np.random.default_rng(5)
    ages = rng.integers(1, 120_000, 200_000)
    delays = rng.exponential(20_000, len(ages)).astype(np.int64)
    seen = delays <= ages
    found = delay_distribution(delays[seen], ages[seen], fewest=1)
    assert found is not None
    whole = 1 - np.exp(-120 / 20)
    for share in (0.5, 0.9, 0.95):
        true = -20 * np.log(1 - share * whole)
        assert found.quantile(share) / 1000 == pytest.approx(true, rel=0.05)
    naive = np.quantile(delays[seen], 0.95) / 1000
    assert naive < 0.9 * -20 * np.log(1 - 0.95 * whole)
