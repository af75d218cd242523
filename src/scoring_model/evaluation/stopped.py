"""Applicants who were not observed: how many a model decides how, and what rates could be with their labels."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

import numpy as np

from scoring_model.arrays import FloatArray, Int8Array, IntArray
from scoring_model.contract.fields import DECIDED_FIELDS
from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.decision.flips import UNLABELLED
from scoring_model.decision.rules import Decisions
from scoring_model.estimates import Estimate
from scoring_model.records.labels import FRAUD, GENUINE
from scoring_model.records.observation import observed
from scoring_model.records.schema import RecordSchema
from scoring_model.records.table import Column, RecordTable
from scoring_model.records.times import DAY

ASSUMED: Final = (
    "The records do not say what was decided about the applicants, so it is assumed that nobody was stopped: without "
    "a fraud label each counts as genuine once it is old enough"
)


WIDEST: Final = 0.5
"""Widest part of all possible values that bounds are printed for."""

MIN_GENUINE, MIN_FRAUDS = 30, 10
"""Fewest records of a control group that stand for all who were stopped."""


def assumed(schema: RecordSchema) -> str:
    """Say what is assumed where nothing tells what was decided, and which columns a configuration names for it."""
    named = [schema.columns[field] for field in DECIDED_FIELDS if field in schema.columns]
    if not named:
        return ASSUMED
    return (
        f"{ASSUMED}. The configuration names {', '.join(named)} for what was decided: give at least one of these "
        "columns, in the records or in the file of labels (--labels), with a row for each applicant"
    )


def whom(table: RecordTable, maturity: int, schema: RecordSchema) -> str:
    """Say of how many applicants of a file it can't be known what they were.

    Parameters
    ----------
    maturity : int
        Microseconds after which an observed record without a label is genuine.
    schema : RecordSchema
        Names the columns that tell what was decided.
    """
    if table.propensities is None and table.observed_until is None:
        return assumed(schema)
    missing = ~observed(table, maturity)
    frauds = int(np.count_nonzero(missing & (table.labels == FRAUD)))
    why = (
        "were stopped, or left before maturity"
        if table.propensities is None
        else "were stopped, left before maturity, or have no propensity where others have one"
    )
    return (
        f"{int(np.count_nonzero(missing)):,} of {len(table):,} applicants {why}. {frauds:,} of them "
        f"{'is a known fraud' if frauds == 1 else 'are known frauds'}; without a label nobody knows what they were"
    )


def control_days(table: RecordTable, *, since: int, until: int) -> float:
    """Return the days of a period with a control group; all of them where no record has a propensity.

    It began with the first record that has one. Records of a time without it may have 1 (`retrain --past`): the first
    of k that were drawn comes after one part in k + 1 of its days, in the mean.
    """
    if table.propensities is None or not (given := ~np.isnan(table.propensities)).any():
        return max(until - since, 0) / DAY
    since = max(since, int(table.event_times[given].min()))
    drawn = table.event_times[(table.propensities < 1) & (table.event_times <= until)]
    days = until - since
    if len(drawn) and (first := int(drawn.min())) > since:
        days = min(days, (until - first) * (len(drawn) + 1) // len(drawn))
    return max(days, 0) / DAY


def population(table: RecordTable, maturity: int, schema: RecordSchema) -> str:
    """Say whom the figures of a file are about that need labels; empty where that is everyone."""
    if table.propensities is not None:
        return (
            "Figures that need labels count each record by 1 / propensity, for all applicants like it. Nobody stands "
            "for those whom a list or rule stopped."
        )
    told = whom(table, maturity, schema)
    if table.observed_until is None:
        return f"{told}."
    return (
        "" if observed(table, maturity).all() else f"{told}: figures that need labels are about the others."
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ControlGroup:
    """The records of applicants who were drawn to pass although a policy stops them.

    Parameters
    ----------
    genuine, frauds : int
        By class.
    """

    genuine: int
    frauds: int

    @classmethod
    def of(cls, weights: FloatArray | None, targets: Int8Array) -> "ControlGroup | None":
        """Count the records that stand for more than themselves.

        Parameters
        ----------
        weights : ndarray of shape (n,), float64, or None
            1 / propensity, NaN where there is none.
        targets : ndarray of shape (n,), int8
            1 fraud, 0 genuine; others do not count.

        Returns
        -------
        ControlGroup or None
            None without weights, or where each is 1, so that nobody was stopped.
        """
        if weights is None or (weights == 1).all():
            return None
        genuine, frauds = (
            int(np.count_nonzero((targets == label) & (weights > 1))) for label in (GENUINE, FRAUD)
        )
        return cls(genuine=genuine, frauds=frauds)

    @property
    def stands_for_all(self) -> bool:
        """Whether errors of genuine applicants may be tested with it, instead of calling all stopped ones genuine."""
        return self.genuine >= MIN_GENUINE

    @property
    def factor(self) -> float:
        """How many times as many records it would take, at least 1; infinite if a class has none."""
        needed = (
            MIN_GENUINE / self.genuine if self.genuine else math.inf,
            MIN_FRAUDS / self.frauds if self.frauds else math.inf,
        )
        return max(1.0, *needed)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class NotObserved:
    """Decisions of a model about n records that were not observed.

    Parameters
    ----------
    outcomes : ndarray of shape (n,), int8
        Codes of `OUTCOMES`, as the model decides.
    margins, probabilities : ndarray of shape (n,), float64
    labels : ndarray of shape (n,), int8
        1 fraud, 0 genuine, -1 not known.
    event_times : ndarray of shape (n,), int64
        Microseconds since 1970-01-01 UTC.
    persons : ndarray of shape (n,), int64, optional
    columns : mapping of str to Column
        As those of the records that were observed (`EvaluatedRecords`), with the same values.
    """

    outcomes: Int8Array
    margins: FloatArray
    probabilities: FloatArray
    labels: Int8Array
    event_times: IntArray
    persons: IntArray | None = None
    columns: Mapping[str, Column] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        decisions: Decisions,
        labels: Int8Array,
        event_times: IntArray,
        persons: IntArray | None,
        columns: Mapping[str, Column],
    ) -> "NotObserved | None":
        """Return the decisions about records that were not observed, all of one length; None without any."""
        if not len(labels):
            return None
        return cls(
            outcomes=decisions.outcomes.astype(np.int8),
            margins=decisions.margins,
            probabilities=decisions.probabilities,
            labels=labels,
            event_times=event_times,
            persons=persons,
            columns=columns,
        )

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, kw_only=True, slots=True)
class Possible:
    """What a number could be with the labels that stopped applicants could have.

    Parameters
    ----------
    lowest, highest : float
        No labelling of these records gives less or more.
    ends : Estimate
        The same with the sampling error of the observed records; without a value. Its simultaneous ends hold for all
        figures that were bounded together.
    """

    lowest: float
    highest: float
    ends: Estimate

    @property
    def range(self) -> tuple[float, float]:
        """Return the ends, with the sampling error where it is known."""
        low, high = self.ends.low, self.ends.high
        return (self.lowest, self.highest) if low is None or high is None else (low, high)

    def tells(self, span: float) -> bool:
        """Whether the ends are at most half as far apart as they could be: wider ones say next to nothing."""
        low, high = self.range
        return high - low <= span * WIDEST


def over_labels(one: Estimate, ends: Estimate | None) -> Estimate:
    """Return a number with its ends over all labels of those who were not observed, without any where it has none."""
    if ends is None:
        return Estimate(value=one.value, records=one.records, absence="stopped applicants")
    return replace(ends, value=one.value)


_UNBOUNDED: Final[Mapping[str, Possible]] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True, slots=True)
class Stopped:
    """How many applicants were not observed, and what the evaluated model decides about them.

    Parameters
    ----------
    records : int
    frauds, genuine : int
        Those whose label is known all the same. Such labels are selected, so no figure counts them.
    outcomes : mapping of Outcome to int
        By outcome of the evaluated model.
    possible : mapping of str to Possible
        Figures of the model over all labels that the stopped ones could have; see `possible_figures`. Figures without
        bounds are absent; those of the errors of the policy stand beside its promises.
    """

    records: int
    frauds: int
    genuine: int
    outcomes: Mapping[Outcome, int]
    possible: Mapping[str, Possible] = field(default_factory=dict)

    @classmethod
    def of(cls, found: NotObserved, possible: Mapping[str, Possible] = _UNBOUNDED) -> "Stopped":
        """Count them."""
        counts = np.bincount(found.outcomes, minlength=len(OUTCOMES)).tolist()
        return cls(
            records=len(found),
            frauds=int(np.count_nonzero(found.labels == FRAUD)),
            genuine=int(np.count_nonzero(found.labels == GENUINE)),
            outcomes=dict(zip(OUTCOMES, counts, strict=True)),
            possible=possible,
        )

    def sentence(self, evaluated: int) -> str:
        """Say what is not known.

        Parameters
        ----------
        evaluated : int
            Number of observed records with a known class.
        """
        known = f" Of {self.frauds:,} of them it is known that they were frauds." if self.frauds else ""
        return (
            f"{self.records:,} applicants were stopped, or left before maturity: what they were is not known, and they "
            f"are in no figure.{known} "
            f"Figures are those of the {evaluated:,} who were observed; promises allow for every label that the "
            "stopped ones could have"
        )


CONTROL_SHARE, POINTS = 0.05, 0.1
"""Share of the stopped applicants in a control group that is proposed, and the widest half of the interval that it
gives: ten points say nothing of a promise of half a percent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Assumed:
    """An error rate of all applicants if the probabilities of the model also hold for those who were not observed.

    It is a sensitivity: no label tested these probabilities, so no verdict rests on it.

    Parameters
    ----------
    value : float
        With the probabilities as they are.
    halved, doubled : float
        With half and twice their odds of fraud.
    control_days : int or None
        Days after which a control group of `CONTROL_SHARE` would give the rate to `within` on either side, if the
        probabilities hold. None: nothing to estimate it from.
    within : float
        `POINTS`, or half of what is promised if that is less. Where the range over all labels is as narrow already:
        half of it, or the distance of the rate from what is promised.
    """

    value: float
    halved: float
    doubled: float
    control_days: int | None
    within: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Released:
    """What two models make of applicants who were stopped, and of those who were observed.

    Parameters
    ----------
    stopped : int
        Applicants who were not observed.
    released : int
        Of these, those who do not pass the champion and pass the challenger.
    released_frauds, released_genuine : int
        Of the released, those whose label is known all the same.
    caught, caught_frauds : int
        Applicants without a label who were not observed, and known frauds among these, who pass the champion and do
        not pass the challenger: something else than the champion stopped them.
    newly_stopped, newly_passed : int
        Observed applicants who pass the champion alone, and the challenger alone.
    newly_stopped_frauds, newly_passed_frauds : int
        Known frauds among them.
    possible : mapping of str to Possible
        Differences, challenger minus champion, and shares of flips over all labels that the stopped ones could have,
        jointly for both models; see `possible_differences`. Figures without bounds are absent.
    """

    stopped: int
    released: int
    released_frauds: int
    released_genuine: int
    caught: int
    caught_frauds: int
    newly_stopped: int
    newly_passed: int
    newly_stopped_frauds: int
    newly_passed_frauds: int
    possible: Mapping[str, Possible]

    @classmethod
    def of(cls, observed: IntArray, stopped: IntArray, possible: Mapping[str, Possible]) -> "Released":
        """Count them in flips of `decision.flips.SHAPE`."""
        milder, stricter = observed[: FRAUD + 1, 1:, 0].sum(axis=1), observed[: FRAUD + 1, 0, 1:].sum(axis=1)
        released, caught = stopped[:, 1:, 0].sum(axis=1), stopped[:, 0, 1:].sum(axis=1)
        return cls(
            stopped=int(stopped.sum()),
            released=int(released.sum()),
            released_frauds=int(released[FRAUD]),
            released_genuine=int(released[GENUINE]),
            caught=int(caught[UNLABELLED]),
            caught_frauds=int(caught[FRAUD]),
            newly_stopped=int(stricter.sum()),
            newly_passed=int(milder.sum()),
            newly_stopped_frauds=int(stricter[FRAUD]),
            newly_passed_frauds=int(milder[FRAUD]),
            possible=possible,
        )

    @property
    def unknown(self) -> int:
        """Released applicants without a label."""
        return self.released - self.released_frauds - self.released_genuine

    @property
    def break_even(self) -> float | None:
        """Share of frauds among the released without a label below which the challenger finds more frauds.

        At most 1; not above 0 where it finds no more whatever they were. As if no fraud were among those without a
        label whom the challenger alone stops. None if nobody without a label is released.
        """
        return min(self.net / self.unknown, 1.0) if self.unknown else None

    @property
    def net(self) -> int:
        """Known frauds that the challenger alone finds, less those that the champion alone finds."""
        found = self.newly_stopped_frauds + self.caught_frauds
        return found - self.newly_passed_frauds - self.released_frauds

    def sentences(self) -> Iterator[str]:
        """Say whom the challenger releases and stops, and what decides whether it finds more frauds."""
        yield (
            f"{self.stopped:,} applicants were not observed, so nobody knows what they were. The challenger lets "
            f"{self.released:,} of them pass whom the champion stops or steps up"
            + (
                f", and stops or steps up {self.caught:,} without a label whom the champion lets pass"
                if self.caught
                else ""
            )
        )
        yield (
            f"It stops or steps up {self.newly_stopped:,} observed applicants whom the champion lets pass; "
            f"{self.newly_stopped_frauds:,} of them are known frauds. It lets {self.newly_passed:,} pass whom the "
            f"champion does not; {self.newly_passed_frauds:,} of them are known frauds"
        )
        share = self.break_even
        if share is None:
            return
        if share <= 0 < self.net + self.caught:
            yield (
                f"It finds more frauds only if at least {1 - self.net:,} more are among those {self.caught:,} than "
                f"among the {self.unknown:,} without a label that it releases"
            )
        elif share <= 0:
            yield "Whatever the released ones were, it finds no more frauds than the champion"
        elif share == 1:
            yield "Even if all that it releases were frauds, it would find at least as many frauds as the champion"
        else:
            yield (
                f"It finds more frauds if fewer than {share:.1%} of the {self.unknown:,} that it releases are frauds"
                + (f", even if none of those {self.caught:,} is one" if self.caught else "")
            )
