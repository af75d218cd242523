"""What labels of stopped applicants could make of figures: ends over all labels that they could have.

Partial identification (Manski 2003, Partial Identification of Probability Distributions, chapter 1). Ends are exact for
the records where a docstring says so; others contain every value that some labelling gives. All carry the sampling
error of the observed records besides. Decision record: docs/adr/0023-gates-and-retraining.md.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, Int8Array, IntArray
from scoring_model.configuration import CostSettings
from scoring_model.decision.flips import FRAUD as FRAUD_CLASS
from scoring_model.decision.flips import GENUINE, UNLABELLED, count_flips, flip_codes, turns
from scoring_model.estimates import Estimate, NamedEstimates
from scoring_model.evaluation.cost import unit_costs
from scoring_model.evaluation.evaluated_records import EvaluatedRecords
from scoring_model.evaluation.labellings import End, rate_ends, share_ends
from scoring_model.evaluation.metrics import log_losses, squared_errors
from scoring_model.evaluation.paired import NORMAL_QUANTILE
from scoring_model.evaluation.possible_ranking import ranking_ends
from scoring_model.evaluation.rates import CLASS_RATES, SHARES, errs
from scoring_model.evaluation.stopped import CONTROL_SHARE, POINTS, Assumed, NotObserved, Possible
from scoring_model.evaluation.uncertainty import normal_quantile, share_of
from scoring_model.figures import FIGURES, ErrorName
from scoring_model.records.labels import FRAUD
from scoring_model.records.labels import UNLABELLED as NO_LABEL


def possible_share(name: ErrorName, outcomes: Int8Array, found: NotObserved) -> Estimate:
    """Bound an error rate over all labels that the records which were not observed could have.

    Exact for the records: among all labellings the rate is highest if the unlabelled ones that would count as errors
    belong to its class and the others do not, and lowest the other way round. The ends are those of Wilson's intervals
    of these two rates, so they also carry the sampling error.

    Parameters
    ----------
    outcomes : ndarray of shape (n,), int8
        Of the observed records of the rate's class.

    Returns
    -------
    Estimate
        Without a value: only the ends are known. `records` counts the observed ones.

    References
    ----------
    Manski 2003, Partial Identification of Probability Distributions, chapter 1 (bounds under selective observation).
    """
    known = np.concatenate([outcomes, found.outcomes[found.labels == FIGURES[name].label]])
    ends = extreme_shares(name, known, found.outcomes[found.labels == NO_LABEL])
    return outer(*ends, len(outcomes))


def extreme_shares(
    name: str, known: Int8Array, unknown: Int8Array, measure: Callable[[int, int], Estimate] = share_of
) -> tuple[Estimate, Estimate]:
    """Return the least and the greatest share of errors of a class that some labelling gives.

    Parameters
    ----------
    known, unknown : ndarray of int8
        Outcomes of the records of the class, and of those without a label.
    measure : callable
        Returns the share of a count.
    """
    wrong, could = errs(name, known), errs(name, unknown)
    count, more = int(np.count_nonzero(wrong)), int(np.count_nonzero(could))
    return measure(count, len(wrong) + len(could) - more), measure(count + more, len(wrong) + more)


def assumed_share(
    name: ErrorName, outcomes: Int8Array, found: NotObserved, *, days: int, limit: float | None = None
) -> Assumed | None:
    """Estimate an error rate as if the probabilities of the model held for the records that were not observed.

    Parameters
    ----------
    outcomes : ndarray of shape (n,), int8
        Of the observed records of the rate's class.
    days : int
        Days on which the records lie.
    limit : float, optional
        What is promised of the rate.

    Returns
    -------
    Assumed or None
        None where no record of the class is expected.

    Notes
    -----
    The days of a control group follow from the variance of the Horvitz-Thompson estimate of a ratio (Särndal et al.
    1992, Model Assisted Survey Sampling, section 5.6), which falls with their number.
    """
    wrong, missing = errs(name, outcomes), errs(name, found.outcomes)

    def of_class(odds: float) -> FloatArray:
        fraud = odds * found.probabilities / (1 - found.probabilities + odds * found.probabilities)
        fraud = np.where(found.labels == NO_LABEL, fraud, found.labels == FRAUD)
        return fraud if FIGURES[name].label == FRAUD else 1 - fraud

    def rate(odds: float) -> float:
        belongs = of_class(odds)
        return (np.count_nonzero(wrong) + float(belongs[missing].sum())) / (len(wrong) + float(belongs.sum()))

    total = len(wrong) + float(of_class(1.0).sum())
    if not total:
        return None
    value = rate(1.0)
    sampled = len(wrong) * float(np.mean((wrong - value) ** 2)) if len(wrong) else 0.0
    weighted = float((of_class(1.0) * (missing - value) ** 2).sum()) / CONTROL_SHARE
    half = NORMAL_QUANTILE * math.sqrt(sampled + weighted) / total
    within = _within(value, limit, possible_share(name, outcomes, found))
    return Assumed(
        value=value,
        halved=rate(0.5),
        doubled=rate(2.0),
        control_days=math.ceil(days * (half / within) ** 2) if half and within else None,
        within=within,
    )


def _within(value: float, limit: float | None, known: Estimate) -> float:
    """Return the half of the interval that a control group should give: what it would say is not known without it."""
    within = POINTS if limit is None else min(POINTS, limit / 2)
    reach = ((1.0 if known.high is None else known.high) - (known.low or 0.0)) / 2
    if limit is None or reach > within:
        return within
    return min(reach, abs(limit - value) or reach)


Costs: TypeAlias = CostSettings | None
Losses: TypeAlias = Callable[[FloatArray, NDArray[np.integer]], FloatArray]

CHUNK: Final = 10_000
"""Numbers of frauds for which costs are computed at once."""


def possible_figures(records: EvaluatedRecords, figures: NamedEstimates, costs: Costs) -> dict[str, Possible]:
    """Bound figures of one model over all labels that those who were not observed could have.

    Parameters
    ----------
    figures : mapping of str to Estimate
        On the observed records.

    Returns
    -------
    dict of str to Possible
        As of `possible_differences`, without the errors of the policy, which `possible_share` bounds, and flips.
    """
    missing = records.not_observed
    if missing is None:
        return {}
    observed, stopped = (
        count_flips(
            flip_codes(np.where(labels < 0, UNLABELLED, labels), np.zeros(len(labels), np.int64), outcomes)
        )[0]
        for labels, outcomes in (
            (records.labels, records.decisions.outcomes),
            (missing.labels, missing.outcomes),
        )
    )
    return _with_errors(_ends(None, records, observed, stopped, (None, costs)), figures)


def possible_differences(
    champion: EvaluatedRecords,
    challenger: EvaluatedRecords,
    observed: IntArray,
    stopped: IntArray,
    differences: NamedEstimates,
    *,
    costs: tuple[Costs, Costs] = (None, None),
) -> dict[str, Possible]:
    """Bound differences over all labels that those who were not observed could have, jointly for both models.

    Parameters
    ----------
    observed, stopped : ndarray of `decision.flips.SHAPE`, int64
        Flips of the records that were observed, and of those that were not.
    differences : mapping of str to Estimate
        Challenger minus champion, on the observed records.
    costs : (CostSettings, CostSettings), optional
        Those of both policies.

    Returns
    -------
    dict of str to Possible
        Simultaneous ends are Bonferroni's. Rates of one class, shares of all records, losses, costs, ROC AUC and
        shares of flips of one class have exact ends; average precision, the distance of Kolmogorov and Smirnov, and
        recall at a rate of false positives have outer ones. Other figures have no bound: precision at a rate of false
        positives, and recall at a daily capacity, whose queues the stopped ones would have joined.
    """
    if champion.not_observed is None or challenger.not_observed is None:
        return {}
    bounded: dict[str, tuple[End, End]] = {name: rate_ends(name, observed, stopped) for name in CLASS_RATES}
    bounded |= _ends(champion, challenger, observed, stopped, costs)
    return _with_errors(bounded, differences) | dict(_flip_ends(observed, stopped))


def _ends(
    champion: EvaluatedRecords | None,
    challenger: EvaluatedRecords,
    observed: IntArray,
    stopped: IntArray,
    costs: tuple[Costs, Costs],
) -> dict[str, tuple[End, End]]:
    """Bound the figures of a model, or their differences to those of a champion."""
    old, new = None if champion is None else _Decided.of(champion), _Decided.of(challenger)
    found = ranking_ends(new.labels, None if old is None else old.margins, new.margins)
    found |= {name: share_ends(name, observed, stopped, paired=old is not None) for name in SHARES}
    for name, losses in (("log_loss", log_losses), ("brier", squared_errors)):
        found[name] = _mean_ends(losses, old, new)
    if costs[1] is not None and (champion is None or costs[0] is not None):
        found["cost"] = _cost_ends(observed, stopped, costs)
    return found


def _with_errors(bounded: Mapping[str, tuple[End, End]], sampled: NamedEstimates) -> dict[str, Possible]:
    """Add the sampling error to all ends."""
    z_of_all = normal_quantile(len(bounded))
    return {
        name: Possible(
            lowest=lowest.value,
            highest=highest.value,
            ends=_with_error(lowest, highest, sampled[name], z_of_all),
        )
        for name, (lowest, highest) in bounded.items()
    }


def _with_error(lowest: End, highest: End, sampled: Estimate, z_of_all: float) -> Estimate:
    """Add the sampling error to both ends.

    It is that of the observed difference, as far as its records are among all, or that of independent pairs, whichever
    is larger.
    """
    if sampled.value is None or sampled.low is None or sampled.high is None:
        absence = sampled.absence or "no records"
        return Estimate(value=None, records=sampled.records, method="labellings", absence=absence)
    below, above = sampled.value - sampled.low, sampled.high - sampled.value

    def reach(end: End, error: float, z: float) -> float:
        return max(z * math.sqrt(end.variance), z / NORMAL_QUANTILE * error * end.observed)

    return Estimate(
        value=None,
        low=lowest.value - reach(lowest, below, NORMAL_QUANTILE),
        high=highest.value + reach(highest, above, NORMAL_QUANTILE),
        simultaneous_low=lowest.value - reach(lowest, below, z_of_all),
        simultaneous_high=highest.value + reach(highest, above, z_of_all),
        records=sampled.records,
        method="labellings",
    )


def _flip_ends(observed: IntArray, stopped: IntArray) -> Iterator[tuple[str, Possible]]:
    """Bound the shares of each class with a stricter or milder outcome; exact, with Wilson's intervals at both ends."""
    known, unknown = turns(observed + stopped), turns(stopped[UNLABELLED])
    for label, name in ((GENUINE, "genuine"), (FRAUD_CLASS, "fraud")):
        for turn in ("stricter", "milder"):
            count, records = int(getattr(known, turn)[label]), int(known.records[label])
            more = int(getattr(unknown, turn))
            lowest = share_of(count, records + int(unknown.records) - more)
            highest = share_of(count + more, records + more)
            ends = outer(lowest, highest, int(turns(observed).records[label]))
            yield (
                f"{name}_{turn}",
                Possible(lowest=lowest.value or 0.0, highest=highest.value or 0.0, ends=ends),
            )


