"""What attacks on a training found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from scoring_model.configuration import LeakageCheckName


class CheckResult(StrEnum):
    """How an attack ended."""

    SOUND = "sound"
    LEAK = "leak"
    INCONCLUSIVE = "inconclusive"  # too few records


TITLES: Final[Mapping[LeakageCheckName, str]] = {
    "shuffled_labels": "labels shuffled before the features are computed",
    "single_features": "each feature alone",
    "future": "later records and labels taken away",
    "persons": "persons on both sides of the split",
}

LIMIT: Final = (
    "Columns that users supply were looked at one by one: whether their values were there before the decision "
    "can't be seen from the records."
)
"""What no attack can find."""

_ADVICE: Final[Mapping[LeakageCheckName, str]] = {
    "shuffled_labels": "a feature reads the label of its own record: mend or exclude it (features.exclude)",
    "single_features": (
        "ask whether the value is there before the decision is made; if not, leave it out (features.exclude), "
        "if so, raise training.attacks.max_auc"
    ),
    "future": "a feature reads what happens or becomes known later: mend or exclude it (features.exclude)",
    "persons": "the split lets a person or a record be on both sides: this is a fault of the program",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """How one attack ended.

    Parameters
    ----------
    attack : str
    verdict : Verdict
    records : int
        Records that it looked at.
    detail : str
        What it saw, in a sentence without personal data.
    features : tuple of str
        Features that stand out, the worst first.
    figures : mapping of str to number
        What the verdict rests on.
    """

    attack: LeakageCheckName
    verdict: CheckResult
    records: int
    detail: str
    features: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Give the finding as a JSON document."""
        return {
            "attack": self.attack,
            "what": TITLES[self.attack],
            "verdict": self.verdict.value,
            "records": self.records,
            "detail": self.detail,
            "features": list(self.features),
            "figures": dict(self.figures),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class LeakageReport:
    """How all attacks ended.

    Parameters
    ----------
    findings : tuple of Finding
        Empty when the configuration turned the attacks off.
    tolerated : tuple of str
        Attacks that the configuration lets succeed.
    """

    findings: tuple[Finding, ...] = ()
    tolerated: tuple[LeakageCheckName, ...] = ()

    @property
    def refused(self) -> tuple[Finding, ...]:
        """Leaks that nobody tolerates."""
        return tuple(finding for finding in self._leaks if finding.attack not in self.tolerated)

    @property
    def tolerated_leaks(self) -> tuple[Finding, ...]:
        """Leaks that the configuration lets pass."""
        return tuple(finding for finding in self._leaks if finding.attack in self.tolerated)

    @property
    def _leaks(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.verdict is CheckResult.LEAK)

    def refuse(self) -> None:
        """Stop for leaks.

        Raises
        ------
        LeakageError
            When an attack succeeded that is not tolerated.
        """
        if self.refused:
            raise LeakageError(self)

    def to_markdown(self) -> str:
        """Show how each attack ended, for people."""
        if not self.findings:
            return "### Leaks\n\nThe configuration turned the search for leaks off.\n"
        lines = ["### Leaks", "", "| Attack | Verdict | Records | Found |", "| --- " * 4 + "|"]
        for finding in self.findings:
            cells = (TITLES[finding.attack], self.verdict_of(finding), finding.records, finding.detail)
            lines.append("| " + " | ".join(map(str, cells)) + " |")
        return "\n".join([*lines, "", LIMIT]) + "\n"

    def verdict_of(self, finding: Finding) -> str:
        """Say how an attack ended, and whether that is tolerated."""
        return f"{finding.verdict}, tolerated" if finding in self.tolerated_leaks else str(finding.verdict)

    def to_json(self) -> dict[str, Any]:
        """Give the report as a JSON document."""
        return {
            "run": bool(self.findings),
            "tolerated": [finding.attack for finding in self.tolerated_leaks],
            "findings": [finding.to_json() for finding in self.findings],
        }


class LeakageError(ValueError):
    """Features know what they can't know; nothing was trained.

    Attributes
    ----------
    report : LeakageReport
    """

    def __init__(self, report: LeakageReport) -> None:
        lines = [
            f"- {finding.attack}: {finding.detail}; {_ADVICE[finding.attack]}" for finding in report.refused
        ]
        names = ", ".join(finding.attack for finding in report.refused)
        lines.append(f"To train all the same, for the card to tell: training.attacks.tolerate: [{names}]")
        super().__init__("the records leak what is to be predicted:\n" + "\n".join(lines))
        self.report = report
