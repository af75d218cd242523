import math
from bisect import bisect_left

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from scipy.stats import beta, betabinom, norm

from scoring_model.arrays import FloatArray
from scoring_model.decision.scale import MAX_SCORE, ScoreScale, nominal_share
from scoring_model.training.scale import ScaleError, fit_scale, scale_uncertainty

STEP = 2.0**-40
SCORES = np.arange(1, MAX_SCORE + 1)


def _on_grid(margins: ArrayLike) -> FloatArray:
    return np.round(np.asarray(margins, dtype=np.float64) / STEP) * STEP


def _reaching(scale: ScoreScale, margins: FloatArray) -> list[int]:
    """Count the margins that score s or more, for s in 1..1000."""
    scores = scale.scores(margins)
    return [int(np.count_nonzero(scores >= score)) for score in SCORES]


def _allows(count: int, genuine: int, score: int) -> bool:
    """Return whether count / genuine <= 10^(-score/250), in exact integers."""
    return bool(count**250 * 10**score <= genuine**250)


def _samples(levels: int) -> st.SearchStrategy[FloatArray]:
    """Draw samples with at most this number of distinct margins."""
    return st.builds(
        lambda seed, genuine: _on_grid(
            np.random.default_rng(seed).integers(0, levels, genuine) * (8 / levels)
        ),
        st.integers(0, 2**32),
        st.integers(20, 3000),
    ).filter(lambda margins: margins.min() < margins.max())


@settings(max_examples=40)
@given(st.sampled_from([2, 5, 50, 2000, 10**9]).flatmap(_samples))
def test_share_at_or_above_a_score_never_exceeds_the_nominal_one(margins: FloatArray) -> None:
    """Law 6: at most 10^(-s/250) of the fitting sample scores s or more, for every s, with and without ties."""
    reaching = _reaching(fit_scale(margins), margins)
    assert all(
        _allows(count, len(margins), score) for score, count in zip(SCORES.tolist(), reaching, strict=True)
    )


@settings(max_examples=25)
@given(st.sampled_from([2, 5, 50, 2000]).flatmap(_samples))
def test_share_is_the_largest_that_equal_margins_allow(margins: FloatArray) -> None:
    """Law 6: below the extrapolated scores no other cut lets more of the sample score s."""
    scale = fit_scale(margins)
    attainable = sorted({0, *(int(np.count_nonzero(margins >= margin)) for margin in np.unique(margins))})
    reaching = _reaching(scale, margins)
    for score in range(1, scale.extrapolated_from):
        too_many = bisect_left(attainable, True, key=lambda count: not _allows(count, len(margins), score))
        assert reaching[score - 1] == attainable[too_many - 1]


@pytest.mark.parametrize("genuine", [20, 99, 100, 1000, 30_000])
def test_distinct_margins_meet_the_nominal_share_to_one_record(genuine: int) -> None:
    """Law 6: without ties the share at s is at most one record below the nominal share."""
    margins = _on_grid(np.random.default_rng(genuine).normal(size=genuine))
    assert len(np.unique(margins)) == genuine
    scale = fit_scale(margins)
    shortfall = genuine * np.array([nominal_share(int(score)) for score in SCORES]) - _reaching(
        scale, margins
    )
    assert shortfall[: scale.extrapolated_from - 1].max() < 1


@pytest.mark.parametrize("genuine", [20, 99, 1000, 30_000, 99_999, 100_000])
def test_extrapolation_starts_where_fewer_than_ten_records_may_reach(genuine: int) -> None:
    """Extrapolation starts at the first score that fewer than ten records of the sample may reach."""
    margins = _on_grid(np.random.default_rng(1).normal(size=genuine))
    expected = next((score for score in SCORES.tolist() if not _allows(10, genuine, score)), MAX_SCORE + 1)
    assert fit_scale(margins).extrapolated_from == expected


def test_tail_is_a_straight_line_of_the_margin_over_the_log_rank() -> None:
    """Margins of exactly -ln(rank/n) are extrapolated with the same slope: the cut at s is s ln(10)/250."""
    genuine = 1000
    margins = _on_grid(-np.log(np.arange(1, genuine + 1) / genuine))
    beyond = SCORES[SCORES > 750]
    assert fit_scale(margins).cuts[beyond - 1] == pytest.approx(beyond * math.log(10) / 250, abs=1e-9)


