"""Frauds in records without labels, from calibrated probabilities whose own error is known from matured records.

The probability of a record is that of the bundle, recalibrated on matured records: its log-odds are intercept + slope
times those of the bundle. A covariate shift changes how many records have each probability, and not what a probability
means; this is what the estimates assume. Blocks of days differ in their odds, so a block of the window has an unknown
shift of its log-odds too, whose variance is estimated from the matured blocks.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import expit

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.evaluation.draws import resamples
from scoring_model.evaluation.uncertainty import CONFIDENCE

DRAWS: Final = 1000

_STEPS: Final = 12
_PRIOR: Final = np.diag([1 / 4.0, 1.0])  # of intercept and slope: keeps a fit on few frauds finite


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MaturedCounts:
    """Matured records by block of days and group of probability.

    Parameters
    ----------
    log_odds : ndarray of shape (m,), float64
        Of the bundle's probability in each group.
    records, frauds : ndarray of shape (b, m), int64
    """

    log_odds: FloatArray
    records: IntArray
    frauds: IntArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Recalibration:
    """Log-odds of fraud as a line of those of the bundle, with their uncertainty.

    Parameters
    ----------
    line : ndarray of shape (2,), float64
        Intercept and slope; (0, 1) is the bundle's own probability.
    drawn : ndarray of shape (r, 2), float64
        The same in draws of blocks.
    spread : ndarray of shape (r,), float64
        Standard deviation of the log-odds of a block, in the same draws.
    matured : MaturedCounts
        What it was fitted on.
    """

    line: FloatArray
    drawn: FloatArray
    spread: FloatArray
    matured: MaturedCounts


def recalibrate(matured: MaturedCounts, *, draws: int = DRAWS) -> Recalibration:
    """Fit the line, and again in draws of whole blocks with replacement (Künsch 1989, doi:10.1214/aos/1176347265)."""
    blocks = len(matured.records)
    records, frauds = matured.records.astype(np.float64), matured.frauds.astype(np.float64)
    line = _fit(matured.log_odds, records.sum(axis=0)[np.newaxis], frauds.sum(axis=0)[np.newaxis])[0]
    weights = resamples(np.random.default_rng(0), blocks, draws)
    drawn = _fit(matured.log_odds, weights @ records, weights @ frauds)
    # Draws of b blocks vary too little by (b - 1) / b; Student's t with b - 1 degrees varies by (b - 1) / (b - 3).
    widening = np.sqrt(blocks / max(blocks - 3, 1))
    widened = line + (drawn - line) * widening
    excess, scale = _block_excess(matured, line)
    variances = weights @ excess / np.maximum(weights @ scale, 1e-12)
    return Recalibration(
        line=line,
        drawn=widened,
        spread=np.sqrt(np.maximum(variances, 0.0)) * widening,
        matured=matured,
    )


def contradiction(reference: Recalibration, matured: Recalibration) -> float:
    """Return how strongly newly matured records contradict the reference.

    Returns
    -------
    float
        Wald's statistic of equal lines over its 95 % quantile, which knows that the variation between blocks is
        estimated: above 1 they differ.
    """
    both = (reference.matured, matured.matured)
    lines = (reference.line, matured.line)
    found = [_block_excess(counts, line) for counts, line in zip(both, lines, strict=True)]
    excess, scale = (sum(float(part[place].sum()) for part in found) for place in (0, 1))
    spread = max(excess / max(scale, 1e-12), 0.0)
    covariance = sum(_covariance(counts, line, spread) for counts, line in zip(both, lines, strict=True))
    difference = matured.line - reference.line
    freedom = max(sum(len(counts.records) for counts in both) - 4, 1)
    # Twice the 95 % quantile of F with 2 and `freedom` degrees of freedom.
    critical = freedom * ((1 - CONFIDENCE) ** (-2 / freedom) - 1)
    return float(difference @ np.linalg.solve(covariance, difference) / critical)


def chance_of_none(reference: Recalibration, matured: MaturedCounts) -> tuple[float, float]:
    """Return the frauds that the reference expects in newly matured records, and the share of draws without any.

    Without a fraud no line can be fitted, so that `contradiction` cannot compare two.
    """
    blocks, groups = matured.records.shape
    expected, drawn = draw_frauds(
        reference,
        np.tile(matured.log_odds, blocks),
        matured.records.ravel(),
        np.repeat(np.arange(blocks), groups),
    )
    return float(expected.sum()), float(np.mean(drawn.sum(axis=1) == 0))


def draw_frauds(
    found: Recalibration, log_odds: FloatArray, records: IntArray, blocks: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Estimate the frauds in groups of records, and draw what their number may be.

    Parameters
    ----------
    log_odds : ndarray of shape (c,), float64
        Of the bundle's probability in each group.
    records, blocks : ndarray of shape (c,), int64
        Size of each group, and code of its block of days.

    Returns
    -------
    expected : ndarray of shape (c,), float64
    drawn : ndarray of shape (r, c), float64
        With the error of the line, the shift of each block and the chance of each record.
    """
    generator = np.random.default_rng(1)
    expected = records * expit(found.line[0] + found.line[1] * log_odds)
    size = int(blocks.max()) + 1 if len(blocks) else 0
    shifts = generator.standard_normal((len(found.drawn), size)) * found.spread[:, np.newaxis]
    chances = expit(found.drawn[:, :1] + found.drawn[:, 1:] * log_odds + shifts[:, blocks])
    return expected, generator.binomial(records, chances).astype(np.float64)


def _fit(log_odds: FloatArray, records: FloatArray, frauds: FloatArray) -> FloatArray:
    """Fit a line to the counts of each row by Newton's method, of shape (r, 2)."""
    inputs = np.column_stack([np.ones_like(log_odds), log_odds])
    centre = np.array([0.0, 1.0])
    lines = np.tile(centre, (len(records), 1))
    for _ in range(_STEPS):
        chances = expit(lines @ inputs.T)
        gradient = (frauds - records * chances) @ inputs - (lines - centre) @ _PRIOR
        weights = records * chances * (1 - chances)
        curvature = np.einsum("rm,mi,mj->rij", weights, inputs, inputs) + _PRIOR
        step = np.linalg.solve(curvature, gradient[..., np.newaxis])[..., 0]
        lines = lines + np.clip(step, -1.0, 1.0)
    return lines


def _block_excess(matured: MaturedCounts, line: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return by block how much the squared deviation of its frauds exceeds chance, and its scale."""
    chances = expit(line[0] + line[1] * matured.log_odds)
    variances = matured.records @ (chances * (1 - chances))
    deviations = matured.frauds.sum(axis=1) - matured.records @ chances
    return deviations**2 - variances, variances**2


def _covariance(matured: MaturedCounts, line: FloatArray, spread: float) -> FloatArray:
    inputs = np.column_stack([np.ones_like(matured.log_odds), matured.log_odds])
    chances = expit(line[0] + line[1] * matured.log_odds)
    weights = matured.records * (chances * (1 - chances))
    by_block = weights @ inputs  # what a shift of a block's log-odds adds to the gradient
    curvature = np.einsum("bm,mi,mj->ij", weights, inputs, inputs) + _PRIOR
    inverse = np.linalg.inv(curvature)
    covariance: FloatArray = inverse @ (curvature + spread * by_block.T @ by_block) @ inverse
    return covariance
