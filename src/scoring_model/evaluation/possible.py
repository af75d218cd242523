"""What labels of stopped applicants could make of figures: ends over all labels that they could have.

Partial identification (Manski 2003, Partial Identification of Probability Distributions, chapter 1). Ends are exact for
the records where a docstring says so; others contain every value that some labelling gives. All carry the sampling
error of the observed records besides. Decision record: docs/adr/0023-gates-and-retraining.md.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.decision.flips import FRAUD as FRAUD_CLASS
from scoring_model.decision.flips import GENUINE, UNLABELLED, turns
from scoring_model.estimates import Estimate
from scoring_model.evaluation.evaluated_records import EvaluatedRecords
from scoring_model.evaluation.metrics import log_losses, squared_errors
from scoring_model.evaluation.paired import NORMAL_QUANTILE, paired_variance
from scoring_model.evaluation.rates import RATES, errs, gained_and_lost
from scoring_model.evaluation.stopped import CONTROL_SHARE, POINTS, Assumed, NotObserved, Possible
from scoring_model.evaluation.uncertainty import CONFIDENCE, share_of
from scoring_model.figures import ERRORS, FIGURES, FPR_LIMITS, ErrorName
from scoring_model.records.labels import FRAUD
from scoring_model.records.labels import UNLABELLED as NO_LABEL


def possible_share(name: ErrorName, outcomes: NDArray[np.int8], found: NotObserved) -> Estimate:
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
    own = found.labels == FIGURES[name].label
    errors = [errs(name, part) for part in (outcomes, found.outcomes[own])]
    unknown = errs(name, found.outcomes[found.labels == NO_LABEL])
    count, total = (sum(map(measure, errors)) for measure in (np.count_nonzero, len))
    more, other = int(np.count_nonzero(unknown)), int(np.count_nonzero(~unknown))
    lowest, highest = share_of(int(count), int(total) + other), share_of(int(count) + more, int(total) + more)
    return _outer(lowest, highest, len(outcomes))


def assumed_share(
    name: ErrorName, outcomes: NDArray[np.int8], found: NotObserved, *, days: int
) -> Assumed | None:
    """Estimate an error rate as if the probabilities of the model held for the records that were not observed.

    Parameters
    ----------
    outcomes : ndarray of shape (n,), int8
        Of the observed records of the rate's class.
    days : int
        Days on which the records lie.

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
    return Assumed(
        value=value,
        halved=rate(0.5),
        doubled=rate(2.0),
        control_days=math.ceil(days * (half / POINTS) ** 2) if half else None,
    )


def possible_differences(
    champion: EvaluatedRecords,
    challenger: EvaluatedRecords,
    observed: IntArray,
    stopped: IntArray,
    differences: Mapping[str, Estimate],
) -> dict[str, Possible]:
    """Bound differences over all labels that those who were not observed could have, jointly for both models.

    Parameters
    ----------
    observed, stopped : ndarray of `decision.flips.SHAPE`, int64
        Flips of the records that were observed, and of those that were not.
    differences : mapping of str to Estimate
        Challenger minus champion, on the observed records.

    Returns
    -------
    dict of str to Possible
        Simultaneous ends are Bonferroni's. Errors of the policy, losses and shares of flips of one class have exact
        ends; ROC AUC and recall at a rate of false positives have outer ones; other figures are absent.
    """
    missing = champion.not_observed, challenger.not_observed
    if missing[0] is None or missing[1] is None:
        return {}
    pair = _Pair(champion, challenger, missing[0], missing[1])
    bounded: dict[str, tuple[_End, _End]] = {name: _error_ends(name, observed, stopped) for name in ERRORS}
    bounded |= {f"recall_at_fpr_{limit:g}": pair.recall_ends(limit) for limit in FPR_LIMITS}
    bounded |= {
        "roc_auc": pair.auc_ends(),
        "log_loss": pair.loss_ends(log_losses),
        "brier": pair.loss_ends(squared_errors),
    }
    z_of_all = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / len(bounded))
    found = {name: _possible(*ends, differences[name], z_of_all) for name, ends in bounded.items()}
    return found | dict(_flip_ends(observed, stopped))


@dataclass(frozen=True, slots=True)
class _End:
    """The value of a difference under an extreme labelling.

    Parameters
    ----------
    value : float
    observed : float
        Share of the observed records in what the value rests on there, in [0, 1].
    variance : float
        Of the difference of independent pairs there; 0 where that is not used.
    """

    value: float
    observed: float
    variance: float = 0.0


def _possible(lowest: _End, highest: _End, sampled: Estimate, z_of_all: float) -> Possible:
    ends = _with_error(lowest, highest, sampled, z_of_all)
    return Possible(lowest=lowest.value, highest=highest.value, ends=ends)


