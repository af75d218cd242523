"""Settings and tables of features that several tests share."""

from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import strategies as st

from scoring_model.features import (
    Family,
    FittedState,
    LinkSettings,
    SignalSettings,
    Trend,
)
from scoring_model.features.state import MailTables, NgramTable, ShareTable, Vocabulary
from scoring_model.records import NEVER, Column, RecordTable, SignalType

SIGNALS = {
    "channel": SignalSettings(type=SignalType.CATEGORY),
    "device": SignalSettings(type=SignalType.IDENTIFIER),
    "email": SignalSettings(type=SignalType.EMAIL),
    "emailAgeDays": SignalSettings(type=SignalType.NUMBER, trend=Trend.DECREASING),
    "ip": SignalSettings(type=SignalType.IP),
    "ipCountry": SignalSettings(type=SignalType.CATEGORY, differs_from="address.country"),
    "mobile": SignalSettings(type=SignalType.PHONE, country="DE"),
    "sex": SignalSettings(type=SignalType.CATEGORY, protected="sex"),
    "vpn": SignalSettings(type=SignalType.BOOLEAN, trend=Trend.INCREASING),
}
LINKS = LinkSettings(
    keys={
        "address": ("address.line1", "address.country"),
        "device": ("signals.device",),
        "mailbox": ("signals.email:mailbox",),
        "network": ("signals.ip:net24", "signals.email:domain"),
        "person": (),
        "phone": ("signals.mobile:e164-DE",),
    },
    windows=(1_000_000, 3_600_000_000),
    cap=3,
)
STATE = FittedState(
    names=NgramTable.fit([("Anna", 9), ("Olena", 7)]),
    lines=NgramTable.fit([("Main Street 1", 9)]),
    documents=ShareTable({"DE": {"NATIONAL_ID": 20, "PASSPORT": 5}, "NA": {"PASSPORT": 7}}),
    vocabularies={
        "address.country": Vocabulary(["DE", "NA"]),
        "citizenship": Vocabulary(["DE", "UA"]),
        "signals.channel": Vocabulary(["web", "app"]),
        "signals.email:domain": Vocabulary(["gmail.com"]),
        "signals.email:top": Vocabulary(["com", "de"]),
        "signals.ip:network": Vocabulary(["192.0.0.0/16"]),
        "signals.ipCountry": Vocabulary(["DE"]),
        "signals.mobile:country": Vocabulary(["DE", "FR"]),
        "signals.sex": Vocabulary(["f", "m"]),
    },
    mail=MailTables(
        locals=NgramTable.fit([("anna", 9), ("olena.1", 7)]),
        free=frozenset({"gmail.com"}),
        disposable=frozenset({"mailinator.com"}),
    ),
)


def values_of(family: Family, record: Mapping[str, object]) -> dict[str, float]:
    """Features of a family for one record, by name."""
    return {
        feature.name: value
        for group in family.groups
        for feature, value in zip(group.features, group.function(*map(record.get, group.inputs)), strict=True)
    }


_POOLS: Mapping[str, Sequence[object]] = {
    "firstName": ("Anna", "ANNA", "Олена", "محمد", "𝒳", "A1"),
    "lastName": ("Anna", "Núñez", "李", "qwerty"),
    "dob": ("1984-02-29", "2000-01-01"),
    "citizenship": ("DE", "UA", "NA"),
    "documentType": ("PASSPORT", "NATIONAL_ID"),
    "imageUrls": (("https://a.example/1",), ("https://a.example/1?x", "https://B.example/2")),
    "address.line1": ("Main Street 1", "main st. 1", "P.O. Box 3"),
    "address.country": ("DE", "NA", "FR"),
    "address.postalCode": ("10115", "AB1 2CD"),
    "subjectId": ("s1", "s2"),
    "identityId": ("i1", "s1"),
    "signals.channel": ("web", "app", "kiosk"),
    "signals.device": ("d1", "d2"),
    "signals.email": (
        "Anna.Nunez+1@GoogleMail.com",
        "annanunez@gmail.com",
        "x9@a.mailinator.com",
        "anna@",
        "ä@ö.de",
    ),
    "signals.emailAgeDays": (0.0, -3.5, 1e-36, 1e300),
    "signals.ip": ("192.0.2.7", "::ffff:192.0.2.9", "2a00::1", "10.1", "8.8.8.8"),
    "signals.ipCountry": ("DE", "NA"),
    "signals.mobile": ("0151 23456789", "+49 151 23456789", "+33 6", "12", "none", "+1 202 555 0143"),
    "signals.sex": ("f", "m"),
    "signals.vpn": (0.0, 1.0),
}


def table_of(
    rows: Sequence[Mapping[str, object]], times: Sequence[int], labels: Sequence[tuple[int, int]]
) -> RecordTable:
    """A table of canonical values; a label is its value and the time from which it is known."""
    columns = {}
    for name in sorted({name for row in rows for name in row}):
        distinct: dict[object, int] = {}
        codes = [distinct.setdefault(row[name], len(distinct)) if name in row else -1 for row in rows]
        columns[name] = Column(tuple(distinct), np.array(codes, dtype=np.int32))
    return RecordTable(
        record_ids=tuple(str(i) for i in range(len(rows))),
        event_times=np.array(times, dtype=np.int64),
        columns=columns,
        labels=np.array([label for label, _ in labels], dtype=np.int8),
        label_times=np.array([time if label >= 0 else NEVER for label, time in labels], dtype=np.int64),
        source_rows=np.arange(len(rows), dtype=np.int64),
    )


def _rows() -> st.SearchStrategy[dict[str, object]]:
    return st.fixed_dictionaries({}, optional={name: st.sampled_from(pool) for name, pool in _POOLS.items()})


_instants = st.integers(0, 8).map(lambda n: 1_700_000_000_000_000 + n * 600_000)


@st.composite
def tables(draw: st.DrawFn) -> RecordTable:
    """Tables of few values and instants, so that ties, shared keys and missing values are the rule."""
    rows = draw(st.lists(_rows(), min_size=1, max_size=12))
    times = draw(st.lists(_instants, min_size=len(rows), max_size=len(rows)))
    label = st.tuples(st.integers(-1, 1), _instants)
    return table_of(rows, times, draw(st.lists(label, min_size=len(rows), max_size=len(rows))))
