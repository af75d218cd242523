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
from scoring_model.configuration import synonyms
from scoring_model.configuration.headers import (
    is_one_of,
    joined,
    known,
    links_records,
    ranks,
    tells,
    words_of,
)
from scoring_model.configuration.profiles import Kind, Profile, has_comma, is_international, profile
from scoring_model.configuration.proposal_labels import (
    LABEL_WORDS,
    LabelColumn,
    Trust,
    come_before,
    label_columns,
    outcome_words,
    tell_when_known,
    words_in,
)
from scoring_model.configuration.proposal_split import Parts, propose_parts
from scoring_model.configuration.proposal_windows import Lengths, propose_lengths
from scoring_model.contract.fields import (
    EVENT_FIELDS,
    IDENTITY_FIELDS,
    REQUIRED_FIELDS,
    SIGNAL_PREFIX,
    signal_field,
)
from scoring_model.contract.rules import DOCUMENT_TYPES, RuleError, country
from scoring_model.features import DERIVED, FeatureMatrix, FeatureSettings, FittedState
from scoring_model.history.parts import combined_codes, key_part
from scoring_model.records import NEVER, cells, format_duration
from scoring_model.records.encoding import encode, is_zoned
from scoring_model.records.files import file_sheet
from scoring_model.records.sheet import UnreadableSource
from scoring_model.records.table import Column
from scoring_model.records.times import DAY

_LINKING: Final = {Kind.IDENTIFIER: "", Kind.EMAIL: ":mailbox", Kind.PHONE: ":e164", Kind.IP: ":net24"}
"""Kinds of signals that link records, and how."""
_FINEST: Final = 6  # as links.amounts.decimals
_CLOCK: Final = 0.999  # rank correlation with the time or the row from which a number runs with it
_CLOCK_ROWS: Final = 10_000
_SAMPLE: Final = 5_000
_MOST: Final = 0.95
_LEAK: Final = 0.99  # as training.leakage_checks.max_auc
_FEWEST: Final = 20  # minimum frauds and genuine records to judge whether a column copies the label
_LINK_KEYS: Final = 6
_UNIQUE: Final = 0.999  # share of distinct values from which a column numbers the records
_DENSE: Final = 1.5  # numbers from the first to the last for each record, at most, in a running number
_BIRTHS: Final = 10 * 366 * DAY  # births lie at least ten years before the events
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
    outcomes : dict of str to list of str
        Words of outcomes and resolutions by their meaning.
    values : dict of str to dict of str to str
        By field: its words, and what they mean in the contract.
    amounts : list of Amount
        Signals that are compared with earlier ones under the link keys.
    event : str
        What reasons call a record.
    lengths : Lengths
        The label delay, the windows and the burn-in.
    parts : Parts
        The parts of the split.
    partly_known : bool
        Whether some labels have no time at which they became known.
    ends : int
        Latest instant in the file, microseconds, where a column says when labels became known; else 0.
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
    outcomes: dict[str, list[str]] = field(default_factory=dict)
    values: dict[str, dict[str, str]] = field(default_factory=dict)
    signals: list[Signal] = field(default_factory=list)
    keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    amounts: list[Amount] = field(default_factory=list)
    event: str = "application"
    lengths: Lengths = field(init=False)
    parts: Parts = field(default_factory=Parts)
    partly_known: bool = False
    ends: int = 0
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
    _find_known(found)
    _find_decisions(found)
    _find_documents(found)
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
    seen = {text for column in raw.values() for text in synonyms.MISSING if text in column.values}
    nulls = tuple(word for word in synonyms.MISSING if word in seen and not _is_code(word, raw.values()))
    comma = has_comma(raw.values())
    profiles = {
        name: profile(name, column, nulls, comma=comma, zoned=is_zoned(sheet.columns[name]))
        for name, column in raw.items()
    }
    return Proposal(profiles=profiles, nulls=nulls, comma=comma, guesses=sheet.guesses)


