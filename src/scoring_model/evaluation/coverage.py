"""Selects the records of a table to evaluate, and counts the others by reason."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.records import RecordTable, format_duration, rfc3339


def known_targets(
    event_times: IntArray,
    labels: NDArray[np.int8],
    label_times: IntArray,
    instant: int,
    maturity: int,
) -> NDArray[np.int8]:
    """Return the known class of each record at an instant.

    Parameters
    ----------
    event_times : ndarray of shape (n,), int64, microseconds since 1970-01-01 UTC
    labels : ndarray of shape (n,), int8, 1 fraud, 0 genuine, -1 none
    label_times : ndarray of shape (n,), int64, microseconds, the instant from which a label is known
    instant : int
        Microseconds since 1970-01-01 UTC; a label counts if it was known strictly before.
    maturity : int
        Microseconds after which a record without a known fraud label is genuine.

    Returns
    -------
    ndarray of shape (n,), int8
        1 fraud, 0 genuine, -1 not known.
    """
    known = label_times < instant
    genuine = (known & (labels == 0)) | (event_times < instant - maturity)
    return np.where(known & (labels == 1), 1, np.where(genuine, 0, -1)).astype(np.int8)


class LeftOut(StrEnum):
    """Reason why a row is not evaluated."""

    INVALID = "invalid"
    AFTER_AS_OF = "after_as_of"
    UNLABELLED_IMMATURE = "unlabelled_immature"
    LABELLED_IMMATURE = "labelled_immature"
    UNOBSERVABLE = "unobservable"


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
            LeftOut.UNOBSERVABLE: "without propensity: it did not pass, or no control group was configured",
        }
        return {texts[reason]: count for reason, count in self.left_out.items() if count}

    def to_json(self) -> dict[str, Any]:
        """Return the coverage as a JSON document with a key for every reason."""
        plain = asdict(self)
        plain["as_of"] = rfc3339(self.as_of)
        plain["label_maturity"] = format_duration(plain.pop("maturity"))
        return {**plain, "rows": self.rows, "evaluated": self.evaluated}


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
    """

    rows: IntArray
    targets: NDArray[np.int8]
    coverage: Coverage
    weights: FloatArray | None = None


def select(
    table: RecordTable, *, as_of: int, maturity: int, matured_only: bool = False, invalid: int = 0
) -> Selection:
    """Select the records that are known to be fraud or genuine at an instant, and count the others.

    Parameters
    ----------
    as_of : int
        Microseconds since 1970-01-01 UTC; events and labels at or after it are ignored.
    matured_only : bool
        Whether to leave out every record not older than `maturity`, so that the same rule applies to frauds and
        genuine records.
    """
    targets = known_targets(table.event_times, table.labels, table.label_times, as_of, maturity)
    happened = (table.event_times < as_of) & ~table.unobservable
    mature = table.event_times < as_of - maturity
    labelled = targets >= 0  # every mature record is
    chosen = happened & (mature if matured_only else labelled)
    rows = np.flatnonzero(chosen)

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
            LeftOut.UNLABELLED_IMMATURE: count(happened & ~labelled),
            LeftOut.LABELLED_IMMATURE: count(happened & labelled & ~chosen),
            # Only where records have propensities, so that other documents stay as they were.
            **(
                {}
                if table.propensities is None
                else {LeftOut.UNOBSERVABLE: count((table.event_times < as_of) & table.unobservable)}
            ),
        },
    )
    return Selection(
        rows=rows,
        targets=targets[rows],
        weights=None if table.propensities is None else 1.0 / table.propensities[rows],
        coverage=coverage,
    )
