"""The figures of an evaluation, each with its value in every draw of days."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.configuration import CostSettings
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.estimates import Estimate
from scoring_model.evaluation.cost import cost_of_cells
from scoring_model.evaluation.day_draws import MIN_DAYS, DayDraws
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
from scoring_model.evaluation.uncertainty import drawn_estimate, share_estimate, share_of
from scoring_model.figures import APPLICANT_SHARES, CAPACITIES, FPR_LIMITS

_RANKED: Final = ("roc_auc", "average_precision", "ks")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Figures:
    """Figures by name, and their values in every draw.

    Parameters
    ----------
    estimates : mapping of str to Estimate
    draws : mapping of str to ndarray of shape (r,), float64
        NaN in a draw without the figure; r = 0 with fewer than ten days.
    """

    estimates: Mapping[str, Estimate]
    draws: Mapping[str, FloatArray]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Figure:
    name: str
    value: float
    drawn: FloatArray
    by_day: IntArray  # records of the denominator
    share: Estimate | None = None  # of a rate

    def estimate(self) -> Estimate:
        """Give the figure its interval, unless fewer than ten days hold records that it rests on."""
        drawn = self.drawn if np.count_nonzero(self.by_day) >= MIN_DAYS else self.drawn[:0]
        if self.share is not None:
            return share_estimate(self.share, drawn)
        return drawn_estimate(self.value, drawn, int(self.by_day.sum()))


def measure_figures(records: EvaluatedRecords, draws: DayDraws, *, costs: CostSettings | None) -> Figures:
    """Measure every figure on the records and on each draw of their days.

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


def _ranked(records: EvaluatedRecords, draws: DayDraws) -> Iterator[_Figure]:
    """Measure the ranking by the margin; its scarce records are the frauds."""
    ranking = Ranking.of(records.decisions.margins, records.labels, records.weights)
    values = _ranking_values(ranking.counts)
    chunks = map(_ranking_values, drawn_rankings(ranking, draws, records.weights))
    drawn = np.concatenate([np.empty((0, len(values))), *chunks])
    frauds = draws.counts(ranking.is_fraud.astype(np.int64), 2)[:, 1]
    for place, name in enumerate(_ranking_names()):
        yield _Figure(name=name, value=values[place], drawn=drawn[:, place], by_day=frauds)


def drawn_rankings(
    ranking: Ranking, draws: DayDraws, weights: FloatArray | None = None
) -> Iterator[RankCounts]:
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


def _losses(records: EvaluatedRecords, draws: DayDraws) -> Iterator[_Figure]:
    """Measure the mean losses of the probabilities."""
    by_day = draws.counts(np.zeros_like(draws.day_of), 1)[:, 0]
    totals = by_day if records.weights is None else draws.totals(records.weights)
    for name, losses in (("brier", squared_errors), ("log_loss", log_losses)):
        values = losses(records.decisions.probabilities, records.labels)
        weighted = values if records.weights is None else values * records.weights
        yield replace(
            _ratio(name, draws, draws.totals(weighted), totals),
            value=weighted_mean(values, records.weights),
            by_day=by_day,
        )


def _rates(records: EvaluatedRecords, draws: DayDraws, costs: CostSettings | None) -> Iterator[_Figure]:
    """Measure the rates of outcomes and errors, and their cost."""
    codes, weights = cell_codes(records.labels, records.decisions.outcomes), records.weights
    counted = draws.counts(codes, CELLS)
    cells = counted if weights is None else draws.weighted_counts(codes, CELLS, weights)
    numerators, denominators = rate_counts(cells, RATES)
    by_day = rate_counts(counted, RATES)[1].astype(np.int64)
    for place, name in enumerate(RATES):
        yield replace(
            _ratio(name, draws, numerators[:, place], denominators[:, place]),
            by_day=by_day[:, place],
            share=rate_share(codes, weights, RATES[name]),
        )
    if costs is not None:
        everyone = counted.sum(axis=1)
        value = cost_of_cells(cells.sum(axis=0), costs) if len(records) else np.array(np.nan)
        yield _Figure(
            name="cost", value=value.item(), drawn=cost_of_cells(draws.drawn(cells), costs), by_day=everyone
        )


