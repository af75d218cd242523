"""Results of the leakage checks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray
from scoring_model.configuration import LeakageCheckName
from scoring_model.evaluation.metrics import Ranking


class CheckResult(StrEnum):
    """The result of a leakage check."""

    SOUND = "sound"
    LEAK = "leak"
    INCONCLUSIVE = "inconclusive"  # too few records


TITLES: Final[Mapping[LeakageCheckName, str]] = {
    "shuffled_labels": "labels shuffled before the features are computed",
    "single_features": "each feature alone",
    "future": "later records and labels removed",
    "persons": "persons on both sides of the split",
}

LIMIT: Final = (
    "Columns that users supply were checked one by one: the records do not show whether their values existed before "
    "the decision."
)
"""What no check can find."""

_ADVICE: Final[Mapping[LeakageCheckName, str]] = {
    "shuffled_labels": "a feature reads the label of its own record: fix or exclude it (features.exclude)",
    "single_features": (
        "find out whether the value exists before the decision; if not, leave it out (features.exclude), "
        "if so, raise training.leakage_checks.max_auc"
    ),
    "future": "a feature reads what happens or becomes known later: fix or exclude it (features.exclude)",
    "persons": "a person or a record is on both sides of the split: this is a bug of this package",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """The result of one leakage check.

    Parameters
    ----------
    detail : str
        A sentence without personal data.
    features : tuple of str
        Suspicious features, worst first.
    """

    check: LeakageCheckName
    verdict: CheckResult
    records: int
    detail: str
    features: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Give the finding as a JSON document."""
        return {
            "check": self.check,
            "what": TITLES[self.check],
            "verdict": self.verdict.value,
            "records": self.records,
            "detail": self.detail,
            "features": list(self.features),
            "figures": dict(self.figures),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class LeakageReport:
    """The results of all leakage checks.

    Parameters
    ----------
    findings : tuple of Finding
        Empty if the configuration turned the checks off.
    """

    findings: tuple[Finding, ...] = ()
    tolerated: tuple[LeakageCheckName, ...] = ()

    @property
    def refused(self) -> tuple[Finding, ...]:
        """Return the leaks that stop the training."""
        return tuple(finding for finding in self._leaks if finding.check not in self.tolerated)

    @property
    def tolerated_leaks(self) -> tuple[Finding, ...]:
        """Return the leaks that the configuration tolerates."""
        return tuple(finding for finding in self._leaks if finding.check in self.tolerated)

    @property
    def _leaks(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.verdict is CheckResult.LEAK)

    def refuse(self) -> None:
        """Raise if there are leaks that stop the training."""
        if self.refused:
            raise LeakageError(self)

    def to_markdown(self) -> str:
        """Give the results as a table."""
        if not self.findings:
            return "### Leaks\n\nThe configuration turned the leakage checks off.\n"
        lines = ["### Leaks", "", "| Check | Verdict | Records | Found |", "| --- " * 4 + "|"]
        for finding in self.findings:
            cells = (TITLES[finding.check], self.verdict_of(finding), finding.records, finding.detail)
            lines.append("| " + " | ".join(map(str, cells)) + " |")
        return "\n".join([*lines, "", LIMIT]) + "\n"

    def verdict_of(self, finding: Finding) -> str:
        """Give the result of a check, and whether a leak is tolerated."""
        return f"{finding.verdict}, tolerated" if finding in self.tolerated_leaks else str(finding.verdict)

    def to_json(self) -> dict[str, Any]:
        """Give the report as a JSON document."""
        return {
            "run": bool(self.findings),
            "tolerated": [finding.check for finding in self.tolerated_leaks],
            "findings": [finding.to_json() for finding in self.findings],
        }


class LeakageError(ValueError):
    """The records leak the label; nothing was trained."""

    def __init__(self, report: LeakageReport) -> None:
        lines = [
            f"- {finding.check}: {finding.detail}; {_ADVICE[finding.check]}" for finding in report.refused
        ]
        names = ", ".join(finding.check for finding in report.refused)
        lines.append(
            f"To train all the same, with a note in the card: training.leakage_checks.tolerate: [{names}]"
        )
        super().__init__("the records leak what is to be predicted:\n" + "\n".join(lines))
        self.report = report


def area_under_curve(values: FloatArray, targets: NDArray[np.int8]) -> float:
    """Return the AUC: the probability that a fraud has a higher value than a genuine record; ties count one half.

    Parameters
    ----------
    values : ndarray of shape (n,), float64, without NaN
    targets : ndarray of shape (n,), 1 fraud, 0 genuine

    Returns
    -------
    float
        In [0, 1]; one half if a class is absent.
    """
    area = Ranking.of(values, targets).roc_auc()
    return 0.5 if area is None else area
