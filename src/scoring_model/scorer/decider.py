"""The core of the scorer: feature rows in, decisions out."""

from scoring_model.arrays import FloatArray
from scoring_model.bundle import Contents, Manifest
from scoring_model.bundle.errors import GoldenMismatch
from scoring_model.contract.outcome import Outcome
from scoring_model.decision.contributions import Contributions
from scoring_model.decision.reasons import reasons
from scoring_model.decision.rules import Decisions
from scoring_model.features import fingerprint
from scoring_model.scorer.decisions import Decision, Reason
from scoring_model.scorer.session import MarginSession


class Decider:
    """Decides about feature rows with one bundle. Thread-safe; nothing in it changes after it was made.

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
            probability=rules.calibration.probability(margin),
            margin=margin,
            reasons=() if outcome is Outcome.PASSED else self.reasons(row),
            model_version=self.manifest.model_version,
            policy_version=self.manifest.policy_version,
        )

    def reasons(self, row: FloatArray) -> tuple[Reason, ...]:
        """What pushed the margin of one row up, strongest first, by exact TreeSHAP values."""
        codes = reasons(self.contributions(row), self.contents.reason_codes)
        return tuple(Reason(code, self._descriptions[code]) for code in codes)

    def contributions(self, row: FloatArray) -> FloatArray:
        """What each feature of one row adds to its margin.

        Parameters
        ----------
        row : ndarray of shape (d,), float64

        Returns
        -------
        ndarray of shape (d,), float64
            In log-odds, exact TreeSHAP values. With `base` they sum to the margin, up to rounding.
        """
        return self._contributions.explain(row)

    @property
    def base(self) -> float:
        """Margin of the mean training record, in log-odds."""
        return self._contributions.base

    def reasons_of(self, rows: FloatArray) -> list[tuple[Reason, ...]]:
        """What pushed the margins of some rows up: of each what `reasons` tells.

        Parameters
        ----------
        rows : ndarray of shape (n, d), float64
        """
        return [self.reasons(row) for row in rows]

    def _check(self) -> None:
        found = fingerprint(self.matrix)
        if found != self.manifest.feature_fingerprint:
            raise GoldenMismatch(["the features give other values than when the bundle was made"])
        self.contents.golden.check(self.decide)
