"""Rolling-origin folds: the value of parameters at three moments of the past."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from scoring_model.arrays import FloatArray, Int8Array, IntArray
from scoring_model.training.fitting import FeatureOptions, binned, genuine_weights

if TYPE_CHECKING:
    import lightgbm as lgb

FIRST_ORIGIN = 0.4
"""Share of the rows, in order of time, in the training set of the first fold."""

CHANCE = 0.1
"""Share of the comparisons of noise in which it leads for sure."""

FEWEST_GENUINE = 20_000
"""Minimum number of genuine records after thinning."""


class FoldError(ValueError):
    """The rows cannot be cut into folds; the message names every fold that lacks a class."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SearchFold:
    """One origin: the binned rows before and after it.

    Attributes
    ----------
    train, thinned, validation : lightgbm.Dataset
        Subsets of one binned dataset; `thinned` has all frauds of `train` and some of its genuine records, or all.
    share : float
        Share of the genuine records in `thinned`, in (0, 1].
    targets : ndarray of shape (m,), 1 fraud, 0 genuine
        Targets of `validation`.
    weights : ndarray of shape (m,), float64
        Weights of `validation`.
    """

    train: "lgb.Dataset"
    thinned: "lgb.Dataset"
    validation: "lgb.Dataset"
    share: float
    size: int
    targets: Int8Array
    weights: FloatArray

    @property
    def is_thinned(self) -> bool:
        """Return True if records were left out."""
        return self.share < 1.0


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LearntColumns:
    """Columns that differ between folds, since each fold learns them from what precedes its origin.

    Parameters
    ----------
    names : tuple of str
    values : tuple of ndarray of shape (n, names), float64
        For each fold: the rows before its origin, then those after it.
    """

    names: tuple[str, ...]
    values: tuple[FloatArray, ...]

    def put(self, rows: FloatArray, names: Sequence[str], fold: int) -> FloatArray:
        """Replace the columns of the rows of a fold, where they are in use."""
        used = [place for place, name in enumerate(self.names) if name in names]
        rows[:, [names.index(self.names[place]) for place in used]] = self.values[fold][:, used]
        return rows


@dataclass(frozen=True, kw_only=True, slots=True)
class Lead:
    """A mean difference of average precision over folds, to be compared with its standard error.

    Parameters
    ----------
    mean : float
    error : float
        Standard error of the mean; 0 for a single fold.
    folds : int
    """

    mean: float
    error: float
    folds: int

    @classmethod
    def of(cls, values: Sequence[float], others: Sequence[float]) -> Self:
        """Compare two lists of values, one for each fold."""
        leads = np.subtract(values, others)
        error = float(leads.std(ddof=1)) / len(leads) ** 0.5 if len(leads) > 1 else 0.0
        return cls(mean=float(leads.mean()), error=error, folds=len(leads))

    @property
    def is_clear(self) -> bool:
        """Return True if it exceeds its standard error (the rule of one standard error, Breiman et al. 1984, 3.4.3)."""
        return self.mean > self.error

    @property
    def is_sure(self) -> bool:
        """Return True if noise would lead as far in at most one of ten comparisons, by Student's t; never for one fold.

        Two folds hold a standard error so loosely that noise exceeds it in every fourth comparison.
        """
        if self.folds < 2:
            return False
        from scipy import stats  # imported here, since it takes long

        return self.mean > float(stats.t.ppf(1 - CHANCE, self.folds - 1)) * self.error


def cut_folds(event_times: IntArray, targets: Int8Array, folds: int) -> list[tuple[IntArray, IntArray]]:
    """Cut rows by time: each fold trains on all rows before an instant and is evaluated on the following ones.

    There is no gap between the two: folds only compare parameters, which all have the same advantage, and their level
    is never reported as the performance of a model. Folds have equally many rows; if one of these would have no fraud,
    as between rings, they have equally many frauds; and if that does not help either, there are fewer of them.

    Parameters
    ----------
    event_times : ndarray of shape (n,), int64, in any order
    targets : ndarray of shape (n,), 1 fraud, 0 genuine

    Returns
    -------
    list of (ndarray, ndarray)
        Training and evaluation rows, ascending. Rows of one instant are on one side.
    """
    if len(event_times) == 0:
        raise FoldError("there are no rows")
    refused: list[str] = []
    for count in range(folds, 0, -1):
        for instants in (event_times, event_times[targets == 1]):
            if len(instants):
                cuts, problems = _cut(event_times, targets, count, by_time=np.sort(instants))
                if not problems:
                    return cuts
                refused = refused or problems
    raise FoldError("; ".join(refused))


