"""Measured numbers: one type of a number with its interval, and the table of all numbers of a result, by typed key."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal, Self, TypeAlias, TypeVar

from scoring_model.figures import MEASURED, Figure

Method: TypeAlias = Literal[
    "none", "wilson", "exact", "days", "blocks", "blocks_and_wilson", "blocks_and_pairs", "deviations", "benefit",
    "prediction", "recalibration", "sequence", "labellings", "delays",
]  # fmt: skip
"""How the ends were made.

`none`: not at all. `wilson`: score interval of independent records, which may stand for others. `exact`: Clopper and
Pearson's. `days`: percentiles of draws of whole days. `blocks`: from the deviation in draws of days of genuine records
and of rings of frauds, by Student's t; with `_and_wilson` or `_and_pairs`, widened to cover that for independent
records or pairs. `deviations`: from the size of deviations in such draws. `benefit`: from the deviations of
several figures at once. `prediction`: of what a later period will have. `recalibration`: of what will be realised.
`sequence`: confidence sequence, which holds however often one looks. `labellings`: lowest and highest over all labels
that records without an observation could have. `delays`: of frauds that are known and not
known yet, from the distribution of their delays.
"""

Absence: TypeAlias = Literal[
    "",
    "no records",
    "fewer than ten days",
    "few independent",
    "no interval",
    "not enough data",
    "no value",
    "stopped applicants",
]
"""Why there are no ends; empty where there are any.

`few independent`: fewer than ten days of genuine records, or rings of frauds. `no interval`: draws say nothing of how
the figure varies. `stopped applicants`: it is not known what those were who were not observed, and no labelling of them
gives ends.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A measured number with its 95 % interval.

    Parameters
    ----------
    value : float or None
        None where the records do not give it, such as recall without a fraud. A share where records stand for others
        is that of their weights, not `count` / `records`.
    low, high : float or None
        Ends of the interval of this number alone, low <= high. None where `absence` says why; a ratio to a rate of 0
        has a lower end alone.
    simultaneous_low, simultaneous_high : float or None
        Ends that hold for all numbers at once that were measured together, such as one rate of all groups of a column.
        None where only this one was.
    records : int
        Records that it rests on: those of its denominator, such as the genuine ones for a false-reject rate; for
        figures of the ranking, the frauds.
    count : int or None
        Records of the numerator; None for what is no share of counts.
    independent : int or None
        Days of genuine records, or rings of frauds, that it rests on: so many things are independent. None where that
        is not known.
    method : Method
        How the ends were made.
    absence : Absence
        Why there are no ends.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    simultaneous_low: float | None = None
    simultaneous_high: float | None = None
    records: int
    count: int | None = None
    independent: int | None = None
    method: Method = "none"
    absence: Absence = ""

    @property
    def ends(self) -> tuple[float, float] | None:
        """Both ends of the interval; None unless both are there."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def percent(self) -> str:
        """The share and its interval in percent, as a part of a sentence."""
        ends = "" if self.ends is None else " ({:.2%} to {:.2%})".format(*self.ends)
        return f"{self.value or 0.0:.2%}{ends}"

    @property
    def together(self) -> Self:
        """The same number with the ends that hold for all numbers that were measured together."""
        return replace(self, low=self.simultaneous_low, high=self.simultaneous_high)

    def times(self, factor: float) -> Self:
        """Return the same number in another unit, of which nothing was counted."""
        ends = self.low, self.high, self.simultaneous_low, self.simultaneous_high
        value, low, high, all_low, all_high = (
            None if one is None else one * factor for one in (self.value, *ends)
        )
        found = replace(self, value=value, low=low, high=high, count=None)
        return replace(found, simultaneous_low=all_low, simultaneous_high=all_high)

    def to_json(self) -> dict[str, Any]:
        """Give the number as a JSON document, with all keys."""
        return asdict(self)


NamedEstimates: TypeAlias = Mapping[str, Estimate]
"""By the key of their figure."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Slice:
    """The records of a result that a number rests on.

    Parameters
    ----------
    kind : {'overall', 'month', 'group', 'rest', 'period'}
        All records; those of a calendar month; those with one value of a column; of a group, all others of its column;
        those of some other period.
    column : str
        Of a group, and of the rest.
    value : str
        The month, `YYYY-MM`; the value of the column; the name of the period, or its first day, `YYYY-MM-DD`.
    """

    kind: Literal["overall", "month", "group", "rest", "period"] = "overall"
    column: str = ""
    value: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decider:
    """Whose decisions a number describes.

    Parameters
    ----------
    name : str
        `champion` or `challenger`; in a backtest the cadence of trainings. Empty where there is one model only.
    trained : int or None
        Instant of the training of a model of a backtest, microseconds since 1970-01-01 UTC.
    age : int or None
        Periods since the training of models of a backtest.
    share : float
        Share of the train part, counted back from its end, that such a model was fitted on.
    """

    name: str = ""
    trained: int | None = None
    age: int | None = None
    share: float = 1.0


