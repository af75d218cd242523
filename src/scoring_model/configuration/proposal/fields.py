"""Finds the fields of identities, and the column that numbers the records."""

import re
from collections.abc import Collection
from functools import partial
from typing import Final

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.configuration import RecordSettings, synonyms
from scoring_model.configuration.headers import (
    is_one_of,
    joined,
    known,
    links_records,
    ranks,
    tells,
    without_persons,
)
from scoring_model.configuration.profiles import Kind, Profile
from scoring_model.configuration.proposal.draft import FEWEST, NEARLY_ALL, Proposal
from scoring_model.configuration.proposal.file import country_share
from scoring_model.configuration.proposal.label_columns import LABEL_WORDS
from scoring_model.configuration.proposal.matching import rank, spellings
from scoring_model.contract.fields import IDENTITY_FIELDS
from scoring_model.contract.rules import DOCUMENT_TYPES
from scoring_model.records import cells

SAMPLE: Final = 5_000
_UNIQUE: Final = 0.999  # share of distinct values from which a column numbers the records
_HOUSE_NUMBER: Final = re.compile(r"\d{1,4}(?!\d)\W?(?!.*[^\W\d]{4}).{0,6}$")
_DOOR: Final = re.compile(r"\W?[^\W\d]{0,4}\W{0,2}\d{1,3}(?!\d)\W?[^\W\d]{0,2}$")
_FOLLOWS: Final = 0.5  # agreement beyond chance from which a region follows from its town
_NEAR: Final = 3  # columns from the town to its region
_DENSE: Final = 1.5  # numbers from the first to the last for each record, at most, in a running number
_SPARSE: Final = 1_000  # the same where the numbers rise from event to event
_RISING: Final = 0.95  # share of numbers above the one of the event before, from which they rise


def find_documents(proposal: Proposal) -> None:
    """Find types of documents by their words in any language."""
    lists = {name: known(entries) for name, entries in synonyms.DOCUMENTS.items()}
    for column in proposal.untyped():
        if column.kind is not Kind.CATEGORY or len(column.counts) > LABEL_WORDS:
            continue
        types = {
            str(value): next(
                (name for name, entries in lists.items() if is_one_of(str(value), entries)), None
            )
            for value in column.column.values
        }
        if None not in types.values() and len(set(types.values())) > 1:
            proposal.fields["documentType"] = column.name
            words = {word: name for word, name in types.items() if name and word not in DOCUMENT_TYPES}
            proposal.values |= {"documentType": words} if words else {}
            return


def find_fields(proposal: Proposal) -> None:
    """Find the fields of identities by their headers, where the contents fit."""
    for name in IDENTITY_FIELDS:
        if name == "address.line2":
            _find_second_line(proposal)
        if name in proposal.fields:
            continue
        column = proposal.profiles.get(name)
        if column is not None and not _fits(proposal, name, column):
            continue
        if column is None and name != "dob":
            fits = partial(_fits, proposal, name)
            recognise = _RECOGNISED.get(name)
            column = proposal.likeliest(name, list(Kind), fits) or next(
                (one for one in proposal.untyped() if recognise and recognise(proposal, one) and fits(one)),
                None,
            )
        if column is not None:
            proposal.fields[name] = column.name
    for name, other in (("lastName", "firstName"), ("firstName", "lastName")):
        if other in proposal.fields and name not in proposal.fields:
            beside = proposal.profiles[proposal.fields[other]]
            parted = [
                one.name
                for one in proposal.untyped()
                if _is_called_name(one, proposal.persons) and _are_parted(one, beside)
            ]
            proposal.fields.update(zip([name], parted, strict=False))


def _fits(proposal: Proposal, name: str, column: Profile) -> bool:
    """Return whether the cells of a column may be those of a field."""
    if column.kind in (Kind.EMPTY, Kind.TIME):
        return False
    if name == "firstName" and proposal.likeliest("lastName", list(Kind)) is None and _are_whole(column):
        return False
    if name in ("firstName", "lastName"):
        return column.kind not in (Kind.NUMBER, Kind.LIST)
    if name in ("address.line1", "address.city"):
        return column.kind is not Kind.NUMBER and not _are_short(column, _HOUSE_NUMBER)
    if name == "address.line2":
        return "address.line1" in proposal.fields
    if name == "documentType":
        return set(column.column.values) <= {*DOCUMENT_TYPES}
    if name in ("citizenship", "address.country"):
        return country_share(column.column) >= 0.9
    return name != "address.region" or _is_region(proposal, column)


def _are_whole(column: Profile) -> bool:
    """Return whether nearly all names are several words, as first and last names in one column are."""
    texts = [str(value).split() for value in column.column.values[:SAMPLE]]
    return sum(len(parts) > 1 for parts in texts) > NEARLY_ALL * len(texts)


