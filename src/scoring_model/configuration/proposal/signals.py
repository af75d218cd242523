"""Makes signals of the remaining columns, and finds those that link records or hold amounts of money."""

import re
from typing import Final

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.configuration import synonyms
from scoring_model.configuration.headers import known, tells, words_of
from scoring_model.configuration.profiles import Kind, Profile, is_international
from scoring_model.configuration.proposal.draft import NEARLY_ALL, Amount, Proposal, Signal
from scoring_model.configuration.proposal.fields import SAMPLE, lacks_numbers
from scoring_model.configuration.proposal.file import is_country
from scoring_model.contract.fields import EVENT_FIELDS, IDENTITY_FIELDS, SIGNAL_PREFIX, signal_field
from scoring_model.history.parts import combined_codes, key_part
from scoring_model.history.rings import few_records
from scoring_model.records import cells
from scoring_model.records.table import Column

_LINKING: Final = {Kind.IDENTIFIER: "", Kind.EMAIL: ":mailbox", Kind.PHONE: ":e164", Kind.IP: ":net24"}
"""Kinds of signals that link records, and how."""
_NAMING: Final = (Kind.EMAIL, Kind.PHONE, Kind.IP)
"""Kinds that name a signal whose header has no Latin letters."""
_FINEST: Final = 6  # as links.amounts.decimals
_LINK_KEYS: Final = 6
_TIMES_OVER: Final = 10  # codes for each record from which few recur by chance
_UNIQUE: Final = 0.98  # share of distinct values from which few recur


def find_signals(proposal: Proposal) -> None:
    """Make a signal of each column that is left."""
    names: set[str] = set()
    for column in proposal.free():
        name = column.name.removeprefix(SIGNAL_PREFIX)
        if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
            name = words_of(name)
        if not name.isascii():
            name = str(column.kind) if column.kind in _NAMING else ""
        if not name or words_of(name) in names or name in (*EVENT_FIELDS, *IDENTITY_FIELDS):
            name = f"column{len(names) + 1}"
        names.add(words_of(name))
        protected = _protected(column)
        proposal.signals.append(
            Signal(name=name, column=column.name, type=str(column.kind), protected=protected)
        )
        if protected == "citizenship" and protected not in proposal.fields:
            proposal.decisions.append(_unknown_countries(column))
        if column.kind is Kind.PHONE and not is_international(column.column.values):
            proposal.decisions.append(
                f"Numbers of {column.name} without + are of a country that the file does not name, and link by their "
                f"digits alone: set signals.{name}.country, such as GB, and link by e164-GB in place of digits."
            )
    _ask_about_floats(proposal)
    if numbers := [
        signal.column for signal in proposal.signals if signal.type == "number" and signal.protected is None
    ]:
        proposal.decisions.append(
            f"Every signal must be known at the event: check {', '.join(numbers[:10])} and the other signals."
        )


def _ask_about_floats(proposal: Proposal) -> None:
    """Name the codes with `.0` behind them: a file without gaps would have them without it."""
    used = [*proposal.fields.values(), *(one.column for one in proposal.signals if one.type != Kind.NUMBER)]
    floats = [
        name for name in used if name != proposal.fields.get("label") and _are_floats(proposal.profiles[name])
    ]
    if floats:
        proposal.decisions.append(
            f"{', '.join(floats)}: codes with .0 behind them, as pandas writes whole numbers with gaps. Write them as "
            "text or Int64, since other files may have them without it, and then link nothing."
        )


def _are_floats(column: Profile) -> bool:
    texts = [str(value) for value in column.column.values[:SAMPLE]]
    return sum(re.fullmatch(r"\d+\.0", text) is not None for text in texts) > NEARLY_ALL * len(texts)


def _protected(column: Profile) -> str | None:
    """Return the attribute that a signal would reveal; citizenship has no field where its values are not countries."""
    if tells(column.words, synonyms.HEADERS["citizenship"]):
        return "citizenship"
    return next((name for name, text in synonyms.PROTECTED.items() if column.words in known(text)), None)


def _unknown_countries(column: Profile) -> str:
    unknown = [str(value) for value in column.column.values if not is_country(value)]
    return (
        f"{column.name} has values that are no known countries, such as {', '.join(unknown[:3])}. So it is a protected "
        "signal, which no feature reads. To make it the citizenship, name it in records.columns.citizenship, and the "
        "codes of these values in records.format.values."
    )


