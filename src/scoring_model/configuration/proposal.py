"""Proposes a configuration for files of records from the contents of their columns.

Decision record: docs/adr/0008-guesses-about-files.md.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.configuration.profiles import (
    NULL_WORDS,
    Kind,
    Profile,
    has_comma,
    is_international,
    profile,
    words_of,
)
from scoring_model.configuration.proposal_windows import Lengths, propose_lengths
from scoring_model.contract.fields import (
    EVENT_FIELDS,
    IDENTITY_FIELDS,
    REQUIRED_FIELDS,
    SIGNAL_PREFIX,
    signal_field,
)
from scoring_model.contract.rules import RuleError, country
from scoring_model.features import DERIVED, FeatureMatrix, FeatureSettings, FittedState
from scoring_model.history.parts import combined_codes
from scoring_model.records import NEVER, cells, format_duration
from scoring_model.records.encoding import encode, is_zoned
from scoring_model.records.files import file_sheet
from scoring_model.records.labels import label_cell
from scoring_model.records.sheet import UnreadableSource
from scoring_model.records.table import Column

_NAMES: Final = """
    eventTime: eventtime timestamp transactiontime purchasetime paymenttime orderdate transactiondate createdat
        created signuptime registeredat datetime zeitpunkt zeit time date datum
    labelKnownAt: labelknownat knownat chargebackdate chargebackat labeldate confirmedat fraudknownat
    labelReportedAt: labelreportedat reportedat reportdate
    label: label isfraud fraud class target betrug chargeback fraudlabel verdict outcome ergebnis status
    recordId: recordid transactionid txid orderid paymentid applicationid signupid recid id userid uuid vorgang
    firstName: firstname givenname forename fname vorname prenom nombre
    lastName: lastname surname familyname lname nachname nom apellido
    dob: dob dateofbirth birthdate birthday geburtsdatum geburtstag
    citizenship: citizenship nationality
    address.line1: addressline1 address1 line1 street streetaddress address strasse
    address.line2: addressline2 address2 line2
    address.city: city town suburb ort stadt
    address.region: region state province bundesland
    address.postalCode: postalcode postcode zip zipcode plz
    address.country: country countrycode land
