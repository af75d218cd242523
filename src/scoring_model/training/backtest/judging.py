"""Judges the models of a backtest: promises, cadences, ageing, and the length of the history."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from scoring_model.arrays import FloatArray, Int8Array, IntArray
from scoring_model.configuration import CostSettings
from scoring_model.decision.rules import Decisions, Promise
from scoring_model.estimates import Estimate, NamedEstimates
from scoring_model.evaluation import EvaluatedRecords, paired_differences
from scoring_model.evaluation.bounds import exact_share
from scoring_model.evaluation.coverage import Selection
from scoring_model.evaluation.draws import Draws
from scoring_model.evaluation.figures import Figures, measure_figures
from scoring_model.evaluation.metrics import known
from scoring_model.evaluation.possible import extreme_shares, outer
from scoring_model.evaluation.stability import Verdict
from scoring_model.evaluation.uncertainty import drawn_estimate
from scoring_model.figures import FIGURES, bounded
from scoring_model.training.backtest.fold import MODEL_FIGURES, RANKED, FoldOutcome
from scoring_model.training.backtest.plan import History, Plan, PlannedFold, names_of
from scoring_model.training.backtest.result import (
    NEVER_RETRAINED,
    Ageing,
    CadenceDifference,
    CadenceResult,
    LearningPoint,
    ModelPeriod,
    PromiseMonth,
    PromiseTally,
    judge_promise,
)

WORTH: Final = (
    "missed_fraud",
    "step_up",
    "false_reject",
    "recall_at_fpr_0.01",
    "roc_auc",
    "log_loss",
    "cost",
)
"""Figures of a cadence; `cost` is there if the policy has costs."""

_EXPLAINED_SHARE: Final = 0.95


@dataclass(frozen=True, eq=False)
class _Timeline:
    """Which model decides about each period under one cadence.

    Parameters
    ----------
    models : tuple of int
        Number of the fold for each period.
    """

    cadence: str
    models: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Measured:
    """Pooled decisions with their figures, as `paired_differences` needs them."""

    records: EvaluatedRecords
    figures: NamedEstimates
    draws: Mapping[str, FloatArray]

    @classmethod
    def of(cls, records: EvaluatedRecords, costs: CostSettings | None) -> "_Measured":
        found: Figures = measure_figures(records, Draws.of(records.event_times), costs=costs)
        names = [name for name in WORTH if name in found.estimates]
        return cls(
            records,
            {name: found.estimates[name] for name in names},
            {name: found.draws[name] for name in names},
        )


@dataclass(frozen=True, eq=False)
class _Tested:
    """The records of a period that promises are tested on.

    Parameters
    ----------
    order : ndarray of shape (s,), int64
        The order of the records that were not observed: those without a label are last.
    places : three pairs of ndarray of int64
        Of genuine persons and of frauds, each person and each ring once: among the observed records; among these
        followed by all others, of known class; and of those without a label, which may belong to either class. Nobody
        knows whether such frauds belong together, so each counts.
    """

    order: IntArray
    places: tuple[tuple[IntArray, IntArray], ...]

    @classmethod
    def of(cls, history: History, judged: Selection, observed: slice, stopped: slice) -> "_Tested":
        rows, targets = judged.rows[observed], judged.targets[observed]
        others, labels = judged.stopped[stopped], judged.stopped_labels[stopped]
        order = np.argsort(labels < 0, kind="stable")
        labelled, unlabelled = np.split(others[order], [np.count_nonzero(labels >= 0)])
        known = np.concatenate([rows, labelled])
        classes = np.concatenate([targets, labels[labels >= 0]])
        persons, rings = history.tested(known, classes, unlabelled, history.as_of)
        return cls(
            order,
            (
                history.tested(rows, targets, others[:0], history.as_of),
                (persons[persons < len(known)], rings),
                (persons[persons >= len(known)], len(known) + np.arange(len(unlabelled))),
            ),
        )


class Judge:
    """Judges finished folds.

    Parameters
    ----------
    outcomes : sequence of FoldOutcome
        One for each fold of the plan, at least one with a model.
    """

    def __init__(self, history: History, plan: Plan, outcomes: Sequence[FoldOutcome]) -> None:
        self._history, self._plan, self._outcomes = history, plan, outcomes
        self._names = names_of(plan)
        self._place_of = {fold.period: place for place, fold in enumerate(plan.folds)}
        self._has_model = [outcome.document["failure"] is None for outcome in outcomes]

    @cached_property
    def _first(self) -> int:
        """Return the first period for which every cadence has a model, counted from the plan's first."""
        return max(
            next(place for place, model in enumerate(models) if model is not None)
            for models in self._all_models.values()
        )

    @cached_property
    def _all_models(self) -> dict[str, list[int | None]]:
        """Return the fold in use in each period by cadence; a fold without a model leaves the earlier one in use."""
        steps = {str(cadence): cadence.periods for cadence in self._plan.cadences}
        found = {name: self._models_every(step) for name, step in steps.items()}
        found = {name: models for name, models in found.items() if models[-1] is not None}
        first = min(place for models in found.values() for place in models if place is not None)
        start = min(models.index(first) for models in found.values() if first in models)
        found[NEVER_RETRAINED] = [first if place >= start else None for place in range(len(self._names))]
        return found

    def _models_every(self, step: int) -> list[int | None]:
        in_use: int | None = None
        models = []
        for offset, period in enumerate(self._plan.periods):
            place = self._place_of.get(period)
            if offset % step == 0 and place is not None and self._has_model[place]:
                in_use = place
            models.append(in_use)
        return models

    @cached_property
    def _timelines(self) -> list[_Timeline]:
        return [
            _Timeline(name, tuple(model for model in models[self._first :] if model is not None))
            for name, models in self._all_models.items()
        ]

    def _span(self, period: int) -> slice:
        """Return the places in `judged` of a period, counted from the plan's first."""
        return slice(int(self._plan.bounds[period]), int(self._plan.bounds[period + 1]))

    def _decisions(self, model: int, span: slice) -> Decisions:
        """Return the decisions of a model about judged records; its scores stand for margins."""
        fold, arrays = self._plan.folds[model], self._outcomes[model].arrays
        first = self._plan.bounds_of(fold)[0][0]
        own = slice(span.start - first, span.stop - first)
        scores = arrays["scores"][own]
        return Decisions(
            scores.astype(np.float64), scores, arrays["outcomes"][own], arrays["probabilities"][own]
        )

    @cached_property
    def _times(self) -> NDArray[np.int64]:
        return self._history.table.event_times[self._plan.judged.rows]

    def promises(self) -> tuple[PromiseMonth, ...]:
        """Test every promise in every period."""
        return tuple(
            month
            for timeline in self._timelines
            if timeline.cadence != NEVER_RETRAINED
            for offset, model in enumerate(timeline.models)
            for month in self._promises_of(timeline.cadence, self._first + offset, model)
        )

    def _promises_of(self, cadence: str, period: int, model: int) -> Iterator[PromiseMonth]:
        tested = self._tested[period]
        outcomes = self._decisions(model, self._span(period)).outcomes
        every = np.concatenate([outcomes, self._stopped_outcomes(model, period)[tested.order]])
        for plain in self._outcomes[model].document["promises"]:
            promise = Promise(**plain)
            error = bounded(promise.bound)
            observed, known, unknown = (places[error.label or 0] for places in tested.places)
            share, _ = extreme_shares(error.key, outcomes[observed], outcomes[:0], exact_share)
            ends = extreme_shares(error.key, every[known], every[unknown], exact_share)
            yield PromiseMonth(
                cadence=cadence,
                period=self._names[period],
                as_of=self._plan.folds[model].as_of,
                bound=promise.bound,
                limit=promise.limit,
                delta=promise.delta,
                share=share,
                verdict=judge_promise(*ends, limit=promise.limit, delta=promise.delta),
                possible=outer(*ends, len(observed)) if len(tested.order) else None,
            )

    def _stopped_outcomes(self, model: int, period: int) -> Int8Array:
        """Return the outcomes that a model gives the records of a period that were not observed."""
        bounds, fold = self._plan.stopped_bounds, self._plan.folds[model]
        first = self._plan.bounds_of(fold)[1][0]
        found: Int8Array = self._outcomes[model].arrays["stopped"]
        return found[bounds[period] - first : bounds[period + 1] - first]

    @cached_property
    def _tested(self) -> list[_Tested]:
        return [
            _Tested.of(self._history, self._plan.judged, self._span(period), slice(start, end))
            for period, (start, end) in enumerate(pairwise(self._plan.stopped_bounds.tolist()))
        ]

    def cadences(self) -> tuple[tuple[CadenceResult, ...], tuple[CadenceDifference, ...]]:
        """Measure every cadence on all periods, and each pair of them."""
        costs = self._history.configuration.policy.costs
        measured = {line.cadence: _Measured.of(self._pooled(line), costs) for line in self._timelines}
        results = tuple(
            CadenceResult(
                cadence=line.cadence,
                models=len(set(line.models)),
                figures=measured[line.cadence].figures,
            )
            for line in self._timelines
        )
        pairs = tuple(
            CadenceDifference(
                cadence=one,
                against=other,
                figures=paired_differences(measured[one], measured[other]),
            )
            for one, other in combinations(measured, 2)
        )
        return results, pairs

    def _pooled(self, line: _Timeline) -> EvaluatedRecords:
        parts = [
            self._decisions(model, self._span(self._first + offset))
            for offset, model in enumerate(line.models)
        ]
        whole = slice(self._span(self._first).start, None)
        return EvaluatedRecords(
            decisions=Decisions(
                *(
                    np.concatenate([getattr(part, name) for part in parts])
                    for name in ("margins", "scores", "outcomes", "probabilities")
                )
            ),
            labels=self._plan.judged.targets[whole],
            event_times=self._times[whole],
        )

    def models(self) -> tuple[ModelPeriod, ...]:
        """Give the figures of every model in every later period."""
        return tuple(
            ModelPeriod(
                as_of=fold.as_of,
                period=self._names[offset + age],
                age=age,
                genuine=self._count(0, self._span(offset + age)),
                frauds=self._count(1, self._span(offset + age)),
                figures=_named(MODEL_FIGURES, values),
            )
            for fold, outcome, offset in self._fitted()
            for age, values in enumerate(outcome.arrays["values"])
        )

    def _count(self, label: int, span: slice) -> int:
        """Count the judged records of a class in a span."""
        return int(np.count_nonzero(self._plan.judged.targets[span] == label))

    def ageing(self) -> tuple[Ageing, ...]:
        """Compare models of each age with those trained just before the same periods."""
        fresh = {offset: outcome for _, outcome, offset in self._fitted()}
        pairs: dict[int, list[tuple[int, FloatArray, FloatArray]]] = {}
        for _, outcome, offset in self._fitted():
            for age in range(1, len(outcome.arrays["values"])):
                if (other := fresh.get(offset + age)) is not None:
                    values = outcome.arrays["values"][age] - other.arrays["values"][0]
                    draws = outcome.arrays["draws"][age] - other.arrays["draws"][0]
                    pairs.setdefault(age, []).append((offset + age, values, draws))
        return tuple(self._aged(age, found) for age, found in sorted(pairs.items()))

    def _aged(self, age: int, found: Sequence[tuple[int, FloatArray, FloatArray]]) -> Ageing:
        return Ageing(
            age=age,
            periods=len(found),
            figures={
                name: self._mean_difference(
                    [(period, values[place], draws[:, place]) for period, values, draws in found],
                    label=FIGURES[name].label,
                )
                for place, name in enumerate(MODEL_FIGURES)
            },
        )

    def _mean_difference(self, found: Sequence[tuple[int, float, FloatArray]], *, label: int) -> Estimate:
        """Average a difference over the periods that have it; its records are those of the class."""
        held = [one for one in found if np.isfinite(one[1])]
        if not held:
            return Estimate(value=None, records=0, method="days", absence="no records")
        records = sum(self._count(label, self._span(one[0])) for one in held)
        return drawn_estimate(
            float(np.mean([one[1] for one in held])), np.mean([one[2] for one in held], axis=0), records
        )

    def _fitted(self) -> Iterator[tuple[PlannedFold, FoldOutcome, int]]:
        """Yield the folds with a model, each with the place of its first period."""
        first = self._plan.folds[0].period
        for fold, outcome, has_model in zip(self._plan.folds, self._outcomes, self._has_model, strict=True):
            if has_model:
                yield fold, outcome, fold.period - first

    def learning(self) -> tuple[LearningPoint, ...]:
        """Compare models of shorter histories with those of the whole train part."""
        return tuple(
            point
            for fold, outcome, _ in self._fitted()
            if "learning" in outcome.arrays
            for point in self._points(fold, outcome)
        )

    def _points(self, fold: PlannedFold, outcome: FoldOutcome) -> Iterator[LearningPoint]:
        values, draws = outcome.arrays["learning"], outcome.arrays["learning_draws"]
        frauds = self._count(1, slice(self._plan.bounds_of(fold)[0][0], None))
        for place, size in enumerate(outcome.document["learning"]):
            yield LearningPoint(
                as_of=fold.as_of,
                **size,
                figures=_named(RANKED, values[place]),
                differences={
                    name: drawn_estimate(
                        values[place, column] - values[-1, column],
                        draws[place, :, column] - draws[-1, :, column],
                        frauds,
                    )
                    for column, name in enumerate(RANKED)
                },
            )


