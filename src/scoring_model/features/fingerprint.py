"""A fingerprint of the features: their versions and their values on invented records.

It changes with every change of a value, but not of a comment.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence

import numpy as np

from scoring_model.features import links
from scoring_model.features.matrix import FeatureMatrix
from scoring_model.features.settings import FeatureSettings, LinkSettings
from scoring_model.features.state import FittedState
from scoring_model.history import past_counts_of_rows
from scoring_model.records import NEVER, NORMALISATION_VERSION, Column, RecordTable, SignalType

_START = 1_700_000_000_000_000
_VISITS = 3
"""Records in a row of one person and one device."""

_PEOPLE: Sequence[Mapping[str, object]] = (
    {
        "firstName": "Ana-María",
        "lastName": "Núñez",
        "dob": "1984-02-29",
        "citizenship": "ES",
        "documentType": "PASSPORT",
        "imageUrls": ("https://images.example/a/front.jpg", "https://images.example/a/back.jpg?v=2"),
        "address.line1": "Calle Mayor 7, 2º B",
        "address.city": "Madrid",
        "address.postalCode": "28013",
        "address.country": "ES",
    },
    {
        "firstName": "ANA MARIA",
        "lastName": "nunez",
        "dob": "1984-02-29",
        "citizenship": "ES",
        "address.line1": "c/ mayor 7",
        "address.city": "MADRID",
        "address.country": "ES",
    },
    {"firstName": "Zxcvbn", "lastName": "Qqqqq1", "dob": "2000-01-01", "documentType": "NATIONAL_ID"},
    {
        "firstName": "Олена",
        "lastName": "Шевчeнко",
        "dob": "1991-07-05",
        "citizenship": "UA",
        "address.line1": "P.O. Box 9",
        "address.region": "Київ",
        "address.country": "UA",
    },
    {
        "firstName": "محمد",
        "lastName": "محمد",
        "dob": "1975-12-31",
        "citizenship": "NA",
        "documentType": "RESIDENCE_PERMIT",
        "imageUrls": ("https://images.example/same.png", "https://images.example/same.png"),
        "address.country": "DE",
    },
    {"firstName": "𝒳", "lastName": "李", "documentType": "DRIVERS_LICENSE", "address.city": "上海"},
    {
        "firstName": "DR. TEST-\u200bANNA",
        "lastName": "Anna Holdings GmbH",
        "dob": "1960-05-05",
        "citizenship": "DE",
        "documentType": "RESIDENCE_PERMIT",
        "imageUrls": (
            "https://i.imgur.com/x/y/1234.png",
            "https://192.0.2.7:8443/scan",
            "https://10.example",
        ),
        "address.line1": "Test 123, Apt 4, c/o Hotel Köln",
        "address.line2": "PO Box 1",
        "address.city": "köln 1",
        "address.region": "Nordrhein-Westfalen",
        "address.postalCode": "1234",
        "address.country": "DE",
    },
    {"subjectId": "invented-1"},
)

_NUMBERS = (0.0, 1.0, None, -3.5, 1e-36, 1e300)
_IDENTIFIERS = ("invented-a", "invented-b", "invented-a", None)
_TEXTS: Mapping[SignalType, Sequence[str | None]] = {
    SignalType.EMAIL: (
        "ana.nunez@gmail.com",
        "Ana_Maria.Nunez+1984@GoogleMail.com",
        "zxcvbn007@sub.mailinator.com",
        "олена@пошта.example",
        "m-m@office.example.org",
        "no address",
        None,
    ),
    SignalType.PHONE: (
        "+34 612 34 56 78",
        "612345678",
        "+1 (202) 555-0143 ext. 5",
        "0049 30 00000000",
        "+44 (0)7400 123456",
        "+999 1",
        "call me",
        None,
        "+800 1234 5678",
    ),
    SignalType.IP: (
        "8.8.8.8",
        "::ffff:10.0.0.1",
        "100.64.0.1",
        "2a00:1450:4001:80b::200e",
        "fe80::1%eth0",
        "2002:808:808::1",
        "203.0.113.9",
        "1.2.3",
        None,
        "240.0.0.1",
        "127.0.0.1",
    ),
}
"""Texts of signals that are read, the same during a visit; their numbers are no multiples of that of the people."""
_LABELS = (1, -1, 0, -1, -1, 1, -1)


def invented_table(settings: FeatureSettings, state: FittedState) -> RecordTable:
    """Invented records with signals as the settings type them, some of them labelled at once."""
    times = _instants(_lengths(settings.links))
    visits = [place // _VISITS for place in range(len(times))]
    signals = {
        f"signals.{name}": _signal_values(s.type, state.vocabulary(f"signals.{name}").values)
        for name, s in sorted(settings.signals.items())
    }
    values = []
    for place, visit in enumerate(visits):
        drawn = {name: _drawn(choices, place, visit) for name, choices in signals.items()}
        values.append({**_PEOPLE[visit % len(_PEOPLE)], **{n: v for n, v in drawn.items() if v is not None}})
    labels = np.array([_LABELS[place % len(_LABELS)] for place in range(len(times))], dtype=np.int8)
    event_times = np.array(times, dtype=np.int64)
    return RecordTable(
        record_ids=tuple(f"invented-{i}" for i in range(len(times))),
        event_times=event_times,
        columns={name: _column(values, name) for name in sorted({name for v in values for name in v})},
        labels=labels,
        label_times=np.where(labels >= 0, event_times + 1, NEVER),
        source_rows=np.arange(len(times), dtype=np.int64),
    )


def _lengths(links: LinkSettings) -> list[int]:
    """List how far back the windows look."""
    specs = links.specs.values()
    delayed = [spec.delay + window for spec in specs for window in spec.delayed]
    return sorted({*links.windows, *(window for spec in specs for window in spec.windows), *delayed})


def _instants(windows: Sequence[int]) -> list[int]:
    """Make two steps per person and window: no step and inside, up to the edge, just past it."""
    steps = [
        step for w in windows for within in ((0, w // 2), (w // 3, w // 3), (w, 1), (2, w)) for step in within
    ]
    times, time = [], _START
    for number in range(max(len(steps) // 2, 3 * len(_PEOPLE))):
        for step in (2 * windows[0], *steps[2 * number % len(steps) :][:2]):
            time += step
            times.append(time)
    return times


def _drawn(choices: Sequence[object], place: int, visit: int) -> object:
    """Draw a value: identifiers and texts are constant during a visit, other signals change with every record."""
    constant = choices is _IDENTIFIERS or any(choices is texts for texts in _TEXTS.values())
    return choices[(visit if constant else place) % len(choices)]


def _signal_values(kind: SignalType, categories: Sequence[str]) -> Sequence[object]:
    if kind is SignalType.CATEGORY:
        return (*categories, "invented-unseen", None)
    if kind is SignalType.IDENTIFIER:
        return _IDENTIFIERS
    if kind in _TEXTS:
        return _TEXTS[kind]
    return _NUMBERS if kind is SignalType.NUMBER else (0.0, 1.0, None)


def _column(values: Sequence[Mapping[str, object]], name: str) -> Column:
    distinct: dict[object, int] = {}
    codes = [distinct.setdefault(v[name], len(distinct)) if name in v else -1 for v in values]
    return Column(tuple(distinct), np.array(codes, dtype=np.int32))


def feature_versions(matrix: FeatureMatrix) -> dict[str, int]:
    """Return the versions of the feature families, links and normalisation, by name."""
    versions = {family.name: family.version for family in matrix.families}
    return {**versions, "links": links.VERSION, "normalisation": NORMALISATION_VERSION}


def fingerprint(matrix: FeatureMatrix) -> str:
    """Return the fingerprint of the features of one use.

    Returns
    -------
    str
        SHA-256 in hexadecimal of the versions of the families, of links and of normalisation, of the names in
        order, and of the bits of the rows of the committed invented records.
    """
    digest = hashlib.sha256(json.dumps([sorted(feature_versions(matrix).items()), matrix.names]).encode())
    table = invented_table(matrix.settings, matrix.state)
    histories = past_counts_of_rows(table, range(len(table)), matrix.link_keys, matrix.specs)
    for row, history in enumerate(histories):
        digest.update(matrix.row(table.record(row), history).astype("<f8").tobytes())
    return digest.hexdigest()
