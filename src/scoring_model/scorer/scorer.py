"""The scorer: a bundle in, decisions out."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from scoring_model.arrays import FloatArray
from scoring_model.bundle import Contents, Manifest, SealedFiles, check_versions, read_bundle
from scoring_model.bundle.errors import GoldenMismatch
from scoring_model.decision.contributions import Contributions
from scoring_model.decision.policy import Outcome
from scoring_model.decision.reasons import reasons
from scoring_model.decision.rules import Decisions
from scoring_model.features import fingerprint
from scoring_model.history import past_counts
from scoring_model.records import Record, RecordTable, parse_record
from scoring_model.scorer.decisions import Decision, Reason
from scoring_model.scorer.session import MarginSession

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


class Scorer:
    """Decides with one bundle. Thread-safe; nothing in it changes after loading.

    Parameters
    ----------
    manifest : Manifest
    contents : Contents
    threads : int
        Python threads that share the rows of a table; they change no bit.

    Raises
    ------
    GoldenMismatch
        When this machine, or this version of the package, does not decide as the bundle says.
    """

    def __init__(self, manifest: Manifest, contents: Contents, *, threads: int = 1) -> None:
        self.manifest = manifest
        self.contents = contents
        self.matrix = contents.features
        self._session = MarginSession(contents.graph, threads=threads)
        self._contributions = Contributions(contents.forest)
        self._descriptions = self.matrix.reasons
        self._check()

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

    def decide(self, rows: FloatArray) -> Decisions:
        """Decide about feature rows.

        Parameters
        ----------
        rows : ndarray of shape (n, d), float64
            As `FeatureMatrix.rows` gives them.

        Returns
        -------
        Decisions
        """
        return self.contents.rules.decide(self._session.margins(rows))

    def decide_row(self, row: FloatArray) -> Decision:
        """Decide about one feature row, the same bits that `decide` gives it.

        Parameters
        ----------
        row : ndarray of shape (d,), float64

        Returns
        -------
        Decision
            With reasons unless it is PASSED.
        """
        margin = self._session.margin(row)
        rules = self.contents.rules
        score = rules.scale.score(margin)
        outcome = rules.policy.outcome(score)
        return Decision(
            score=score,
            outcome=outcome,
            probability=rules.platt.probability(margin),
            margin=margin,
            reasons=() if outcome is Outcome.PASSED else self.reasons(row),
            model_version=self.manifest.model_version,
            policy_version=self.manifest.policy_version,
        )

    def reasons(self, row: FloatArray) -> tuple[Reason, ...]:
        """What pushed the margin of one row up, strongest first, by exact TreeSHAP values."""
        codes = reasons(self._contributions.explain(row), self.contents.reason_codes)
        return tuple(Reason(code, self._descriptions[code]) for code in codes)

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
        if history is None:
            return self.decide_row(self.matrix.row(record, {}))
        table = history.append(RecordTable.of(record))
        links = self.matrix.settings.links
        return self.decide_row(
            self.matrix.row(record, past_counts(table, len(table) - 1, links.link_keys, links.law))
        )

    def _check(self) -> None:
        found = fingerprint(self.matrix)
        if found != self.manifest.feature_fingerprint:
            raise GoldenMismatch(["the features give other values than when the bundle was made"])
        self.contents.golden.check(self.decide)
