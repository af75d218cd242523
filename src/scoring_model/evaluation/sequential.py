"""A challenger that is compared again and again while labels mature, at a fixed chance of a false promotion.

A group-sequential test with spent error (Lan and DeMets 1983, doi:10.1093/biomet/70.3.659): however often one looks,
and however the looks are spaced, a challenger that is not better is promoted with at most the planned chance. Looks
may not be scheduled by the results that they show.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from statistics import NormalDist
from typing import Any, Final, Self

import numpy as np
from scipy.special import ndtr

from scoring_model.arrays import FloatArray
from scoring_model.configuration import LookSettings
from scoring_model.evaluation.comparison_result import ComparisonResult
from scoring_model.evaluation.evaluated_records import EvaluationError

LEAST_DAYS: Final = 30
"""Days with matured records before the first look: fewer do not show how much days differ."""

HOPELESS: Final = 0.1
"""Chance of success, if the challenger were as much better as planned, below which it is given up.

At most planned miss / (1 - HOPELESS) of such challengers are missed (Lan, Simon and Halperin 1982,
doi:10.1080/07474948208836014).
"""

LONGEST_WAIT: Final = 365.0
"""Days; a longer wait is not worth its challenger, which ages meanwhile."""

_INFLATION: Final = 1.1
"""What weekly looks, early ends and an estimated variance cost in information, beyond one look at the end."""

_CAUTION: Final = 1.28
"""Standard errors of the variance that the named number of frauds covers: it suffices in nine of ten cases."""

_LEAST_STEP: Final = 0.005
"""Share of the planned information that must be new for another look; less is kept for the next."""

_DISAGREE: Final = 0.1
"""Share of frauds about which two models are assumed to disagree, before any is trained."""

_POINTS: Final = 801
_REACH: Final = 7.0
_NORMAL: Final = NormalDist()


class Answer(StrEnum):
    """What to do with a challenger."""

    PROMOTE = "promote"
    KEEP = "keep"
    WAIT = "wait"


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """One look at a challenger.

    Parameters
    ----------
    frauds, days : int
        Matured frauds, and days with evaluated records.
    difference : float or None
        Challenger minus champion; where applicants were stopped and no control group stands for them, the least that
        any labels of theirs could give. None where the records do not give it.
    information : float
        Inverse variance of the difference, from draws of days.
    share : float
        Of the planned information, in [0, 1].
    limit : float or None
        Standardised difference above which the challenger is better; None: not looked, since too little is new.
    better : bool
        Whether this look or an earlier one found it better.
    answer : Answer
    more_frauds : int
        Matured frauds that suffice for the last look in nine of ten cases; 0 unless the answer is `wait`.
    more_days : float
        How long they take to mature at the rate so far; infinite where no fraud has matured.
    highest : float or None
        Where applicants were stopped and no control group stands for them, the greatest difference that any labels of
        theirs could give.
    """

    frauds: int
    days: int
    difference: float | None
    information: float
    share: float
    limit: float | None
    better: bool
    answer: Answer
    more_frauds: int
    more_days: float
    highest: float | None = None

    def __str__(self) -> str:
        if self.answer is not Answer.WAIT:
            return f"{self.answer}: after {self.frauds:,} matured frauds in {self.days:,} days"
        if self.days < LEAST_DAYS:
            return f"wait: {self.days} days with matured records; the first look takes {LEAST_DAYS}"
        if self.difference is None:
            return (
                "wait: the labels do not give the difference: no fraud has matured, or applicants were stopped, and "
                "neither bounds nor a control group show what they were"
            )
        if self.highest is not None and not self.more_frauds:
            return (
                f"wait: the labels of stopped applicants decide, the difference may be {self.difference:+.3f} to "
                f"{self.highest:+.3f}; more frauds do not show which, a control group would"
            )
        if self.better:
            return "wait: significantly better, but some gate does not pass yet"
        if self.more_days > LONGEST_WAIT:
            return f"wait: {self.more_frauds:,} more matured frauds; this will not be known within a year"
        return f"wait: {self.more_frauds:,} more matured frauds, about {math.ceil(self.more_days):,} days"

    def to_json(self) -> dict[str, Any]:
        """Give the look as a JSON document."""
        return asdict(self) | {"more_days": self.more_days if math.isfinite(self.more_days) else None}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote."""
        days = document["more_days"]
        answer = Answer(document["answer"])
        return cls(**{**document, "answer": answer, "more_days": math.inf if days is None else days})


