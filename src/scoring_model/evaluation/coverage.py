"""Selects the records of a table to evaluate, and counts the others by reason."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, Int8Array, IntArray
from scoring_model.evaluation.document import members
from scoring_model.records import RecordTable, format_duration
from scoring_model.records.observation import NOT_OBSERVED, observed, targets_at, unsampled


class LeftOut(StrEnum):
    """Reason why a row is not evaluated."""

    INVALID = "invalid"
    AFTER_AS_OF = "after_as_of"
    UNLABELLED_IMMATURE = "unlabelled_immature"
    LABELLED_IMMATURE = "labelled_immature"
    NOT_OBSERVED = "not_observed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Coverage:
    """Numbers of evaluated rows, and of left-out rows by reason.

    Parameters
    ----------
    as_of : int
        Instant before which labels count, microseconds since 1970-01-01 UTC.
    maturity : int
        Microseconds after which an unlabelled record counts as genuine.
    matured_only : bool
        Whether younger records are left out even if their label is known.
    genuine, frauds : int
        Records that are evaluated.
    immature_genuine, immature_frauds : int
        Evaluated records younger than `maturity`: they count because their label is already known.
    left_out : mapping of LeftOut to int
        Rows that are not evaluated, by reason. With `genuine` and `frauds` they sum to all rows.
    """

    as_of: int
    maturity: int
    matured_only: bool
    genuine: int
    frauds: int
    immature_genuine: int
    immature_frauds: int
    left_out: Mapping[LeftOut, int]

    @property
    def evaluated(self) -> int:
        """Return the number of evaluated records."""
        return self.genuine + self.frauds

    @property
    def rows(self) -> int:
        """Number of rows of the source."""
        return self.evaluated + sum(self.left_out.values())

    def describe(self) -> dict[str, int]:
        """Return the left-out rows by a sentence for people; reasons without rows are absent."""
        age = format_duration(self.maturity)
        texts = {
            LeftOut.INVALID: "breaks the contract of the data",
            LeftOut.AFTER_AS_OF: "happened at the as-of instant or later",
            LeftOut.UNLABELLED_IMMATURE: f"no label known at the as-of instant, and younger than {age}",
            LeftOut.LABELLED_IMMATURE: f"younger than {age}, though its label is known",
            LeftOut.NOT_OBSERVED: NOT_OBSERVED,
        }
        return {texts[reason]: count for reason, count in self.left_out.items() if count}

    def to_json(self) -> dict[str, Any]:
        """Return the coverage as a JSON document with a key for every reason."""
        plain = members(self)
        del plain["maturity"]
        return {
            **plain,
            "label_maturity": format_duration(self.maturity),
            "rows": self.rows,
            "evaluated": self.evaluated,
        }


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Selection:
    """The evaluated records of a table.

    Parameters
    ----------
    rows : ndarray of shape (m,), int64
        Places in the table, ascending.
    targets : ndarray of shape (m,), int8
        1 fraud, 0 genuine.
    weights : ndarray of shape (m,), float64, or None
        How many records each stands for, 1 / propensity; None: each for itself.
    stopped : ndarray of shape (s,), int64
        Places of the records that were not observed and would be evaluated if they had been: they are as old as those
        that are, or their label is known. Empty where a control group stands for them.
    stood_for : ndarray of shape (c,), int64
        The places of those for whom a control group stands, and of those who were stopped otherwise beside it.
    stopped_labels : ndarray of shape (s,), int8
        1 fraud, 0 genuine, -1 not known at the as-of instant.
    """

    rows: IntArray
    targets: Int8Array
    coverage: Coverage
    weights: FloatArray | None = None
    stopped: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    stopped_labels: Int8Array = field(default_factory=lambda: np.empty(0, dtype=np.int8))
    stood_for: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))


def select(
    table: RecordTable, *, as_of: int, maturity: int, matured_only: bool = False, invalid: int = 0
) -> Selection:
    """Select the records that are known to be fraud or genuine at an instant, and count the others.

    Records with propensities stand for all applicants only if some of those were drawn whom a policy stops: where none
    has a propensity below 1, propensities count for nothing.

    Parameters
    ----------
    as_of : int
        Microseconds since 1970-01-01 UTC; events and labels at or after it are ignored.
    matured_only : bool
        Whether to leave out every record not older than `maturity`, so that the same rule applies to frauds and
        genuine records.
    """
    targets, seen = targets_at(table, as_of, maturity), observed(table, maturity)
    mature = table.event_times < as_of - maturity
    before, labelled = table.event_times < as_of, targets >= 0  # every observed, mature record is labelled
    counts = before & (mature if matured_only else mature | labelled)
    chosen = counts & seen
    rows = np.flatnonzero(chosen)
    if table.propensities is not None and (counts & ~seen).any() and (table.propensities[rows] == 1).all():
        unweighted = unsampled(table)  # nobody was drawn to stand for those who were stopped
        return select(unweighted, as_of=as_of, maturity=maturity, matured_only=matured_only, invalid=invalid)
    stopped, nobody = np.flatnonzero(counts & ~seen), np.empty(0, dtype=np.int64)
    stopped, stood_for = (stopped, nobody) if table.propensities is None else (nobody, stopped)

    def count(mask: BoolArray) -> int:
        return int(np.count_nonzero(mask))

    coverage = Coverage(
        as_of=as_of,
        maturity=maturity,
        matured_only=matured_only,
        genuine=count(chosen & (targets == 0)),
        frauds=count(chosen & (targets == 1)),
        immature_genuine=count(chosen & ~mature & (targets == 0)),
        immature_frauds=count(chosen & ~mature & (targets == 1)),
        left_out={
            LeftOut.INVALID: invalid,
            LeftOut.AFTER_AS_OF: count(table.event_times >= as_of),
            LeftOut.UNLABELLED_IMMATURE: count(before & ~counts & ~labelled),
            LeftOut.LABELLED_IMMATURE: count(before & ~counts & labelled),
            LeftOut.NOT_OBSERVED: count(counts & ~seen),
        },
    )
    return Selection(
        rows=rows,
        targets=targets[rows],
        weights=None if table.propensities is None else 1.0 / table.propensities[rows],
        coverage=coverage,
        stopped=stopped,
        stopped_labels=targets[stopped],
        stood_for=stood_for,
    )
