"""What was known of the earlier records of a category: their share of frauds and their number, by day.

The tables are sealed in the bundle, and a feature is a function of the value and the day of the event. So nothing of
them is in the database of a service, and a row is the same wherever it is computed. A row reads the days before its
own; after the last day of the tables nothing changes until the next training.

Decision record: docs/adr/0007-signals.md.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from scoring_model.features.catalogue import MISSING, Family, Feature, Group, signal_reason, snake
from scoring_model.features.signal_settings import SignalSettings
from scoring_model.records import SignalType

VERSION: Final = 1
FAMILY: Final = "label_statistics"

_RARE: Final = "\x00"
"""Stands for all values without a table of their own; the contract lets no signal have it."""


@dataclass(frozen=True, slots=True)
class DailyCounts:
    """Records and frauds that were known by the end of some days.

    Parameters
    ----------
    days : tuple of int
        Days since 1970-01-01 UTC, ascending.
    records, frauds : tuple of int
        Cumulative counts.
    """

    days: tuple[int, ...] = ()
    records: tuple[int, ...] = ()
    frauds: tuple[int, ...] = ()

    def before(self, day: int) -> tuple[int, int]:
        """Return the records and the frauds among them that were known before a day."""
        place = bisect_left(self.days, day) - 1
        return (0, 0) if place < 0 else (self.records[place], self.frauds[place])


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownLabels:
    """Counts of known labels by category.

    Parameters
    ----------
    last : int
        The first day that no table reads any more.
    delay : int
        Microseconds after an event at which its record counts.
    every : DailyCounts
        Of all records.
    fields : mapping of str to mapping of str to DailyCounts
        By field, such as ``signals.channel``, and value. A table begins on the day on which the fifth person of the
        value counted.
    weights : mapping of str to int
        By field: the number of records of the average share that smooth the share of a value.
    """

    last: int = 0
    delay: int = 0
    every: DailyCounts = field(default_factory=DailyCounts)
    fields: Mapping[str, Mapping[str, DailyCounts]] = field(default_factory=dict)
    weights: Mapping[str, int] = field(default_factory=dict)

    def reader(self, name: str) -> Callable[[str | None, int], tuple[float, ...]]:
        """Return the value function of a field: of what was known before a day, the share of frauds and the frequency.

        The frequency is a share of all records, since a number that grows with time is a clock, and models learn it.
        """
        tables, every, weight = self.fields.get(name, {}), self.every, self.weights.get(name, 1)
        none = DailyCounts()

        def read(value: str | None, day: int) -> tuple[float, ...]:
            if value is None:
                return (MISSING, MISSING)
            total, of_total = every.before(day)
            if not total:
                return (MISSING, MISSING)
            records, frauds = tables.get(value, none).before(day)
            return ((frauds + weight * (of_total / total)) / (records + weight), records / total)

        return read

    def to_json(self) -> dict[str, Any]:
        """Return plain values that `from_json` reads back exactly."""
        return {
            "last": self.last,
            "delay": self.delay,
            "every": _lists(self.every),
            "weights": dict(sorted(self.weights.items())),
            "fields": {
                name: {value: _lists(counts) for value, counts in sorted(tables.items())}
                for name, tables in sorted(self.fields.items())
            },
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """Read the result of `to_json`."""
        return cls(
            last=plain["last"],
            delay=plain["delay"],
            every=_counts(plain["every"]),
            weights=plain["weights"],
            fields={
                name: {value: _counts(lists) for value, lists in tables.items()}
                for name, tables in plain["fields"].items()
            },
        )


def _lists(counts: DailyCounts) -> list[list[int]]:
    return [list(counts.days), list(counts.records), list(counts.frauds)]


def _counts(lists: list[list[int]]) -> DailyCounts:
    days, records, frauds = map(tuple, lists)
    return DailyCounts(days, records, frauds)


def family(signals: Mapping[str, SignalSettings], known: KnownLabels) -> Family:
    """Return the features of the signals that are categories; their reasons are those of the signals."""
    return Family(
        name=FAMILY,
        version=VERSION,
        groups=tuple(
            _group(name, settings, known)
            for name, settings in sorted(signals.items())
            if settings.type is SignalType.CATEGORY
        ),
    )


def _group(name: str, settings: SignalSettings, known: KnownLabels) -> Group:
    tables, last = known.fields.get(f"signals.{name}", {}), known.last
    inputs = (f"signals.{name}", "eventDay")
    features = tuple(
        Feature(
            name=f"signal_{snake(name)}_{end}",
            inputs=inputs,
            unit=unit,
            reason=signal_reason(name),
            sentence=sentence.format(name),
            protected=settings.protected,
            fitted=True,
            learnt=True,
        )
        for end, unit, sentence in (
            (
                "known_fraud_share",
                "share",
                "Share of frauds among the earlier records with the same signal {} whose class was known before the "
                "day of the event, smoothed.",
            ),
            (
                "known_share",
                "share",
                "Share of those with the same signal {} among the earlier records whose class was known before the day "
                "of the event.",
            ),
        )
    )
    return Group(
        inputs=inputs,
        features=features,
        function=known.reader(f"signals.{name}"),
        views=(lambda value: value if value in tables else _RARE, lambda day: min(day, last)),
    )
