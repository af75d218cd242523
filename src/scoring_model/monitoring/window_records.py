"""The records that are monitored."""

from dataclasses import dataclass

from scoring_model.arrays import FloatArray
from scoring_model.decision.rules import Decisions
from scoring_model.evaluation.late_frauds import KnownFrauds
from scoring_model.monitoring.early import MaturedRecords
from scoring_model.records import RecordTable


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Window:
    """Records of a window with their decisions; `rows` is None for those that were scored earlier.

    `earlier` are the matured records of the history, `frauds` those of history and window.
    """

    table: RecordTable
    decisions: Decisions
    rows: FloatArray | None
    earlier: MaturedRecords
    frauds: KnownFrauds
    refused: int
    files: tuple[str, ...]
    notes: tuple[str, ...]
