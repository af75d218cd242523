"""Settings of findings: the codes that a configuration mutes."""

from collections.abc import Sequence
from dataclasses import dataclass

from scoring_model.contract.violation import Invalid, Violation
from scoring_model.findings import Code
from scoring_model.records.near_misses import did_you_mean


@dataclass(frozen=True, kw_only=True, slots=True)
class FindingSettings:
    """Which findings are muted.

    Parameters
    ----------
    mute : tuple of str
        Codes of checks. Muted findings are listed as muted, with their count. A muted leak still stops a training.

    Raises
    ------
    Invalid
        With every unknown code, and the nearest known one.
    """

    mute: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        unknown = [
            unknown_finding(code, [*Code]).within("mute", place)
            for place, code in enumerate(self.mute)
            if code not in list(Code)
        ]
        if unknown:
            raise Invalid(unknown)


def unknown_finding(name: str, known: Sequence[str]) -> Violation:
    """Describe a name that no check or severity has, with the nearest known one."""
    hint = did_you_mean(name, map(str, known), otherwise=f"; known are {', '.join(known)}")
    return Violation("", "unknown_name", f"there is no finding {name!r}{hint}")
