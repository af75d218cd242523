"""How long a search by rungs will still take: from the trials to come, not from those that are over.

The first trial runs through all rungs. Most later ones are pruned at the first rungs, which cost a small part of the
last ones, so that the mean time of the trials so far says little about those to come.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

_PRIOR_WEIGHT: Final = 4
"""Trials that the prior of `_survival` is worth."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialTime:
    """The time that a trial has taken so far.

    Parameters
    ----------
    seconds : tuple of float
        Of each rung that it has reached.
    ended : bool
        Whether it is over: pruned at its last rung, or complete.
    running : float
        Seconds since its last rung, or since its start; 0 when it is over.
    """

    seconds: tuple[float, ...]
    ended: bool
    running: float = 0.0


def seconds_left(
    trials: Sequence[TrialTime], *, rungs: int | None, to_begin: int, processes: int, reduction: int
) -> float | None:
    """Estimate the time that a search will still take.

    A trial to come costs the mean time of each rung, times the chance that it gets there.

    Parameters
    ----------
    trials : sequence of TrialTime
        Those that are over and those under way.
    rungs : int or None
        That a trial has, one of `trials` having reached them all; None before.
    to_begin : int
        Trials that are not under way yet.
    processes : int
        Trials that are under way at once.
    reduction : int
        One trial in so many goes on from a rung.

    Returns
    -------
    float or None
        Seconds, at least 0; None while the cost of the last rung is not known.
    """
    if rungs is None:
        return None
    costs = [
        float(np.mean([trial.seconds[rung] for trial in trials if len(trial.seconds) > rung]))
        for rung in range(rungs)
    ]
    survival = [_survival(trials, rung, reduction) for rung in range(rungs - 1)]
    onward = [0.0]  # expected seconds from the start of each rung on, and 0 after the last one
    for cost, chance in zip(reversed(costs), [0.0, *reversed(survival)], strict=True):
        onward.insert(0, cost + chance * onward[0])
    under_way = [_rest(trial, costs, onward) for trial in trials if not trial.ended]
    total = to_begin * onward[0] + sum(under_way)
    return max([total / processes, *under_way])


def _survival(trials: Sequence[TrialTime], rung: int, reduction: int) -> float:
    """Chance that a trial goes on from a rung: as often as seen, beginning with one in `reduction`."""
    judged = [trial for trial in trials if len(trial.seconds) > rung]
    went_on = [trial for trial in judged if len(trial.seconds) > rung + 1 or not trial.ended]
    return (len(went_on) + _PRIOR_WEIGHT / reduction) / (len(judged) + _PRIOR_WEIGHT)


def _rest(trial: TrialTime, costs: Sequence[float], onward: Sequence[float]) -> float:
    """Seconds that a trial under way still needs; the rung that it is on may have taken longer than expected."""
    rung = len(trial.seconds)
    return max(costs[rung] - trial.running, 0.0) + onward[rung] - costs[rung]