"""
_FIELDS: Final = {
    field: tuple(names.split()) for field, names in re.findall(r"(\S+):([^:]+)(?=\s\S+:|$)", _NAMES.strip())
}
"""Column names by field, in lower case without separators, likeliest first."""

_FRAUD: Final = frozenset(
    {"fraud", "fraudulent", "1", "true", "yes", "y", "bad", "ja", "betrug", "chargeback"}
)
_GENUINE: Final = frozenset({"genuine", "0", "false", "no", "n", "good", "ok", "legit", "nein", "clean"})
_PROTECTED: Final = {"sex": "sex", "gender": "sex", "geschlecht": "sex", "age": "age", "alter": "age"}
_LINKING: Final = {Kind.IDENTIFIER: "", Kind.EMAIL: ":mailbox", Kind.PHONE: ":e164", Kind.IP: ":net24"}
"""Kinds of signals that link records, and how."""
_LABEL: Final = re.compile(r"(^|_)(is)?(fraud|fraudulent|betrug|chargeback)(_|$)")
_AMOUNT: Final = re.compile(r"(^|_)(amount|amt|betrag|montant|importe)(_|$)")
_PAYMENT: Final = re.compile(r"(^|_)(payment|transaction|transaktion|zahlung|tx|txn|merchant|terminal)(_|$)")
_FINEST: Final = 6  # as links.amounts.decimals
_CLOCK: Final = 0.999  # correlation with the time of the event from which a number is another clock
_CLOCK_ROWS: Final = 10_000
_SAMPLE: Final = 5_000
_MOST: Final = 0.95
_LEAK: Final = 0.99  # as training.leakage_checks.max_auc
_FEWEST: Final = 20  # minimum frauds and genuine records to judge whether a column copies the label
_LABEL_WORDS: Final = 8
_LINK_KEYS: Final = 6
_GROUPS: Final = 200  # maximum distinct values for meaningful fraud shares
_VALIDATED: Final = 0.1  # approximate share of records in the validation part


@dataclass(frozen=True, kw_only=True)
class Signal:
    """A column that becomes a signal."""

    name: str
    column: str
    type: str
    protected: str | None = None


@dataclass(frozen=True, kw_only=True)
class Amount:
    """A signal that is compared with its earlier values."""

    signal: str
    decimals: int


@dataclass(kw_only=True)
class Proposal:
    """A configuration that is proposed step by step, with notes for the person who completes it.

    Parameters
    ----------
    profiles : dict of str to Profile
        The columns of the file.
    nulls : tuple of str
        Cells that mean a missing value.
    comma : bool
        Whether numbers have a decimal comma.
    guesses : tuple of str
        What was inferred while reading the file.
    fields : dict of str to str
        Field to its column.
    words : dict of str to list of str
        Words of the label: fraud, genuine, ignored.
    amounts : list of Amount
        Signals that are compared with earlier ones under the link keys.
    event : str
        What reasons call a record.
    lengths : Lengths
        The label delay, the windows and the burn-in.
    left_out : dict of str to str
        Reasons for unused columns, by column.
    decisions : list of str
        Decisions left to a person.
    timezone : str, optional
        The zone of times without one, and of the hours that features read.
    """

    profiles: dict[str, Profile]
    nulls: tuple[str, ...]
    comma: bool
    guesses: tuple[str, ...]
    fields: dict[str, str] = field(default_factory=dict)
    words: dict[str, list[str]] = field(default_factory=dict)
    signals: list[Signal] = field(default_factory=list)
    keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    amounts: list[Amount] = field(default_factory=list)
    event: str = "application"
    lengths: Lengths = field(init=False)
    max_false_reject: float = 0.002
    left_out: dict[str, str] = field(default_factory=dict)
    decisions: list[str] = field(default_factory=list)
    timezone: str | None = None

    def numbers(self, values: Sequence[object]) -> FloatArray:
        """Read cells as numbers; nan where one is none."""
        read = map(cells.comma_number if self.comma else cells.number, values)
        return np.array([value if isinstance(value, int | float) else np.nan for value in read], dtype=float)

    def free(self) -> list[Profile]:
        """List the columns that are not used yet."""
        used = {*self.fields.values(), *self.left_out}
        return [found for found in self.profiles.values() if found.name not in used]

    def of(self, name: str) -> Profile | None:
        """Return the column of a field."""
        return self.profiles.get(self.fields.get(name, ""))

    @property
    def families(self) -> tuple[str, ...]:
        """List the feature families that these columns support."""
        known = {*self.fields, *DERIVED}
        return tuple(
            family.name
            for family in FeatureMatrix(FeatureSettings(), FittedState()).families
            if family.name == "signals"
            or any(
                feature.protected is None and known.issuperset(feature.inputs)
                for group in family.groups
                for feature in group.features
            )
        )

    @property
    def identity_requires(self) -> tuple[str, ...]:
        """List what the service may require of an identity: fields that nearly every record has."""
        columns = {name: self.of(name) for name in REQUIRED_FIELDS}
        return tuple(name for name, column in columns.items() if column and column.filled > _MOST)

    @property
    def dates(self) -> tuple[str, ...]:
        """List the formats of all times that are read."""
        used = [found.formats for name in self.fields if (found := self.of(name)) is not None]
        return tuple(dict.fromkeys(text for formats in used for text in formats))

    @property
    def columns(self) -> dict[str, str]:
        """Return the columns whose names differ from their field or signal."""
        named = self.fields | {signal_field(signal.name): signal.column for signal in self.signals}
        return {
            name: column
            for name, column in named.items()
            if column not in (name, name.removeprefix(SIGNAL_PREFIX))
        }


def propose(path: Path, *, delay: int | None = None, timezone: str | None = None) -> Proposal:
    """Propose a configuration for a file.

    Parameters
    ----------
    delay : int, optional
        Time from an event until its label is known, microseconds; measured or assumed without it.
    timezone : str, optional
        IANA name of the zone of times without one.

    Raises
    ------
    UnreadableSource
        If the file cannot be read.
    """
    found = replace(_described(path), timezone=timezone)
    _find_times(found)
    _find_label(found)
    _find_fields(found)
    _find_record_id(found)
    _leave_out(found)
    _find_signals(found)
    _find_keys(found)
    _find_amounts(found)
    _find_lengths(found, delay)
    _find_bound(found)
    return found


def _described(path: Path) -> Proposal:
    sheet = file_sheet(path)
    if not sheet.columns:
        raise UnreadableSource(f"{path.name}: no row of it can be read")
    raw = {name: encode(column, sheet.rows) for name, column in sheet.columns.items()}
    nulls: tuple[str, ...] = ()
    if ".csv" in path.suffixes:
        seen = {text for column in raw.values() for text in NULL_WORDS if text in column.values}
        nulls = tuple(word for word in NULL_WORDS if word in seen and not _is_namibia(word, raw.values()))
    comma = has_comma(raw.values())
    profiles = {
        name: profile(name, column, nulls, comma=comma, zoned=is_zoned(sheet.columns[name]))
        for name, column in raw.items()
    }
    return Proposal(profiles=profiles, nulls=nulls, comma=comma, guesses=sheet.guesses)


def _is_namibia(word: str, columns: Iterable[Column]) -> bool:
    """Return True if a word appears among country codes."""
    return word == "NA" and any(word in column.values and _country_share(column) > 0.9 for column in columns)


def _country_share(column: Column) -> float:
    def is_country(value: object) -> bool:
        try:
            return country(cells.country(value)) is not None
        except RuleError:
            return False

    return sum(map(is_country, column.values)) / max(len(column.values), 1)


def _likeliest(found: Proposal, name: str, kinds: Sequence[Kind]) -> Profile | None:
    """Return the unused column of the given kinds whose name best matches a field."""
    names = (words_of(name).replace("_", ""), *_FIELDS.get(name, ()))
    ranks = {known: place for place, known in reversed(list(enumerate(names)))}
    fits = [
        (ranks.get(column.words.replace("_", ""), len(names)), column)
        for column in found.free()
        if column.kind in kinds
    ]
    rank, best = min(fits, key=lambda fit: fit[0], default=(len(names), None))
    return best if rank < len(names) else None


def _find_times(found: Proposal) -> None:
    for name in ("dob", "labelKnownAt", "labelReportedAt", "eventTime"):
        column = _likeliest(found, name, [Kind.TIME])
        if column is not None:
            found.fields[name] = column.name
    others = [column for column in found.free() if column.kind is Kind.TIME]
    if "eventTime" not in found.fields:
        full = [column for column in others if column.filled > 0.99]
        if not full:
            found.decisions.append(
                "No column holds the time of the event: name it in records.columns.eventTime."
            )
            return
        found.fields["eventTime"] = full[0].name
    event = found.fields["eventTime"]
    rivals = [column.name for column in others if column.filled > 0.99 and column.name != event]
    if rivals:
        found.decisions.append(
            f"The event is taken to be at {event}; if it is at {' or '.join(rivals)}, change records.columns.eventTime."
        )
    for column in (found.profiles[name] for name in found.fields.values()):
        if column.uncertain:
            found.decisions.append(
                f"{column.name} does not show whether the day or the month comes first: check records.format.dates."
            )
    if not found.profiles[event].zoned and found.timezone is None:
        found.decisions.append(
            f"{event} has no time zone and is read as UTC: name its zone with --timezone, such as Europe/Berlin."
        )


def _likely_label(found: Proposal) -> Profile | None:
    """Return the column of a usual name, else the first of two words whose name contains one, such as tx_fraud."""
    column = _likeliest(found, "label", [Kind.BOOLEAN, Kind.CATEGORY, Kind.NUMBER, Kind.IDENTIFIER])
    if column is not None:
        return column
    column = next(
        (one for one in found.free() if one.kind is Kind.BOOLEAN and _LABEL.search(one.words)), None
    )
    if column is not None:
        found.decisions.append(
            f"{column.name} is taken for the label by its name: check records.columns.label."
        )
    return column


def _find_label(found: Proposal) -> None:
    column = _likely_label(found)
    words = [] if column is None else [str(label_cell(value)).lower() for value in column.column.values]
    if column is None or len(words) > _LABEL_WORDS:
        found.decisions.append("No column holds labels: name it in records.columns.label, and its words.")
        found.words = {"fraud": ["fraud"], "genuine": ["genuine"]}
        return
    found.fields["label"] = column.name
    fraud = [word for word in words if word in _FRAUD]
    genuine = [word for word in words if word in _GENUINE]
    if not fraud or not genuine:
        by_count = [words[place] for place in np.argsort(column.counts, kind="stable")]
        fraud, genuine = (
            fraud or by_count[:1],
            genuine or [word for word in by_count[-1:] if word not in fraud],
        )
        found.decisions.append(
            f"The rarest word of {column.name} is taken for fraud, the most frequent for genuine: check records.labels."
        )
    ignored = [word for word in words if word not in (*fraud, *genuine)]
    if ignored:
        found.decisions.append(
            f"Labels {', '.join(ignored)} count as no label: check records.labels.ignored."
        )
    found.words = {"fraud": fraud, "genuine": genuine or ["genuine"], "ignored": ignored}


def _find_fields(found: Proposal) -> None:
    for name in IDENTITY_FIELDS:
        if name in found.fields:
            continue
        column = found.profiles.get(name) or _likeliest(found, name, list(Kind))
        if column is None or column.kind in (Kind.EMPTY, Kind.TIME):
            continue
        if name in ("citizenship", "address.country") and _country_share(column.column) < 0.9:
            continue
        found.fields[name] = column.name


def _find_record_id(found: Proposal) -> None:
    column = _likeliest(found, "recordId", [Kind.IDENTIFIER, Kind.NUMBER, Kind.TEXT])
    if column is None or column.distinct < 0.9 or column.filled < 0.99:
        return
    found.fields["recordId"] = column.name
    if column.distinct < 1:
        found.decisions.append(
            f"{column.name} repeats in some rows, which are refused: check records.columns.recordId."
        )


def _leave_out(found: Proposal) -> None:
    """Leave out columns that cannot be signals, or that copy the label."""
    targets, seconds = _targets(found), _seconds(found)
    reasons = {
        Kind.EMPTY: "it is empty",
        Kind.CONSTANT: "it is the same in every row",
        Kind.TIME: "times are no signals",
        Kind.TEXT: "nearly every row has another text",
    }
    for column in found.free():
        if column.kind in reasons:
            found.left_out[column.name] = reasons[column.kind]
        elif column.kind is Kind.NUMBER and _is_clock(found, column.column, seconds):
            found.left_out[column.name] = "it runs with the time of the event, and says nothing else"
        elif column.kind not in _LINKING and _separation(found, column.column, targets) > _LEAK:
            found.left_out[column.name] = (
                "it separates frauds from genuine records nearly perfectly, as what follows from the label"
            )
            found.decisions.append(
                f"{column.name} is left out, since it nearly copies the label: use it only if it is known at the event."
            )


def _seconds(found: Proposal) -> FloatArray:
    """Return the times of the events in seconds, nan where missing; empty if no column holds them."""
    event = found.of("eventTime")
    if event is None:
        return np.empty(0)
    times = event.times
    return np.where(times == NEVER, np.nan, times / 1e6)


def _is_clock(found: Proposal, column: Column, seconds: FloatArray) -> bool:
    """Return True if numbers rise or fall with the time of the event, as a day count or a serial number does."""
    rows = np.arange(0, len(seconds), max(len(seconds) // _CLOCK_ROWS, 1))
    rows = rows[(column.codes[rows] >= 0) & np.isfinite(seconds[rows])]
    numbers = found.numbers([column.values[code] for code in column.codes[rows].tolist()])
    times, numbers = seconds[rows][np.isfinite(numbers)], numbers[np.isfinite(numbers)]
    if len(times) < _FEWEST or times.std() == 0 or numbers.std() == 0:
        return False
    return bool(abs(np.corrcoef(times, numbers)[0, 1]) > _CLOCK)


def _targets(found: Proposal) -> IntArray:
    """1 fraud, 0 genuine, -1 none."""
    column = found.of("label")
    if column is None:
        return np.empty(0, dtype=np.int64)
    words = [str(label_cell(value)).lower() for value in column.column.values]
    meanings = [
        1 if word in found.words["fraud"] else 0 if word in found.words["genuine"] else -1 for word in words
    ]
    return np.array([*meanings, -1], dtype=np.int64)[column.column.codes]


def _separation(found: Proposal, column: Column, targets: IntArray) -> float:
    """Return the ROC AUC of the best order of a column's values (missing is a value; numbers keep their order)."""
    if len(targets) == 0:
        return 0.5
    frauds, genuine = (
        np.bincount(column.codes[targets == target] + 1, minlength=len(column.values) + 1)
        for target in (1, 0)
    )
    if min(frauds.sum(), genuine.sum()) < _FEWEST:
        return 0.5
    orders = [frauds / np.maximum(frauds + genuine, 1)]
    if len(column.values) > _GROUPS:
        numbers = np.append(-np.inf, found.numbers(column.values))
        orders = [numbers, -numbers]
    return max(_area(frauds[order], genuine[order]) for order in (np.argsort(values) for values in orders))