def _applicants(records: EvaluatedRecords, rates: Mapping[str, _Figure]) -> Iterator[_Figure]:
    """Measure the shares of all applicants by outcome, those too who were not observed."""
    if records.not_observed is None:
        for name, outcome in zip(APPLICANT_SHARES, OUTCOMES, strict=True):
            yield replace(rates[outcome.lower()], name=name)
        return
    codes, times = records.everyone()
    draws = DayDraws.of(times)
    counted = draws.counts(codes, len(OUTCOMES))
    by_day = counted.sum(axis=1)
    for code, name in enumerate(APPLICANT_SHARES):
        share = share_of(int(counted[:, code].sum()), len(codes))
        yield replace(_ratio(name, draws, counted[:, code].astype(np.float64), by_day), share=share)


def _queues(records: EvaluatedRecords, draws: DayDraws) -> Iterator[_Figure]:
    """Measure recall at a daily review capacity."""
    queues = DailyQueues.of(records, draws)
    frauds = draws.counts((records.labels == 1).astype(np.int64), 2)[:, 1]
    for capacity in CAPACITIES:
        found = _ratio(f"recall_at_capacity_{capacity}", draws, queues.caught(capacity), frauds)
        # Records that stand for others are not the queue of their day.
        yield found if records.weights is None else replace(found, value=np.nan, drawn=found.drawn * np.nan)


def _ratio(
    name: str, draws: DayDraws, numerators: FloatArray, denominators: FloatArray | IntArray
) -> _Figure:
    """Make the ratio of two sums over days."""
    return _Figure(
        name=name,
        value=float(divide(numerators.sum(), denominators.sum())),
        drawn=divide(draws.drawn(numerators), draws.drawn(denominators)),
        by_day=denominators.astype(np.int64),
    )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DailyQueues:
    """Frauds by their place in the queue of their day; records with the same margin share their places.

    Parameters
    ----------
    day_of : ndarray of shape (t,), int64
        Day of each group of tied records that holds a fraud.
    ahead, tied, frauds : ndarray of shape (t,), int64
        Records of the day with a higher margin, records in the group, and frauds among these.
    days, longest : int
        Number of days, and records of the fullest one.
    """

    day_of: IntArray
    ahead: IntArray
    tied: IntArray
    frauds: IntArray
    days: int
    longest: int

    @classmethod
    def of(cls, records: EvaluatedRecords, draws: DayDraws) -> Self:
        """Rank the records of each day by margin."""
        order = np.lexsort((-records.decisions.margins, draws.day_of))
        days, margins = draws.day_of[order], records.decisions.margins[order]
        new_day = np.diff(days, prepend=-1) != 0
        starts = np.flatnonzero(new_day | (np.diff(margins, prepend=np.nan) != 0))
        day_starts = np.flatnonzero(new_day)
        tied = np.diff(starts, append=len(order))
        frauds = np.add.reduceat(records.labels[order].astype(np.int64), starts) if len(order) else tied
        held = frauds > 0
        return cls(
            day_of=days[starts][held],
            ahead=(starts - day_starts[days[starts]])[held],
            tied=tied[held],
            frauds=frauds[held],
            days=draws.days,
            longest=int(np.diff(day_starts, append=len(order)).max(initial=0)),
        )

    def caught(self, capacity: int) -> FloatArray:
        """Return the frauds reviewed on each day, of shape (days,).

        Of tied records at the end of the queue, a random choice is reviewed: the mean over such choices.
        """
        reviewed = np.clip(capacity - self.ahead, 0, self.tied)
        weights = self.frauds * reviewed / self.tied
        return np.bincount(self.day_of, weights, minlength=self.days).astype(np.float64)
