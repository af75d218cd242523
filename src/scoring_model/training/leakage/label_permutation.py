"""Label permutation: a model must learn nothing from random labels."""

import math
from dataclasses import replace
from typing import Final

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.configuration import LeakageSettings
from scoring_model.evaluation.single_column import area_under_curve
from scoring_model.findings import Code, Finding, checked, not_applicable
from scoring_model.records import RecordTable
from scoring_model.training.fitting import fit
from scoring_model.training.preparation import Prepared, relearnt

_STREAM: Final = 1  # random stream, distinct from those of other checks
_NAMED: Final = 5
_QUICK: Final = {"learning_rate": 0.1, "num_leaves": 15, "min_data_in_leaf": 20}
_ROUNDS: Final = 40


def check_label_permutation(prepared: Prepared, settings: LeakageSettings, *, seed: int) -> Finding:
    """Shuffle the labels before the features are computed, and check whether a model still learns.

    A label is moved together with the time at which it became known. The records are the latest before the validation
    part, contiguous, so that they are each other's history. A quick model of their first half, by time, scores the
    second half. It can only learn a label that a feature reads from its own record, since labels of other records are
    now independent. Labels shuffled after the features were computed would not be those that the features read, so
    the check would find nothing.

    Returns
    -------
    Finding
        Found if the area under the ROC curve is further from 0.5 than the configured number of standard
        errors: without ties sqrt((m + n + 1) / (12 m n)) for m frauds and n genuine records (Mann and Whitney
        1947, doi 10.1214/aoms/1177730491). Four standard errors stop one sound training in some 16,000.
    """
    table = _shuffled(_piece(prepared, settings.max_records), np.random.default_rng([seed, _STREAM]))
    half = len(table) // 2
    targets = table.labels == 1
    frauds = int(targets[half:].sum())
    error = standard_error(frauds, len(table) - half - frauds)
    limit = settings.standard_errors * error
    if not limit < 0.5 or not targets[:half].any():
        return _inconclusive(len(table), frauds)
    rows = relearnt(prepared.matrix, table).rows(table)
    margins = _learn(prepared, rows, targets, half, seed=seed)
    auc = area_under_curve(margins, targets[half:].astype(np.int8))
    leaks = abs(auc - 0.5) > limit
    features = _outstanding(prepared.matrix.names, rows[half:], targets[half:], limit) if leaks else ()
    named = f" (first of all {', '.join(features)})" if features else ""
    return checked(
        Code.SHUFFLED_LABELS,
        count=max(len(features), int(leaks)),
        records=len(table),
        names=features,
        sentence=f"a model of shuffled labels has an AUC of {auc:.4f}, sound is 0.5 to within {limit:.4f}{named}",
        figures={"auc": auc, "standard_error": error, "limit": limit},
    )


def standard_error(frauds: int, genuine: int) -> float:
    """Return the standard error of the AUC of inseparable classes; inf if a class is absent."""
    if not (frauds and genuine):
        return math.inf
    return math.sqrt((frauds + genuine + 1) / (12 * frauds * genuine))


def _piece(prepared: Prepared, most: int) -> RecordTable:
    """Return the latest records before the validation part, in order of time."""
    times = prepared.table.event_times
    order = np.argsort(times, kind="stable")
    before = order[times[order] < prepared.split.boundaries.validation_from]
    return prepared.table.take(before[-most:])


def _shuffled(table: RecordTable, rng: np.random.Generator) -> RecordTable:
    order: IntArray = rng.permutation(len(table))
    return replace(table, labels=table.labels[order], label_times=table.label_times[order])


def _learn(prepared: Prepared, rows: FloatArray, targets: BoolArray, half: int, *, seed: int) -> FloatArray:
    """Score the second half with a quick model of the first."""
    # No monotone constraints, since a leak may violate them.
    options = prepared.feature_options | {"monotone": (0,) * rows.shape[1]}
    booster = fit(
        rows[:half],
        targets[:half].astype(np.int8),
        params=_QUICK,
        rounds=_ROUNDS,
        seed=seed,
        threads=1,  # more threads are slower on so few records
        **options,
    )
    return np.asarray(booster.predict(rows[half:], raw_score=True, num_threads=1), dtype=np.float64)


def _outstanding(
    names: tuple[str, ...], rows: FloatArray, targets: BoolArray, limit: float
) -> tuple[str, ...]:
    """Return the features that predict the shuffled labels alone, best first."""
    labels = targets.astype(np.int8)
    # Missing is below all others: counts and shares begin at 0.
    filled = np.where(np.isnan(rows), -np.inf, rows)
    strengths = [abs(area_under_curve(column, labels) - 0.5) for column in filled.T]
    order = sorted(range(len(names)), key=lambda place: -strengths[place])
    return tuple(names[place] for place in order[:_NAMED] if strengths[place] > limit)


def _inconclusive(records: int, frauds: int) -> Finding:
    reason = f"{frauds} frauds among the later half of {records} records are too few for a verdict"
    return not_applicable(Code.SHUFFLED_LABELS, reason, records=records)
