"""The values of a figure under extreme labels of those who were not observed."""

from dataclasses import dataclass

import numpy as np

from scoring_model.arrays import BoolArray, Int8Array, IntArray
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.decision.flips import UNLABELLED
from scoring_model.evaluation.paired import paired_variance
from scoring_model.evaluation.rates import CELLS, RATES, SHARES, errs, gained_and_lost
from scoring_model.figures import FIGURES
from scoring_model.records.labels import FRAUD
from scoring_model.records.labels import UNLABELLED as NO_LABEL


@dataclass(frozen=True, slots=True)
class End:
    """The value of a figure, or of a difference, under an extreme labelling.

    Parameters
    ----------
    value : float
    observed : float
        Share of the observed records in what the value rests on there, in [0, 1].
    variance : float
        Of the difference of independent pairs there; 0 where that is not used.
    """

    value: float
    observed: float = 1.0
    variance: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Turned:
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

    @classmethod
    def of(cls, old: BoolArray, new: BoolArray, labels: Int8Array) -> "Turned":
        """Count the frauds that two models find, and the records without a label, from masks of what each finds."""
        frauds, unknown = labels == FRAUD, labels == NO_LABEL

        def count(mask: BoolArray) -> float:
            return float(np.count_nonzero(mask))

        return cls(
            gained=count(frauds & new & ~old),
            lost=count(frauds & old & ~new),
            records=count(frauds),
            more=count(unknown & new & ~old),
            less=count(unknown & old & ~new),
            alike=count(unknown & (new == old)),
        )

    def end(self, sign: int) -> End:
        """Return the lowest (-1) or the highest (1) difference of the shares that both models count. It is exact.

        Only a record that exactly one model counts moves the difference; one that both count, or neither, draws it
        towards 0. So it is greatest if of the records without a label those that the challenger alone counts belong to
        the class, and the others only where that brings a negative difference nearer to 0.
        """
        turned = self.more if sign > 0 else self.less
        change = self.gained - self.lost + sign * turned
        total = self.records + turned + (self.alike if sign * change < 0 else 0.0)
        if not total:
            return End(0.0, 0.0)
        discordant = self.gained + self.lost + turned
        variance = paired_variance(np.array(change), np.array(discordant), np.array(total))
        return End(change / total, self.records / total, float(variance))


def share_ends(name: str, observed: IntArray, stopped: IntArray, *, paired: bool) -> tuple[End, End]:
    """Bound a share of all records exactly: each record without a label counts for itself.

    Parameters
    ----------
    name : str
        One of `SHARES`.
    observed, stopped : ndarray of `decision.flips.SHAPE`, int64
        Flips of the records that were observed, and of those that were not.
    paired : bool
        Whether the difference of both decisions is meant; otherwise the share by the second one.
    """
    inside = np.isin(np.arange(CELLS), [*RATES[name].numerator]).astype(np.int64).reshape(2, 1, -1)
    changes = np.broadcast_to(inside - inside.transpose(0, 2, 1) * paired, (2, *observed.shape[1:]))
    known, unknown = (observed + stopped)[:UNLABELLED], stopped[UNLABELLED]
    total = float(known.sum() + unknown.sum())

    def end(chosen: IntArray) -> End:
        mean, square = (
            float((known * changes**power).sum() + (unknown * chosen**power).sum()) / total
            for power in (1, 2)
        )
        return End(mean, float(observed.sum()) / total, (square - mean**2) / total)

    return end(changes.min(axis=0)), end(changes.max(axis=0))


def rate_ends(name: str, observed: IntArray, stopped: IntArray) -> tuple[End, End]:
    """Bound the difference of a rate between two models exactly.

    Parameters
    ----------
    name : str
        One of `RATES`.
    observed, stopped : ndarray of `decision.flips.SHAPE`, int64
        Flips of the records that were observed, and of those that were not.
    """
    if name in SHARES:
        return share_ends(name, observed, stopped, paired=True)
    unknown, counted = stopped[UNLABELLED], errs(name, np.arange(len(OUTCOMES)))
    known = observed + np.where(np.arange(len(stopped))[:, None, None] == UNLABELLED, 0, stopped)
    gained, lost = (float(part) for part in gained_and_lost(RATES[name], known))
    more, less = (
        float(unknown[np.ix_(~counted, counted)].sum()),
        float(unknown[np.ix_(counted, ~counted)].sum()),
    )
    found = Turned(
        gained=gained,
        lost=lost,
        records=float(known[FIGURES[name].label].sum()),
        more=more,
        less=less,
        alike=float(unknown.sum()) - more - less,
    )
    return found.end(-1), found.end(1)