def _area(frauds: IntArray, genuine: IntArray) -> float:
    below = np.cumsum(genuine) - genuine / 2
    return float((frauds * below).sum() / (frauds.sum() * genuine.sum()))


def _find_signals(found: Proposal) -> None:
    names: set[str] = set()
    for column in found.free():
        name = column.name.removeprefix(SIGNAL_PREFIX)
        name = name if re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) else words_of(name)
        if not name or words_of(name) in names or name in (*EVENT_FIELDS, *IDENTITY_FIELDS):
            name = f"column{len(names) + 1}"
        names.add(words_of(name))
        protected = _PROTECTED.get(column.words)
        found.signals.append(
            Signal(name=name, column=column.name, type=str(column.kind), protected=protected)
        )
        if column.kind is Kind.PHONE and not is_international(column.column.values):
            found.decisions.append(
                f"Numbers of {column.name} without + are of a country that the file does not name: set "
                f"signals.{name}.country, such as GB, and link by e164-GB in place of e164."
            )
    if numbers := [
        signal.column for signal in found.signals if signal.type == "number" and signal.protected is None
    ]:
        found.decisions.append(
            f"Every signal must be known at the event: check {', '.join(numbers[:10])} and the other signals."
        )


def _find_keys(found: Proposal) -> None:
    if {"firstName", "lastName", "dob"} <= found.fields.keys():
        found.keys["person"] = ()
    address = tuple(
        name for name in ("address.line1", "address.city", "address.postalCode") if name in found.fields
    )
    if "address.line1" in address and len(address) > 1:
        found.keys["address"] = address
    linking = [signal for signal in found.signals if signal.type in _LINKING]
    shared = [
        signal
        for signal in linking
        if signal.type != Kind.IDENTIFIER or found.profiles[signal.column].distinct < 0.98
    ]
    if "imageUrls" in found.fields:
        found.keys["image"] = ("imageUrls",)
    shared.sort(key=lambda signal: found.profiles[signal.column].distinct)
    for signal in shared[:_LINK_KEYS]:
        name = words_of(signal.name).removesuffix("_id") or signal.name
        found.keys[name if name not in found.keys else f"{name}_signal"] = (
            f"signals.{signal.name}{_LINKING[Kind(signal.type)]}",
        )
    if not found.keys:
        found.keys["person"] = ()


