"""The core of the scorer: decides about feature rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from scoring_model.arrays import FloatArray
from scoring_model.bundle import DecisionPart, Manifest, SealedFiles, check_versions, read_bundle
from scoring_model.contract.outcome import Outcome
from scoring_model.decision.contributions import Contributions
from scoring_model.decision.rules import Decisions
from scoring_model.scorer.session import MarginSession

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from scoring_model.scorer.leaf_masks import LeafMasks

_MANY_ROWS: Final = 2_048
"""From so many rows on, a table is worth the compiled functions of `LeafMasks`, which a service never loads."""

_MOST_LEAVES: Final = 128
"""Mean number of leaves of a tree up to which `LeafMasks` is faster than the graph; its time grows with them."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason for a high score: a code of the public catalogue and its sentence."""

    code: str
    description: str


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about one record.

    Parameters
    ----------
    score : int
        0 to 1000, higher is riskier.
    probability : float
        Calibrated chance of fraud.
    margin : float
        Log-odds of the booster.
    reasons : tuple of Reason
        At most five, strongest first; none for PASSED.
    model_version, policy_version : str
        Versions of the bundle that decided.
    policy_outcome : Outcome or None
        What score and thresholds alone decide; None without rules of an operator.
    decided_by_code : str or None
        Code of the rule that decided; None if score and thresholds did.
    rule_hits : tuple of str
        Codes of all rules that hold.
    """

    score: int
    outcome: Outcome
    probability: float
    margin: float
    reasons: tuple[Reason, ...]
    model_version: str
    policy_version: str
    policy_outcome: Outcome | None = None
    decided_by_code: str | None = None
    rule_hits: tuple[str, ...] = ()


class Decider:
    """Decides about feature rows with one bundle of any protocol, under the rules of that protocol.

    It does not compute features, so that every past verdict can be replayed. Immutable and thread-safe.

    Parameters
    ----------
    threads : int
        Python threads that share the rows of a table; results do not depend on them.

    Raises
    ------
    GoldenMismatch
        If this machine or package version does not reproduce the golden rows of the bundle.
    """

    def __new__(cls, manifest: object = None, *_: object, **__: object) -> Self:
        """Refuse a path, which only `load` reads; a copy is made without arguments."""
        if isinstance(manifest, str | Path):
            raise TypeError(f"call {cls.__name__}.load(path) to read a bundle")
        return super().__new__(cls)

    def __init__(self, manifest: Manifest, contents: DecisionPart, *, threads: int = 1) -> None:
        self.manifest = manifest
        self.rules = contents.rules
        self._reasons = contents.reasons
        self._golden = contents.golden
        self._forest = contents.forest
        self._threads = threads
        self._session = MarginSession(contents.graph, threads=threads)
        contents.golden.check(self.decide)

    @classmethod
    def load(
        cls, path: str | Path, *, public_key: "Ed25519PublicKey | None" = None, threads: int = 1
    ) -> Self:
        """Read a bundle and check its seal and golden rows.

        Parameters
        ----------
        public_key : Ed25519PublicKey, optional
            Key that must verify the signature of the bundle.

        Raises
        ------
        BundleError
            One subclass for each reason to refuse a bundle.
        """
        return cls.of(read_bundle(Path(path), public_key=public_key), threads=threads)

    @classmethod
    def of(cls, sealed: SealedFiles, *, threads: int = 1) -> Self:
        """Make a decider from files that were read and checked.

        Raises
        ------
        BundleError
            If the contents of the files are invalid, do not reproduce the golden rows, or have other versions than
            in the manifest.
        """
        contents = DecisionPart.of(sealed)
        decider = cls(sealed.manifest, contents, threads=threads)
        check_versions(sealed, contents)
        return decider

    def decide(self, rows: FloatArray) -> Decisions:
        """Decide about feature rows.

        Parameters
        ----------
        rows : ndarray of shape (n, d), float64
            Rows from `FeatureMatrix.rows`.

        Raises
        ------
        GoldenMismatch
            If there are many rows, and the fast way to decide about them does not reproduce the golden rows.
        """
        small_trees = len(self._forest.leaf_value) <= _MOST_LEAVES * self._forest.tree_count
        if len(rows) < _MANY_ROWS or not small_trees:
            return self.rules.decide(self._session.margins(rows))
        return self.rules.decide(self._leaf_masks.margins(rows, threads=self._threads))

    @cached_property
    def _leaf_masks(self) -> "LeafMasks":
        """The forest for many rows: the same bits as the graph, in a fifth of the time."""
        from scoring_model.scorer.leaf_masks import LeafMasks

        masks = LeafMasks(self._forest)
        self._golden.check(lambda rows: self.rules.decide(masks.margins(rows)))
        return masks

    @cached_property
    def _contributions(self) -> Contributions:
        """Tables of the forest, which most files of decisions need not."""
        return Contributions(self._forest)

    def decide_row(self, row: FloatArray) -> Decision:
        """Decide about one feature row, with the same bits as `decide`.

        Parameters
        ----------
        row : ndarray of shape (d,), float64
        """
        margin = self._session.margin(row)
        score = self.rules.scale.score(margin)
        outcome = self.rules.policy.outcome(score)
        return Decision(
            score=score,
            outcome=outcome,
            probability=self.rules.calibration.probability(margin),
            margin=margin,
            reasons=() if outcome is Outcome.PASSED else self.reasons(row),
            model_version=self.manifest.model_version,
            policy_version=self.manifest.policy_version,
        )

    def reasons(self, row: FloatArray) -> tuple[Reason, ...]:
        """Give the reasons of one row, strongest first, by exact TreeSHAP values."""
        codes = self._reasons.choose(row, self.contributions(row))
        return tuple(Reason(code, self._reasons.sentences[code]) for code in codes)

    def contributions(self, row: FloatArray) -> FloatArray:
        """Give the contribution of each feature of one row to its margin.

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
    def columns(self) -> tuple[str, ...]:
        """Return the names of the features of a row."""
        return self._reasons.names

    @property
    def sentences(self) -> Mapping[str, str]:
        """Return the sentences of all possible reasons, by code."""
        return self._reasons.sentences

    @property
    def base(self) -> float:
        """Return the margin of the mean training record, in log-odds."""
        return self._contributions.base