def test_tail_is_fitted_on_ranks_10_to_100_alone() -> None:
    """Margins beyond rank 100 do not change the extrapolated cuts; those of ranks 11 to 100 do."""
    margins = np.sort(_on_grid(np.random.default_rng(3).normal(size=5000)))[::-1]
    bulk, tail = margins.copy(), margins.copy()
    bulk[100:] -= 8.0
    tail[50:100] = tail[99]
    beyond = slice(fit_scale(margins).extrapolated_from - 1, None)
    assert np.array_equal(fit_scale(bulk).cuts[beyond], fit_scale(margins).cuts[beyond])
    assert np.all(fit_scale(tail).cuts[-1] > fit_scale(margins).cuts[-1])


@settings(max_examples=20)
@given(st.sampled_from([3, 10**9]).flatmap(_samples), st.integers(0, 2**32))
def test_order_of_records_does_not_matter(margins: FloatArray, seed: int) -> None:
    """A shuffled sample gives the same cuts, all multiples of 2^-40."""
    scale = fit_scale(margins)
    assert fit_scale(np.random.default_rng(seed).permutation(margins)) == scale
    assert np.array_equal(scale.cuts, _on_grid(scale.cuts))


@pytest.mark.parametrize("draw", ["normal", "logistic", "exponential", "ties"])
def test_fresh_records_agree_within_a_two_sample_interval(draw: str) -> None:
    """Law 6: the number of new records above the k-th of n is beta-binomial, or less with ties and in the tail."""
    rng = np.random.default_rng(11)
    fitted, fresh = (
        np.round(rng.normal(size=30_000) * 4) / 4
        if draw == "ties"
        else _on_grid(getattr(rng, draw)(size=30_000))
        for _ in range(2)
    )
    scale = fit_scale(fitted)
    reaching = _reaching(scale, fresh)
    for score in range(50, MAX_SCORE + 1, 50):
        allowed = int(30_000 / 10 ** (score / 250))
        spec = betabinom(30_000, allowed, 30_000 - allowed + 1)
        assert reaching[score - 1] <= spec.ppf(1 - 1e-4)
        if draw != "ties" and score < scale.extrapolated_from:
            assert reaching[score - 1] >= spec.ppf(1e-4)


def test_extrapolated_scores_keep_most_of_their_nominal_share() -> None:
    """Over many samples of 30,000 normal margins, half to all of one in ten thousand score 1000."""
    rng = np.random.default_rng(12)
    scales = [fit_scale(_on_grid(rng.normal(size=30_000))) for _ in range(150)]
    shares = np.mean([norm.sf(scale.cuts[[499, 749, 999]]) for scale in scales], axis=0)
    assert shares[:2] == pytest.approx([0.01, 0.001], rel=0.06)
    assert 0.5e-4 < shares[2] < 1e-4


@pytest.mark.parametrize(
    ("margins", "problem"),
    [
        (np.arange(19.0), "at least 20 genuine records, got 19"),
        (np.zeros(0), "at least 20 genuine records, got 0"),
        (np.zeros(100), "all equal"),
        (np.append(np.arange(50.0), np.nan), "1 of 51 are not"),
        (np.append(np.arange(50.0), -np.inf), "1 of 51 are not"),
        (np.append(np.arange(50.0), 2.0**13), "1 of 51 are not"),
        (np.array([np.nan]), "got 1; margins must be finite"),
    ],
)
def test_samples_that_fix_no_scale_are_refused(margins: FloatArray, problem: str) -> None:
    """Too few, equal or extreme margins are refused with all reasons at once."""
    with pytest.raises(ScaleError, match=problem):
        fit_scale(margins)


@pytest.mark.parametrize("genuine", [20, 500, 30_000])
def test_uncertainty_covers_the_law_of_order_statistics(genuine: int) -> None:
    """The share above the k-th of n margins, Beta(k, n - k + 1), is in the interval with probability 95 %."""
    for row in scale_uncertainty(genuine):
        allowed = int(genuine / 10 ** (row.score / 250))
        if allowed:
            assert row.high is not None
            spec = beta(allowed, genuine - allowed + 1)
            assert spec.cdf(10 ** (-row.low / 250)) - spec.cdf(10 ** (-row.high / 250)) >= 0.95
        else:
            assert row.high is None


def test_uncertainty_of_thirty_thousand_genuine_records() -> None:
    """The interval of 500 is 13 points wide either way, of 750 40, and of 1000 120 below and 170 above."""
    rows = {row.score: row for row in scale_uncertainty(30_000)}
    assert list(rows) == list(range(100, 1001, 100))
    assert (rows[500].low, rows[500].high) == pytest.approx((487, 513), abs=1)
    assert (rows[1000].low, rows[1000].high) == pytest.approx((880, 1170), abs=5)
    assert [row.score for row in rows.values() if row.extrapolated] == [900, 1000]