OVERALL: Final = Slice()
MODEL: Final = Decider()
CHAMPION: Final = Decider(name="champion")
CHALLENGER: Final = Decider(name="challenger")

Form: TypeAlias = Literal["value", "expected", "difference", "ratio"]
"""As measured on labels; as expected from probabilities before labels; against other records or another model."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """What a number is.

    Parameters
    ----------
    figure : Figure
        With its parameter.
    part : Slice
    decided_by : Decider
    against : Slice or Decider or None
        What a difference or a ratio compares with; of flips, the other decisions.
    form : Form
    """

    figure: Figure
    part: Slice = OVERALL
    decided_by: Decider = MODEL
    against: Slice | Decider | None = None
    form: Form = "value"


Aspect = TypeVar("Aspect")


class Table(Mapping[Key, Estimate]):
    """Measured numbers by their keys, in the order in which they were measured. It never changes.

    Parameters
    ----------
    estimates : mapping of Key to Estimate
    """

    __slots__ = ("_estimates",)

    def __init__(self, estimates: Mapping[Key, Estimate] | None = None) -> None:
        self._estimates = dict(estimates or {})

    def __getitem__(self, key: Key) -> Estimate:
        return self._estimates[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._estimates)

    def __len__(self) -> int:
        return len(self._estimates)

    @classmethod
    def of(
        cls,
        named: NamedEstimates,
        *,
        part: Slice = OVERALL,
        decided_by: Decider = MODEL,
        against: Slice | Decider | None = None,
        form: Form = "value",
    ) -> Self:
        """Make the table of numbers by the names of their figures, whose keys differ in nothing else."""
        return cls(
            {
                Key(figure=MEASURED[name], part=part, decided_by=decided_by, against=against, form=form): one
                for name, one in named.items()
            }
        )

    def __or__(self, other: Mapping[Key, Estimate]) -> "Table":
        """Return the numbers of both; those of the other replace."""
        return Table(self._estimates | dict(other))

    def where(self, holds: Callable[[Key], bool]) -> "Table":
        """Return the numbers of some keys."""
        return Table({key: one for key, one in self._estimates.items() if holds(key)})

    def by(self, aspect: Callable[[Key], Aspect]) -> "dict[Aspect, Table]":
        """Divide the numbers by an aspect of their keys, in the order in which its values occur."""
        divided: dict[Aspect, dict[Key, Estimate]] = {}
        for key, one in self._estimates.items():
            divided.setdefault(aspect(key), {})[key] = one
        return {value: Table(held) for value, held in divided.items()}

    def named(self) -> dict[str, Estimate]:
        """Return the numbers by the names of their figures, for keys that differ in nothing else."""
        return {key.figure.key: one for key, one in self._estimates.items()}

    def __repr__(self) -> str:
        return f"Table of {len(self):,} estimates"
