"""Raw columns that say more of the label than columns usually do.

Whether their value was known at the decision only a person can say. What link features say of earlier records is left
aside. Nothing here stops a training; columns that are nearly perfect do (`training.leakage`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, Int8Array, IntArray
from scoring_model.evaluation.single_column import single_auc
from scoring_model.features import FeatureMatrix, FeatureSettings, FittedState
from scoring_model.findings import Code, Finding, checked, not_applicable
from scoring_model.records import RecordTable
from scoring_model.records.table import Column

AUC: Final = 0.90
"""Area under the ROC curve of one column from which it is asked for; clean public tables have at most .86."""

TIMES: Final = 10.0
"""How many times the odds of fraud of all records a word, a gap or a tail has: of few frauds also times their share."""

HELD: Final = 0.2
"""Share of all frauds that it holds."""

FEWEST: Final = 10
"""Frauds that it holds at least, and half of those that a table needs: fewer are too often chance."""

_WORDS: Final = 200  # distinct words from which a column links records rather than describes them
_SAMPLE: Final = 50_000  # records of an AUC
_NAMED: Final = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class _Telling:
    """What one column says; `strength` orders columns, in [0, 1]."""

    field: str
    strength: float
    text: str


def check_columns(
    table: RecordTable,
    targets: Int8Array,
    settings: FeatureSettings,
    *,
    genuine_weight: float = 1.0,
) -> Finding:
    """Ask for each column that features read and that separates frauds suspiciously well.

    Parameters
    ----------
    targets : ndarray of shape (n,), int8
        1 fraud, 0 genuine; others do not count.
    genuine_weight : float
        How many genuine records each one stands for.
    """
    rows = np.flatnonzero(targets >= 0)
    frauds = targets[rows] == 1
    code, total = Code.TELLING_COLUMNS, int(frauds.sum())
    if total < 2 * FEWEST or total == len(rows):
        reason = f"{total} frauds among {len(rows):,} labelled records are too few for a verdict"
        return not_applicable(code, reason, records=len(rows))
    weights = np.where(frauds, 1.0, genuine_weight)
    columns = [(name, table.columns[name]) for name in _raw_fields(settings) if name in table.columns]
    found = [telling for name, column in columns if (telling := _ask(name, column, rows, frauds, weights))]
    found.sort(key=lambda telling: -telling.strength)
    asked = "; ".join(f"is `{one.field}` known at the decision? {one.text}" for one in found[:_NAMED])
    return checked(
        code,
        asked
        or f"none of {len(columns)} columns has an AUC of {AUC:g} alone, or a word, gap or tail that has {TIMES:g} "
        f"times the usual odds of fraud and holds {HELD:.0%} of them",
        records=len(rows),
        names=tuple(one.field for one in found),
        figures={one.field: one.strength for one in found},
    )


def _raw_fields(settings: FeatureSettings) -> list[str]:
    """List the fields that features in use read, links aside."""
    matrix = FeatureMatrix(settings, FittedState())
    used = {*matrix.names}
    features = (
        feature for family in matrix.families for group in family.groups for feature in group.features
    )
    return sorted({field for feature in features if feature.name in used for field in feature.inputs})


def _ask(
    name: str, column: Column, rows: IntArray, frauds: BoolArray, weights: FloatArray
) -> _Telling | None:
    """Return the most telling part of a column: a gap, a word or a tail, else the whole column."""
    codes = column.codes[rows]
    present = codes >= 0
    is_number = all(isinstance(value, int | float) for value in column.values)
    parts = [*_parts(codes, frauds, weights)]
    numbers = np.append(np.asarray(column.values, dtype=float), np.nan)[codes] if is_number else None
    if numbers is not None and len(column.values) > 2:
        parts += _tails(numbers[present], frauds[present], weights[present])
    base, total = float(weights[frauds].sum() / weights.sum()), int(frauds.sum())
    telling = [
        (share, held, what)
        for what, held, share in parts
        if held >= max(FEWEST, HELD * total) and share * (1 - base) >= TIMES * base * (1 - share)
    ]
    if telling:
        share, held, what = max(telling, key=lambda part: part[0] * part[1])
        text = f"{what} {share:.0%} frauds, where all records have {base:.2%}, and {held / total:.0%} of all frauds"
        return _Telling(field=name, strength=share, text=text)
    if numbers is None and len(column.values) > _WORDS:
        return None
    area = _area(codes.astype(float) if numbers is None else numbers, present, frauds, number=is_number)
    if area < AUC:
        return None
    return _Telling(field=name, strength=area, text=f"On its own it has an AUC of {area:.3f}")


def _parts(codes: IntArray, frauds: BoolArray, weights: FloatArray) -> Iterator[tuple[str, int, float]]:
    """Yield what, frauds and their share: of the records without a value, of those with one, and of the worst word."""
    held = np.bincount(codes + 1, weights=frauds)
    share = held / np.maximum(np.bincount(codes + 1, weights=weights), 1e-300)
    yield "Its gap has", int(held[0]), float(share[0])
    present = codes >= 0
    if not present.all() and present.any():
        of_present = weights[present].sum()
        yield "Where it has a value there are", int(held[1:].sum()), float(held[1:].sum() / of_present)
    enough = np.flatnonzero(held[1:] >= max(FEWEST, HELD * frauds.sum())) + 1
    if len(enough):
        word = enough[np.argmax(share[enough])]
        yield "One of its values has", int(held[word]), float(share[word])


def _tails(numbers: FloatArray, frauds: BoolArray, weights: FloatArray) -> Iterator[tuple[str, int, float]]:
    """Yield what, frauds and their share: of each end the tail with the largest share that holds enough frauds."""
    for what, ends in (("Its largest values have", -numbers), ("Its smallest values have", numbers)):
        order = np.argsort(ends, kind="stable")
        last = np.append(np.flatnonzero(np.diff(ends[order])), len(order) - 1)  # of each run of equal numbers
        held, all_records = np.cumsum(frauds[order])[last], np.cumsum(weights[order])[last]
        enough = held >= max(FEWEST, HELD * frauds.sum())
        if enough.any():
            share = np.where(enough, held / all_records, 0.0)
            yield what, int(held[np.argmax(share)]), float(share.max())


def _area(values: FloatArray, present: BoolArray, frauds: BoolArray, *, number: bool) -> float:
    """Return the AUC of a column alone on a random sample with all frauds that fit."""
    rng = np.random.default_rng(0)
    some, others = (rng.permutation(np.flatnonzero(frauds == kind))[: _SAMPLE // 2] for kind in (True, False))
    chosen = np.concatenate([some, others])
    targets = frauds[chosen].astype(np.int8)
    return single_auc(np.where(present, values, np.nan)[chosen], targets, categorical=not number)
