"""Bounds that are set after the records were seen: a fixed ladder of values, all of which are tested.

A person who sees the results of a sample before setting a bound may choose the one that this sample happens to
flatter, and then the stated confidence would be too high. So such a bound is rounded up to a value of a ladder that was
fixed before any sample. Each of its 40 values for each of the three bounds is tested at delta / 120. By the union bound
the probability of any false certificate is at most delta, whichever values are chosen, and however often: all policies
that are ever chosen on the ladder keep their promises together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from scoring_model.arrays import IntArray
from scoring_model.evaluation.bounds import FALSE_REJECT, MISSED_FRAUD, STEP_UP
from scoring_model.training.certification import Certification, Shortfall, certify_limits, delta_of

VALUES: Final = 40
"""Values of each bound."""

_PREFERRED: Final = (1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0)  # ISO 3, series R10
_DECADES: Final = (4, 3, 2, 1)
_SHARES_OF_GENUINE: Final = tuple(float(f"{step}e-{decade}") for decade in _DECADES for step in _PREFERRED)

LADDER: Final[Mapping[str, tuple[float, ...]]] = MappingProxyType(
    {
        FALSE_REJECT: _SHARES_OF_GENUINE,
        STEP_UP: _SHARES_OF_GENUINE,
        MISSED_FRAUD: (*(round(step / VALUES, 3) for step in range(1, VALUES)), 0.99),
    }
)
"""Values of each bound, ascending: of genuine ten to a decade from 0.0001 to 0.8, of frauds 0.025, 0.05, ..., 0.975
and 0.99. They never change: the policies of two ladders would not hold together with the stated confidence."""

_STRICTER: Final = (
    "kept if no bound changes; the test of bounds that are set now, with the scores seen, is stricter"
)


class AboveLadder(ValueError):
    """A bound lies above the highest value of its ladder."""


def round_up(limits: Mapping[str, float]) -> dict[str, float]:
    """Return the lowest value of the ladder, for each bound, that is not below it.

    Raises
    ------
    AboveLadder
        Naming each bound above the highest value.
    """
    above = [
        f"policy.{bound}: {limit:g} is above {LADDER[bound][-1]:g}, the highest value that can be certified on records "
        "that were already seen; null turns the bound off"
        for bound, limit in limits.items()
        if limit > LADDER[bound][-1]
    ]
    if above:
        raise AboveLadder("\n".join(above))
    return {
        bound: next(value for value in LADDER[bound] if value >= limit) for bound, limit in limits.items()
    }


def certify_on_ladder(
    genuine_scores: IntArray, fraud_scores: IntArray, *, limits: Mapping[str, float], confidence: float
) -> Certification:
    """Find the thresholds that keep bounds which are rounded up to the ladder.

    The three bounds share delta even where some are not set, since which ones are set is chosen after the sample was
    seen too.

    Parameters
    ----------
    genuine_scores : ndarray of shape (n,), int64, 0 to 1000
        One for each person.
    fraud_scores : ndarray of shape (m,), int64, 0 to 1000
        One for each ring.
    confidence : float
        Probability, in (0, 1), that all policies chosen on the ladder with this confidence or a higher one keep their
        bounds.
    """
    delta = delta_of(confidence) / (len(LADDER) * VALUES)
    return certify_limits(genuine_scores, fraud_scores, limits=round_up(limits), delta=delta)


def possible_now(
    shortfalls: Sequence[Shortfall],
    genuine_scores: IntArray,
    fraud_scores: IntArray,
    *,
    limits: Mapping[str, float],
    confidence: float,
) -> tuple[Shortfall, ...]:
    """Restate the shortfalls of bounds by what can be promised instead, now that the scores were seen.

    Reasons and numbers of records stay: they are about these bounds, which the next training tests as this one did.

    Parameters
    ----------
    shortfalls : sequence of Shortfall
        Of these bounds; without any there is nothing to restate. A bound above the ladder leaves them as they are.
    """
    if not shortfalls or any(limit > LADDER[bound][-1] for bound, limit in limits.items()):
        return tuple(shortfalls)
    rounded = round_up(limits)
    on_ladder = certify_on_ladder(
        genuine_scores, fraud_scores, limits=limits, confidence=confidence
    ).shortfalls()
    if not on_ladder:  # it is enough to round the bounds up
        return tuple(replace(row, possible=rounded[row.bound]) for row in shortfalls)
    short = {row.bound: row for row in shortfalls}
    return tuple(
        replace(
            row,
            requested=limits[row.bound],
            possible=_next_value(row.bound, row.possible),
            reason=short[row.bound].reason if row.bound in short else f"{_STRICTER}; {row.reason}",
            times=short[row.bound].times if row.bound in short else 1.0,
        )
        for row in on_ladder
    )


def _next_value(bound: str, limit: float | None) -> float | None:
    return None if limit is None else next((value for value in LADDER[bound] if value >= limit), None)
