"""Ends of figures of the ranking over all labels that those who were not observed could have.

All functions take the labels of the observed records and of the others, -1 without one, and the margins of the same
records: of the champion and of the challenger for the ends of a difference, of one model alone (champion None) for
those of a figure.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, Int8Array, IntArray
from scoring_model.evaluation.labellings import End, Turned
from scoring_model.evaluation.metrics import divide
from scoring_model.figures import FPR_LIMITS
from scoring_model.records.labels import FRAUD
from scoring_model.records.labels import UNLABELLED as NO_LABEL

_TRIED: Final = 32
"""Thresholds of a champion at which distances are compared."""

Labels = Int8Array
Margins = FloatArray | None


def ranking_ends(labels: Labels, old: Margins, new: FloatArray) -> dict[str, tuple[End, End]]:
    """Bound every figure of the ranking that has bounds, by name; all are outer ones."""
    return {
        "roc_auc": auc_ends(labels, old, new),
        "average_precision": precision_ends(labels, old, new),
        "ks": distance_ends(labels, old, new),
        **{f"recall_at_fpr_{limit:g}": recall_ends(labels, old, new, limit) for limit in FPR_LIMITS},
    }


def recall_ends(labels: Labels, old: Margins, new: FloatArray, limit: float) -> tuple[End, End]:
    """Bound recall where at most a share of the genuine is found.

    Under each labelling the threshold of a model lies between two of its margins: the highest is needed if all without
    a label above it were genuine, the lowest if all below it were. The difference is highest if the challenger has its
    lowest threshold and the champion its highest.
    """

    def end(sign: int) -> End:
        found = (
            np.zeros(len(new), dtype=np.bool_) if old is None else _found(old, labels, limit, most=sign < 0),
            _found(new, labels, limit, most=sign > 0),
        )
        return Turned.of(*found, labels).end(sign)

    return end(-1), end(1)


def auc_ends(labels: Labels, old: Margins, new: FloatArray) -> tuple[End, End]:
    """Bound ROC AUC exactly.

    The number of pairs in which the fraud lies above is a sum of ranks (Mann and Whitney 1947). So with k frauds among
    the records without a label each of these adds a number of its own, and the k greatest, or least, are frauds.
    """
    frauds, genuine, unknown = (labels == one for one in (FRAUD, 1 - FRAUD, NO_LABEL))

    def change(wins: Callable[[FloatArray], FloatArray]) -> FloatArray:
        return wins(new) if old is None else wins(new) - wins(old)

    won = float(change(lambda one: _below(one[frauds], one[genuine])).sum())
    as_genuine = change(lambda one: _below(-one[unknown], -one[frauds]))
    as_fraud = np.sort(change(lambda one: _below(one[unknown], one[genuine | unknown]) - 0.5) - as_genuine)
    count = np.arange(len(as_fraud) + 1)
    among = count * (count - 1) / 2 if old is None else 0.0  # pairs of frauds, which ranks count too
    pairs = (np.count_nonzero(frauds) + count) * (np.count_nonzero(genuine) + count[::-1])
    lowest, highest = (
        divide(won + as_genuine.sum() + np.append(0.0, np.cumsum(one)) - among, pairs)
        for one in (as_fraud, as_fraud[::-1])
    )
    return End(float(np.nanmin(lowest, initial=1.0))), End(float(np.nanmax(highest, initial=-1.0)))


def precision_ends(labels: Labels, old: Margins, new: FloatArray) -> tuple[End, End]:
    """Bound average precision; see `_most_precision`."""
    if old is None:
        return End(_least_precision(labels, new)), End(_most_precision(labels, None, new))
    return End(-_most_precision(labels, new, old)), End(_most_precision(labels, old, new))


def _most_precision(labels: Labels, old: Margins, new: FloatArray) -> float:
    """Return an upper bound of the average precision of a model, or of its difference to that of another.

    With w the reciprocal of the number of records at or above a record, which no label changes, average precision is
    the sum over frauds of w and of the lesser w of each pair, twice that of a tied one, divided by their number. The
    difference of the lesser w between two models is at most that of the record which the other model ranks lower. So
    each record without a label adds at most a sum of its own, and k frauds among them at most the k greatest.
    """
    frauds, unknown = labels == FRAUD, labels == NO_LABEL
    nobody = np.zeros(len(labels))
    weights, pairs = _pairs(new, frauds)
    old_weights, old_pairs = (nobody, nobody) if old is None else _pairs(old, frauds)
    before, after = (nobody if old is None else old)[unknown], new[unknown]
    weight, gain = weights[unknown], (weights - old_weights)[unknown]
    raised = np.maximum(gain, 0.0)
    above = np.empty(len(after))
    above[np.lexsort((-after, -before))] = np.arange(len(after))
    tied, alike = _tied(after[None]), _tied(np.stack([before, after]))
    ties = weight * tied if old is None else raised * alike + weight * (tied - alike)
    own = gain + (pairs - old_pairs)[unknown] + raised * above + ties / 2
    known = (
        float((pairs - old_pairs)[frauds].sum()) / 2
    )  # each pair from either side, and each fraud with itself
    return min(float(np.nanmax(_shares(known, -np.sort(-own), frauds), initial=-1.0)), 1.0)


def _least_precision(labels: Labels, margins: FloatArray) -> float:
    """Return a lower bound: of those without a label the lowest add least, each pair the lesser w alone."""
    frauds, unknown = labels == FRAUD, labels == NO_LABEL
    weights, pairs = _pairs(margins, frauds)
    _, once = _pairs(margins, frauds, ties=1)
    order = np.argsort(margins[unknown], kind="stable")
    lowest = weights[unknown][order]
    own = lowest + once[unknown][order] + np.cumsum(lowest) - lowest
    return max(float(np.nanmin(_shares(float(pairs[frauds].sum()) / 2, own, frauds), initial=1.0)), 0.0)


def _shares(known: float, own: FloatArray, frauds: BoolArray) -> FloatArray:
    """Return the averages with none, one and more of those without a label among the frauds."""
    sums = known + np.append(0.0, np.cumsum(own))
    return divide(sums, np.count_nonzero(frauds) + np.arange(len(sums)))


def _pairs(margins: FloatArray, frauds: BoolArray, *, ties: int = 2) -> tuple[FloatArray, FloatArray]:
    """Return the reciprocals w, and the sum of the lesser w of each record and each known fraud; ties count twice."""
    weights = 1 / _reached(margins)
    order = np.argsort(margins[frauds], kind="stable")
    held, sums = margins[frauds][order], np.append(0.0, np.cumsum(weights[frauds][order]))
    above = len(held) - np.searchsorted(held, margins, side="left")
    return weights, weights * above + sums[
        np.searchsorted(held, margins, side="right" if ties == 2 else "left")
    ]


def _tied(rows: FloatArray) -> FloatArray:
    """Count the other records with the same margins, of shape (n,), from margins of shape (m, n)."""
    _, place, counts = np.unique(rows.T, axis=0, return_inverse=True, return_counts=True)
    return np.asarray(counts[place.ravel()] - 1.0)


def distance_ends(labels: Labels, old: Margins, new: FloatArray) -> tuple[End, End]:
    """Bound the distance of Kolmogorov and Smirnov.

    At one threshold the distance is greatest if of the records without a label those above it are frauds and the
    others genuine, or the other way round. The lowest over all labels is at least the greatest of the lowest at each
    threshold.
    """
    if old is None:
        lowest, highest = _distances(labels, new)
        return End(float(lowest.max())), End(float(highest.max()))
    return End(-_most_distance(labels, new, old)), End(_most_distance(labels, old, new))


def _distances(labels: Labels, margins: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the least and the greatest distance at each threshold, of shape (n,): the m highest records lie above."""
    reached = _reached(margins)
    frauds, genuine, unknown = (_above(reached, labels == one) for one in (FRAUD, 1 - FRAUD, NO_LABEL))
    rest = unknown[-1] - unknown
    most = _share(frauds + unknown, frauds[-1] + unknown) - _share(genuine, genuine[-1] + rest)
    least = _share(frauds, frauds[-1] + rest) - _share(genuine + unknown, genuine[-1] + unknown)
    return np.maximum(np.maximum(least, -most), 0.0), np.maximum(most, -least)