def _with_error(lowest: _End, highest: _End, sampled: Estimate, z_of_all: float) -> Estimate:
    """Add the sampling error to both ends.

    It is that of the observed difference, as far as its records are among all, or that of independent pairs, whichever
    is larger.
    """
    if sampled.value is None or sampled.low is None or sampled.high is None:
        absence = sampled.absence or "no records"
        return Estimate(value=None, records=sampled.records, method="labellings", absence=absence)
    below, above = sampled.value - sampled.low, sampled.high - sampled.value

    def reach(end: _End, error: float, z: float) -> float:
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


@dataclass(frozen=True, kw_only=True, slots=True)
class _Turned:
    """Records of a class by which of two models counts them.

    Parameters
    ----------
    gained, lost, records : float
        Records with a label that only the challenger counts, that only the champion counts, and all of the class.
    more, less, alike : float
        Records without a label: those that only the challenger would count, only the champion, and both or neither.
    """

    gained: float
    lost: float
    records: float
    more: float
    less: float
    alike: float

    def end(self, sign: int) -> _End:
        """Return the lowest (-1) or the highest (1) difference of the shares that both models count. It is exact.

        Only a record that exactly one model counts moves the difference; one that both count, or neither, draws it
        towards 0. So it is greatest if of the records without a label those that the challenger alone counts belong to
        the class, and the others only where that brings a negative difference nearer to 0.
        """
        turned = self.more if sign > 0 else self.less
        change = self.gained - self.lost + sign * turned
        total = self.records + turned + (self.alike if sign * change < 0 else 0.0)
        if not total:
            return _End(0.0, 0.0)
        discordant = self.gained + self.lost + turned
        variance = paired_variance(np.array(change), np.array(discordant), np.array(total))
        return _End(change / total, self.records / total, float(variance))


def _error_ends(name: ErrorName, observed: IntArray, stopped: IntArray) -> tuple[_End, _End]:
    """Bound the difference of an error rate exactly."""
    unknown, wrong = stopped[UNLABELLED], errs(name, np.arange(len(OUTCOMES)))
    known = observed + np.where(np.arange(len(stopped))[:, None, None] == UNLABELLED, 0, stopped)
    gained, lost = (float(part) for part in gained_and_lost(RATES[name], known))
    more, less = float(unknown[np.ix_(~wrong, wrong)].sum()), float(unknown[np.ix_(wrong, ~wrong)].sum())
    found = _Turned(
        gained=gained,
        lost=lost,
        records=float(known[FIGURES[name].label].sum()),
        more=more,
        less=less,
        alike=float(unknown.sum()) - more - less,
    )
    return found.end(-1), found.end(1)


def _flip_ends(observed: IntArray, stopped: IntArray) -> Iterator[tuple[str, Possible]]:
    """Bound the shares of each class with a stricter or milder outcome; exact, with Wilson's intervals at both ends."""
    known, unknown = turns(observed + stopped), turns(stopped[UNLABELLED])
    for label, name in ((GENUINE, "genuine"), (FRAUD_CLASS, "fraud")):
        for turn in ("stricter", "milder"):
            count, records = int(getattr(known, turn)[label]), int(known.records[label])
            more = int(getattr(unknown, turn))
            lowest = share_of(count, records + int(unknown.records) - more)
            highest = share_of(count + more, records + more)
            ends = _outer(lowest, highest, int(turns(observed).records[label]))
            yield (
                f"{name}_{turn}",
                Possible(lowest=lowest.value or 0.0, highest=highest.value or 0.0, ends=ends),
            )


