"""Reason codes: what pushed the margin up, strongest first."""

import math
from collections.abc import Sequence

from scoring_model.arrays import FloatArray

MAX_REASONS = 5


def reasons(contributions: FloatArray, codes: Sequence[str | None]) -> tuple[str, ...]:
    """Name the reasons of one record.

    A code covers several features, whose contributions add up; a code whose sum pushes the margin
    down or not at all is no reason. The sums are exact to the last bit (`math.fsum`), so that the
    order of the features never decides the order of the reasons.

    Parameters
    ----------
    contributions : ndarray of shape (d,), float64, finite
        What each feature adds to the margin, in log-odds.
    codes : sequence of length d
        Each feature's reason code, or None for a feature that no one is told about.

    Returns
    -------
    tuple of str
        At most five codes, strongest first, equal ones by name.

    Raises
    ------
    ValueError
        If the two lengths differ.

    Examples
    --------
    >>> import numpy as np
    >>> reasons(np.array([0.5, 0.25, 1.0, -2.0]), ["NAME", "NAME", None, "DATE"])
    ('NAME',)
    """
    if len(contributions) != len(codes):
        raise ValueError(f"codes: must be one per contribution, got {len(codes)} for {len(contributions)}")
    parts: dict[str, list[float]] = {}
    for code, contribution in zip(codes, contributions.tolist(), strict=True):
        if code is not None:
            parts.setdefault(code, []).append(contribution)
    sums = {code: math.fsum(values) for code, values in parts.items()}
    pushing = [code for code, total in sums.items() if total > 0]
    return tuple(sorted(pushing, key=lambda code: (-sums[code], code))[:MAX_REASONS])
