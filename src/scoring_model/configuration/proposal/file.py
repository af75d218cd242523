"""Reads a file whose configuration is to be proposed."""

import re
from collections.abc import Iterable
from pathlib import Path

from scoring_model.configuration import synonyms
from scoring_model.configuration.profiles import decimal_mark, profile
from scoring_model.configuration.proposal.draft import FEWEST, Proposal
from scoring_model.contract.rules import RuleError, country
from scoring_model.records import cells
from scoring_model.records.encoding import encode, is_zoned
from scoring_model.records.files import file_sheet
from scoring_model.records.sheet import UnreadableSource
from scoring_model.records.table import Column


def described(path: Path) -> Proposal:
    """Profile the columns of a file; raises UnreadableSource."""
    sheet = file_sheet(path)
    if not sheet.columns:
        raise UnreadableSource(f"{path.name}: no row of it can be read")
    raw = {name: encode(column, sheet.rows) for name, column in sheet.columns.items()}
    seen = {text for column in raw.values() for text in synonyms.MISSING if text in column.values}
    nulls = tuple(word for word in synonyms.MISSING if word in seen and not _is_code(word, raw.values()))
    decimal = decimal_mark(raw.values())
    profiles = {
        name: profile(name, column, nulls, decimal=decimal, zoned=is_zoned(sheet.columns[name]))
        for name, column in raw.items()
    }
    groups = ("commas between groups of digits",) if decimal == "." else ()
    return Proposal(profiles=profiles, nulls=nulls, decimal=decimal, guesses=(*sheet.guesses, *groups))


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
    return pairs / len(column.values) if pairs >= FEWEST else 0.0


def country_share(column: Column) -> float:
    """Return the share of countries among the distinct values."""

    def is_country(value: object) -> bool:
        try:
            return country(cells.country(value)) is not None
        except RuleError:
            return False

    return sum(map(is_country, column.values)) / max(len(column.values), 1)
