"""Finds persons who come again and again, as customers who pay do: a training would leave nearly all records out."""

from dataclasses import replace
from typing import Final

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.configuration.profiles import Kind
from scoring_model.configuration.proposal.draft import Proposal
from scoring_model.history.parts import combined_codes
from scoring_model.records import NEVER
from scoring_model.records.table import Column

_LATER: Final = 0.75  # share of the events before the one from which records count as later
_RETURNING: Final = 0.75  # share of the earlier records whose person is among the later ones too
_PERSONS: Final = (("firstName", "lastName", "dob"), ("subjectId",), ("identityId",))
_FEWEST: Final = 5  # persons whom a summary in a bundle covers at least
_NAMES: Final = ("firstName", "lastName")
_IDS: Final = ("subjectId", "identityId")


def find_customers(proposal: Proposal) -> None:
    """Let no field name the person where most earlier records are of persons who come again.

    A training leaves out records of persons who are in later parts too, so that it learns no person by heart. Of
    customers who pay every week none would be left. A card or an account links their records, else a key of what names
    them.
    """
    event = proposal.of("eventTime")
    parts = next((parts for parts in _PERSONS if proposal.fields.keys() >= set(parts)), ())
    if event is None or not parts:
        return
    columns = [proposal.profiles[proposal.fields[part]] for part in parts]
    persons = combined_codes([_codes(column.column) for column in columns])
    share = _returning(event.times, persons)
    if share < _RETURNING:
        return
    why = (
        f"{share:.0%} of the records before the last quarter are of persons who come again in it, as customers do. "
        "A training leaves out persons of later parts, which would be nearly all: "
    )
    if own := [name for name in (*_NAMES, *_IDS) if proposal.fields.get(name) == name]:
        proposal.decisions.append(f"{why}rename {', '.join(own)}, so that no field names them.")
        return
    ids = [proposal.fields.pop(name) for name in _IDS if name in proposal.fields]
    names = [proposal.fields.pop(name) for name in _NAMES if name in proposal.fields]
    others = [one.name for one in proposal.free() if one.kind is Kind.IDENTIFIER and one.name not in names]
    same = [
        name for name in [*ids, *others] if _joins_the_same(persons, _codes(proposal.profiles[name].column))
    ]
    linking = same[:1] or [column.name for column in columns]
    if same:
        proposal.left_out |= dict.fromkeys(names, f"{same[0]} joins the records of each customer")
    for name in [*ids, *names]:
        proposal.profiles[name] = replace(proposal.profiles[name], kind=Kind.IDENTIFIER)
    for column in proposal.free():
        if column.kind is Kind.CATEGORY and _tells_persons(persons, _codes(column.column)):
            proposal.left_out[column.name] = (
                "most records have a value of fewer than five customers, which tells them"
            )
    proposal.customer = () if same else tuple(linking)
    proposal.decisions.append(
        f"{why}so {', '.join(linking)} joins their records, and no field names them. Promises then take each record "
        "for independent, and a bundle takes five records of one customer for those of five persons."
    )


def _codes(column: Column) -> IntArray:
    return column.codes.astype(np.int64)


def _returning(times: IntArray, persons: IntArray) -> float:
    """Return the share of the earlier records whose person is in later ones too."""
    seen = (times != NEVER) & (persons >= 0)
    if not seen.any():
        return 0.0
    cut = np.quantile(times[seen], _LATER, method="inverted_cdf")
    earlier, later = persons[seen & (times < cut)], persons[seen & (times >= cut)]
    return float(np.isin(earlier, later).mean()) if len(earlier) else 0.0


def _tells_persons(persons: IntArray, values: IntArray) -> bool:
    """Return whether most records have a value of fewer persons than a bundle may hold."""
    pairs = np.unique(np.stack([values, persons]), axis=1)
    pairs = pairs[:, (pairs >= 0).all(axis=0)]
    few = np.bincount(pairs[0], minlength=int(values.max(initial=0)) + 1) < _FEWEST
    return int(few[values[values >= 0]].sum()) > int((values >= 0).sum()) / 2


def _joins_the_same(first: IntArray, second: IntArray) -> bool:
    """Return whether rows are equal in one where they are in the other."""
    pairs: int = np.unique(np.stack([first, second]), axis=1).shape[1]
    return pairs == np.unique(first).size == np.unique(second).size
