"""Tables of what the model reads, and of what it uses, for tools that look into models."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from scoring_model.arrays import FloatArray
from scoring_model.decision.gains import split_gains
from scoring_model.records import RecordTable
from scoring_model.records.reading import read_records
from scoring_model.scorer.frames import aligned_frame, feature_rows, read_histories

if TYPE_CHECKING:
    from scoring_model.scorer.scorer import Scorer

RECORD_ID: Final = "recordId"

BASE: Final = "base"
"""Column of the mean margin, the same in every row."""

CONTRIBUTION: Final = "contribution."
"""Prefix of the columns of contributions."""


def feature_table(
    scorer: "Scorer", table: RecordTable, *, history: RecordTable | None = None, contributions: bool = False
) -> pa.Table:
    """Compute the features of every record of a table, and what each adds to the margin; see `Scorer.features`.

    Parameters
    ----------
    table : RecordTable
        Its records see each other as history.
    history : RecordTable, optional
        Further earlier records, which get no row.
    """
    return feature_columns(scorer, table, feature_rows(scorer, table, history), contributions=contributions)


def feature_columns(
    scorer: "Scorer", table: RecordTable, rows: FloatArray, *, contributions: bool
) -> pa.Table:
    """Return the columns of `feature_table` by the feature rows of its records."""
    names = scorer.matrix.names
    columns = {RECORD_ID: pa.array(table.record_ids, pa.string())}
    columns |= {name: pa.array(rows[:, place]) for place, name in enumerate(names)}
    if contributions:
        added = np.empty_like(rows)
        for place, row in enumerate(rows):
            added[place] = scorer.contributions(row)
        columns[BASE] = pa.array(np.full(len(rows), scorer.base))
        columns |= {f"{CONTRIBUTION}{name}": pa.array(added[:, place]) for place, name in enumerate(names)}
    return pa.table(columns)


def features_frame(
    scorer: "Scorer",
    data: Any,
    *,
    history: Any = None,
    contributions: bool = False,
    allow_repeats: bool = False,
) -> Any:
    """Compute the features of a frame; see `Scorer.features`."""
    reading = read_records(data, scorer.contents.schema, labelled=False)
    past = read_histories(scorer, history, scored=reading, allow_repeats=allow_repeats)
    found = feature_table(scorer, reading.table, history=past, contributions=contributions)
    return aligned_frame(found, reading, data)


def importance_table(scorer: "Scorer") -> pa.Table:
    """Show how much the trees use each feature; see `Scorer.importances`."""
    splits, gains = split_gains(scorer.contents.forest)
    features = scorer.matrix.features
    order = sorted(range(len(features)), key=lambda place: (-gains[place], features[place].name))
    return pa.table(
        {
            "feature": [features[place].name for place in order],
            "meaning": [features[place].sentence for place in order],
            "unit": [features[place].unit for place in order],
            "splits": pa.array(splits[order]),
            "gain": pa.array(gains[order]),
        }
    )