def tally(months: Sequence[PromiseMonth]) -> tuple[PromiseTally, ...]:
    """Count the verdicts of each promise, and the broken ones that chance explains."""
    groups: dict[tuple[str, str], list[PromiseMonth]] = {}
    for month in months:
        if month.share.records:
            groups.setdefault((month.cadence, month.bound), []).append(month)
    return tuple(_tally(cadence, bound, found) for (cadence, bound), found in groups.items())


def _tally(cadence: str, bound: str, months: Sequence[PromiseMonth]) -> PromiseTally:
    counts = {verdict: sum(month.verdict is verdict for month in months) for verdict in Verdict}
    judged, broken = len(months), counts[Verdict.BROKEN]
    chance = min(2 * max(month.delta for month in months), 1.0)
    return PromiseTally(
        cadence=cadence,
        bound=bound,
        judged=judged,
        kept=counts[Verdict.KEPT],
        broken=broken,
        undecided=counts[Verdict.UNDECIDED],
        chance=chance,
        explained=int(binom.ppf(_EXPLAINED_SHARE, judged, chance)),
        p_value=float(f"{binom.sf(broken - 1, judged, chance):.6g}"),
    )


def _named(names: Sequence[str], values: FloatArray) -> dict[str, float | None]:
    return {name: known(value) for name, value in zip(names, values, strict=True)}