def _is_code(word: str, columns: Iterable[Column]) -> bool:
    """Return True if a word of two letters is one of many such codes: NA is Namibia, ND is North Dakota."""
    return len(word) == 2 and any(
        word in column.values and (_country_share(column) > 0.9 or _pairs(column) > 0.9) for column in columns
    )


def _pairs(column: Column) -> float:
    """Return the share of texts of two capitals among the distinct values, if there are many."""
    pairs = sum(
        isinstance(value, str) and re.fullmatch("[A-Z]{2}", value) is not None for value in column.values
    )
    return pairs / len(column.values) if pairs >= _FEWEST else 0.0


def _country_share(column: Column) -> float:
    def is_country(value: object) -> bool:
        try:
            return country(cells.country(value)) is not None
        except RuleError:
            return False

    return sum(map(is_country, column.values)) / max(len(column.values), 1)


def _likeliest(found: Proposal, name: str, kinds: Sequence[Kind]) -> Profile | None:
    """Return the unused column of the given kinds whose name best matches a field."""
    fits = [
        (rank, column)
        for column in found.free()
        if column.kind in kinds and (rank := _rank(column, name)) is not None
    ]
    return min(fits, key=lambda fit: fit[0], default=(0, None))[1]


def _rank(column: Profile, name: str) -> int | None:
    """Return the place of a header among those of a field."""
    header = joined(column.words)
    return -1 if header == joined(words_of(name)) else ranks(synonyms.HEADERS.get(name, "")).get(header)


def _find_times(found: Proposal) -> None:
    for name in ("dob", "eventTime"):
        column = _likeliest(found, name, [Kind.TIME])
        if column is not None:
            found.fields[name] = column.name
    others = [
        column
        for column in found.free()
        if column.kind is Kind.TIME and all(_rank(column, name) is None for name in _LATER)
    ]
    full = [column for column in others if column.filled > 0.99]
    if "eventTime" not in found.fields:
        full = _without_births(found, full)
        if not full:
            found.decisions.append(
                "No column holds the time of the event: name it in records.columns.eventTime."
            )
            return
        found.fields["eventTime"] = full[0].name
    event = found.fields["eventTime"]
    rivals = [column.name for column in full if column.name not in found.fields.values()]
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


_LATER: Final = ("labelKnownAt", "labelReportedAt", "closedAt")


def _without_births(found: Proposal, columns: list[Profile]) -> list[Profile]:
    """Take a column whose times lie years before those of another for the date of birth."""
    middles = {column.name: int(np.median(column.times[column.times != NEVER])) for column in columns}
    latest = max(middles.values(), default=0)
    born = [column for column in columns if middles[column.name] < latest - _BIRTHS]
    if born and "dob" not in found.fields:
        found.fields["dob"] = born[0].name
        found.decisions.append(f"{born[0].name} is taken for the date of birth: check records.columns.dob.")
    return [column for column in columns if column not in born]


def _find_label(found: Proposal) -> None:
    candidates = label_columns(found.free())
    found.words = {"fraud": ["fraud"], "genuine": ["genuine"]}
    if not candidates:
        found.decisions.append("No column holds labels: name it in records.columns.label, and its words.")
        return
    best = candidates[0]
    name = found.fields["label"] = best.profile.name
    found.words = {
        "fraud": [*best.fraud],
        "genuine": [*best.genuine] or ["genuine"],
        "ignored": [*best.ignored],
    }
    _say_candidates(found, best, candidates)
    if best.guess:
        found.decisions.append(
            f"The rarest word of {name} is taken for fraud, the most frequent for genuine: check records.labels."
            if best.trust > Trust.FRAUD_WORD
            else f"{best.genuine[0]}, the most frequent word of {name}, is taken for genuine: check records.labels."
        )
    if best.ignored:
        found.decisions.append(
            f"Labels {', '.join(best.ignored)} count as no label: check records.labels.ignored."
        )


