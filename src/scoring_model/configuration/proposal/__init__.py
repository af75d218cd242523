"""Proposes a configuration for files of records from the contents of their columns.

Decision record: docs/adr/0008-guesses-about-files.md.
"""

from scoring_model.configuration.proposal.draft import Given, Proposal
from scoring_model.configuration.proposal.steps import propose

__all__ = ["Given", "Proposal", "propose"]
