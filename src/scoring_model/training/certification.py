"""Thresholds that keep the bounds, and the nearest bounds that could be kept.

Decision record: docs/adr/0012-thresholds.md.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.configuration import PolicySettings, SplitSettings
from scoring_model.decision.rules import NEVER_REACHED, Promise
from scoring_model.decision.scale import MAX_SCORE
from scoring_model.evaluation.bounds import (
    EVERY,
    FALSE_REJECT,
    MISSED_FRAUD,
    STEP_UP,
    BoundTest,
    bound_test,
    fail_thresholds,
    records_needed,
    step_up_thresholds,
)
from scoring_model.records.times import DAY
from scoring_model.training.alternatives import Alternatives
from scoring_model.training.boundaries import SplitBoundaries, days

if TYPE_CHECKING:
    from scoring_model.bundle import Bundle

_PARTNERS = {STEP_UP: MISSED_FRAUD, MISSED_FRAUD: STEP_UP}  # opposite bounds on the same threshold


@dataclass(frozen=True, kw_only=True, slots=True)
class Shortfall:
    """A bound that cannot be kept, alone or together with another one.

    Parameters
    ----------
    possible : float or None
        The smallest value that the sample certifies at this confidence with the other bounds unchanged, rounded up to
        three digits; None if no value below 1 is certified.
    reason : str
        Why it is not kept, and how many records would be needed.
    is_choice : bool
        Whether changing either this bound or the previous one suffices.
    times : float or None
        How many times the tested records would keep the bound, or the pair, at the same shares of errors. None: no
        number would.
    """

    bound: str
    requested: float
    possible: float | None
    reason: str
    is_choice: bool = False
    times: float | None = None

    @property
    def setting(self) -> str:
        """Return the line for the configuration."""
        value = "null" if self.possible is None else f"{self.possible:g}"
        return f"{'or ' if self.is_choice else ''}policy.{self.bound}: {value}"


class InfeasiblePolicy(ValueError):
    """No thresholds keep the configured bounds.

    Parameters
    ----------
    alternatives : Alternatives, optional
        Results of all thresholds of the fitted model on the tested records. None: no model was fitted, since the
        validation part has too few records for any model.
    bundle : Bundle, optional
        The trained model with a policy that passes everyone and promises nothing, to be given another policy.
    advice : str
        The length of the validation part that would do.
    """

    def __init__(
        self,
        shortfalls: tuple[Shortfall, ...],
        *,
        alternatives: Alternatives | None = None,
        bundle: "Bundle | None" = None,
        advice: str = "",
    ) -> None:
        rows = [("bound", "requested", "possible", "write")]
        for row in shortfalls:
            possible = "none" if row.possible is None else f"{row.possible:g}"
            rows.append((row.bound, f"{row.requested:g}", possible, row.setting))
        whose = "the fitted model" if alternatives else "any model, even a perfect one,"
        head = f"no thresholds of {whose} keep the bounds of the policy"
        reasons = [f"- {row.bound}: {row.reason}" for row in shortfalls]
        super().__init__("\n".join([head, "", *_aligned(rows), "", *reasons, *([advice] if advice else [])]))
        self.shortfalls = shortfalls
        self.alternatives = alternatives
        self.bundle = bundle


@dataclass(frozen=True, kw_only=True)
class Certification:
    """The thresholds certified to keep the bounds.

    Each bound is tested separately at its share of delta = 1 - confidence, so that with this confidence no certificate
    is false (Bonferroni). Then all pairs of certified thresholds keep all bounds simultaneously: the promises hold for
    any chosen pair, even if chosen by its cost on the same records (arXiv 2110.01052, theorem 1).
    """

    tests: Mapping[str, BoundTest]

    @cached_property
    def step_up(self) -> range:
        """Return the `step_up_from` that keep `max_step_up` and `max_missed_fraud`, ascending; may be empty."""
        return step_up_thresholds(self._certified)

    @cached_property
    def fail(self) -> range:
        """Return the `fail_from` that keep `max_false_reject`; only `NEVER_REACHED` if that is unset."""
        return fail_thresholds(self._certified)

    def holds(self, step_up_from: int, fail_from: int) -> bool:
        """Return True if a pair of thresholds is certified to keep every bound."""
        return step_up_from <= fail_from and step_up_from in self.step_up and fail_from in self.fail

    def promises(self, step_up_from: int, fail_from: int) -> tuple[Promise, ...]:
        """Make the promises of a certified pair."""
        at = {FALSE_REJECT: fail_from, STEP_UP: step_up_from, MISSED_FRAUD: step_up_from}
        return tuple(test.promise(at[bound]) for bound, test in self.tests.items())

    @cached_property
    def _certified(self) -> Mapping[str, range]:
        return {bound: test.certified() for bound, test in self.tests.items()}

    def _range(self, bound: str) -> range:
        """Return the thresholds that keep a bound; all if it is unset."""
        return self._certified.get(bound, EVERY)

    def shortfalls(self) -> tuple[Shortfall, ...]:
        """Find all bounds that no threshold keeps, or that have no threshold in common."""
        found = [self._shortfall(bound, self._alone) for bound in self.tests if not self._range(bound)]
        if not self.step_up and not {STEP_UP, MISSED_FRAUD} & {row.bound for row in found}:
            found.append(self._shortfall(MISSED_FRAUD, self._conflict))
            found.append(self._shortfall(STEP_UP, self._conflict, is_choice=True))
        return tuple(found)

    def _shortfall(
        self, bound: str, explain: Callable[[str], tuple[str, int | None]], *, is_choice: bool = False
    ) -> Shortfall:
        test, (reason, needed) = self.tests[bound], explain(bound)
        return Shortfall(
            bound=bound,
            requested=test.limit,
            possible=self._nearest(bound),
            reason=reason,
            is_choice=is_choice,
            times=needed / test.records if needed and test.records else None,
        )

    def _alone(self, bound: str) -> tuple[str, int | None]:
        """Explain why no threshold keeps a bound: mostly too few records, even without errors.."""
        test = self.tests[bound]
        needed = records_needed(0.0, limit=test.limit, delta=test.delta)
        return (
            f"at the best threshold, {self._compromise(bound)}, {self._evidence(bound)}; "
            f"{test.limit:g} takes at least {needed} {_kind(bound)}, even without an error among them"
        ), needed

    def _conflict(self, bound: str) -> tuple[str, int | None]:
        """Explain why a bound cannot be kept together with the other bound on the same threshold."""
        test, range_, threshold = self.tests[bound], self._range(bound), self._compromise(bound)
        end = f">= {range_.start}" if test.safest == NEVER_REACHED else f"<= {range_[-1]}"
        needed = records_needed(test.observed(threshold), limit=test.limit, delta=test.delta)
        takes = "no number of such records" if needed is None else f"{needed} such records"
        return (
            f"{test.limit:g} needs step_up_from {end}, which {_PARTNERS[bound]} rules out; "
            f"at {threshold}, the nearest that it allows, {self._evidence(bound)}; "
            f"{takes} would certify {test.limit:g} there"
        ), needed

    def _evidence(self, bound: str) -> str:
        test = self.tests[bound]
        observed = test.observed(self._compromise(bound))
        return (
            f"{observed:.2%} of {test.records} {_kind(bound)} are errors (tested at delta {test.delta:.3g})"
        )

    def _compromise(self, bound: str) -> int:
        """Return the best threshold for a bound among those that keep the other bound on the same threshold."""
        test = self.tests[bound]
        kept = self._range(_PARTNERS[bound]) if bound in _PARTNERS else EVERY
        if not kept:  # the other bound is reported separately
            return test.safest
        return kept[-1] if test.safest == NEVER_REACHED else kept[0]

    def _nearest(self, bound: str) -> float | None:
        """Find the smallest value that would be certified, rounded up to three digits."""
        test, threshold = self.tests[bound], self._compromise(bound)
        limit = test.attainable(threshold)
        if limit >= 1:
            return None
        unit = 10.0 ** (math.floor(math.log10(limit)) - 2)
        units = itertools.count(math.ceil(limit / unit))
        rounded = (float(f"{number * unit:.3g}") for number in units)
        # A limit that needs no rounding may fail by its last bit.
        nearest = next(value for value in rounded if value >= 1 or test.passes(threshold, limit=value))
        return nearest if nearest < 1 else None


def certify(genuine_scores: IntArray, fraud_scores: IntArray, *, settings: PolicySettings) -> Certification:
    """Find the thresholds that keep the bounds.

    Parameters
    ----------
    genuine_scores : ndarray of shape (n,), int64, 0 to 1000
        One for each person.
    fraud_scores : ndarray of shape (m,), int64, 0 to 1000
        One for each ring.
    """
    limits = settings.limits()
    delta = delta_of(settings.confidence) / max(len(limits), 1)
    return certify_limits(genuine_scores, fraud_scores, limits=limits, delta=delta)


def certify_limits(
    genuine_scores: IntArray, fraud_scores: IntArray, *, limits: Mapping[str, float], delta: float
) -> Certification:
    """Find the thresholds that keep bounds, each tested at `delta`; parameters as in `certify`."""
    return Certification(
        tests={
            bound: bound_test(bound, genuine_scores, fraud_scores, limit=limit, delta=delta)
            for bound, limit in limits.items()
        }
    )


def delta_of(confidence: float) -> float:
    """Return 1 - confidence without its rounding error: 1 - 0.95 is not quite 0.05."""
    return round(1 - confidence, 12)


def refuse_hopeless(
    persons: int,
    rings: int,
    *,
    settings: PolicySettings,
    advise: Callable[[tuple[Shortfall, ...]], str] = lambda shortfalls: "",
) -> None:
    """Refuse bounds that the number of records cannot certify, even for a model without errors.

    Parameters
    ----------
    persons, rings : int
        Genuine persons and rings of frauds in the validation part.
    advise : callable
        Returns what the error says of the length of the validation part.
    """
    perfect = certify(
        np.zeros(persons, dtype=np.int64), np.full(rings, MAX_SCORE, dtype=np.int64), settings=settings
    )
    if shortfalls := perfect.shortfalls():
        raise InfeasiblePolicy(shortfalls, advice=advise(shortfalls))


def advise_length(
    shortfalls: Sequence[Shortfall], boundaries: SplitBoundaries, settings: SplitSettings
) -> str:
    """Return the sentence on the shortest validation part that would keep the bounds; empty if no length would."""
    times: list[float | None] = []
    for row in shortfalls:
        either = (times.pop(), row.times) if row.is_choice else (row.times,)
        times.append(min((found for found in either if found is not None), default=None))
    wanted = [found for found in times if found is not None]
    if not wanted or len(wanted) < len(times):
        return ""
    length = boundaries.validation_to - boundaries.validation_from
    both, needed = length + boundaries.train_to - boundaries.train_from, length * max(wanted)
    head = f"- at the rate of this validation part of {days(length)} days, {days(needed)} days would hold so many"
    if settings.by_duration:
        return f"{head}: training.split.validation: {math.ceil(needed / DAY)}d or more"
    if needed > both / 2:
        return f"{head}; train and validation have {days(both)} days together: a longer history is needed"
    total = float(settings.train) + float(settings.validation)
    share = math.ceil(100 * total * needed / both) / 100
    return f"{head}: training.split: {{train: {total - share:.2g}, validation: {share:g}}}, or a larger validation"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Write text in columns, two blanks apart."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _kind(bound: str) -> str:
    """Return the population of a bound."""
    return "fraud rings" if bound == MISSED_FRAUD else "genuine persons"