@dataclass(frozen=True, kw_only=True, slots=True)
class Looks:
    """All looks at one challenger, as they are stored between runs.

    Parameters
    ----------
    champion, challenger : str
        Seals of both bundles.
    plan : LookSettings
    looks : tuple of Look
        In order.
    """

    champion: str
    challenger: str
    plan: LookSettings
    looks: tuple[Look, ...] = ()

    def add(self, found: ComparisonResult, *, gates_pass: bool) -> Self:
        """Return these looks and one more, at a comparison on all records that matured so far.

        Parameters
        ----------
        found : ComparisonResult
            Of records that neither model was trained or validated on, those of earlier looks among them.
        gates_pass : bool
            Whether every gate passes on this comparison. A better challenger waits for them until the last look.

        Raises
        ------
        EvaluationError
            If there are fewer matured frauds than at the last look.
        """
        look = look_again(self.plan, self.looks, found, gates_pass=gates_pass)
        return replace(self, looks=(*self.looks, look))

    def to_json(self) -> dict[str, Any]:
        """Give the looks as a JSON document."""
        return asdict(self) | {"looks": [look.to_json() for look in self.looks]}

    def continued(self, stored: Mapping[str, Any]) -> Self:
        """Return these looks with those that `to_json` wrote before them.

        Raises
        ------
        EvaluationError
            If those are looks at other bundles or under another plan.
        """
        own = self.to_json()
        if others := [name for name in ("champion", "challenger", "plan") if stored.get(name) != own[name]]:
            raise EvaluationError(
                f"the earlier looks have another {' and another '.join(others)}: start with a new file of looks"
            )
        try:
            return replace(self, looks=tuple(map(Look.from_json, stored["looks"])))
        except (KeyError, TypeError, ValueError) as error:
            raise EvaluationError(f"a stored look cannot be read: {error}") from error


