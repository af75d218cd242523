"""Rolling-origin folds: the value of parameters at three moments of the past."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.training.fitting import FeatureOptions, binned, genuine_weights

if TYPE_CHECKING:
    import lightgbm as lgb

FIRST_ORIGIN = 0.4
"""Share of the rows, in order of time, in the training set of the first fold."""

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
    targets: NDArray[np.int8]
    weights: FloatArray

    @property
    def is_thinned(self) -> bool:
        """Return True if records were left out."""
        return self.share < 1.0


def cut_folds(
    event_times: IntArray, targets: NDArray[np.int8], folds: int
) -> list[tuple[IntArray, IntArray]]:
    """Cut rows by time: each fold trains on all rows before an instant and is evaluated on the following ones.

    There is no gap between the two: folds only compare parameters, which all have the same advantage, and their level
    is never reported as the performance of a model.

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
    by_time = np.sort(event_times)
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
    if problems:
        raise FoldError("; ".join(problems))
    return cuts


def build_folds(
    rows: FloatArray,
    targets: NDArray[np.int8],
    cuts: Sequence[tuple[IntArray, IntArray]],
    *,
    features: FeatureOptions,
    params: Mapping[str, object],
    thinning: float,
    seed: int,
    genuine_weight: float = 1.0,
) -> list[SearchFold]:
    """Bin all rows once; each fold uses a subset of them.

    Bins are quantiles of the features only, so the influence of later rows leaks no target.

    Parameters
    ----------
    thinning : float
        Share, in (0, 1], of the genuine records that the thinned first fold keeps, or more if few would be left. Other
        folds are not thinned.
    genuine_weight : float
        Weight of each genuine record, at least 1; a fraud weighs 1.
    """
    everything = binned(
        rows,
        targets,
        features=features,
        params=params,
        weights=None if genuine_weight == 1 else genuine_weights(targets, genuine_weight),
    )
    everything.construct()
    shares = [thinning, *[1.0] * (len(cuts) - 1)]
    generator = np.random.default_rng(seed)
    return [
        _fold(everything, targets, cut, thinning=share, rng=generator, genuine_weight=genuine_weight)
        for cut, share in zip(cuts, shares, strict=True)
    ]


def _fold(
    everything: "lgb.Dataset",
    targets: NDArray[np.int8],
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
