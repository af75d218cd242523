"""Frauds that become known after the label maturity: how many, and what that does to the newest mature records."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from scoring_model.arrays import BoolArray, Int8Array, IntArray
from scoring_model.configuration import CostSettings
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.estimates import Estimate, NamedEstimates
from scoring_model.evaluation.cost import cost_of_cells
from scoring_model.evaluation.delays import (
    MIN_OLD_FRAUDS,
    DelayDistribution,
    delay_distribution,
    estimated_frauds,
)
from scoring_model.evaluation.document import members
from scoring_model.findings import Code, Finding, checked, not_applicable
from scoring_model.records import NEVER, RecordTable, format_duration
from scoring_model.records.observation import observed
from scoring_model.records.times import DAY

LEAST_KNOWN: Final = 0.95
"""Share of frauds known at maturity from which the rest is no finding."""

LEAST_CORRECTED: Final = 0.5
"""Least share of frauds known at maturity by which a number of known frauds is divided."""

SEEN_MATURITIES: Final = 2
"""Least age that must be seen before a number is corrected, in label maturities."""


DEPENDENT: Final = 0.05
"""p-value below which the delay is said to depend on the score."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class KnownFrauds:
    """Observed records with a known fraud.

    Parameters
    ----------
    event_times, label_times : ndarray of shape (n,), int64
        Microseconds since 1970-01-01 UTC.
    """

    event_times: IntArray
    label_times: IntArray

    @classmethod
    def of(cls, *tables: RecordTable) -> "KnownFrauds":
        """Take the frauds of tables, without those whose labels do not count."""
        chosen = [
            (table, (table.labels == 1) & (table.label_times != NEVER) & observed(table, 0))
            for table in tables
        ]
        return cls(
            event_times=_joined(table.event_times[rows] for table, rows in chosen),
            label_times=_joined(table.label_times[rows] for table, rows in chosen),
        )

    def before(self, as_of: int) -> "KnownFrauds":
        """Take those that were known before an instant, microseconds."""
        known = (self.label_times < as_of) & (self.event_times <= self.label_times)
        return KnownFrauds(event_times=self.event_times[known], label_times=self.label_times[known])

    @property
    def same_delay(self) -> int | None:
        """Return the delay of all of them, microseconds, if it is one: then it was assumed, and nobody has seen any."""
        delays = np.unique(self.label_times - self.event_times)
        return int(delays[0]) if len(delays) == 1 and len(self.label_times) > 1 else None


def _joined(arrays: Iterable[IntArray]) -> IntArray:
    return np.concatenate([np.empty(0, dtype=np.int64), *arrays])


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MatureRecords:
    """Decisions about mature records, for the figures that late frauds change.

    Parameters
    ----------
    event_times : ndarray of shape (n,), int64
        Microseconds since 1970-01-01 UTC.
    outcomes : ndarray of shape (n,), int8
        Codes into `OUTCOMES`.
    frauds : ndarray of shape (n,), bool
        Whether the record is a known fraud.
    costs : CostSettings or None
    """

    event_times: IntArray
    outcomes: Int8Array
    frauds: BoolArray
    costs: CostSettings | None


@dataclass(frozen=True, kw_only=True, slots=True)
class LateFrauds:
    """How many frauds are known at the label maturity, and what that leaves out of the newest mature records.

    Parameters
    ----------
    maturity, oldest : int
        Microseconds; `oldest` is the largest age of which delays are seen. Later frauds can't be seen.
    known : Estimate
        Share of the frauds that become known within `oldest` that are known at `maturity`.
    newest : Estimate
        Frauds among records whose age is from one to two maturities; `count` are the known ones.
    corrected : mapping of str to Estimate
        Of mature records: `fraud_share`, the frauds with each outcome as shares of all records, and `cost`. Known
        frauds stand for those that are not known yet. Empty where nothing is corrected.
    dependence : float or None
        p-value of the test whether the delay depends on the score; None where it was not tested.
    """

    maturity: int
    oldest: int
    known: Estimate
    newest: Estimate
    corrected: NamedEstimates = field(default_factory=dict)
    dependence: float | None = None

    @property
    def doubt(self) -> str:
        """Why nothing is corrected; empty where it is."""
        if self.oldest < SEEN_MATURITIES * self.maturity:
            return (
                f"delays are seen for less than {SEEN_MATURITIES} times the label maturity of "
                f"{format_duration(self.maturity)}, so nothing is corrected"
            )
        if (self.known.value or 0.0) < LEAST_CORRECTED:
            return f"less than {LEAST_CORRECTED:.0%} of the frauds are known at maturity, so nothing is corrected"
        return ""

    def describe(self) -> str:
        """Write share, newest records and what is corrected for people, as one sentence without an end."""
        known, age = self.known, format_duration(self.maturity)
        text = (
            f"{known.value or 0.0:.1%} ({known.low or 0.0:.1%} to {known.high or 1.0:.1%}) of the frauds that become "
            f"known within {self.oldest / DAY:.0f} days, the largest age seen, are known within {age}, the label "
            "maturity; later ones can't be seen"
        )
        if self.doubt:
            return f"{text}; {self.doubt}"
        return "; ".join([text, *self._corrections()])

    def _corrections(self) -> Iterator[str]:
        newest = self.newest
        if newest.value is not None and newest.count:
            yield (
                f"of the records {self.maturity / DAY:.0f} to {2 * self.maturity / DAY:.0f} days old "
                f"{newest.count:,} frauds are known and {newest.value:,.0f} ({newest.low:,.0f} to {newest.high:,.0f}) "
                "are estimated"
            )
        if "fraud_share" in self.corrected:
            share = self.corrected["fraud_share"]
            yield (
                f"the share of frauds among these mature records is then {share.value:.2%} ({share.low:.2%} to "
                f"{share.high:.2%})"
            )
        if self.dependence is not None:
            depends = self.dependence < DEPENDENT
            yield (
                "frauds with other scores become known at other times, so recalls are biased too"
                if depends
                else "recalls stay as they are: no sign that the delay depends on the score"
            ) + f" (p = {self.dependence:.2g})"

    def to_json(self) -> dict[str, Any]:
        """Give the numbers as a JSON document."""
        return {**members(self), "doubt": self.doubt}