def _outer(lowest: Estimate, highest: Estimate, records: int) -> Estimate:
    """Return the outer ends of two shares."""
    return Estimate(
        value=None,
        low=0.0 if lowest.low is None else lowest.low,
        high=1.0 if highest.high is None else highest.high,
        records=records,
        method="labellings",
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """Both models on the observed records, and on those that were not."""

    champion: EvaluatedRecords
    challenger: EvaluatedRecords
    old: NotObserved
    new: NotObserved

    @property
    def _labels(self) -> NDArray[np.int8]:
        """Labels of both kinds of records, -1 without one."""
        return np.concatenate([self.champion.labels, self.old.labels])

    def _margins(self) -> tuple[FloatArray, FloatArray]:
        """Margins of the champion and of the challenger."""
        return (
            np.concatenate([self.champion.decisions.margins, self.old.margins]),
            np.concatenate([self.challenger.decisions.margins, self.new.margins]),
        )

    def recall_ends(self, limit: float) -> tuple[_End, _End]:
        """Bound the difference of recall where at most a share of the genuine is found.

        Under each labelling the threshold of a model lies between two of its margins: the highest is needed if all
        without a label above it were genuine, the lowest if all below it were. The difference is highest if the
        challenger has its lowest threshold and the champion its highest.
        """
        labels, (old, new) = self._labels, self._margins()

        def end(sign: int) -> _End:
            found = (_found(old, labels, limit, most=sign < 0), _found(new, labels, limit, most=sign > 0))
            return _turned(*found, labels).end(sign)

        return end(-1), end(1)

    def auc_ends(self) -> tuple[_End, _End]:
        """Bound the difference of ROC AUC.

        The numerator is a sum over pairs of a fraud and a genuine record. A record without a label adds its pairs with
        the genuine if it is a fraud, and those with the frauds if it is genuine; pairs of two such records count at
        most one each, and at most u²/4 of them have two classes. All pairs are at least those of records with a label.
        """
        labels, margins = self._labels, self._margins()
        frauds, genuine, unknown = (labels == one for one in (FRAUD, 1 - FRAUD, NO_LABEL))
        pairs = float(frauds.sum()) * float(genuine.sum())
        if not pairs:
            return _End(-1.0, 1.0), _End(1.0, 1.0)
        won = [_below(one[frauds], one[genuine]).sum() for one in margins]
        as_fraud = np.subtract(*(_below(one[unknown], one[genuine]) for one in margins[::-1]))
        as_genuine = np.subtract(*(_below(-one[unknown], -one[frauds]) for one in margins[::-1]))
        both = float(unknown.sum()) ** 2 / 4
        lowest = float(won[1] - won[0] + np.minimum(as_fraud, as_genuine).sum() - both)
        highest = float(won[1] - won[0] + np.maximum(as_fraud, as_genuine).sum() + both)
        every = (float(frauds.sum()) + float(unknown.sum())) * (float(genuine.sum()) + float(unknown.sum()))

        def end(total: float, sign: int) -> _End:
            return _End(max(min(total / (pairs if sign * total > 0 else every), 1.0), -1.0), 1.0)

        return end(lowest, -1), end(highest, 1)

    def loss_ends(self, losses: Callable[[FloatArray, NDArray[np.integer]], FloatArray]) -> tuple[_End, _End]:
        """Bound the difference of a mean loss of the probabilities exactly: each record without a label for itself."""
        labels = self.old.labels
        before, after = self.champion.decisions.probabilities, self.challenger.decisions.probabilities
        own = losses(after, self.champion.labels) - losses(before, self.champion.labels)

        def change(label: int) -> FloatArray:
            assumed = np.where(labels == NO_LABEL, label, labels)
            return losses(self.new.probabilities, assumed) - losses(self.old.probabilities, assumed)

        as_fraud, as_genuine = change(FRAUD), change(1 - FRAUD)
        total = len(own) + len(labels)
        sums = (float(choose(as_fraud, as_genuine).sum()) for choose in (np.minimum, np.maximum))
        lowest, highest = (_End((float(own.sum()) + one) / total, len(own) / total) for one in sums)
        return lowest, highest


def _turned(old: BoolArray, new: BoolArray, labels: NDArray[np.int8]) -> _Turned:
    """Count the frauds that two models find, and the records without a label."""
    frauds, unknown = labels == FRAUD, labels == NO_LABEL

    def count(mask: BoolArray) -> float:
        return float(np.count_nonzero(mask))

    return _Turned(
        gained=count(frauds & new & ~old),
        lost=count(frauds & old & ~new),
        records=count(frauds),
        more=count(unknown & new & ~old),
        less=count(unknown & old & ~new),
        alike=count(unknown & (new == old)),
    )


def _found(margins: FloatArray, labels: NDArray[np.int8], limit: float, *, most: bool) -> BoolArray:
    """Mask the records above the threshold that finds most, or fewest, over all labels of those without one.

    A threshold is allowed if at most the share `limit` of the genuine lies above it. Most are found if those without a
    label are genuine where they lie below it, and frauds above it; fewest the other way round.
    """
    order = np.argsort(-margins, kind="stable")
    genuine, unknown = (labels[order] == 1 - FRAUD, labels[order] == NO_LABEL)
    above, below = np.cumsum(genuine), int(genuine.sum()) - np.cumsum(genuine)
    if most:
        allowed = above <= limit * (above + below + int(unknown.sum()) - np.cumsum(unknown))
    else:
        allowed = above + np.cumsum(unknown) <= limit * (above + np.cumsum(unknown) + below)
    allowed &= np.diff(margins[order], append=-np.inf) != 0  # records of one margin are found together
    count = int(np.flatnonzero(allowed)[-1]) + 1 if allowed.any() else 0
    found = np.zeros(len(margins), dtype=np.bool_)
    found[order[:count]] = True
    return found


def _below(margins: FloatArray, others: FloatArray) -> FloatArray:
    """Count the others below each margin; ties count half."""
    ordered = np.sort(others)
    left, right = (np.searchsorted(ordered, margins, side=side) for side in ("left", "right"))
    return (left + right) / 2
