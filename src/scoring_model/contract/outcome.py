"""What is decided about an applicant."""

from enum import StrEnum


class Outcome(StrEnum):
    """What is decided about an applicant."""

    PASSED = "PASSED"
    STEPPED_UP = "STEPPED_UP"
    FAILED = "FAILED"


class DecidedBy(StrEnum):
    """What decided a verification."""

    POLICY = "policy"  # score and thresholds
    CONTROL = "control"  # the control group: it passed, whatever score and thresholds say
    LIST = "list"  # a list of the operator
    RULE = "rule"  # a rule of the operator
    SANDBOX = "sandbox"  # of a sandbox client: its signal `sandboxOutcome`, else score and thresholds


OUTCOMES: tuple[Outcome, ...] = tuple(Outcome)
"""The outcomes by their code: 0 PASSED, 1 STEPPED_UP, 2 FAILED."""