def _find_amounts(found: Proposal) -> None:
    """Compare amounts of money with earlier ones; a payment is a record that has one."""
    for signal in found.signals:
        column = found.profiles[signal.column]
        if signal.type == Kind.NUMBER and _AMOUNT.search(column.words):
            found.amounts.append(Amount(signal=signal.name, decimals=_decimals(found, column.column)))
    if found.amounts and any(_PAYMENT.search(column.words) for column in found.profiles.values()):
        found.event = "payment"


def _decimals(found: Proposal, column: Column) -> int:
    """Return the digits after the point that nearly all numbers need."""
    numbers = found.numbers(column.values[:_SAMPLE])
    numbers = numbers[np.isfinite(numbers)]
    needed = (
        digits
        for digits in range(_FINEST)
        if np.isclose(numbers, np.round(numbers, digits), rtol=0, atol=1e-9).mean() > _MOST
    )
    return next(needed, _FINEST)


def _find_lengths(found: Proposal, given: int | None) -> None:
    event, known = found.of("eventTime"), found.of("labelKnownAt")
    targets = _targets(found)
    found.lengths = lengths = propose_lengths(
        np.empty(0, dtype=np.int64) if event is None else event.times,
        None if known is None else known.times,
        targets == 1,
        {name: codes for name in found.keys if (codes := _key_codes(found, name)) is not None},
        given=given,
    )
    if given is not None:
        return
    if known is None:
        found.decisions.append(
            f"When labels became known is not in the file: {format_duration(lengths.delay)} after the event is "
            "assumed. Set records.labels.delay to what is true, and training.split.label_maturity with it."
        )
    elif lengths.maturity < lengths.delay:
        found.decisions.append(
            f"Most frauds are known after {format_duration(lengths.delay)}, which is long for this file: "
            f"training.split.label_maturity is {format_duration(lengths.maturity)}, and later ones count as genuine."
        )


def _key_codes(found: Proposal, key: str) -> IntArray | None:
    """Return the codes of the values of a link key; None if no column holds a part of it."""
    columns = found.fields | {signal_field(signal.name): signal.column for signal in found.signals}
    parts = found.keys[key] or ("firstName", "lastName", "dob")
    codes = [found.profiles[columns[part]].column.codes for part in parts if part in columns]
    return combined_codes(codes) if len(codes) == len(parts) else None


def _find_bound(found: Proposal) -> None:
    """Bound false rejections at three times the smallest bound that the validation part can prove."""
    targets = _targets(found)
    genuine = max(int((targets != 1).sum()) * _VALIDATED, 1)
    possible = 3 * math.log(60) / genuine  # ln(60) / b records prove a bound b at 95 % shared by three bounds
    steps = (0.002, 0.005, 0.01, 0.02, 0.05)
    found.max_false_reject = next((step for step in steps if step >= possible), 0.1)
