"""What the policy is to promise."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicySettings:
    """What the policy promises. Each bound may be None; delta = 1 - confidence is shared by the others.

    Parameters
    ----------
    max_false_reject : float or None
        Share, in (0, 1), of genuine applicants that score `fail_from` or more. None: nobody fails.
    max_step_up : float or None
        Share, in (0, 1), of genuine applicants that score `step_up_from` or more, the failed included.
    max_missed_fraud : float or None
        Share, in (0, 1), of frauds that score below `step_up_from`.
    confidence : float
        Chance, in (0, 1), that all promises hold, for independent records.

    Raises
    ------
    ValueError
        With every field that is out of range.
    """

    max_false_reject: float | None = 0.002
    max_step_up: float | None = 0.05
    max_missed_fraud: float | None = None
    confidence: float = 0.95

    def __post_init__(self) -> None:
        shares = {**self.limits(), "confidence": self.confidence}
        problems = [
            f"{name} must fulfil 0 < {name} < 1, got {value}"
            for name, value in shares.items()
            if not 0 < value < 1
        ]
        if problems:
            raise ValueError("; ".join(problems))

    def limits(self) -> dict[str, float]:
        """The bounds that are set, by name."""
        values = {
            "max_false_reject": self.max_false_reject,
            "max_step_up": self.max_step_up,
            "max_missed_fraud": self.max_missed_fraud,
        }
        return {name: value for name, value in values.items() if value is not None}
