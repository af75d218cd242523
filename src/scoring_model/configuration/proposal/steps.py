"""Proposes a configuration for files of records from the contents of their columns.

Decision record: docs/adr/0008-guesses-about-files.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from scoring_model.configuration.profiles import Kind
from scoring_model.configuration.proposal.customers import find_customers
from scoring_model.configuration.proposal.draft import Given, Proposal
from scoring_model.configuration.proposal.fields import find_documents, find_fields, find_record_id
from scoring_model.configuration.proposal.file import described
from scoring_model.configuration.proposal.labels import find_label
from scoring_model.configuration.proposal.left_out import leave_out
from scoring_model.configuration.proposal.lengths import find_bound, find_lengths
from scoring_model.configuration.proposal.outcomes import find_outcomes
from scoring_model.configuration.proposal.signals import find_amounts, find_keys, find_signals
from scoring_model.configuration.proposal.times import find_known, find_times
from scoring_model.records.sources import file_paths


def propose(
    source: Path | Sequence[Path],
    *,
    delay: int | None = None,
    timezone: str | None = None,
    given: Given | None = None,
    report: Callable[[str], None] = lambda text: None,
) -> Proposal:
    """Propose a configuration for files of one kind.

    Parameters
    ----------
    source : Path or sequence of Path
        Files and patterns, as `read_records` takes them.
    delay : int, optional
        Time from an event until its label is known, microseconds; measured or assumed without it.
    timezone : str, optional
        IANA name of the zone of times without one.
    given : Given, optional
        What is not to be guessed.
    report : callable, optional
        Called with what is done next.

    Raises
    ------
    UnreadableSource
        If a file cannot be read.
    """
    proposal = replace(described(file_paths(source) or ()), timezone=timezone)
    report(f"{len(proposal.profiles)} columns are read: what each may be")
    if given is not None:
        _take_over(proposal, given)
    find_times(proposal)
    find_label(proposal)
    find_known(proposal)
    find_outcomes(proposal)
    find_documents(proposal)
    find_fields(proposal)
    find_record_id(proposal)
    leave_out(proposal)
    find_customers(proposal)
    find_signals(proposal)
    find_keys(proposal)
    find_amounts(proposal)
    find_lengths(proposal, delay)
    find_bound(proposal)
    return proposal


def _take_over(proposal: Proposal, given: Given) -> None:
    profiles = proposal.profiles
    unused = (Kind.EMPTY, Kind.CONSTANT)
    for column, kind in given.kinds.items():
        if column in profiles and profiles[column].kind not in unused:
            profiles[column] = replace(profiles[column], kind=kind)
    for column, name in given.fields.items():
        if column in profiles and (name != "eventTime" or profiles[column].kind is Kind.TIME):
            proposal.fields[name] = column
    proposal.left_out |= {column: reason for column, reason in given.left_out.items() if column in profiles}
    proposal.words = dict(given.words)
    proposal.typed = frozenset(given.kinds)
    proposal.linking = tuple(given.linking)
