"""Writes plans as rows of a table: texts, typos, blank fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scoring_model.arrays import IntArray
from scoring_model.records.times import DAY
from scoring_model.synthetic.addresses import written_addresses
from scoring_model.synthetic.countries import CODES
from scoring_model.synthetic.draws import Draws, KeyArray
from scoring_model.synthetic.events import MAIL_DOMAINS, Channel, EventArray, Kind
from scoring_model.synthetic.names import full_names
from scoring_model.synthetic.people import births, sexes

_TYPO = 0.012
_WRONG_DATE = 0.004
_UPPER = 0.05
_LOWER = 0.03
_SHORT = 0.12
_ABBREVIATIONS = (
    (" Street", " St"),
    (" Road", " Rd"),
    (" Avenue", " Ave."),
    (" Lane", " Ln"),
    (" Drive", " Dr"),
    ("straße", "str."),
    ("avenue ", "av. "),
    ("boulevard ", "bd "),
    ("Calle ", "C/ "),
    ("Avenida ", "Av. "),
    ("улица ", "ул. "),
)


def mistyped(draws: Draws, field: str, names: NDArray[np.object_], keys: KeyArray) -> NDArray[np.object_]:
    """Add typos to some names, and write some in capitals or lower case.

    Parameters
    ----------
    field : str
        Which field, so that errors in two fields are independent; capitals go for all fields of a record.
    names : ndarray of shape (n,), str
    keys : ndarray of shape (n,), uint64
        Keys of the records.
    """
    result = names.copy()
    place = draws.uniform(f"typo.place.{field}", keys)
    way = draws.below(f"typo.way.{field}", 3, keys)
    for row in np.flatnonzero(draws.chance(f"typo.{field}", _TYPO, keys)):
        result[row] = _typo(result[row], float(place[row]), int(way[row]))
    return _shouted(draws, result, keys)


def misdated(draws: Draws, dates: NDArray[np.object_], keys: KeyArray) -> NDArray[np.object_]:
    """Swap day and month of some dates (YYYY-MM-DD) where that gives a date, else say the first."""
    result = dates.copy()
    for row in np.flatnonzero(draws.chance("typo.dob", _WRONG_DATE, keys)):
        year, month, day = result[row].split("-")
        result[row] = f"{year}-{day}-{month}" if int(day) <= 12 else f"{year}-{month}-01"
    return result


def restyled(draws: Draws, lines: Sequence[str | None], keys: KeyArray) -> NDArray[np.object_]:
    """Abbreviate some address lines, and write some in capitals or lower case."""
    result = np.array(lines, dtype=object)
    for row in np.flatnonzero(draws.chance("style.short", _SHORT, keys)):
        for long, short in _ABBREVIATIONS:
            result[row] = result[row].replace(long, short)
    return _shouted(draws, result, keys)


def _shouted(draws: Draws, texts: NDArray[np.object_], keys: KeyArray) -> NDArray[np.object_]:
    case = draws.choice("style.case", (1.0 - _UPPER - _LOWER, _UPPER, _LOWER), keys)
    for row in np.flatnonzero(case == 1):
        texts[row] = texts[row].upper()
    for row in np.flatnonzero(case == 2):
        texts[row] = texts[row].lower()
    return texts


def _typo(name: str, place: float, way: int) -> str:
    """Swap, double or drop a letter; the last one stays where the name has no other."""
    if len(name) < 3:
        return name
    at = 1 + int(place * (len(name) - 2))
    if way == 0:
        return name[:at] + name[at + 1] + name[at] + name[at + 2 :]
    if way == 1:
        return name[:at] + name[at] + name[at:]
    return name[:at] + name[at + 1 :]


FRAUD, GENUINE, NONE = 1, 0, -1
EXTRACT_AFTER = 90 * DAY
"""Time after the end of a history (microseconds) at which its labels are read; later labels are missing."""

_NEVER_FOUND = 0.065
_ACCUSED = 0.00075
_REVIEWED = 0.07
_FRAUD_DAYS = (25.0, 0.6)
_REVIEW_DAYS = (4.0, 0.9)
_SECOND = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Labels:
    """Labels of n records.

    Parameters
    ----------
    values : ndarray of shape (n,), int64
        1 fraud, 0 genuine, -1 none.
    known_at : ndarray of shape (n,), int64
        Microseconds since 1970 UTC, always after the event; without meaning where there is none.
    """

    values: IntArray
    known_at: IntArray


def label(draws: Draws, events: EventArray, *, end: int) -> Labels:
    """Label events.

    Parameters
    ----------
    end : int
        End of the history, microseconds.
    """
    keys = events["key"]
    fraud = events["kind"] != Kind.GENUINE
    missed = draws.chance("label.missed", _NEVER_FOUND, keys)
    accused = draws.chance("label.accused", _ACCUSED, keys)
    reviewed = draws.chance("label.reviewed", np.where(events["vpn"], 2.0, 1.0) * _REVIEWED, keys)
    reported = np.where(fraud, ~missed, accused)
    values = np.where(reported, FRAUD, np.where(reviewed, GENUINE, NONE))
    fraud_days = draws.lognormal("label.fraud.days", *_FRAUD_DAYS, keys)
    review_days = draws.lognormal("label.review.days", *_REVIEW_DAYS, keys)
    delay = np.where(reported, fraud_days, review_days) * (DAY / _SECOND)
    known_at = events["time"] + np.maximum(delay.astype(np.int64), 1) * _SECOND
    return Labels(values=np.where(known_at < end + EXTRACT_AFTER, values, NONE), known_at=known_at)


NOTICE = "invented records: no person, address, document, image or device in them exists"
"""Metadata of every synthetic table."""

_TIME = pa.timestamp("us", tz="UTC")
_FIELDS = (
    ("recordId", pa.string()),
    ("eventTime", _TIME),
    ("subjectId", pa.string()),
    ("externalId", pa.string()),
    ("firstName", pa.string()),
    ("lastName", pa.string()),
    ("dob", pa.string()),
    ("citizenship", pa.string()),
    ("documentType", pa.string()),
    ("imageUrls", pa.list_(pa.string())),
    ("address.line1", pa.string()),
    ("address.line2", pa.string()),
    ("address.city", pa.string()),
    ("address.region", pa.string()),
    ("address.postalCode", pa.string()),
    ("address.country", pa.string()),
    ("signals.deviceId", pa.string()),
    ("signals.ipCountry", pa.string()),
    ("signals.emailDomain", pa.string()),
    ("signals.channel", pa.string()),
    ("signals.emailAgeDays", pa.float64()),
    ("signals.formSeconds", pa.float64()),
    ("signals.vpn", pa.bool_()),
    ("signals.sex", pa.string()),
    ("label", pa.string()),
    ("labelKnownAt", _TIME),
)
_TRUTH = (("truth.kind", pa.string()), ("truth.person", pa.string()))


def schema(*, truth: bool) -> pa.Schema:
    """Columns of a history; with `truth` also the kind and the person behind each record."""
    fields = (*_FIELDS, *_TRUTH) if truth else _FIELDS
    return pa.schema(fields, metadata={"scoring_model.synthetic": NOTICE})


Values: TypeAlias = Sequence[object] | NDArray[Any]

_DOCUMENTS = np.array(["PASSPORT", "NATIONAL_ID", "DRIVERS_LICENSE", "RESIDENCE_PERMIT"], dtype=object)
_DOCUMENT_WEIGHTS = (0.38, 0.34, 0.21, 0.07)
_MISSING = {
    "lastName": 0.004,
    "dob": 0.008,
    "citizenship": 0.04,
    "documentType": 0.015,
    "imageUrls": 0.05,
    "address.line1": 0.02,
    "address.line2": 0.25,
    "address.city": 0.02,
    "address.region": 0.45,
    "address.postalCode": 0.04,
    "address.country": 0.01,
    "signals.deviceId": 0.05,
    "signals.ipCountry": 0.02,
    "signals.emailDomain": 0.03,
    "signals.emailAgeDays": 0.12,
    "signals.formSeconds": 0.06,
    "signals.vpn": 0.04,
    "signals.sex": 0.08,
}
_CHANNELS = np.array([channel.name.lower() for channel in Channel], dtype=object)
_COUNTRIES = np.array(CODES, dtype=object)
_KINDS = np.array([kind.name.lower() for kind in Kind], dtype=object)
_LABELS = np.array(["genuine", "fraud", None], dtype=object)  # -1 is the last
_MAILS = np.array(MAIL_DOMAINS, dtype=object)
_SEXES = np.array(["F", "M", "X"], dtype=object)
_HAS_ACCOUNT = 0.12
_HAS_REFERENCE = 0.3


def written(
    draws: Draws, events: EventArray, labels: Labels, *, first: int, start: int, truth: bool
) -> pa.RecordBatch:
    """Write out planned records.

    Parameters
    ----------
    first : int
        Number of the first of these records in the whole history.
    start : int
        Start of the history, microseconds.
    """
    columns = {
        **_event_columns(draws, events, first),
        **_identity_columns(draws, events, start),
        **_address_columns(draws, events),
        **_signal_columns(draws, events),
        **_label_columns(labels),
        **(_truth_columns(events) if truth else {}),
    }
    layout = schema(truth=truth)
    arrays = [_array(draws, field, columns[field.name], events["key"]) for field in layout]
    return pa.RecordBatch.from_arrays(arrays, schema=layout)


def _array(draws: Draws, field: pa.Field, values: Values, keys: KeyArray) -> pa.Array:
    if field.name in _MISSING:
        missing = draws.chance(f"missing.{field.name}", _MISSING[field.name], keys)
        return pa.array(values, type=field.type, mask=missing)
    return pa.array(values, type=field.type)


def _event_columns(draws: Draws, events: EventArray, first: int) -> Mapping[str, Values]:
    account = draws.chance("account", _HAS_ACCOUNT, events["identity"])
    subjects = draws.bits("account.id", events["identity"])
    reference = draws.chance("reference", _HAS_REFERENCE, events["key"])
    references = draws.bits("reference.id", events["key"])
    return {
        "recordId": [f"syn-{draws.seed}-{first + row:010d}" for row in range(len(events))],
        "eventTime": events["time"],
        "subjectId": _where(account, _tokens("syn-sub-", subjects)),
        "externalId": _where(reference, _tokens("syn-ref-", references)),
    }


def _identity_columns(draws: Draws, events: EventArray, start: int) -> Mapping[str, Values]:
    keys = events["key"]
    given, family = full_names(draws, events)
    dates = np.datetime_as_string(births(draws, events, start)).astype(object)
    documents = draws.choice("document", _DOCUMENT_WEIGHTS, events["identity"])
    return {
        "firstName": mistyped(draws, "firstName", given, keys),
        "lastName": mistyped(draws, "lastName", family, keys),
        "dob": misdated(draws, dates, keys),
        "citizenship": _COUNTRIES[events["citizen"]],
        "documentType": _DOCUMENTS[documents],
        "imageUrls": _image_urls(draws, events),
    }


def _image_urls(draws: Draws, events: EventArray) -> list[list[str]]:
    """Front of the document, often its back, often a portrait that is new each time."""
    fronts = _tokens("https://images.example/syn-", events["image"])
    portraits = _tokens("https://images.example/syn-", draws.bits("portrait", events["key"]))
    backs = draws.chance("image.back", 0.45, events["identity"]).tolist()
    faces = draws.chance("image.portrait", 0.55, events["key"]).tolist()
    return [
        [
            f"{front}/front.jpg",
            *([f"{front}/back.jpg"] if back else []),
            *([f"{portrait}.jpg"] if face else []),
        ]
        for front, portrait, back, face in zip(fronts, portraits, backs, faces, strict=True)
    ]


def _address_columns(draws: Draws, events: EventArray) -> Mapping[str, Values]:
    addresses = written_addresses(draws, events["address"], events["country"])
    return {
        "address.line1": restyled(draws, addresses.line1, events["key"]),
        "address.line2": addresses.line2,
        "address.city": restyled(draws, addresses.city, events["key"]),
        "address.region": addresses.region,
        "address.postalCode": addresses.postal,
        "address.country": _COUNTRIES[events["country"]],
    }


def _signal_columns(draws: Draws, events: EventArray) -> Mapping[str, Values]:
    return {
        "signals.deviceId": _tokens("syn-dev-", events["device"]),
        "signals.ipCountry": _COUNTRIES[events["ip"]],
        "signals.emailDomain": _MAILS[events["mail"]],
        "signals.channel": _CHANNELS[events["channel"]],
        "signals.emailAgeDays": events["mail_age"],
        "signals.formSeconds": events["form"],
        "signals.vpn": events["vpn"],
        "signals.sex": _SEXES[sexes(draws, events["identity"])],
    }


def _label_columns(labels: Labels) -> Mapping[str, Values]:
    none = labels.values == NONE
    return {
        "label": _LABELS[labels.values],
        "labelKnownAt": np.ma.MaskedArray(labels.known_at, mask=none),
    }


def _truth_columns(events: EventArray) -> Mapping[str, Values]:
    return {
        "truth.kind": _KINDS[events["kind"]],
        "truth.person": _tokens("syn-person-", events["identity"]),
    }


def _tokens(prefix: str, keys: KeyArray) -> list[str]:
    return [f"{prefix}{key:016x}" for key in keys.tolist()]


def _where(present: NDArray[np.bool_], texts: list[str]) -> list[str | None]:
    return [text if here else None for here, text in zip(present.tolist(), texts, strict=True)]
