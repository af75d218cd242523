"""Exact limits for the share behind a count: Clopper and Pearson (1934, doi 10.1093/biomet/26.4.404)."""

from scipy.special import betaincinv

from scoring_model.evaluation import Share


def upper_limit(count: int, total: int, *, level: float) -> float:
    """Highest share that a count of a total leaves possible.

    Parameters
    ----------
    count, total : int
        0 <= count <= total.
    level : float
        Chance, in (0, 1), of so small a count if the share were the limit.

    Returns
    -------
    float
        In (0, 1]; 1 when count is total, also for 0 of 0.
    """
    return float(betaincinv(count + 1, total - count, 1 - level)) if count < total else 1.0


def lower_limit(count: int, total: int, *, level: float) -> float:
    """Lowest share that a count of a total leaves possible; parameters as in `upper_limit`."""
    return float(betaincinv(count, total - count + 1, level)) if count else 0.0


def exact_share(count: int, total: int) -> Share:
    """Share of a count with its exact 95 % interval, 2.5 % on either side."""
    if total == 0:
        return Share(count=0, total=0, share=None, low=None, high=None)
    low, high = lower_limit(count, total, level=0.025), upper_limit(count, total, level=0.025)
    return Share(count=count, total=total, share=count / total, low=low, high=high)
