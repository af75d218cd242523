"""The figures of an evaluation, each with its value in every draw of days."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.configuration import CostSettings
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.estimates import Estimate, NamedEstimates
from scoring_model.evaluation.cost import cost_of_cells
from scoring_model.evaluation.draws import Basis, Draws
from scoring_model.evaluation.evaluated_records import EvaluatedRecords
from scoring_model.evaluation.metrics import (
    RankCounts,
    Ranking,
    divide,
    known,
    log_losses,
    squared_errors,
    weighted_mean,
)
from scoring_model.evaluation.rates import CELLS, RATES, cell_codes, rate_counts, rate_share
from scoring_model.evaluation.uncertainty import Scale, block_estimate, share_estimate, share_of
from scoring_model.figures import APPLICANT_SHARES, CAPACITIES, FPR_LIMITS

_RANKED: Final = ("roc_auc", "average_precision", "ks")
_WITHOUT_INTERVAL: Final = frozenset({"ks"})
"""A maximum over thresholds: draws move it upwards, so that their deviation says little."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Figures:
    """Figures by name, and their values in every draw.

    Parameters
    ----------
    estimates : mapping of str to Estimate
    draws : mapping of str to ndarray of shape (r,), float64
        NaN in a draw without the figure; r = 0 with fewer than ten days.
    """

    estimates: NamedEstimates
    draws: Mapping[str, FloatArray]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Figure:
    name: str
    value: float
    drawn: FloatArray
    records: int
    basis: Basis
    scale: Scale = "share"
    share: Estimate | None = None  # of a rate

    def estimate(self) -> Estimate:
        """Give the figure its interval, unless fewer than ten blocks hold records that it rests on."""
        if self.share is not None:
            return share_estimate(self.share, self.drawn, self.basis)
        found = block_estimate(self.value, self.drawn, self.records, self.basis, scale=self.scale)
        if self.name in _WITHOUT_INTERVAL and not found.absence:
            return replace(found, low=None, high=None, absence="no interval")
        return found


def measure_figures(records: EvaluatedRecords, draws: Draws, *, costs: CostSettings | None) -> Figures:
    """Measure every figure on the records and on each draw of their blocks.

    Parameters
    ----------
    costs : CostSettings or None
        None: no figure `cost`.
    """
    rates = list(_rates(records, draws, costs))
    found = [
        *_ranked(records, draws),
        *_losses(records, draws),
        *rates,
        *_applicants(records, {figure.name: figure for figure in rates}),
        *_queues(records, draws),
    ]
    return Figures(
        estimates={figure.name: figure.estimate() for figure in found},
        draws={figure.name: figure.drawn for figure in found},
    )


def _ranked(records: EvaluatedRecords, draws: Draws) -> Iterator[_Figure]:
    """Measure the ranking by the margin; its scarce records are the frauds."""
    ranking = Ranking.of(records.decisions.margins, records.labels, records.weights)
    values = _ranking_values(ranking.counts)
    chunks = map(_ranking_values, drawn_rankings(ranking, draws, records.weights))
    drawn = np.concatenate([np.empty((0, len(values))), *chunks])
    frauds = draws.counts(ranking.is_fraud.astype(np.int64), 2)[:, 1]
    basis = draws.basis(frauds)
    for place, name in enumerate(_ranking_names()):
        yield _Figure(
            name=name,
            value=values[place],
            drawn=drawn[:, place],
            records=int(frauds.sum()),
            basis=basis,
            scale="odds" if name == "roc_auc" else "share",
        )


def drawn_rankings(ranking: Ranking, draws: Draws, weights: FloatArray | None = None) -> Iterator[RankCounts]:
    """Yield the counts of a ranking under every draw, a chunk of draws at a time."""
    size = ranking.size
    codes = np.where(ranking.is_fraud, ranking.places, ranking.places + size)  # both classes at once
    both = 2 * size
    chunks = draws.drawn_counts(codes, both) if weights is None else draws.drawn_weights(codes, both, weights)
    for drawn in chunks:
        yield RankCounts(drawn[:, :size], drawn[:, size:])


def ranking_figures(ranking: Ranking) -> dict[str, float | None]:
    """Return the figures of a ranking; None where a class is absent."""
    return dict(zip(_ranking_names(), map(known, _ranking_values(ranking.counts)), strict=True))


def _ranking_names() -> Iterator[str]:
    yield from _RANKED
    for measure in ("recall", "precision"):
        yield from (f"{measure}_at_fpr_{limit:g}" for limit in FPR_LIMITS)


def _ranking_values(counts: RankCounts) -> FloatArray:
    """Measure rankings in the order of `_ranking_names`, of shape (..., f)."""
    at_fpr = np.concatenate(counts.at_fpr(np.array(FPR_LIMITS)), axis=-1)
    whole = [counts.roc_auc(), counts.average_precision(), counts.ks()]
    return np.concatenate([np.stack(whole, axis=-1), at_fpr], axis=-1)


