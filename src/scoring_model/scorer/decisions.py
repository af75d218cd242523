"""What a scorer says of one record."""

from dataclasses import dataclass

from scoring_model.contract.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a score is high: a code of the public catalogue and its sentence."""

    code: str
    description: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about one record.

    Parameters
    ----------
    score : int
        0 to 1000, higher is riskier.
    outcome : Outcome
    probability : float
        Calibrated chance of fraud.
    margin : float
        Log-odds of the booster.
    reasons : tuple of Reason
        At most five, strongest first; none for PASSED.
    model_version, policy_version : str
        What decided.
    """

    score: int
    outcome: Outcome
    probability: float
    margin: float
    reasons: tuple[Reason, ...]
    model_version: str
    policy_version: str
