"""The scorer: a bundle in, decisions about records out."""

from collections.abc import Mapping
from typing import Any, Self

from scoring_model.arrays import FloatArray
from scoring_model.bundle import Contents, Manifest, SealedFiles, check_protocol, check_versions
from scoring_model.contract.fields import EVENT_FIELDS
from scoring_model.history import past_counts
from scoring_model.records import Record, RecordTable, parse_record
from scoring_model.scorer.decider import Decider, Decision
from scoring_model.scorer.explanation import Explanation, weigh


class Scorer(Decider):
    """Decides about records with one bundle: alone, or as frames and files.

    Parameters
    ----------
    threads : int
        Python threads that share the rows of a table; they change no bit.
    """

    def __init__(self, manifest: Manifest, contents: Contents, *, threads: int = 1) -> None:
        super().__init__(manifest, contents, threads=threads)
        self.contents = contents
        self.matrix = contents.features
        schema = contents.schema
        # Columns of files that are not named like their field: they show that a mapping is a row of a file.
        self.own_names = {*schema.columns.values(), *schema.signals} - {*EVENT_FIELDS, *schema.fields}

    @classmethod
    def of(cls, sealed: SealedFiles, *, threads: int = 1) -> Self:
        """Make a scorer of files that have been read and checked.

        Raises
        ------
        BundleError
            As `Decider.of`; also when this package does not compute the features of the bundle, or when the bundle
            is of an earlier protocol, whose reasons may state what is not so.
        """
        contents = Contents.of(sealed)
        scorer = cls(sealed.manifest, contents, threads=threads)
        check_versions(sealed, contents)
        check_protocol(sealed)
        return scorer

    def score(self, data: Any, *, history: Any = None) -> Any:
        """Score one record, or every record of a frame.

        Parameters
        ----------
        data : mapping, or pandas Series or DataFrame, or any Arrow-speaking frame, or path of a file
            A mapping is one record, shaped like the body of a request with an ``eventTime``. A Series is one row of
            a file, with the file's names; so is a mapping that has one of these.
        history : frame or path, or a list of them, optional
            Earlier records. Those of a frame also see each other.

        Returns
        -------
        Decision, or a frame
            For a DataFrame a DataFrame with its index; otherwise a pyarrow Table. One row for each row given:
            one that breaks the contract has no score, and its violations in ``problems``.

        Raises
        ------
        InvalidRecord
            For one record that breaks the contract, with all its problems.
        """
        if isinstance(data, Mapping) and history is None and self.own_names.isdisjoint(data):
            return self.score_record(parse_record(data, self.contents.schema))
        # Frames bring a table library, which one record never needs.
        from scoring_model.scorer import frames

        sources = [] if history is None else history if isinstance(history, list | tuple) else [history]
        record = frames.one_record(self, data)
        if record is None:
            return frames.score_frame(self, data, histories=sources)
        return self.score_record(record, history=frames.read_histories(self, sources))

    def score_record(self, record: Record, *, history: RecordTable | None = None) -> Decision:
        """Score one parsed record against earlier ones."""
        return self.decide_row(self._row(record, history))

    def explain(self, body: Mapping[str, object], *, history: RecordTable | None = None) -> Explanation:
        """Explain the score of one record.

        Parameters
        ----------
        body : mapping
            One record, shaped like the body of a request with an ``eventTime``.
        history : RecordTable, optional
            Earlier records.

        Returns
        -------
        Explanation
            Its decision is the one that `score_record` gives.

        Raises
        ------
        InvalidRecord
            If the record breaks the contract, with all its problems.
        """
        record = parse_record(body, self.contents.schema)
        row = self._row(record, history)
        return Explanation(
            decision=self.decide_row(row),
            base=self.base,
            features=tuple(weigh(self.matrix.features, record.values, row, self.contributions(row))),
            reasons=self.reasons(row),
        )

    def _row(self, record: Record, history: RecordTable | None) -> FloatArray:
        if history is None:
            return self.matrix.row(record, {})
        table = history.append(RecordTable.of(record))
        links = self.matrix.settings.links
        return self.matrix.row(record, past_counts(table, len(table) - 1, links.link_keys, links.spec))
