"""The scorer: a bundle in, decisions about records out."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from scoring_model.arrays import FloatArray
from scoring_model.bundle import Contents, SealedFiles, check_versions, read_bundle
from scoring_model.history import past_counts
from scoring_model.records import Record, RecordTable, parse_record
from scoring_model.scorer.decider import Decider
from scoring_model.scorer.decisions import Decision
from scoring_model.scorer.explanation import Explanation, weigh

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


class Scorer(Decider):
    """Decides about records with one bundle: alone, or as frames and files."""

    @classmethod
    def load(
        cls, path: str | Path, *, public_key: "Ed25519PublicKey | None" = None, threads: int = 1
    ) -> Self:
        """Read a bundle, check its seal and its golden rows, and make it ready.

        Parameters
        ----------
        path : path
            Directory of the bundle.
        public_key : Ed25519PublicKey, optional
            Whose signature the bundle must carry.
        threads : int

        Raises
        ------
        BundleError
            Under a name of its own for each thing that can be wrong.
        """
        return cls.of(read_bundle(Path(path), public_key=public_key), threads=threads)

    @classmethod
    def of(cls, sealed: SealedFiles, *, threads: int = 1) -> Self:
        """Make a scorer of files that have been read and checked.

        Raises
        ------
        BundleError
            When the files do not hold what they should, do not decide as they did, or have other versions than
            the manifest names.
        """
        contents = Contents.from_files(sealed.files)
        scorer = cls(sealed.manifest, contents, threads=threads)
        check_versions(sealed, contents)
        return scorer

    def score(self, data: Any, *, history: Any = None) -> Any:
        """Score one record, or every record of a frame.

        Parameters
        ----------
        data : mapping, or pandas DataFrame, or any Arrow-speaking frame, or path of a file
            A mapping is one record, shaped like the body of a request with an ``eventTime``.
        history : frame or path, optional
            Earlier records. Those of a frame also see each other.

        Returns
        -------
        Decision, or a frame
            For a DataFrame a DataFrame with its index; otherwise a pyarrow Table. One row for each row given:
            one that breaks the contract has no score and says why in ``problems``.

        Raises
        ------
        InvalidRecord
            For one record that breaks the contract, with all its problems.
        """
        if isinstance(data, Mapping) and history is None:
            return self.score_record(parse_record(data, self.contents.schema))
        # Frames bring a table library, which one record never needs.
        from scoring_model.scorer import frames

        if not isinstance(data, Mapping):
            return frames.score_frame(self, data, history=history)
        past = frames.read_histories(self, [history])
        return self.score_record(parse_record(data, self.contents.schema), history=past)

    def score_record(self, record: Record, *, history: RecordTable | None = None) -> Decision:
        """Score one parsed record against earlier ones."""
        return self.decide_row(self._row(record, history))

    def explain(self, body: Mapping[str, object], *, history: RecordTable | None = None) -> Explanation:
        """Say what was weighed about one record, and how much.

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
        return self.matrix.row(record, past_counts(table, len(table) - 1, links.link_keys, links.law))