def read_looks(path: Path) -> Mapping[str, Any]:
    """Read a file of looks.

    Raises
    ------
    EvaluationError
        If it is not such a file.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise EvaluationError(f"{path.name}: not a file of looks: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("looks"), list):
        raise EvaluationError(f"{path.name}: not a file of looks")
    return document


def planned_information(plan: LookSettings) -> float:
    """Return the inverse variance of the difference at which the last look takes place."""
    needed = _NORMAL.inv_cdf(1 - plan.error) + _NORMAL.inv_cdf(plan.power)
    return _INFLATION * (needed / plan.gain) ** 2


def needed_text(plan: LookSettings) -> str:
    """Say before a training how many matured records a promotion takes.

    Only frauds on which the models disagree tell them apart; how many disagree is known after the training alone, so
    the text names the number for one in ten. The variance of a difference of paired shares is then 0.1 / n.
    """
    frauds = math.ceil(planned_information(plan) * _DISAGREE)
    return (
        f"a promotion takes matured records of at least {LEAST_DAYS} days, and about {frauds:,} matured frauds if the "
        "models disagree about one in ten; fewer suffice for a difference larger than planned"
    )


def look_again(
    plan: LookSettings, earlier: Sequence[Look], found: ComparisonResult, *, gates_pass: bool = True
) -> Look:
    """Look at a comparison on all records that matured so far.

    Parameters
    ----------
    earlier : sequence of Look
        All earlier looks at this challenger, at some of these records, in order.
    found : ComparisonResult
        Of records that neither model was trained or validated on.
    gates_pass : bool
        Whether every gate passes on this comparison. A challenger that is better waits for them until the last look.

    Raises
    ------
    EvaluationError
        If there are fewer matured frauds than at the last look.
    """
    name = plan.figure
    difference = found.differences[name]
    if earlier and difference.records < earlier[-1].frauds:
        raise EvaluationError(
            f"{name} rests on {difference.records:,} records and on {earlier[-1].frauds:,} at the last look: each look "
            "is at the records of the earlier ones and at later ones"
        )
    lowest = highest = difference.value
    if found.released is not None:
        possible = found.released.possible.get(name)
        lowest, highest = (None, None) if possible is None else (possible.lowest, possible.highest)
    drawn = found.challenger.draws[name] - found.champion.draws[name]
    variance = float(np.nanvar(drawn)) if np.isfinite(drawn).any() else math.inf
    variance = max(variance, found.least_variances.get(name, 0.0))
    return look_at(
        plan,
        earlier,
        difference=lowest,
        highest=highest,
        # Without a single flip the draws do not vary, but the difference is known no better than to half a record.
        variance=max(variance, 1 / (difference.records + 2) ** 2),
        frauds=difference.records,
        days=found.days,
        gates_pass=gates_pass,
    )


def look_at(
    plan: LookSettings,
    earlier: Sequence[Look],
    *,
    difference: float | None,
    variance: float,
    frauds: int,
    days: int,
    gates_pass: bool = True,
    highest: float | None = None,
) -> Look:
    """Look at a difference and its variance; see `look_again`.

    Parameters
    ----------
    highest : float, optional
        The greatest difference that labels of stopped applicants could give, which decides whether to give up.
    """
    information = 1 / variance if difference is not None and days >= LEAST_DAYS else 0.0
    share = min(information / planned_information(plan), 1.0)
    looked = [one for one in earlier if one.limit is not None]
    known = looked[-1].share if looked else 0.0
    limit, better = None, any(one.better for one in earlier)
    if difference is not None and share > known and (share == 1.0 or share - known >= _LEAST_STEP):
        limit = limit_at(plan, (*(one.share for one in looked), share))
        better |= difference * math.sqrt(information) > limit
    answer = Answer.WAIT
    if better and gates_pass:
        answer = Answer.PROMOTE
    elif _given_up(plan, difference, highest, share, better=better):
        answer = Answer.KEEP
    # Between days the variance of a difference is known to about sqrt(2 / days) of itself.
    cautious = share / (1 + _CAUTION * math.sqrt(2 / max(days - 1, 1)))
    missing = math.ceil(frauds * (1 / cautious - 1)) if 0 < share < 1 else 0
    waiting = answer is Answer.WAIT
    return Look(
        frauds=frauds,
        days=days,
        difference=difference,
        information=information,
        share=share,
        limit=limit,
        better=better,
        answer=answer,
        more_frauds=missing if waiting else 0,
        more_days=(missing * days / frauds if frauds and share else math.inf) if waiting else 0.0,
        highest=highest,
    )


def _given_up(
    plan: LookSettings, difference: float | None, highest: float | None, share: float, *, better: bool
) -> bool:
    """Whether nothing is left to wait for: after the last look, or before it most probably.

    Where labels of stopped applicants could make the difference as large as planned, the last look answers nothing.
    """
    if share < 1.0:
        return not better and _hopeless(plan, difference if highest is None else highest, share)
    return better or highest is None or highest < plan.gain


def limit_at(plan: LookSettings, shares: tuple[float, ...]) -> float:
    """Return the standardised difference above which the last of these looks finds the challenger better.

    The difference times its information moves like a Brownian motion in the information, so the chance of the first
    crossing at each look follows from the density of the walks that have not crossed (Armitage, McPherson and Rowe
    1969, doi:10.2307/2343787).

    Parameters
    ----------
    shares : tuple of float
        Of the planned information at each look, strictly ascending, in (0, 1].
    """
    return _after(plan, shares).limit


@dataclass(frozen=True, slots=True, eq=False)
class _Walks:
    """Walks that have crossed no limit so far: places, and the chance of a walk to be at each."""

    limit: float
    places: FloatArray
    chances: FloatArray


@lru_cache(maxsize=64)
def _after(plan: LookSettings, shares: tuple[float, ...]) -> _Walks:
    """Return the limit of the last look, and the walks that have not crossed after it."""
    if not shares:
        return _Walks(limit=math.inf, places=np.zeros(1), chances=np.ones(1))
    *_, share = shares
    before, so_far = (0.0, *shares)[-2], _after(plan, shares[:-1])
    step, highest = math.sqrt(share - before), _REACH * math.sqrt(share)
    limit = _crossed_by(_spent(plan, share) - _spent(plan, before), so_far, step, highest)
    places = np.linspace(-highest, limit, _POINTS)
    moved = np.exp(-0.5 * ((places[:, None] - so_far.places) / step) ** 2) / (step * math.sqrt(2 * math.pi))
    weights = np.full(_POINTS, places[1] - places[0])
    weights[[0, -1]] /= 2
    return _Walks(limit / math.sqrt(share), places, (moved @ so_far.chances) * weights)


def _spent(plan: LookSettings, share: float) -> float:
    """Return the error that may be spent up to a share of the information: little at first."""
    if share == 0:
        return 0.0
    return 2 * (1 - _NORMAL.cdf(_NORMAL.inv_cdf(1 - plan.error / 2) / math.sqrt(share)))


def _crossed_by(chance: float, walks: _Walks, step: float, highest: float) -> float:
    """Return the place that walks cross in a step with this chance, by bisection."""
    low, high = -highest, highest
    for _ in range(50):
        middle = (low + high) / 2
        crossing = walks.chances @ ndtr((walks.places - middle) / step)
        low, high = (middle, high) if crossing > chance else (low, middle)
    return high


def _hopeless(plan: LookSettings, difference: float | None, share: float) -> bool:
    """Whether the rest of the information would hardly help even a challenger that is better by the planned gain."""
    if difference is None or not 0 < share < 1:
        return False
    total = planned_information(plan)
    walked, last = difference * share * total, _NORMAL.inv_cdf(1 - plan.error) * math.sqrt(total)
    rest = (1 - share) * total
    return _NORMAL.cdf((walked + plan.gain * rest - last) / math.sqrt(rest)) < HOPELESS
