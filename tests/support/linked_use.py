"""The use of identity records with many link keys and windows, with an amount or without."""

from typing import Final

from identity_use import relaxed
from scoring_model.history import Amount

AMOUNT: Final = Amount(signal="formSeconds", decimals=1)
"""What is summed. Tenths of a second are few, so that rounding shows."""

_LINKS: Final = """\
    image: [imageUrls]
  windows: [24h, 30d]
"""
_MORE_LINKS: Final = """\
    image: [imageUrls]
    mail: [signals.emailDomain, signals.ipCountry]
    subject: [subjectId]
  windows: [1h, 24h, 7d, 30d, 90d]
  cap: 100
"""
_AMOUNT: Final = f"  amount: {{signal: {AMOUNT.signal}, decimals: {AMOUNT.decimals}}}\n"


def linked(*, summing: bool) -> str:
    """The configuration of a small training whose records are linked by six keys over an hour to 90 days."""
    links = _MORE_LINKS + (_AMOUNT if summing else "")
    text = relaxed().replace(_LINKS, links).replace("rounds: 30", "rounds: 12")
    return text.replace("  seed: 7\n", "  seed: 7\n  leakage_checks: {run: false}\n")
