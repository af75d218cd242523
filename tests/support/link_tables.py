"""Invented records of a file, each value with its link identity, and their links by plain loops.

Nothing here normalises, encodes or sums as the project does: equal spellings are listed explicitly.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Final

import pyarrow as pa
from hypothesis import strategies as st

from scoring_model.contract.fields import IDENTITY_FIELDS
from scoring_model.features import KeySettings, LinkSettings, SignalSettings
from scoring_model.history import (
    COUNT_KINDS,
    MOST_UNITS,
    NOTHING_BEFORE,
    STATISTICS,
    Amount,
    Sums,
    WindowSpec,
)
from scoring_model.records import RecordSchema, RecordTable, SignalType, format_duration
from scoring_model.records.reading import read_records
from window_oracle import Event, by_definition

CENTS: Final = Amount(signal="paid", decimals=2)
SIGNALS: Final = {
    "device": SignalSettings(type=SignalType.IDENTIFIER),
    "channel": SignalSettings(type=SignalType.CATEGORY),
    "paid": SignalSettings(type=SignalType.NUMBER),
    "tip": SignalSettings(type=SignalType.NUMBER),
    "vpn": SignalSettings(type=SignalType.BOOLEAN),
}
SCHEMA: Final = RecordSchema(signals={name: settings.type for name, settings in SIGNALS.items()})
LINKS: Final = LinkSettings(
    keys={
        "person": (),
        "address": ("address.line1", "address.country"),
        "device": ("signals.device",),
        "image": ("imageUrls",),
        "paid": ("signals.paid",),
        "mixed": ("signals.vpn", "signals.channel", "externalId"),
    },
    windows=(1_000_000, 2_000_000, 3_600_000_000),
    cap=3,
    amount=CENTS,
)
EVERYTHING: Final = LinkSettings(
    keys=LINKS.keys,
    windows=(1_000_000, 3_600_000_000),
    delay=1_000_000,
    delayed_windows=(1_000_000, 60_000_000),
    counts=COUNT_KINDS,
    cap=3,
    amounts=(CENTS, Amount(signal="tip", decimals=0)),
    statistics=STATISTICS,
    above=2,
    by_key={
        "address": KeySettings(counts=("records", "first"), amounts=("tip",), statistics=("z", "above")),
        "image": KeySettings(windows=(2_000_000,), delayed_windows=(), amounts=()),
        "mixed": KeySettings(counts=("fraud_run",), statistics=()),
        "paid": KeySettings(counts=(), delayed_windows=(), statistics=("highest_ratio",)),
    },
)
"""All that may be counted, two amounts, and keys that count less."""

Spelling = tuple[object, Hashable]
"""What a file holds, and by what it ties; None ties nothing."""

_TEXTS: Final[Sequence[Spelling]] = [("Zürich", 1), (" ZURICH", 1), ("Bern", 2), ("", None)]
SPELLINGS: Final[Mapping[str, Sequence[Spelling]]] = {
    **dict.fromkeys(IDENTITY_FIELDS, _TEXTS),  # those of fields without own ones below
    "firstName": [
        ("Anna", 1),
        ("ANNA", 1),
        (" Ánna ", 1),
        ("Олена", 2),
        ("ОЛЕНА", 2),
        ("مُحَمَّد", 3),
        ("محمد", 3),
        ("-", None),
    ],
    "lastName": [("Núñez", 1), ("nunez", 1), ("李", 2), ("Ó Brádaigh", 3), ("O'BRADAIGH", 3), ("...", None)],
    "dob": [("1984-02-29", 1), ("2000-01-01", 2)],
    "citizenship": [("DE", 1), ("de", 1), ("UA", 2)],
    "documentType": [("PASSPORT", 1), ("NATIONAL_ID", 2)],
    "imageUrls": [
        ("https://a.example/1", 1),
        ("https://A.example/1?x=2 https://b.example/9", 1),
        ("https://a.example/2", 2),
        ("", None),
    ],
    "address.line1": [
        ("12 Main Street", 1),
        ("12, MAIN st.", 1),
        ("ул. Ленина 1", 2),
        ("УЛ ЛЕНИНА, 1", 2),
        ("--", None),
    ],
    "address.line2": [("Flat 1", 1), ("flat 1", 1), ("2", 2)],
    "address.city": [("Kraków", 1), ("KRAKOW", 1), ("上海", 2), ("?!", None)],
    "address.region": [("Île-de-France", 1), ("ile de france", 1), ("Київ", 2)],
    "address.postalCode": [("AB1 2CD", 1), ("ab12cd", 1), ("10115", 2), ("-", None)],
    "address.country": [("DE", 1), ("de", 1), ("NA", 2), ("  ", None)],
    "externalId": [("x", 1), (" x ", 1), ("X", 2), ("", None)],
    "subjectId": [("s", 1), ("s ", 1), ("S", 2), ("", None)],
    "identityId": [("s", 1), ("i", 2), (" i", 2), ("", None)],
    "signals.device": [("d", 1), ("d ", 1), ("é", 2), ("e\u0301", 2), ("", None)],
    "signals.channel": [("web", 1), ("app", 2), ("", None)],
    "signals.paid": [
        (0.0, 0),
        (-0.0, 0),
        (0.125, 1),
        (-2.345, 2),
        (19.99, 3),
        (2**40 / 100, 4),
        (2**40 / 100 + 0.01, 5),
        (1e300, 6),
        (math.nan, None),
    ],
    "signals.tip": [(0.0, 0), (1.0, 1), (-3.0, 2), (7.5, 3), (2.0**40, 4), (math.nan, None)],
    "signals.vpn": [(True, 1), (False, 0)],
}  # fmt: skip
"""Fields with values that are one, that are others and that leave nothing."""

NOTHING: Final[Spelling] = (None, None)
_START: Final = datetime(2024, 2, 28, 23, 59, 58, tzinfo=UTC)
_STEP: Final = timedelta(microseconds=500_000)
STEPS: Final = 9
"""Instants half a second apart: records lie on both edges of the windows, and many at one instant."""


@dataclass(frozen=True, slots=True)
class Label:
    """The label of a record: known and reported at steps; the second may be missing."""

    fraud: bool
    known: int
    reported: int | None

    @property
    def counts_from(self) -> int:
        """The step from which it counts."""
        return self.known if self.reported is None else max(self.known, self.reported)


@dataclass(frozen=True, slots=True)
class Row:
    """One record of a file."""

    step: int
    spellings: Mapping[str, Spelling] = field(default_factory=dict)
    label: Label | None = None

    def tie(self, name: str) -> Hashable:
        """The link identity of one field."""
        return self.spellings.get(name, NOTHING)[1]


def instant(step: int) -> datetime:
    """The instant of a step."""
    return _START + step * _STEP


def micros(step: int) -> int:
    """The instant of a step in microseconds since 1970."""
    return (instant(step) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def arrow(rows: Sequence[Row]) -> pa.Table:
    """The rows as a table of a file."""
    moments = pa.timestamp("us", "UTC")
    labels = [row.label for row in rows]
    columns = {
        "eventTime": pa.array([instant(row.step) for row in rows], moments),
        "label": pa.array(
            [label and ("fraud" if label.fraud else "genuine") for label in labels], pa.string()
        ),
        "labelKnownAt": pa.array(
            [None if label is None else instant(label.known) for label in labels], moments
        ),
        "labelReportedAt": pa.array(
            [
                None if label is None or label.reported is None else instant(label.reported)
                for label in labels
            ],
            moments,
        ),
    }
    kinds = {"signals.paid": pa.float64(), "signals.tip": pa.float64(), "signals.vpn": pa.bool_()}
    for name in SPELLINGS:
        cells = [row.spellings.get(name, NOTHING)[0] for row in rows]
        columns[name] = pa.array(cells, kinds.get(name, pa.string()), from_pandas=False)
    return pa.table(columns)


def read(rows: Sequence[Row]) -> RecordTable:
    """The rows as parsed records; none may be rejected."""
    reading = read_records(arrow(rows), SCHEMA, labelled=True)
    assert reading.violations == ()
    return reading.table


def link_features_of(rows: Sequence[Row], links: LinkSettings) -> list[dict[str, float]]:
    """Every link feature of every record, by loops over all records."""
    found: list[dict[str, float]] = [{} for _ in rows]
    specs = links.specs
    for name, parts in links.keys.items():
        spec = replace(specs[name], counts=COUNT_KINDS, statistics=STATISTICS)
        ties = [_person(row) if name == "person" else _together(row, parts) for row in rows]
        for features, row, own in zip(found, rows, ties, strict=True):
            past = [
                _event(other, i, links) for i, other in enumerate(rows) if own is not None and ties[i] == own
            ]
            features.update(_features(name, past, row, spec))
    return found


def _together(row: Row, parts: Sequence[str]) -> Hashable:
    ties = tuple(row.tie(part) for part in parts)
    return None if None in ties else ties


def _person(row: Row) -> Hashable:
    """By names and date of birth, else the reference, else the identity, whose id is no reference."""
    for parts in (("firstName", "lastName", "dob"), ("subjectId",), ("identityId",)):
        found = _together(row, parts)
        if found is not None:
            return (parts[0], found)
    return None


def _event(row: Row, place: int, links: LinkSettings) -> Event:
    person = _person(row)
    reported = () if row.label is None else ((micros(row.label.counts_from), row.label.fraud),)
    amounts = tuple(_own_units(row, amount) for amount in links.every_amount)
    return Event(micros(row.step), repr(("row", place) if person is None else person), reported, amounts)


def _own_units(row: Row, amount: Amount) -> int | None:
    return _units(row.spellings.get(amount.field, NOTHING)[0], amount)


def _units(value: object, amount: Amount) -> int | None:
    if not isinstance(value, float) or not math.isfinite(value * 10.0**amount.decimals):
        return None
    units = int(Decimal(value * 10.0**amount.decimals).to_integral_value(ROUND_HALF_EVEN))
    return units if abs(units) <= MOST_UNITS else None


def _features(key: str, past: Sequence[Event], row: Row, spec: WindowSpec) -> dict[str, float]:
    """Every feature of a key by name, of all kinds; the matrix selects the configured ones."""
    counts = by_definition(past, micros(row.step), spec)
    found: dict[str, float] = {}
    for w, length in enumerate(spec.windows):
        name = f"link_{key}_{format_duration(length)}"
        found[f"{name}_records"] = counts.records[w]
        found[f"{name}_persons"] = counts.persons[w]
        found[f"{name}_frauds"] = counts.frauds[w]
        found[f"{name}_fraud_share"] = _quotient(counts.frauds[w], counts.records[w])
        for place, sums in zip(spec.places, counts.sums, strict=True):
            amount = spec.amounts[place]
            amounts = _amounts(sums, w, _own_units(row, amount))
            found |= {f"{name}_{amount.signal}_{kind}": value for kind, value in amounts.items()}
    for w, length in enumerate(spec.delayed):
        name = f"link_{key}_{format_duration(length)}_delayed"
        found[f"{name}_records"] = counts.delayed.records[w]
        found[f"{name}_frauds"] = counts.delayed.frauds[w]
        found[f"{name}_fraud_share"] = _quotient(counts.delayed.frauds[w], counts.delayed.records[w])
    for w, (shorter, longer) in enumerate(pairwise(spec.windows)):
        name = f"link_{key}_{format_duration(shorter)}_{format_duration(longer)}_change"
        before, whole = counts.records[w], counts.records[w + 1]
        # The ratio of the lengths and the product are rounded, as the catalogue says.
        found[name] = before * (longer / shorter) / whole if whole else math.nan
    assert counts.known is not None
    times = {
        "since_last": counts.since_last,
        "age": counts.age,
        "since_first_fraud": counts.known.first,
        "since_last_fraud": counts.known.last,
    }
    for kind, time in times.items():
        found[f"link_{key}_{kind}"] = math.nan if time == NOTHING_BEFORE else _quotient(time, 10**6)
    found[f"link_{key}_first"] = float(counts.age == NOTHING_BEFORE)
    found[f"link_{key}_fraud_run"] = counts.known.run
    return found


def _amounts(sums: Sums, w: int, own: int | None) -> dict[str, float]:
    total, n, scale = sums.units[w], sums.records[w], int(sums.scale)
    root = math.sqrt(sums.variances[w])
    highest = sums.highest[w]
    there, own = own is not None and n > 0, own or 0
    return {
        "sum": _quotient(total, scale),
        "mean": _quotient(total, n * scale),
        "ratio": float(n * own) / float(total) if there and total else math.nan,
        "z": float(n * own - total) / root if there and root else math.nan,
        "spread": root / float(n * scale) if n else math.nan,
        "highest": _quotient(highest, scale) if n else math.nan,
        "highest_ratio": float(own) / float(highest) if there and highest else math.nan,
        "above": sums.above[w],
    }


def _quotient(part: int, whole: int) -> float:
    """The double next to a quotient, NaN where there is none."""
    return float(Fraction(part, whole)) if whole else math.nan


steps = st.integers(0, STEPS - 1)
labels = st.builds(Label, st.booleans(), st.integers(0, STEPS + 2), st.none() | st.integers(0, STEPS + 2))
_some = st.fixed_dictionaries({}, optional={name: st.sampled_from(pool) for name, pool in SPELLINGS.items()})
# A document alone makes no link: a record needs another value to exist.
_spellings = _some.map(lambda spellings: {"documentType": SPELLINGS["documentType"][0], **spellings})
file_rows = st.lists(st.builds(Row, steps, _spellings, st.none() | labels), min_size=1, max_size=14)
"""Few spellings and instants, so that ties, shared keys, gaps and caps are the rule."""


def group(n: int, *, seed: int) -> list[Row]:
    """Many records: a fifth shares one device, the others share devices and persons in small groups."""
    random = Random(seed)
    return [_of_crowd(random) for _ in range(n)]


def _of_crowd(random: Random) -> Row:
    spellings = {name: random.choice(pool) for name, pool in SPELLINGS.items() if random.random() < 0.7}
    device = "hot" if random.random() < 0.2 else str(random.randrange(200))
    spellings |= {"signals.device": (device, device), "documentType": SPELLINGS["documentType"][0]}
    last = f"Name{'abcdefghij'[random.randrange(10)]}"
    spellings |= {"lastName": (last, last)}
    label = Label(random.random() < 0.5, random.randrange(60), random.choice([None, random.randrange(60)]))
    return Row(random.randrange(60), spellings, label if random.random() < 0.4 else None)
