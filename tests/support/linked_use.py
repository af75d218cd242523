"""A configuration of identity records with many link keys and windows, with or without amounts and typed texts."""

from typing import Final

import pyarrow as pa

from identity_use import relaxed
from scoring_model.history import COUNT_KINDS, STATISTICS, Amount

AMOUNT: Final = Amount(signal="formSeconds", decimals=1)
"""What is summed, beside another amount. Tenths of a second are few, so that rounding shows."""

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
_OF_TEXTS: Final = "{counts: [records, frauds, since_last], amounts: [], delayed_windows: [], windows: [90d]}"
_AMOUNTS: Final = f"""\
  amounts:
    - {{signal: {AMOUNT.signal}, decimals: {AMOUNT.decimals}}}
    - {{signal: emailAgeDays, decimals: 0}}
  statistics: [{", ".join(STATISTICS)}]
  counts: [{", ".join(COUNT_KINDS)}]
  delay: 5d
  delayed_windows: [1d, 30d, 100d]
  by_key:
    mailbox: {_OF_TEXTS}
    network: {_OF_TEXTS}
    phone: {_OF_TEXTS}
"""
_TEXTS: Final = """\
signals:
  email: {type: email}
  ip: {type: ip}
  mobile: {type: phone, country: GB}
"""
_KEYS_OF_TEXTS: Final = """\
    mailbox: [signals.email:mailbox]
    network: [signals.ip:net24, signals.email:domain]
    phone: [signals.mobile:e164-GB]
    subject: [subjectId]
"""


def linked(*, summing: bool) -> str:
    """The configuration of a small training whose records are linked by six keys over an hour to 90 days.

    With amounts it has all kinds of counts, also in delayed windows, and signals that are read, with keys of their own.
    """
    text = relaxed().replace(_LINKS, _MORE_LINKS).replace("rounds: 30", "rounds: 12")
    text = text.replace("gap: 30d", "gap: 30d, burn_in: 105d")  # as long as the longest window
    if summing:
        text = text.replace("    subject: [subjectId]\n", _KEYS_OF_TEXTS)
        text = text.replace("  cap: 100\n", f"  cap: 100\n{_AMOUNTS}").replace("signals:\n", _TEXTS)
    return text


def with_contacts(table: pa.Table) -> pa.Table:
    """Add columns for the texts that summing configurations read, without values."""
    for name in ("email", "ip", "mobile"):
        table = table.append_column(f"signals.{name}", pa.nulls(len(table), pa.string()))
    return table