def _most_distance(labels: Labels, old: FloatArray, new: FloatArray) -> float:
    """Return an upper bound of the difference of the distances of two models.

    The challenger has its distance at some threshold that could be its best one, and the champion's is at least that at
    any other: at the threshold with as many records above, or at some that could be its best one.
    """
    (least, most), (old_least, old_most) = (_distances(labels, one) for one in (new, old))
    promising = np.flatnonzero(old_most >= old_least.max())
    others = None, *promising[np.linspace(0, len(promising) - 1, _TRIED).astype(int)].tolist()
    reached = _reached(old), _reached(new)
    found = np.min([_apart(labels, *reached, one) for one in others], axis=0)
    return float(np.minimum(found, 1.0)[most >= least.max()].max(initial=-1.0))


def _apart(labels: Labels, old: IntArray, new: IntArray, other: int | None) -> FloatArray:
    """Return the most by which the distance at each threshold of the challenger is above that at one of the champion.

    It is the difference of the shares of both classes above, greatest if those without a label whom the challenger
    alone has above are frauds, and those whom the champion alone has are genuine, or the other way round. The others
    count where they raise a share.

    Parameters
    ----------
    old, new : ndarray of shape (n,), int64
        Records at or above each.
    other : int or None
        Place of the champion's threshold, 0 to n - 1; None: it has as many records above as the challenger's.
    """
    masks = [labels == one for one in (FRAUD, 1 - FRAUD, NO_LABEL)]
    frauds, genuine, more = (_above(new, mask) for mask in masks)
    place = slice(None) if other is None else other
    old_frauds, old_genuine, less = (_above(old, mask)[place] for mask in masks)
    later, held = (np.maximum(new, old), masks[2]) if other is None else (new, masks[2] & (old <= other + 1))
    both = _above(later, held)
    more, less = more - both, less - both
    alike = int(np.count_nonzero(masks[2])) - more - less

    def difference(sign: int, gained: IntArray, lost: IntArray) -> FloatArray:
        found, rejected = sign * (frauds - old_frauds) + gained, sign * (genuine - old_genuine) - lost
        every, other = frauds[-1] + gained, genuine[-1] + lost
        return _share(found, every + alike * (found < 0)) - _share(rejected, other + alike * (rejected > 0))

    return np.maximum(difference(1, more, less), difference(-1, less, more))


def _reached(margins: FloatArray) -> IntArray:
    """Return how many records lie at or above each."""
    return len(margins) - np.searchsorted(np.sort(margins), margins, side="left")


def _above(reached: IntArray, mask: BoolArray) -> IntArray:
    """Count the records of a mask among the m highest, of shape (n,), for m = 1 ... n; of tied ones all or none."""
    return np.cumsum(np.bincount(reached[mask], minlength=len(reached) + 1))[1:]


def _share(part: IntArray, whole: IntArray) -> FloatArray:
    """Divide; 0 where nothing is there."""
    return part / np.maximum(whole, 1)


def _found(margins: FloatArray, labels: Int8Array, limit: float, *, most: bool) -> BoolArray:
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