def outer(lowest: Estimate, highest: Estimate, records: int) -> Estimate:
    """Return the outer ends of the least and the greatest share that some labelling gives."""
    return Estimate(
        value=None,
        low=0.0 if lowest.low is None else lowest.low,
        high=1.0 if highest.high is None else highest.high,
        records=records,
        method="labellings",
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Decided:
    """Labels of the observed records and of the others, -1 without one, and what a model makes of both."""

    labels: Int8Array
    margins: FloatArray
    probabilities: FloatArray
    observed: int

    @classmethod
    def of(cls, records: EvaluatedRecords) -> "_Decided":
        decisions, missing = records.decisions, records.not_observed
        if missing is None:
            raise ValueError("records: all were observed")
        return cls(
            labels=np.concatenate([records.labels, missing.labels]),
            margins=np.concatenate([decisions.margins, missing.margins]),
            probabilities=np.concatenate([decisions.probabilities, missing.probabilities]),
            observed=len(records),
        )


def _mean_ends(losses: Losses, old: _Decided | None, new: _Decided) -> tuple[End, End]:
    """Bound a mean loss of the probabilities exactly: each record without a label for itself."""

    def change(label: int) -> FloatArray:
        assumed = np.where(new.labels == NO_LABEL, label, new.labels)
        found = losses(new.probabilities, assumed)
        return found if old is None else found - losses(old.probabilities, assumed)

    both = change(FRAUD), change(1 - FRAUD)
    lowest, highest = (
        End(float(choose(*both).mean()), new.observed / len(new.labels))
        for choose in (np.minimum, np.maximum)
    )
    return lowest, highest


def _cost_ends(observed: IntArray, stopped: IntArray, costs: tuple[Costs, Costs]) -> tuple[End, End]:
    """Bound the expected cost of an applicant exactly.

    With k frauds among the records without a label both classes have a known size. Then each record costs so much more
    as a fraud than as a genuine one, by both outcomes alone, and the k for whom this is greatest, or least, are frauds.
    """
    known, unknown = (observed + stopped)[:UNLABELLED], stopped[UNLABELLED].ravel()
    counts = np.arange(unknown.sum() + 1)
    share = float(observed.sum() / (observed.sum() + stopped.sum()))
    parts = [_costs(known, unknown, some, costs) for some in np.array_split(counts, 1 + len(counts) // CHUNK)]
    lowest, highest = (np.concatenate(one) for one in zip(*parts, strict=True))
    return End(float(lowest.min()), share), End(float(highest.max()), share)


def _costs(
    known: IntArray, unknown: IntArray, counts: IntArray, costs: tuple[Costs, Costs]
) -> tuple[FloatArray, FloatArray]:
    """Return the least and the greatest cost with so many frauds among the unknown, of shape (k,)."""
    sizes = np.stack(
        [known[GENUINE].sum() + unknown.sum() - counts, known[FRAUD_CLASS].sum() + counts], axis=-1
    )
    units = np.zeros((len(counts), *known.shape))  # what a record of each kind adds to the cost, by its class
    for axis, sign, one in zip((3, 2), (-1, 1), costs, strict=True):
        if one is not None:
            units += sign * np.expand_dims(unit_costs(sizes, one), axis)
    units = units.reshape(len(counts), len(known), -1)
    sure = (units * (known.reshape(len(known), -1) + [[1], [0]] * unknown)).sum(axis=(1, 2))
    excess = units[:, FRAUD_CLASS] - units[:, GENUINE]
    order = np.argsort(excess, axis=1, kind="stable")

    def chosen(places: IntArray) -> FloatArray:
        held = unknown[places]
        taken = np.clip(counts[:, None] - (np.cumsum(held, axis=1) - held), 0, held)
        return np.asarray(sure + (np.take_along_axis(excess, places, axis=1) * taken).sum(axis=1))

    return chosen(order), chosen(order[:, ::-1])
