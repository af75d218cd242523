"""Decides about single parsed records, and holds what tables of records need of a bundle."""

from scoring_model.arrays import FloatArray
from scoring_model.bundle import Contents, Manifest
from scoring_model.history import past_counts
from scoring_model.records import Record, RecordTable
from scoring_model.scorer.decider import Decider, Decision


class RecordScorer(Decider):
    """A decider that computes the feature rows of records.

    Parameters
    ----------
    threads : int
        Python threads that share the rows of a table; results do not depend on them.
    """

    def __init__(self, manifest: Manifest, contents: Contents, *, threads: int = 1) -> None:
        super().__init__(manifest, contents, threads=threads)
        self.contents = contents
        self.matrix = contents.features
        schema = contents.schema
        # File columns with names other than their fields: they identify a mapping as a row of a file.
        self.own_names = {*schema.columns.values(), *schema.signals} - {*schema.event_fields, *schema.fields}

    def score_record(self, record: Record, *, history: RecordTable | None = None) -> Decision:
        """Score one parsed record against earlier ones."""
        return self.decide_row(self.row_of(record, history))

    def row_of(self, record: Record, history: RecordTable | None) -> FloatArray:
        """Compute the input of the model for one record, of shape (d,)."""
        if history is None:
            return self.matrix.row(record, {})
        table = history.append(RecordTable.of(record))
        past = past_counts(table, len(table) - 1, self.matrix.link_keys, self.matrix.specs)
        return self.matrix.row(record, past)