def _find_second_line(proposal: Proposal) -> None:
    """Take the column beside the street for the second line: that of house numbers or doors, or of its name with 2."""
    first = proposal.of("address.line1")
    if first is None or "address.line2" in proposal.fields:
        return
    columns = [*proposal.profiles.values()]
    behind = columns[columns.index(first) + 1 :][:2]
    within = _within(proposal, behind)
    numbers = [
        column.name
        for column in proposal.untyped()
        if _numbers_houses(column, is_next=column in behind[:1], is_within=column is within)
    ]
    second = re.sub(r"1(?=[^\d)]*$)", "2", first.name)  # columns of one name have (1) and (2)
    if lacks_numbers(first) and numbers:
        number = proposal.profiles[numbers[0]]
        proposal.fields["address.line2"] = number.name
        door = _within(proposal, columns[columns.index(number) + 1 :][:2])
        for column in proposal.untyped():
            if rank(column, "address.line2", proposal.persons) is not None or (
                column is door and _are_short(column, _DOOR)
            ):
                proposal.left_out[column.name] = "a door or floor is no signal"
    elif second != first.name and second in {column.name for column in proposal.untyped()}:
        proposal.fields["address.line2"] = second
    elif within is not None and not lacks_numbers(first) and _are_short(within, _DOOR):
        proposal.fields["address.line2"] = within.name


def _within(proposal: Proposal, behind: list[Profile]) -> Profile | None:
    """Return the first column behind a street, if it is no part of an address that is known, and one stands behind."""
    parts = ("address.postalCode", "address.city", "address.region", "address.country")
    around = proposal.persons | proposal.around_street
    is_part = [any(rank(one, name, around) is not None for name in parts) for one in behind]
    if is_part != [False, True] or tells(behind[0].words, synonyms.MEASURES):
        return None
    return behind[0] if behind[0] in proposal.untyped() else None


def _numbers_houses(column: Profile, *, is_next: bool, is_within: bool) -> bool:
    """Return whether a column holds numbers of houses by its header and cells.

    Beside a street any number is one, and so are short ones between it and another part of the address.
    """
    is_called_so = not {*spellings(column, "address.line2")}.isdisjoint(known(synonyms.HOUSE_NUMBERS))
    if is_called_so or (is_next and tells(column.words, synonyms.NUMBERS)):
        return _are_short(column, _HOUSE_NUMBER)
    return is_within and column.filled > NEARLY_ALL and _are_short(column, _DOOR)


def _are_short(column: Profile, form: re.Pattern[str]) -> bool:
    texts = [str(cells.text(value)) for value in column.column.values[:SAMPLE]]
    return sum(form.match(text) is not None for text in texts) > 0.8 * len(texts)


def lacks_numbers(column: Profile) -> bool:
    """Return whether streets stand without the numbers of their houses."""
    texts = [str(value) for value in column.column.values[:SAMPLE]]
    return sum(any(map(str.isdigit, text)) for text in texts) < 0.2 * len(texts)


def _are_citizenships(_: Proposal, column: Profile) -> bool:
    return tells(column.words, synonyms.HEADERS["citizenship"])


def _are_streets(proposal: Proposal, column: Profile) -> bool:
    """Return whether a word of a header, or its end, is that of addresses, and most cells are words and a number.

    The number may stand in the next column instead.
    """
    if not tells(column.words, synonyms.HEADERS["address.line1"]):
        return False
    columns = [*proposal.profiles.values()]
    behind = columns[columns.index(column) + 1 :][:1]
    texts = [str(value) for value in column.column.values[:SAMPLE]]
    words = [text for text in texts if re.search(r"[^\W\d]{2}", text)]
    if lacks_numbers(column) and any(_numbers_houses(one, is_next=True, is_within=False) for one in behind):
        return len(words) > 0.8 * len(texts)
    return sum(re.search(r"\d", text) is not None and " " in text for text in words) > 0.8 * len(texts)


def _is_called_name(column: Profile, persons: Collection[str]) -> bool:
    bare = "_".join(part for part in column.words.split("_") if part not in persons)
    headers = (column.words, bare, without_persons(column.words))
    return not {*map(joined, headers)}.isdisjoint(ranks(synonyms.WHOLE_NAMES))


def _are_parted(column: Profile, beside: Profile) -> bool:
    """Return whether a column called `name` holds but one of two names: cells of the other are not in it."""
    if column.kind in (Kind.CONSTANT, Kind.NUMBER):
        return False
    pairs = zip(column.column.codes[:SAMPLE].tolist(), beside.column.codes[:SAMPLE].tolist(), strict=True)
    within = [
        str(beside.column.values[b]) in str(column.column.values[a]) for a, b in pairs if min(a, b) >= 0
    ]
    return sum(within) < len(within) / 10


def _is_region(proposal: Proposal, column: Profile) -> bool:
    """Return whether text has more values than a state of work, or follows from the town, as no state of work does."""
    if column.kind not in (Kind.CATEGORY, Kind.IDENTIFIER, Kind.TEXT):
        return False
    town = proposal.of("address.city")
    if len(column.counts) >= LABEL_WORDS or town is None:
        return len(column.counts) >= LABEL_WORDS
    return _agreement(town, column) >= _FOLLOWS