def _say_candidates(found: Proposal, best: LabelColumn, candidates: Sequence[LabelColumn]) -> None:
    """Say why a column is the label, list the others, and use none of those with words of fraud."""
    name = best.profile.name
    if best.trust is not Trust.GENERAL_HEADER and _rank(best.profile, "label") is None:
        why = "name" if best.trust is Trust.HEADER else "words"
        found.decisions.append(f"{name} is taken for the label by its {why}: check records.columns.label.")
    others = [other for other in candidates[1:] if other.trust < Trust.GENERAL_HEADER]
    if others:
        shares = ", ".join(f"{one.profile.name} ({one.share:.2%} frauds)" for one in (best, *others))
        found.decisions.append(f"Several columns may be the label: {shares}. {name} is taken.")
    for other in others:
        if other.trust is not Trust.HEADER:
            found.left_out[other.profile.name] = "its words say what is fraud, so it follows from the label"


def _find_known(found: Proposal) -> None:
    """Find when labels became known: by what the times show, named or not, then by the header."""
    event = found.of("eventTime")
    if event is None:
        return
    events, targets = event.times, _targets(found)
    times = [column for column in found.free() if column.kind is Kind.TIME]
    shown = [column for column in times if len(targets) and tell_when_known(column.times, events, targets)]
    for name in ("labelKnownAt", "labelReportedAt"):
        column = _likeliest(found, name, [Kind.TIME])
        if name == "labelKnownAt" and shown and column not in shown:
            column = shown[0]
            found.decisions.append(
                f"{column.name} is taken for the time at which labels became known: nearly all frauds have one, "
                "records without a label have none. Check records.columns.labelKnownAt."
            )
        if column is None:
            continue
        if come_before(column.times, events):
            found.decisions.append(
                f"{column.name} can't be when labels became known: some of its times lie before their event."
            )
            found.left_out[column.name] = "it holds times that are neither before nor after the event"
            continue
        found.fields[name] = column.name


def _find_decisions(found: Proposal) -> None:
    """Find what was decided: outcomes and resolutions by their words, the end of accounts by its header."""
    outcomes = {"passed": synonyms.PASSED, "stepped_up": synonyms.STEPPED_UP, "failed": synonyms.FAILED}
    ends = {"approved": synonyms.APPROVED, "declined": synonyms.DECLINED, "abandoned": synonyms.ABANDONED}
    for name, lists, headers in (
        ("resolution", ends, synonyms.RESOLUTION),
        ("outcome", outcomes, synonyms.DECISION),
    ):
        fits = [
            (not tells(column.words, headers), column.name, words)
            for column in found.free()
            if column.kind in (Kind.CATEGORY, Kind.BOOLEAN, Kind.TEXT, Kind.IDENTIFIER)
            and (words := outcome_words(column, lists)) is not None
            and (name == "outcome" or tells(column.words, headers))
        ]
        for _, holder, words in sorted(fits, key=lambda fit: fit[0])[:1]:
            if _stops_frauds(found, holder, words):
                found.left_out[holder] = (
                    "nearly all frauds were stopped by it, as where it follows from the label"
                )
                continue
            found.fields[name] = holder
            found.outcomes |= words
            found.decisions.append(
                f"{holder} is taken for {_DECIDED[name]}: check records.columns.{name} and records.outcomes."
            )
    column = _likeliest(found, "closedAt", [Kind.TIME])
    if column is not None:
        found.fields["closedAt"] = column.name
    if not {"outcome", "resolution"} & found.fields.keys():
        found.decisions.append(
            "No column says what was decided, so all count as passed. If applicants were stopped, name "
            "records.columns.outcome, resolution and closedAt, and their words in records.outcomes."
        )


_DECIDED: Final = {"outcome": "what was decided", "resolution": "how reviews ended"}


def _stops_frauds(found: Proposal, name: str, words: dict[str, list[str]]) -> bool:
    """Return whether nearly all labelled frauds were stopped: then the column was set by the label."""
    frauds = _targets(found) == 1
    column = found.profiles[name]
    stopped = {
        word for kind, listed in words.items() if kind not in ("passed", "approved") for word in listed
    }
    is_stop = np.array([*(word in stopped for word in words_in(column)), False])[column.column.codes]
    return len(frauds) > 0 and frauds.sum() >= _FEWEST and bool(is_stop[frauds].mean() > _MOST)


