"""Finds what was decided about applicants, and how it ended."""

from typing import Final

import numpy as np

from scoring_model.configuration import synonyms
from scoring_model.configuration.headers import tells
from scoring_model.configuration.profiles import Kind
from scoring_model.configuration.proposal.draft import FEWEST, NEARLY_ALL, Proposal
from scoring_model.configuration.proposal.label_columns import outcome_words, words_in

_DECIDED: Final = {"outcome": "what was decided", "resolution": "how reviews ended"}


def find_outcomes(proposal: Proposal) -> None:
    """Find what was decided: outcomes and resolutions by their words, the end of accounts by its header."""
    outcomes = {"passed": synonyms.PASSED, "stepped_up": synonyms.STEPPED_UP, "failed": synonyms.FAILED}
    ends = {"approved": synonyms.APPROVED, "declined": synonyms.DECLINED, "abandoned": synonyms.ABANDONED}
    for name, lists, headers in (
        ("resolution", ends, synonyms.RESOLUTION),
        ("outcome", outcomes, synonyms.DECISION),
    ):
        fits = [
            (not tells(column.words, headers), column.name, words)
            for column in proposal.free()
            if column.kind in (Kind.CATEGORY, Kind.BOOLEAN, Kind.TEXT, Kind.IDENTIFIER)
            and (words := outcome_words(column, lists)) is not None
            and (name == "outcome" or tells(column.words, headers))
        ]
        for _, holder, words in sorted(fits, key=lambda fit: fit[0])[:1]:
            if _stops_frauds(proposal, holder, words):
                proposal.left_out[holder] = (
                    "nearly all frauds were stopped by it, as where it follows from the label"
                )
                continue
            proposal.fields[name] = holder
            proposal.outcomes |= words
            proposal.decisions.append(
                f"{holder} is taken for {_DECIDED[name]}: check records.columns.{name} and records.outcomes."
            )
    column = proposal.likeliest("closedAt", [Kind.TIME])
    if column is not None:
        proposal.fields["closedAt"] = column.name
    if not {"outcome", "resolution"} & proposal.fields.keys():
        proposal.decisions.append(
            "No column says what was decided, so all count as passed. If applicants were stopped, name "
            "records.columns.outcome, resolution and closedAt, and their words in records.outcomes."
        )


def _stops_frauds(proposal: Proposal, name: str, words: dict[str, list[str]]) -> bool:
    """Return whether nearly all labelled frauds were stopped: then the column was set by the label."""
    frauds = proposal.targets() == 1
    column = proposal.profiles[name]
    stopped = {
        word for kind, listed in words.items() if kind not in ("passed", "approved") for word in listed
    }
    is_stop = np.array([*(word in stopped for word in words_in(column)), False])[column.column.codes]
    return len(frauds) > 0 and frauds.sum() >= FEWEST and bool(is_stop[frauds].mean() > NEARLY_ALL)
