"""Window specifications: the windows of a link key, their counts and their summed amounts.

Decision record: docs/adr/0005-windows.md.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, Literal, get_args

from scoring_model.contract.violation import check_fields
from scoring_model.history.amounts import Amount
from scoring_model.history.counts import NOTHING_BEFORE, Counts, DelayedCounts, FraudTimes, Sums

CountKind = Literal[
    "records",
    "persons",
    "frauds",
    "fraud_share",
    "since_last",
    "change",
    "age",
    "first",
    "since_first_fraud",
    "since_last_fraud",
    "fraud_run",
]
COUNT_KINDS: Final[tuple[CountKind, ...]] = get_args(CountKind)
"""Kinds of counts under a link key, in the order of the columns."""

DEFAULT_COUNTS: Final[tuple[CountKind, ...]] = ("records", "persons", "frauds", "fraud_share", "since_last")

Statistic = Literal["sum", "mean", "ratio", "z", "spread", "highest", "highest_ratio", "above"]
STATISTICS: Final[tuple[Statistic, ...]] = get_args(Statistic)
"""Statistics of an amount in a window, in the order of the columns."""

DEFAULT_STATISTICS: Final[tuple[Statistic, ...]] = ("sum", "mean")

_OF_FRAUDS: Final = frozenset({"since_first_fraud", "since_last_fraud", "fraud_run"})


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowSpec:
    """The counts and sums under one link key.

    Parameters
    ----------
    windows : tuple of int
        Lengths in microseconds, positive and strictly ascending: [t - length, t).
    cap : int
        Number of latest records that a window sees, plus those of the same instant as the last of them.
    delay : int
        Microseconds by which the delayed windows end before t: [t - delay - length, t - delay). Older records are
        past the delay.
    delayed : tuple of int
        Lengths of the delayed windows. Each sees the latest `cap` records before t - delay.
    amounts : tuple of Amount
        The amounts that the records of the history have.
    summed : tuple of int, optional
        Indices of the summed amounts; by default all.
    counts : tuple of str
        Kinds of counts.
    statistics : tuple of str
        Statistics of each summed amount.
    above : int
        The multiple of the mean above which the statistic `above` counts an amount.

    Attributes
    ----------
    in_windows : tuple of bool
        Whether records, persons, frauds and their share are counted.
    is_plain : bool
        Whether only the usual counts are requested.
    places : tuple of int
        Indices of the summed amounts.
    of_frauds, of_highest, of_above, of_squares : bool
        Whether times of frauds, highest amounts, amounts above the mean and variances are needed.
    nothing : Counts
        The counts of a record without history; made once, since most keys of most records have none.
    """

    windows: tuple[int, ...]
    cap: int = 256
    delay: int = 0
    delayed: tuple[int, ...] = ()
    amounts: tuple[Amount, ...] = ()
    summed: tuple[int, ...] | None = None
    counts: tuple[CountKind, ...] = DEFAULT_COUNTS
    statistics: tuple[Statistic, ...] = DEFAULT_STATISTICS
    above: int = 3
    in_windows: tuple[bool, ...] = field(init=False)
    is_plain: bool = field(init=False)
    places: tuple[int, ...] = field(init=False)
    of_frauds: bool = field(init=False)
    of_highest: bool = field(init=False)
    of_above: bool = field(init=False)
    of_squares: bool = field(init=False)
    nothing: Counts = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_fields(
            self,
            ("windows", "one or more lengths", bool(self.windows)),
            *(
                rule
                for name, lengths in (("windows", self.windows), ("delayed", self.delayed))
                for rule in (
                    (name, "longer than 0 microseconds each", all(length > 0 for length in lengths)),
                    (name, "strictly ascending", all(a < b for a, b in pairwise(lengths))),
                )
            ),
            ("cap", "at least 1", self.cap >= 1),
            ("delay", "at least 0", self.delay >= 0),
            ("above", "1 to 1000", 1 <= self.above <= 1000),
        )
        places = range(len(self.amounts)) if self.summed is None else self.summed
        object.__setattr__(self, "places", tuple(places) if self.statistics else ())
        object.__setattr__(self, "in_windows", tuple(kind in self.counts for kind in COUNT_KINDS[:4]))
        plain = not (self.places or self.delayed) and set(DEFAULT_COUNTS).issuperset(self.counts)
        object.__setattr__(self, "is_plain", plain)
        object.__setattr__(self, "of_frauds", not _OF_FRAUDS.isdisjoint(self.counts))
        object.__setattr__(self, "of_highest", not {"highest", "highest_ratio"}.isdisjoint(self.statistics))
        object.__setattr__(self, "of_above", "above" in self.statistics)
        object.__setattr__(self, "of_squares", not {"z", "spread"}.isdisjoint(self.statistics))
        object.__setattr__(self, "nothing", _nothing(self))

    @property
    def reach(self) -> int:
        """Return how far back the windows look, in microseconds."""
        return max(self.windows[-1], self.delay + self.delayed[-1] if self.delayed else 0)


def _nothing(spec: WindowSpec) -> Counts:
    """Return the counts of a record without history."""
    none, of_delayed = (0,) * len(spec.windows), (0,) * len(spec.delayed)
    return Counts(
        none,
        none,
        none,
        NOTHING_BEFORE,
        NOTHING_BEFORE,
        tuple([_no_sums(spec, place) for place in spec.places]),
        DelayedCounts(of_delayed, of_delayed),
        FraudTimes(NOTHING_BEFORE, NOTHING_BEFORE, 0) if spec.of_frauds else None,
    )


def _no_sums(spec: WindowSpec, place: int) -> Sums:
    """Return the sums of one amount of a record without history."""
    none = (0,) * len(spec.windows)
    return Sums(
        none,
        none,
        spec.amounts[place].scale,
        none if spec.of_highest else (),
        none if spec.of_above else (),
        (0.0,) * len(none) if spec.of_squares else (),
    )