def _find_documents(found: Proposal) -> None:
    """Find types of documents by their words in any language."""
    lists = {name: known(entries) for name, entries in synonyms.DOCUMENTS.items()}
    for column in found.free():
        if column.kind is not Kind.CATEGORY or len(column.counts) > LABEL_WORDS:
            continue
        types = {
            str(value): next(
                (name for name, entries in lists.items() if is_one_of(str(value), entries)), None
            )
            for value in column.column.values
        }
        if None not in types.values() and len(set(types.values())) > 1:
            found.fields["documentType"] = column.name
            words = {word: name for word, name in types.items() if name and word not in DOCUMENT_TYPES}
            found.values |= {"documentType": words} if words else {}
            return


def _find_fields(found: Proposal) -> None:
    for name in IDENTITY_FIELDS:
        if name in found.fields:
            continue
        column = found.profiles.get(name) or (None if name == "dob" else _likeliest(found, name, list(Kind)))
        if column is None or column.kind in (Kind.EMPTY, Kind.TIME):
            continue
        if name == "documentType" and not set(column.column.values) <= {*DOCUMENT_TYPES}:
            continue
        if name in ("citizenship", "address.country") and _country_share(column.column) < 0.9:
            continue
        found.fields[name] = column.name


def _find_record_id(found: Proposal) -> None:
    column = _likeliest(found, "recordId", [Kind.IDENTIFIER, Kind.NUMBER, Kind.TEXT])
    if column is None or column.distinct < 0.9 or column.filled < 0.99:
        column = next((one for one in found.free() if _numbers_records(found, one)), None)
    if column is None:
        return
    found.fields["recordId"] = column.name
    if column.distinct < 1:
        found.decisions.append(
            f"{column.name} repeats in some rows, which are refused: check records.columns.recordId."
        )


