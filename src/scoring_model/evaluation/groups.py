"""Outcome and error rates by group, with gaps and ratios against the other records."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from scoring_model.evaluation.uncertainty import Estimate

MIN_RECORDS: Final = 50
"""Fewest records in the denominator of a group's rate for an interval."""

OTHER: Final = "other (fewer than five persons)"
MISSING: Final = "missing"
REST: Final = "rest"

RATES: Final = ("passed", "stepped_up", "failed", "false_reject", "step_up", "missed_fraud")
"""Shares of all records with each outcome; of genuine records failed, and stepped up or failed; of frauds passed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """A group's rate against that of the reference: a gap (difference) or a ratio.

    Parameters
    ----------
    value : float or None
        None without records, or for a ratio to a rate of 0.
    low, high : float or None
        95 % interval of this comparison alone. None without enough data; a ratio may have no upper end.
    simultaneous_low, simultaneous_high : float or None
        Wider: all groups of the column lie inside theirs at once with 95 % confidence (max-t).
    """

    value: float | None
    low: float | None
    high: float | None
    simultaneous_low: float | None
    simultaneous_high: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupRate:
    """One rate of one group.

    Parameters
    ----------
    count : int
        Records of the numerator.
    estimate : Estimate
        The rate; `estimate.records` is its denominator.
    enough : bool
        Whether the group and its reference have `MIN_RECORDS` records in the denominator, on ten days. If not, the
        interval, gap and ratio have no ends: "not enough data".
    gap, ratio : Difference
        Against the reference.
    """

    count: int
    estimate: Estimate
    enough: bool
    gap: Difference
    ratio: Difference


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Records with one value of a column.

    Parameters
    ----------
    value : str
        The value; `MISSING` without one; `OTHER` for all values of fewer than five persons together.
    records, genuine, frauds : int
    rates : mapping of str to GroupRate
        By name, as in `RATES`.
    """

    value: str
    records: int
    genuine: int
    frauds: int
    rates: Mapping[str, GroupRate]


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupTable:
    """The groups of one column.

    Parameters
    ----------
    column : str
        Field name, or `ageBand`.
    reference : str
        The value that each other group is compared with; `REST` compares each with all records outside it.
    groups : tuple of Group
        Most records first; then `MISSING` and `OTHER`.
    merged_values : int
        Number of values in `OTHER`.
    persons_known : bool
        Whether persons were counted; otherwise each record counted as a person.
    """

    column: str
    reference: str
    groups: tuple[Group, ...]
    merged_values: int
    persons_known: bool

    def to_json(self) -> dict[str, Any]:
        """Give the groups as a JSON document."""
        raise NotImplementedError
