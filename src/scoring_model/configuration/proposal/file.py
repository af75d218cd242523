"""Reads the files whose configuration is to be proposed."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, Final

import numpy as np

from scoring_model.configuration import synonyms
from scoring_model.configuration.profiles import Kind, Profile, decimal_mark, profile
from scoring_model.configuration.proposal.draft import Proposal
from scoring_model.configuration.proposal.label_columns import LABEL_WORDS
from scoring_model.contract.rules import RuleError, country
from scoring_model.records import cells
from scoring_model.records.encoding import encode, is_typed, is_zoned
from scoring_model.records.files import file_sheet
from scoring_model.records.sheet import Sheet, UnreadableSource
from scoring_model.records.table import Column

_WORDS: Final = (Kind.BOOLEAN, Kind.CATEGORY, Kind.TEXT, Kind.IDENTIFIER)
_MOST_GAPS: Final = 3  # words for missing values in a column


def described(paths: Sequence[Path]) -> Proposal:
    """Profile the columns of files that are read as one; a column that some of them lack is left out.

    Raises
    ------
    UnreadableSource
        If one of them cannot be read, or they share no column with a row.
    """
    sheets = [_sheet(path) for path in paths]
    held = Counter(name for sheet in sheets for name in sheet.columns)
    shared = [name for name, count in held.items() if count == len(sheets)]
    if not shared or not any(sheet.rows for sheet in sheets):
        names = ", ".join(path.name for path in paths)
        if shared:
            raise UnreadableSource(f"{names}: without a row nothing can be proposed")
        raise UnreadableSource(
            f"{names}: no row of it can be read" if len(paths) == 1 else f"{names}: share no column"
        )
    raw = {name: _joined([encode(sheet.columns[name], sheet.rows) for sheet in sheets]) for name in shared}
    seen = {text for column in raw.values() for text in synonyms.MISSING if text in column.values}
    nulls = tuple(word for word in synonyms.MISSING if word in seen and not _is_code(word, raw.values()))
    decimal = decimal_mark(raw.values())

    def profiled(names: Iterable[str]) -> dict[str, Profile]:
        return {
            name: profile(name, raw[name], nulls, decimal=decimal, zoned=is_zoned(sheets[0].columns[name]))
            for name in names
        }

    profiles = profiled(raw)
    gaps = tuple(_gaps(profiles.values(), decimal))
    nulls += gaps
    profiles |= profiled([name for name in raw if any(gap in raw[name].values for gap in gaps)])
    groups = ("commas between groups of digits",) if decimal == "." else ()
    guesses = tuple(dict.fromkeys(guess for sheet in sheets for guess in sheet.guesses))
    lacking = {
        name: f"{len(sheets) - count} of {len(sheets)} files lack it"
        for name, count in held.items()
        if count < len(sheets)
    }
    found = Proposal(
        profiles=profiles, nulls=nulls, decimal=decimal, guesses=(*guesses, *groups), left_out=lacking
    )
    if gaps:
        words = ", ".join(map(repr, gaps))
        found.decisions.append(
            f"Among numbers and times {words} counts as a missing value: check records.format.nulls."
        )
    return found


def _sheet(path: Path) -> Sheet:
    """Read a file; errors include its name."""
    try:
        return file_sheet(path)
    except UnreadableSource as error:
        raise UnreadableSource(f"{path.name}: {error}") from error


def _gaps(profiles: Collection[Profile], decimal: str | None) -> Iterator[str]:
    """List the words without digits that recur among numbers or times, and are none of a few words elsewhere."""
    few = {
        value
        for one in profiles
        if one.kind in _WORDS and len(one.counts) <= LABEL_WORDS
        for value in one.column.values
    }
    for one in profiles:
        odd = (
            [
                (value, count)
                for value, count in zip(one.column.values, one.counts.tolist(), strict=True)
                if isinstance(value, str) and not any(map(str.isdigit, value))
            ]
            if one.kind in (Kind.NUMBER, Kind.TIME)
            else []
        )
        if len(odd) <= _MOST_GAPS:
            yield from (
                value
                for value, count in odd
                if count > 1 and value not in few and not isinstance(cells.NUMBERS[decimal](value), float)
            )


def _joined(parts: Sequence[Column]) -> Column:
    """Append columns; times that all parts have by their type stay such."""
    whole = reduce(Column.append, parts)
    if len(parts) == 1 or not all(map(is_typed, parts)):
        return whole
    values: Any = np.array(whole.values)
    return Column(values, whole.codes)


def _is_code(word: str, columns: Iterable[Column]) -> bool:
    """Return True if a word of two letters is one of many such codes: NA is Namibia, ND is North Dakota."""
    return len(word) == 2 and any(
        word in column.values and (country_share(column) > 0.9 or _pairs(column) > 0.9) for column in columns
    )


def _pairs(column: Column) -> float:
    """Return the share of texts of two capitals among the distinct values, if there are many."""
    pairs = sum(
        isinstance(value, str) and re.fullmatch("[A-Z]{2}", value) is not None for value in column.values
    )
    return pairs / len(column.values) if pairs > LABEL_WORDS else 0.0


def country_share(column: Column) -> float:
    """Return the share of countries among the distinct values."""
    return sum(map(is_country, column.values)) / max(len(column.values), 1)


def is_country(value: object) -> bool:
    """Return whether a cell is a country, or says of which one somebody is a citizen."""
    try:
        return country(cells.country(value)) is not None
    except RuleError:
        return False