def measure_late_frauds(
    frauds: KnownFrauds, *, as_of: int, maturity: int, mature: MatureRecords | None = None
) -> LateFrauds | None:
    """Estimate how many frauds are known at the label maturity.

    Parameters
    ----------
    as_of : int
        Instant before which labels count, microseconds.
    maturity : int
        Microseconds.
    mature : MatureRecords, optional
        Records whose figures are corrected.

    Returns
    -------
    LateFrauds or None
        None where too few frauds are known, all are younger than the maturity, or all have one delay.
    """
    if frauds.same_delay is not None:
        return None
    seen = frauds.before(as_of)
    delays, ages = seen.label_times - seen.event_times, as_of - seen.event_times
    found = delay_distribution(delays, ages)
    if found is None or found.oldest <= maturity:
        return None
    late = LateFrauds(
        maturity=maturity,
        oldest=found.oldest,
        known=found.share_at(maturity),
        newest=estimated_frauds(found, ages[(ages > maturity) & (ages <= 2 * maturity)]),
    )
    if mature is None or late.doubt:
        return late
    return replace(late, corrected=dict(_corrected(found, mature, as_of)))


def _corrected(found: DelayDistribution, mature: MatureRecords, as_of: int) -> Iterator[tuple[str, Estimate]]:
    """Divide known frauds by the share that is known at their age."""
    records = len(mature.event_times)
    whole = estimated_frauds(found, as_of - mature.event_times[mature.frauds])
    if whole.value is None or whole.low is None or whole.high is None:
        return
    yield "fraud_share", _share_of(whole, records)
    frauds = np.zeros(len(OUTCOMES))
    for code, outcome in enumerate(OUTCOMES):
        own = estimated_frauds(found, as_of - mature.event_times[mature.frauds & (mature.outcomes == code)])
        frauds[code] = own.value or 0.0
        if own.value is not None:
            yield f"{outcome.lower()}_frauds", _share_of(own, records)
    if mature.costs is None:
        return
    counts = np.bincount(mature.outcomes, minlength=len(OUTCOMES))
    costs = []
    for factor in (1.0, whole.low / whole.value, whole.high / whole.value):
        late = np.minimum(factor * frauds, counts)
        costs.append(float(cost_of_cells(np.concatenate([counts - late, late]), mature.costs)))
    yield (
        "cost",
        Estimate(value=costs[0], low=min(costs), high=max(costs), records=records, method="delays"),
    )


def _share_of(frauds: Estimate, records: int) -> Estimate:
    return replace(frauds.times(1 / records), records=records, count=frauds.count)


def check_late_frauds(frauds: KnownFrauds, *, as_of: int, maturity: int, records: int) -> Finding:
    """Report how many frauds become known after the label maturity, when they count as genuine.

    Parameters
    ----------
    as_of, maturity : int
        Microseconds.
    records : int
        Records among which the frauds are.
    """
    late = measure_late_frauds(frauds, as_of=as_of, maturity=maturity)
    return late_frauds_finding(late, same_delay=frauds.same_delay, maturity=maturity, records=records)


def late_frauds_finding(
    late: LateFrauds | None, *, same_delay: int | None = None, maturity: int, records: int
) -> Finding:
    """Make the finding of `check_late_frauds` from what was measured."""
    code = Code.LATE_FRAUDS
    if same_delay is not None:
        return not_applicable(
            code,
            f"each known fraud became known {same_delay / DAY:.3g} days after its event, which was assumed and not "
            "seen: how many become known later can't be known without a column of times",
            records=records,
        )
    if late is None:
        return not_applicable(
            code,
            f"fewer than {MIN_OLD_FRAUDS} known frauds are older than the label maturity of "
            f"{format_duration(maturity)}: later ones can't be seen",
            records=records,
        )
    is_late = (late.known.value or 0.0) < LEAST_KNOWN
    if not is_late and late.oldest < SEEN_MATURITIES * maturity:
        return not_applicable(code, late.describe(), records=records)
    unknown = (late.newest.value or 0.0) - (late.newest.count or 0)
    return checked(
        code,
        late.describe(),
        count=max(round(unknown), 1) if is_late else 0,
        records=records,
        figures={
            "known_at_maturity": late.known.value or 0.0,
            "known_at_maturity_low": late.known.low or 0.0,
            "known_at_maturity_high": 1.0 if late.known.high is None else late.known.high,
            "largest_age_days": late.oldest / DAY,
            **({} if late.dependence is None else {"score_dependence_p": late.dependence}),
        },
    )
