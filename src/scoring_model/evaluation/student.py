"""Quantiles of Student's t, and how much many variances say about each other.

Written without SciPy, which an installation that only decides and monitors lacks.
"""

from statistics import NormalDist

import numpy as np

from scoring_model.arrays import FloatArray

_SHIFT = 8
"""From here on the series of the trigamma function has an error below 1e-9."""


def student_quantiles(levels: FloatArray, degrees: FloatArray) -> FloatArray:
    """Return the t that |T| exceeds with a probability of each level (Hill 1970, doi:10.1145/355598.355600).

    Parameters
    ----------
    levels : ndarray of shape (c,), float64, in (0, 1)
    degrees : ndarray of shape (c,), float64, at least 2
    """
    normal = np.array([NormalDist().inv_cdf(1 - level / 2) for level in levels.tolist()])
    n = np.maximum(degrees, 2.0 + 1e-6)
    a = 1 / (n - 0.5)
    b = (48 / a) / a
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / c + 1) * np.sqrt(a * np.pi / 2) * n
    y = (d * levels) ** (2 / n)
    far = y > 0.05 + a
    x, y2 = normal, normal**2
    small = np.where(n < 5, c + 0.3 * (n - 4.5) * (-x + 0.6), c)
    small = (((0.05 * d * -x - 5) * -x - 7) * -x - 2) * -x + b + small
    near = (((((0.4 * y2 + 6.3) * y2 + 36) * y2 + 94.5) / small - y2 - 3) / b + 1) * -x
    near = np.expm1(a * near**2)
    tail = (
        ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1)
        * (n + 1)
        / (n + 2)
    )
    tail = tail + 1 / y
    quantiles: FloatArray = np.sqrt(n * np.where(far, near, tail))
    return quantiles


def trigamma(value: float) -> float:
    """Return the second derivative of the logarithm of the gamma function at a positive value."""
    lower = 0.0
    while value < _SHIFT:
        lower, value = lower + 1 / value**2, value + 1
    square = 1 / value**2
    series = 1 / 6 - square * (1 / 30 - square * (1 / 42 - square / 30))
    return lower + 1 / value + square / 2 + square / value * series


def prior_degrees(logs: FloatArray, degrees: float) -> float:
    """Return how many degrees of freedom all variances lend to each; infinite if they differ by chance alone.

    The method of moments of Smyth (2004, doi:10.2202/1544-6115.1027), section 6.2.

    Parameters
    ----------
    logs : ndarray of shape (c,), float64
        Logarithms of estimated variances.
    degrees : float
        Degrees of freedom of each.
    """
    if len(logs) < 2:
        return 0.0
    excess = float(logs.var(ddof=1)) - trigamma(degrees / 2)
    if excess <= 0:
        return float("inf")
    low, high = 1e-3, 1e6
    for _ in range(80):  # trigamma falls
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if trigamma(middle) > excess else (low, middle)
    return 2 * low
