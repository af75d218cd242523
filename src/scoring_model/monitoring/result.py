"""What a window of new records says about a bundle: drift, promises before labels, estimates, matured labels."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from scoring_model.decision.rules import Policy
from scoring_model.estimates import Estimate, Slice, Table
from scoring_model.evaluation import Evaluation
from scoring_model.evaluation.document import document, frame, members
from scoring_model.evaluation.late_frauds import LateFrauds
from scoring_model.evaluation.result import Provenance
from scoring_model.findings import Finding
from scoring_model.monitoring.drift import OUTCOME, SCORE, Drift
from scoring_model.monitoring.early import EarlyVerdict, Estimates
from scoring_model.records import format_duration, rfc3339

if TYPE_CHECKING:
    import pandas

JSON_VERSION: Final = 1
"""Version of the JSON document: keys are added within a version; a removed key or another meaning raises it."""

_DECIDED: Final = (SCORE, OUTCOME)
_SHOWN: Final = 3

FRAME_COLUMNS: Final = ("part", "name", "figure", "value", "low", "high", "records")


@dataclass(frozen=True, kw_only=True, slots=True)
class Maturity:
    """How much of a window is old enough for its labels.

    Parameters
    ----------
    as_of : int
        Instant before which labels count, microseconds since 1970-01-01 UTC.
    maturity : int
        Age, microseconds, from which an unlabelled record counts as genuine.
    matured, immature : int
        Records of the window; metrics rest on matured ones alone.
    immature_frauds, immature_genuine : int
        Immature records whose label is known already. They count nowhere: frauds and genuine records become known at
        different times.
    """

    as_of: int
    maturity: int
    matured: int
    immature: int
    immature_frauds: int
    immature_genuine: int

    @property
    def immature_share(self) -> float:
        """Share of the window that is too young, in [0, 1]."""
        return self.immature / max(self.matured + self.immature, 1)

    def describe(self) -> str:
        """Write the share for people."""
        total, on = self.matured + self.immature, rfc3339(self.as_of)[:10]
        if not self.immature:
            return f"All {total:,} records are at least {format_duration(self.maturity)} old on {on}."
        text = (
            f"{self.immature:,} of {total:,} records ({self.immature_share:.1%}) are younger than "
            f"{format_duration(self.maturity)} on {on}, and no metric counts them"
        )
        early = self.immature_frauds + self.immature_genuine
        if not early:
            return f"{text}."
        return (
            f"{text}: neither the {early:,} whose label is known already ({self.immature_frauds:,} frauds, "
            f"{self.immature_genuine:,} genuine) nor the others."
        )

    def to_json(self) -> dict[str, Any]:
        """Give the counts as a JSON document."""
        return {
            **members(self),
            "immature_share": self.immature_share,
            "maturity": format_duration(self.maturity),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Prevalence:
    """The share of frauds: as measured on matured records, in the reference period, and as assumed.

    Parameters
    ----------
    matured : Estimate or None
        Of the matured records that were observed; None without any.
    reference : Estimate
        Of the reference period of the bundle.
    cap : float or None
        Largest share that was assumed for verdicts before labels; None: nothing was.
    contradicted : bool
        Whether matured labels contradict the probabilities of the model.
    """

    matured: Estimate | None
    reference: Estimate
    cap: float | None
    contradicted: bool

    @property
    def refuted(self) -> bool:
        """Whether the matured records have more frauds than was assumed: by their interval, where they have one."""
        one = self.matured
        least = None if one is None else one.value if one.low is None else one.low
        return self.cap is not None and least is not None and least > self.cap

    @property
    def problem(self) -> str:
        """Say why nothing rests on the assumed share or on the probabilities; empty if nothing speaks against them."""
        if self.refuted:
            return f"More frauds than assumed: {self._measured()}."
        if self.contradicted:
            return f"Matured labels contradict the probabilities of the model: {self._measured()}."
        return ""

    def __str__(self) -> str:
        if self.matured is None or self.matured.value is None:
            assumed = "" if self.cap is None else f"; at most {self.cap:.2%} are assumed"
            return (
                f"The share of frauds in the window can’t be known yet: no label is mature. It was "
                f"{self.reference.value or 0.0:.2%} in the reference period{assumed}."
            )
        return f"{self._measured()}."

    def _measured(self) -> str:
        one = self.matured
        if one is None or one.value is None:
            return "no label of the window is mature"
        assumed = "" if self.cap is None else f", and at most {self.cap:.2%} were assumed"
        whom = f"of {one.records:,} matured records are known frauds"
        if one.count is not None and round(one.value * one.records) != one.count:
            # A control group stands for others.
            whom = (
                f"of all are frauds, by {one.count:,} known ones of {one.records:,} matured records, weighted"
            )
        return (
            f"{one.percent} {whom}; it was {self.reference.value or 0.0:.2%} in the reference period{assumed}"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class PromiseBasis:
    """Whether the window is like the data on which a promise was certified.

    Parameters
    ----------
    bound : str
    limit : float
    rests : bool or None
        Whether no drift was found in what the promise depends on; None where it is not known.
    reason : str
        Why, as a sentence.
    """

    bound: str
    limit: float
    rests: bool | None
    reason: str


@dataclass(frozen=True, kw_only=True)
class MonitoringResult:
    """What a window says about a bundle, as data; see `Monitoring`.

    Parameters
    ----------
    records, refused : int
        Records of the window, and rows that break the contract of the data.
    trained : int or None
        Records from before the end of the bundle's validation period, on which it may have been trained; None: the
        bundle does not say.
    drift : Drift
    maturity : Maturity
    late : LateFrauds or None
        How many frauds become known after the label maturity; None with too few known frauds.
    findings : tuple of Finding
    early : tuple of EarlyVerdict
        Promises to genuine applicants, judged without labels; empty without a cap on the prevalence.
    estimates : Estimates
    prevalence : Prevalence
    matured : Evaluation or None
        Of the matured records alone; None without labels or matured records.
    promises : tuple of PromiseBasis
        One for each promise of the policy.
    provenance : Provenance
    notes : tuple of str
        Sentences on what was assumed or could not be done.
    population : str
        Whom figures that need labels are about, as a sentence; empty where that is everyone. Not part of any document.
    titles : mapping of str to str
        What each feature says, by name; not part of any document.
    """

    records: int
    refused: int
    trained: int | None
    drift: Drift
    maturity: Maturity
    late: LateFrauds | None
    findings: tuple[Finding, ...]
    early: tuple[EarlyVerdict, ...]
    estimates: Estimates
    prevalence: Prevalence
    matured: Evaluation | None = field(repr=False)
    promises: tuple[PromiseBasis, ...]
    provenance: Provenance
    notes: tuple[str, ...]
    population: str = field(default="", repr=False)
    titles: Mapping[str, str] = field(default_factory=dict, repr=False)

    @cached_property
    def table(self) -> Table:
        """Errors of the window and of its periods: as expected before labels, and as measured on matured records."""
        table = Table.of(self.estimates.overall, form="expected")
        for period in self.estimates.periods:
            part = Slice(kind="period", value=period.since)
            table |= Table.of(period.estimated, part=part, form="expected")
            table |= Table.of(period.realised, part=part)
        return table

    def to_json(self) -> dict[str, Any]:
        """Give everything as a JSON document with stable keys; `version` is `JSON_VERSION`."""
        return {
            "version": JSON_VERSION,
            **members(self),
            "findings": [one.to_json() for one in self.findings],
            "late": None if self.late is None else self.late.to_json(),
            "matured": document(self.matured),
        }

    def to_frame(self) -> "pandas.DataFrame":
        """Give every figure as a row.

        Returns
        -------
        pandas.DataFrame
            Columns `part` (drift, early, estimated, realised or matured), `name` (subject, bound, or first day of the
            period; empty for the window), `figure`, `value`, `low`, `high` and `records`.
        """
        return frame(FRAME_COLUMNS, _rows(self))


def _rows(found: MonitoringResult) -> Iterator[tuple[object, ...]]:
    for subject in found.drift.subjects:
        for figure in ("statistic", "reference", "window", "smallest_share"):
            yield "drift", subject.name, figure, getattr(subject, figure), None, None, found.records
    for early in found.early:
        rate = early.rate
        yield "early", early.bound, "rate", rate.value, rate.low, rate.high, rate.records
    for key, one in found.table.items():
        part = "estimated" if key.form == "expected" else "realised"
        yield part, key.part.value, key.figure.key, one.value, one.low, one.high, one.records
    for name, estimate in () if found.matured is None else found.matured.figures.items():
        yield "matured", "", name, estimate.value, estimate.low, estimate.high, estimate.records


def promise_bases(
    policy: Policy, drift: Drift, used: frozenset[str], prevalence: Prevalence
) -> Iterator[PromiseBasis]:
    """Say which promises still rest on data like those that certified them.

    A promise to genuine applicants depends on the scores of genuine applicants, who are nearly all: it rests on like
    data while neither score nor outcomes drift, and while matured labels do not refute the assumed share of frauds. A
    promise about frauds depends on the scores of frauds, whom nobody sees before their labels: it rests on like data
    while nothing drifts that the model reads, and while matured labels speak neither against the assumed share of
    frauds nor against the probabilities.

    Parameters
    ----------
    used : frozenset of str
        Features that the model reads.
    """
    drifted = [name for name in drift.found if name in _DECIDED or name in used]
    found = f"No drift was found in {drift.window_records:,} records,"
    with_features = any(one.name not in _DECIDED for one in drift.subjects)
    for promise in policy.promises:
        about_frauds = promise.bound == "max_missed_fraud"
        causes = drifted if about_frauds else [name for name in drifted if name in _DECIDED]
        if not drift.limits:
            rests, reason = (
                None,
                "Drift has no limit here: nothing says whether the window is like the reference.",
            )
        elif about_frauds and prevalence.problem:
            rests, reason = False, prevalence.problem
        elif prevalence.refuted:
            rests, reason = (
                None,
                "With so many frauds the scores of all say little about those of genuine applicants.",
            )
        elif causes:
            named = ", ".join(causes[:_SHOWN]) + (" and others" if len(causes) > _SHOWN else "")
            rests, reason = False, f"Drift was found in {named}: the promise was certified on other data."
        elif not about_frauds:
            rests, reason = True, f"{found} in the score or the outcomes."
        elif with_features:
            rests, reason = True, f"{found} in anything that the model reads."
        else:
            rests, reason = (
                None,
                f"{found} in the score or the outcomes; features were not compared.",
            )
        yield PromiseBasis(bound=promise.bound, limit=promise.limit, rests=rests, reason=reason)