def find_keys(proposal: Proposal) -> None:
    """Find what links records: persons, addresses, images, and signals that recur."""
    _find_keys_of_persons(proposal)
    linking = [
        signal
        for signal in proposal.signals
        if signal.type in _LINKING and signal.column not in proposal.customer
    ]
    shared = [
        signal
        for signal in linking
        if signal.type != Kind.IDENTIFIER or proposal.profiles[signal.column].distinct < _UNIQUE
    ]
    if "imageUrls" in proposal.fields:
        proposal.keys["image"] = ("imageUrls",)
    places = {column: place for place, column in enumerate(proposal.linking)}
    shared.sort(
        key=lambda signal: (
            places.get(signal.column, len(places)),
            _is_common(proposal.profiles[signal.column])
            or _recurs_by_chance(proposal.profiles[signal.column]),
            proposal.profiles[signal.column].distinct,
        )
    )
    if others := [signal.column for signal in shared[_LINK_KEYS:]]:
        proposal.decisions.append(
            f"{_LINK_KEYS} signals are link keys. {', '.join(others)} may link records too: exchange some in "
            "links.keys, or add them; each key costs time at every decision."
        )
    for signal in shared[:_LINK_KEYS]:
        name = words_of(signal.name).removesuffix("_id") or signal.name
        name = name if name not in proposal.keys else f"{name}_signal"
        encoding = _encoding(proposal, signal)
        # Reasons name what is the same: of one network are many addresses. A ring often has one of them.
        network = "_network" if signal.type == Kind.IP else ""
        proposal.keys[f"{name}{network}"] = (f"signals.{signal.name}{encoding}",)
        if network and proposal.profiles[signal.column].distinct < _UNIQUE:
            proposal.keys[name] = (f"signals.{signal.name}",)


def _find_keys_of_persons(proposal: Proposal) -> None:
    """Find what names a person or a customer, and where they live."""
    if {"firstName", "lastName", "dob"} <= proposal.fields.keys() or "subjectId" in proposal.fields:
        proposal.keys["person"] = ()
    if proposal.customer:
        named = proposal.fields | {signal_field(signal.name): signal.column for signal in proposal.signals}
        names = {column: name for name, column in named.items()}
        proposal.keys["customer"] = tuple(names[column] for column in proposal.customer)
    street = proposal.of("address.line1")
    number = ("address.line2",) if street is not None and lacks_numbers(street) else ()
    lines = ("address.line1", *number, "address.city", "address.postalCode")
    address = tuple(name for name in lines if name in proposal.fields)
    if "address.line1" in address and len(address) > 1:
        proposal.keys["address"] = address


def _is_common(column: Profile) -> bool:
    """Return whether so many records have each value that none of them makes a ring, as where it is an agent's."""
    return column.distinct * few_records(len(column.column)) < 1


def _recurs_by_chance(column: Profile) -> bool:
    """Return whether there are too few codes of so few digits for the records, as of the last four of a card."""
    texts = [str(cells.text(value)) for value in column.column.values]
    return all(map(str.isdigit, texts)) and 10 ** max(map(len, texts)) < _TIMES_OVER * len(column.column)


def _encoding(proposal: Proposal, signal: Signal) -> str:
    """Return how the values of a signal link; phone numbers of an unknown country do by their digits."""
    national = signal.type == Kind.PHONE and not is_international(
        proposal.profiles[signal.column].column.values
    )
    return ":digits" if national else _LINKING[Kind(signal.type)]


def find_amounts(proposal: Proposal) -> None:
    """Compare amounts of money with earlier ones; a payment is a record that has one."""
    for signal in proposal.signals:
        column = proposal.profiles[signal.column]
        if signal.type == Kind.NUMBER and tells(column.words, synonyms.AMOUNTS):
            proposal.amounts.append(Amount(signal=signal.name, decimals=_decimals(proposal, column.column)))
    if proposal.amounts and any(
        tells(column.words, synonyms.PAYMENTS) for column in proposal.profiles.values()
    ):
        proposal.event = "payment"


def _decimals(proposal: Proposal, column: Column) -> int:
    """Return the digits after the point that nearly all numbers need."""
    numbers = proposal.numbers(column.values[:SAMPLE])
    numbers = numbers[np.isfinite(numbers)]
    needed = (
        digits
        for digits in range(_FINEST)
        if np.isclose(numbers, np.round(numbers, digits), rtol=0, atol=1e-9).mean() > NEARLY_ALL
    )
    return next(needed, _FINEST)


def key_codes(proposal: Proposal, key: str) -> IntArray | None:
    """Return the codes of the values of a link key; None if no column holds a part of it."""
    columns = proposal.fields | {signal_field(signal.name): signal.column for signal in proposal.signals}
    codes = []
    for part in map(key_part, proposal.keys[key] or ("firstName", "lastName", "dob")):
        if part.fields[0] not in columns:
            return None
        column = proposal.profiles[columns[part.fields[0]]].column
        numbers: dict[str | None, int] = {None: -1}
        texts = (part.of({part.fields[0]: cells.text(value)}) for value in column.values)
        of_values = [numbers.setdefault(text, len(numbers) - 1) for text in texts]
        codes.append(np.array([*of_values, -1], dtype=np.int64)[column.codes])
    return combined_codes(codes)