def _cut(
    event_times: IntArray, targets: Int8Array, folds: int, *, by_time: IntArray
) -> tuple[list[tuple[IntArray, IntArray]], list[str]]:
    """Cut where equal shares of the given times end; also say which folds lack a class."""
    shares = np.linspace(FIRST_ORIGIN, 1.0, folds + 1)[:-1]
    origins = [int(by_time[int(share * len(by_time))]) for share in shares]
    cuts = []
    problems = []
    for number, (origin, end) in enumerate(zip(origins, [*origins[1:], None], strict=True), start=1):
        after = event_times >= origin
        train, validation = ~after, after if end is None else after & (event_times < end)
        for side, chosen in (("train on", train), ("be judged on", validation)):
            frauds = int(targets[chosen].sum())
            if frauds == 0 or frauds == chosen.sum():
                problems.append(f"fold {number} has {chosen.sum()} rows to {side}, {frauds} of them frauds")
        cuts.append((np.flatnonzero(train), np.flatnonzero(validation)))
    return cuts, problems


def build_folds(
    rows: FloatArray,
    targets: Int8Array,
    cuts: Sequence[tuple[IntArray, IntArray]],
    *,
    features: FeatureOptions,
    params: Mapping[str, object],
    thinning: float,
    seed: int,
    genuine_weight: float = 1.0,
    learnt: LearntColumns | None = None,
) -> list[SearchFold]:
    """Bin all rows once; each fold uses a subset of them. With `learnt` columns each fold has bins of its own.

    Bins are quantiles of the features only, so the influence of later rows leaks no target.

    Parameters
    ----------
    thinning : float
        Share, in (0, 1], of the genuine records that the thinned first fold keeps, or more if few would be left. Other
        folds are not thinned.
    genuine_weight : float
        Weight of each genuine record, at least 1; a fraud weighs 1.
    """

    def bins(rows: FloatArray, targets: Int8Array) -> "lgb.Dataset":
        weights = None if genuine_weight == 1 else genuine_weights(targets, genuine_weight)
        return binned(rows, targets, features=features, params=params, weights=weights).construct()

    shares = [thinning, *[1.0] * (len(cuts) - 1)]
    generator = np.random.default_rng(seed)
    everything = bins(rows, targets) if learnt is None else None
    folds = []
    for number, ((before, after), share) in enumerate(zip(cuts, shares, strict=True)):
        if learnt is None:
            whole, of_whole, cut = everything, targets, (before, after)
        else:
            both = np.concatenate([before, after])
            whole, of_whole = (
                bins(learnt.put(rows[both], features["feature_names"], number), targets[both]),
                targets[both],
            )
            cut = (np.arange(len(before)), np.arange(len(before), len(both)))
        folds.append(
            _fold(whole, of_whole, cut, thinning=share, rng=generator, genuine_weight=genuine_weight)
        )
    return folds


def _fold(
    everything: "lgb.Dataset",
    targets: Int8Array,
    cut: tuple[IntArray, IntArray],
    *,
    thinning: float,
    rng: np.random.Generator,
    genuine_weight: float,
) -> SearchFold:
    rows, judged = cut
    train = everything.subset(rows.tolist()).construct()
    genuine = rows[targets[rows] == 0]
    kept = min(len(genuine), max(round(thinning * len(genuine)), FEWEST_GENUINE))
    thinned = train
    if kept < len(genuine):
        chosen = np.union1d(rows[targets[rows] == 1], rng.choice(genuine, kept, replace=False))
        thinned = everything.subset(chosen.tolist()).construct()
    return SearchFold(
        train=train,
        thinned=thinned,
        validation=everything.subset(judged.tolist()).construct(),
        share=kept / len(genuine),
        size=len(rows),
        targets=targets[judged],
        weights=genuine_weights(targets[judged], genuine_weight),
    )