def _agreement(town: Profile | None, column: Profile) -> float:
    """Return how far records of one town agree beyond chance: Cohen's kappa of neighbours, 0 without towns."""
    if town is None:
        return 0
    order = np.argsort(town.column.codes, kind="stable")
    towns, regions = town.column.codes[order], column.column.codes[order]
    pairs = (towns[1:] == towns[:-1]) & (np.minimum(towns[1:], regions[1:]) >= 0) & (regions[:-1] >= 0)
    shares = column.counts / column.counts.sum()
    chance = float(shares @ shares)
    agreed = float((regions[1:] == regions[:-1])[pairs].sum()) / max(int(pairs.sum()), FEWEST)
    return (agreed - chance) / max(1 - chance, 1e-9)


def _are_regions(proposal: Proposal, column: Profile) -> bool:
    """Return whether a column near that of the town follows from it, as a region does."""
    town, columns = proposal.of("address.city"), [*proposal.profiles.values()]
    near = town is not None and abs(columns.index(town) - columns.index(column)) <= _NEAR
    return (
        near
        and column.kind is Kind.CATEGORY
        and not tells(column.words, synonyms.MEASURES)
        and rank(column, "address.country", proposal.persons) is None
        and _agreement(town, column) >= NEARLY_ALL
    )


_RECOGNISED: Final = {
    "address.line1": _are_streets,
    "address.region": _are_regions,
    "citizenship": _are_citizenships,
}
"""By field, how a column is recognised whose header is no known one: by a word of it, and by its cells."""


def find_record_id(proposal: Proposal) -> None:
    """Find the column that identifies the records."""
    column = proposal.of("recordId")
    if column is None:
        column = proposal.likeliest("recordId", [Kind.IDENTIFIER, Kind.NUMBER, Kind.TEXT])
        numbering = [one for one in proposal.untyped() if numbers_records(proposal, one)]
        numbering.sort(key=lambda one: _counts_rows(proposal, one))  # a number of the file is no other's
        if column is None or column.distinct < 0.9 or column.filled < 0.99:
            column = next(iter(numbering), None)
        elif _counts_rows(proposal, column):
            column = next((one for one in numbering if tells(one.words, synonyms.NUMBERS)), column)
    if column is None:
        return
    proposal.fields["recordId"] = column.name
    rows = int(np.count_nonzero(column.column.codes >= 0))
    if repeated := rows - len(column.counts):
        few = repeated <= RecordSettings().max_bad_share * len(column.column)
        proposal.decisions.append(
            f"{column.name} repeats in {repeated:,} rows, which are refused: check records.columns.recordId."
            + (
                ""
                if few
                else " Without those rows, or with a larger records.max_bad_share, the others can be used."
            )
        )


def _counts_rows(proposal: Proposal, column: Profile) -> bool:
    """Return whether a column counts the rows of the file as they stand in it, or as they stood once, from 0 or 1."""
    numbers = np.append(proposal.numbers(column.column.values), np.nan)[column.column.codes]
    with np.errstate(invalid="ignore"):  # digests such as 1e999999 are infinite
        first = np.min(numbers[np.isfinite(numbers)], initial=np.inf)
        steps = (np.diff(numbers), np.diff(np.sort(numbers)) if first in (0, 1) else [0.0])
        return any((np.asarray(each) == 1).mean() > _UNIQUE for each in steps)  # a row of totals may follow


def _rise(proposal: Proposal, column: Profile, numbers: FloatArray) -> bool:
    """Return whether numbers grow from event to event, as those of claims and contracts do."""
    event = proposal.of("eventTime")
    if event is None:
        return False
    in_order = np.append(numbers, np.nan)[column.column.codes][np.argsort(event.times, kind="stable")]
    return bool((np.diff(in_order) > 0).mean() > _RISING)


def numbers_records(proposal: Proposal, column: Profile) -> bool:
    """Return whether nearly every record has a code of its own; those of devices and cards connect records."""
    if column.distinct < _UNIQUE or column.filled < 0.99 or len(column.counts) < FEWEST:
        return False
    if tells(column.words, synonyms.MEASURES) or (
        column.words not in known(synonyms.NUMBERS) and links_records(column.words)
    ):
        return False
    if column.kind is Kind.NUMBER:
        numbers = proposal.numbers(column.column.values)
        whole = np.isfinite(numbers).all() and not (numbers % 1).any()
        each = (numbers.max() - numbers.min()) / len(numbers)
        return bool(whole) and (each < _DENSE or (each < _SPARSE and _rise(proposal, column, numbers)))
    texts = [str(value).strip() for value in column.column.values[:SAMPLE]]
    are_codes = sum(" " not in text for text in texts) > NEARLY_ALL * len(texts)
    return column.kind in (Kind.TEXT, Kind.IDENTIFIER) and are_codes