def _numbers_records(found: Proposal, column: Profile) -> bool:
    """Return whether nearly every record has a code of its own; those of devices and cards connect records."""
    if column.distinct < _UNIQUE or column.filled < 0.99 or len(column.counts) < _FEWEST:
        return False
    if tells(column.words, synonyms.MEASURES) or (column.words != "id" and links_records(column.words)):
        return False
    if column.kind is Kind.NUMBER:
        numbers = found.numbers(column.column.values)
        whole = np.isfinite(numbers).all() and not (numbers % 1).any()
        return bool(whole and numbers.max() - numbers.min() < _DENSE * len(numbers))
    return column.kind in (Kind.TEXT, Kind.IDENTIFIER) and all(
        " " not in str(value).strip() for value in column.column.values[:_SAMPLE]
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
        elif column.kind is Kind.NUMBER and _numbers_records(found, column):
            found.left_out[column.name] = "it numbers the records"
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
    return bool(abs(np.corrcoef(_ranks(times), _ranks(numbers))[0, 1]) > _CLOCK)


def _ranks(numbers: FloatArray) -> FloatArray:
    """Return mean ranks."""
    _, codes, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    ranks_of: FloatArray = (np.cumsum(counts) - counts / 2)[codes]
    return ranks_of


def _targets(found: Proposal) -> IntArray:
    """1 fraud, 0 genuine, -1 none."""
    column = found.of("label")
    if column is None:
        return np.empty(0, dtype=np.int64)
    words = words_in(column)
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
        protected = next(
            (name_ for name_, text in synonyms.PROTECTED.items() if column.words in known(text)), None
        )
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
        if signal.type == Kind.NUMBER and tells(column.words, synonyms.AMOUNTS):
            found.amounts.append(Amount(signal=signal.name, decimals=_decimals(found, column.column)))
    if found.amounts and any(tells(column.words, synonyms.PAYMENTS) for column in found.profiles.values()):
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
    event, known_at = found.of("eventTime"), found.of("labelKnownAt")
    targets, nothing = _targets(found), np.empty(0, dtype=np.int64)
    times = nothing if event is None else event.times
    since = None if known_at is None else known_at.times
    codes = {name: of_key for name in found.keys if (of_key := _key_codes(found, name)) is not None}
    found.lengths = lengths = propose_lengths(times, since, targets == 1, codes, given=given)
    if since is not None:
        found.partly_known = bool(((since == NEVER) & (targets >= 0)).any())
        found.ends = int(max(one[one != NEVER].max(initial=0) for one in (times, since)))
    if not lengths.links and codes:
        found.decisions.append(
            "No value of a link key recurs in the file: features that count earlier records are 0 or missing in it."
        )
    if given is None:
        _say_delay(found)
    seen = times[times != NEVER]
    if not len(seen) or not (targets == 1).any():
        return
    assumed = 0 if known_at is not None and found.ends else lengths.delay
    as_of = (found.ends if known_at is not None else int(seen.max())) + assumed + 1
    found.parts = propose_parts(
        times, targets, as_of=as_of, maturity=lengths.maturity, burn_in=lengths.burn_in
    )
    _say_parts(found)


def _say_delay(found: Proposal) -> None:
    lengths = found.lengths
    if not lengths.measured:
        found.decisions.append(
            f"When labels became known is not in the file: {format_duration(lengths.delay)} after the event is "
            "assumed. Set records.labels.delay to what is true, and training.split.label_maturity with it."
        )
        return
    half, most, longest = (f"{length / DAY:.1f}" for length in lengths.quantiles)
    found.guesses += (
        f"frauds become known {half} days after the event (median); 95 % within {most}, the last after {longest}",
    )
    if lengths.maturity < lengths.delay:
        found.decisions.append(
            f"Most frauds are known after {format_duration(lengths.delay)}, which is long for this file: "
            f"training.split.label_maturity is {format_duration(lengths.maturity)}, and later ones count as genuine."
        )


def _say_parts(found: Proposal) -> None:
    """Say what the split gave up for enough frauds, or what would help where none has them."""
    parts, counts = found.parts, ", ".join(map(str, found.parts.frauds))
    if not parts.enough:
        held = f"the best has {counts}" if counts else "burn-in, gaps and label maturity leave no time"
        found.decisions.append(
            f"No split has 20 frauds in each part ({held}): use a longer history, training.split.test: 0 with "
            "durations for train and validation, a shorter label_maturity, or a lower min_frauds."
        )
    elif not parts.shares[2]:
        found.decisions.append(
            f"There are too few frauds for a test part: training.split.test is 0, with {counts} frauds in training "
            "and validation. Evaluate on later records."
        )
    elif not parts.usual:
        found.decisions.append(
            f"Validation and test are longer than usual, so that each has enough frauds ({counts})."
        )


def _key_codes(found: Proposal, key: str) -> IntArray | None:
    """Return the codes of the values of a link key; None if no column holds a part of it."""
    columns = found.fields | {signal_field(signal.name): signal.column for signal in found.signals}
    codes = []
    for part in map(key_part, found.keys[key] or ("firstName", "lastName", "dob")):
        if part.fields[0] not in columns:
            return None
        column = found.profiles[columns[part.fields[0]]].column
        numbers: dict[str | None, int] = {None: -1}
        texts = (part.of({part.fields[0]: cells.text(value)}) for value in column.values)
        of_values = [numbers.setdefault(text, len(numbers) - 1) for text in texts]
        codes.append(np.array([*of_values, -1], dtype=np.int64)[column.codes])
    return combined_codes(codes)


def _find_bound(found: Proposal) -> None:
    """Bound false rejections at three times the smallest bound that the validation part can prove."""
    targets = _targets(found)
    judged = found.parts.genuine
    genuine = max(judged if judged > 0 else int((targets != 1).sum()) * _VALIDATED, 1)
    possible = 3 * math.log(60) / genuine  # ln(60) / b records prove a bound b at 95 % shared by three bounds
    steps = (0.002, 0.005, 0.01, 0.02, 0.05)
    found.max_false_reject = next((step for step in steps if step >= possible), 0.1)
