"""Results of other thresholds: a table to choose bounds and costs by."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from scoring_model.arrays import IntArray
from scoring_model.decision.rules import NEVER_REACHED, Policy
from scoring_model.estimates import Estimate
from scoring_model.evaluation.bounds import exact_share
from scoring_model.evaluation.cost import ExpectedCost, at_or_above
from scoring_model.figures import ERRORS

STEP: Final = 25
"""Thresholds of the table are multiples of this, the chosen ones and their neighbours."""

_SHOWN_STEP: Final = 100
SHARES: Final = (*ERRORS, "fraud_stepped_up")
"""Figures of each pair."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Alternative:
    """One pair of thresholds on the tested records of the validation part.

    Parameters
    ----------
    step_up_from, fail_from : int, 1 to 1001
    certified : bool
        Whether it keeps all bounds with the required confidence.
    false_reject, step_up, missed_fraud : Estimate
        Errors limited by the bounds, with exact individual 95 % intervals.
    caught_by_step_up : float or None
        Share of frauds that the step-up catches, given its effectiveness; None without costs.
    expected_cost : float or None
        Per applicant; None without costs.
    """

    step_up_from: int
    fail_from: int
    chosen: bool
    certified: bool
    false_reject: Estimate
    step_up: Estimate
    missed_fraud: Estimate
    fraud_stepped_up: Estimate
    caught_by_step_up: float | None
    expected_cost: float | None

    def is_beside(self, other: "Alternative") -> bool:
        """Return True if another pair is equal, or differs in one threshold that is a multiple of a hundred."""
        differ = {other.step_up_from, other.fail_from} - {self.step_up_from, self.fail_from}
        shared = other.step_up_from == self.step_up_from or other.fail_from == self.fail_from
        return shared and all(threshold % _SHOWN_STEP == 0 for threshold in differ)


@dataclass(frozen=True, kw_only=True, slots=True)
class Alternatives:
    """Pairs of thresholds, ascending.

    Parameters
    ----------
    rows : tuple of Alternative
        At most about 1,100, one of them chosen unless no pair keeps the bounds.
    confidence : float
        Confidence with which a certified pair keeps all bounds.
    prevalence : float or None
        Share of frauds among applicants in the expected costs; None without costs.
    """

    rows: tuple[Alternative, ...] = field(repr=False)
    confidence: float
    prevalence: float | None

    @property
    def chosen(self) -> Alternative:
        """Return the chosen pair."""
        return next(row for row in self.rows if row.chosen)

    def to_csv(self) -> str:
        """Write all pairs as CSV (RFC 4180): flags are 0 and 1, absent values are empty, numbers have six digits."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_header())
        writer.writerows(_cells(row) for row in self.rows)
        return text.getvalue()


def find_alternatives(
    certified: Callable[[int, int], bool],
    policy: Policy | None,
    *,
    genuine_scores: IntArray,
    fraud_scores: IntArray,
    confidence: float,
    cost: ExpectedCost | None = None,
) -> Alternatives:
    """Compute the results of a grid of pairs.

    Parameters
    ----------
    certified : function of two int
        Whether a pair of thresholds keeps all bounds together; see `Certification.holds`.
    policy : Policy or None
        The chosen pair; None if no pair keeps the bounds.
    """
    chosen = () if policy is None else (policy.step_up_from, policy.fail_from)
    measure = _Measure(certified, chosen, genuine_scores, fraud_scores, cost)
    return Alternatives(
        rows=tuple(measure.row(*pair) for pair in _pairs(chosen)),
        confidence=confidence,
        prevalence=None if cost is None else cost.prevalence,
    )


def _pairs(chosen: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Yield the ordered pairs of the table's thresholds."""
    near = {threshold + move for threshold in chosen for move in (-1, 0, 1)}
    grid = sorted(
        {*range(STEP, NEVER_REACHED, STEP), NEVER_REACHED, *near} & set(range(1, NEVER_REACHED + 1))
    )
    return ((first, last) for first in grid for last in grid if first <= last)


class _Measure:
    """Counts at every threshold, and the shares of a pair."""

    def __init__(
        self,
        certified: Callable[[int, int], bool],
        chosen: tuple[int, ...],
        genuine_scores: IntArray,
        fraud_scores: IntArray,
        cost: ExpectedCost | None,
    ) -> None:
        self._certified, self._chosen, self._cost = certified, chosen, cost
        self._genuine, self._frauds = at_or_above(genuine_scores).tolist(), at_or_above(fraud_scores).tolist()
        self._persons, self._rings = len(genuine_scores), len(fraud_scores)

    def row(self, step_up_from: int, fail_from: int) -> Alternative:
        caught = self._frauds[step_up_from - 1]
        stepped_up = exact_share(caught - self._frauds[fail_from - 1], self._rings)
        cost = self._cost
        effect = None if cost is None else cost.settings.step_up_effectiveness
        return Alternative(
            step_up_from=step_up_from,
            fail_from=fail_from,
            chosen=(step_up_from, fail_from) == self._chosen,
            certified=self._certified(step_up_from, fail_from),
            false_reject=exact_share(self._genuine[fail_from - 1], self._persons),
            step_up=exact_share(self._genuine[step_up_from - 1], self._persons),
            missed_fraud=exact_share(self._rings - caught, self._rings),
            fraud_stepped_up=stepped_up,
            caught_by_step_up=None
            if effect is None or stepped_up.value is None
            else effect * stepped_up.value,
            expected_cost=None if cost is None else cost.at(step_up_from, fail_from),
        )


def _header() -> list[str]:
    shares = [f"{name}{end}" for name in SHARES for end in ("", "_low", "_high")]
    flags = ["step_up_from", "fail_from", "chosen", "certified", "genuine_persons", "fraud_rings"]
    return [*flags, *shares, "caught_by_step_up", "expected_cost"]


def _cells(row: Alternative) -> Iterable[str]:
    yield from map(str, (row.step_up_from, row.fail_from, int(row.chosen), int(row.certified)))
    yield from map(str, (row.step_up.records, row.missed_fraud.records))
    for name in SHARES:
        share: Estimate = getattr(row, name)
        yield from map(_number, (share.value, share.low, share.high))
    yield from map(_number, (row.caught_by_step_up, row.expected_cost))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