def _losses(records: EvaluatedRecords, draws: Draws) -> Iterator[_Figure]:
    """Measure the mean losses of the probabilities."""
    by_block = draws.counts(np.zeros_like(draws.block_of), 1)[:, 0]
    totals = by_block if records.weights is None else draws.totals(records.weights)
    for name, losses in (("brier", squared_errors), ("log_loss", log_losses)):
        values = losses(records.decisions.probabilities, records.labels)
        weighted = values if records.weights is None else values * records.weights
        yield replace(
            _ratio(name, draws, draws.totals(weighted), totals),
            value=weighted_mean(values, records.weights),
            records=len(records),
            basis=draws.basis(by_block),
            scale="sum",
        )


def _rates(records: EvaluatedRecords, draws: Draws, costs: CostSettings | None) -> Iterator[_Figure]:
    """Measure the rates of outcomes and errors, and their cost."""
    codes, weights = cell_codes(records.labels, records.decisions.outcomes), records.weights
    counted = draws.counts(codes, CELLS)
    cells = counted if weights is None else draws.weighted_counts(codes, CELLS, weights)
    numerators, denominators = rate_counts(cells, RATES)
    for place, name in enumerate(RATES):
        yield replace(
            _ratio(name, draws, numerators[:, place], denominators[:, place]),
            share=rate_share(codes, weights, RATES[name]),
        )
    if costs is not None:
        value = cost_of_cells(cells.sum(axis=0), costs) if len(records) else np.array(np.nan)
        yield _Figure(
            name="cost",
            value=value.item(),
            drawn=cost_of_cells(draws.drawn(cells), costs),
            records=len(records),
            basis=draws.basis(counted.sum(axis=1)),
            scale="sum",
        )


def _applicants(records: EvaluatedRecords, rates: Mapping[str, _Figure]) -> Iterator[_Figure]:
    """Measure the shares of all applicants by outcome, those too who were not observed: no label is needed."""
    if records.others is None:
        for name, outcome in zip(APPLICANT_SHARES, OUTCOMES, strict=True):
            yield replace(rates[outcome.lower()], name=name)
        return
    codes, times = records.everyone()
    draws = Draws.of(times)
    counted = draws.counts(codes, len(OUTCOMES))
    by_day = counted.sum(axis=1)
    for code, name in enumerate(APPLICANT_SHARES):
        share = share_of(int(counted[:, code].sum()), len(codes))
        yield replace(_ratio(name, draws, counted[:, code].astype(np.float64), by_day), share=share)


def _queues(records: EvaluatedRecords, draws: Draws) -> Iterator[_Figure]:
    """Measure recall at a daily review capacity."""
    queues = DailyQueues.of(records, draws)
    frauds = draws.counts((records.labels == 1).astype(np.int64), 2)[:, 1]
    for capacity in CAPACITIES:
        found = _ratio(f"recall_at_capacity_{capacity}", draws, queues.caught(capacity), frauds)
        # Records that stand for others are not the queue of their day.
        yield found if records.weights is None else replace(found, value=np.nan, drawn=found.drawn * np.nan)


def _ratio(name: str, draws: Draws, numerators: FloatArray, denominators: FloatArray | IntArray) -> _Figure:
    """Make the ratio of two sums over blocks."""
    return _Figure(
        name=name,
        value=float(divide(numerators.sum(), denominators.sum())),
        drawn=divide(draws.drawn(numerators), draws.drawn(denominators)),
        records=int(denominators.sum()),
        basis=draws.basis(denominators, numerators),
    )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DailyQueues:
    """Frauds by their place in the queue of their day; records with the same margin share their places.

    Parameters
    ----------
    block_of : ndarray of shape (f,), int64
        Block of each fraud.
    ahead, tied : ndarray of shape (f,), int64
        Records of its day with a higher margin, and with the same one.
    blocks, longest : int
        Number of blocks, and records of the fullest day.
    """

    block_of: IntArray
    ahead: IntArray
    tied: IntArray
    blocks: int
    longest: int

    @classmethod
    def of(cls, records: EvaluatedRecords, draws: Draws) -> Self:
        """Rank the records of each day by margin."""
        order = np.lexsort((-records.decisions.margins, draws.day_of))
        days, margins = draws.day_of[order], records.decisions.margins[order]
        new_day = np.diff(days, prepend=-1) != 0
        starts = np.flatnonzero(new_day | (np.diff(margins, prepend=np.nan) != 0))
        day_starts = np.flatnonzero(new_day)
        tied = np.diff(starts, append=len(order))
        frauds = np.flatnonzero(records.labels[order] == 1)
        group = np.searchsorted(starts, frauds, side="right") - 1
        return cls(
            block_of=draws.block_of[order][frauds],
            ahead=(starts - day_starts[days[starts]])[group],
            tied=tied[group],
            blocks=draws.blocks,
            longest=int(np.diff(day_starts, append=len(order)).max(initial=0)),
        )

    def caught(self, capacity: int) -> FloatArray:
        """Return the reviewed frauds of each block, of shape (blocks,).

        Of tied records at the end of the queue, a random choice is reviewed: the mean over such choices.
        """
        reviewed = np.clip(capacity - self.ahead, 0, self.tied) / self.tied
        order = np.lexsort((reviewed, self.block_of))  # the order of the records changes no bit
        return np.bincount(self.block_of[order], reviewed[order], minlength=self.blocks).astype(np.float64)
