"""Leaks that the configuration does not tolerate stop a training."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final

from scoring_model.configuration import LeakageCheckName
from scoring_model.findings import Code, Finding, State

LEAKAGE_CHECKS: Final[Mapping[Code, LeakageCheckName]] = {
    Code.SHUFFLED_LABELS: "shuffled_labels",
    Code.SINGLE_FEATURES: "single_features",
    Code.FUTURE: "future",
    Code.PERSONS: "persons",
}

_TOLERATED: Final = "; tolerated by training.leakage_checks.tolerate"


def tolerate(findings: Iterable[Finding], tolerated: Collection[str]) -> tuple[Finding, ...]:
    """Mark the leaks that the configuration tolerates."""
    return tuple(
        replace(found, sentence=found.sentence + _TOLERATED)
        if found.state is State.FOUND and LEAKAGE_CHECKS[found.code] in tolerated
        else found
        for found in findings
    )


def refuse_leaks(findings: Iterable[Finding], tolerated: Collection[str]) -> None:
    """Raise if leaks were found that the configuration does not tolerate, muted or not.

    Raises
    ------
    LeakageError
    """
    all_findings = tuple(findings)
    leaks = tuple(
        found
        for found in all_findings
        if found.state is State.FOUND
        and found.code in LEAKAGE_CHECKS
        and LEAKAGE_CHECKS[found.code] not in tolerated
    )
    if leaks:
        raise LeakageError(all_findings, leaks)


class TrainingStopped(ValueError):
    """What a check found stops the training; nothing was trained.

    Parameters
    ----------
    findings : tuple of Finding
        Of all checks before the search.
    """

    def __init__(self, text: str, findings: tuple[Finding, ...]) -> None:
        super().__init__(text)
        self.findings = findings


class LeakageError(TrainingStopped):
    """The records leak the label; nothing was trained.

    Parameters
    ----------
    findings : tuple of Finding
        Of all checks before the search.
    leaks : tuple of Finding
        Those that stop the training.
    """

    def __init__(self, findings: tuple[Finding, ...], leaks: tuple[Finding, ...]) -> None:
        lines = [
            f"- {leak.code} {LEAKAGE_CHECKS[leak.code]}: {leak.sentence}. {leak.check.action} ({leak.page})"
            for leak in leaks
        ]
        names = ", ".join(LEAKAGE_CHECKS[leak.code] for leak in leaks)
        lines.append(
            f"To train all the same, with a note in the card: training.leakage_checks.tolerate: [{names}]"
        )
        super().__init__("the records leak what is to be predicted:\n" + "\n".join(lines), findings)
        self.leaks = leaks
