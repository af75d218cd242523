"""The bundle that begins new verifications, and its replacement between two of them."""

from dataclasses import dataclass

from scoring_model.scorer.scorer import Scorer
from scoring_model.service.core.rows import BundleActivationRow
from scoring_model.service.scoring.candidate import CandidateBuilder
from scoring_model.service.scoring.scoring import Scoring


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedBundle:
    """What builds and scores candidates with one bundle. A verification is finished with the one that began it."""

    candidates: CandidateBuilder
    scoring: Scoring

    @property
    def scorer(self) -> Scorer:
        """The loaded bundle."""
        return self.scoring.scorer


class Serving:
    """The bundle that a process serves.

    Attributes
    ----------
    current : ServedBundle
        Take it once for each verification.
    since : int
        Instant since which it serves, microseconds.
    refused : BundleActivationRow or None
        The last candidate that was refused, by any process.
    problem : str or None
        Why this process does not serve the active bundle; None if it does.
    """

    def __init__(self, current: ServedBundle, *, since: int) -> None:
        self.current = current
        self.since = since
        self.refused: BundleActivationRow | None = None
        self.problem: str | None = None

    def switch(self, bundle: ServedBundle, *, now: int) -> None:
        """Let another bundle begin the verifications from now on."""
        self.current, self.since = bundle, now
