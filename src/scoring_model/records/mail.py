"""Reads mail addresses: local part and domain, and the mailbox that different spellings lead to."""

import re
from functools import lru_cache
from typing import Final, NamedTuple

# No character can match in two ways, so that long texts that are no addresses fail in linear time.
_ADDRESS: Final = re.compile(r"([^\s@\x00-\x1f\x7f]{1,64})@([^\s@]+)")
_LABEL: Final = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_DOMAIN: Final = re.compile(rf"(?:{_LABEL}\.)+(?:xn--[a-z0-9-]{{1,58}}[a-z0-9]|[a-z]{{2,63}})")
_DOTLESS: Final = {"gmail.com": "gmail.com", "googlemail.com": "gmail.com"}
"""Domains whose mailboxes ignore dots, and the domain that they share."""


class MailAddress(NamedTuple):
    """A mail address as typed, but for the case of its domain.

    Attributes
    ----------
    local : str
        What stands before the last ``@``.
    domain : str
        In ASCII (RFC 3490) and lower case, with at least one dot.
    """

    local: str
    domain: str

    @property
    def base(self) -> str:
        """Return the local part in lower case, without a tag after ``+`` (RFC 5233)."""
        text = self.local.lower()
        return text.partition("+")[0] or text

    @property
    def top_domain(self) -> str:
        """Return the last label of the domain."""
        return self.domain.rpartition(".")[2]

    @property
    def mailbox(self) -> str:
        """Return the normal form: without case, tag and, at Gmail, dots."""
        if self.domain in _DOTLESS:
            return f"{self.base.replace('.', '') or self.base}@{_DOTLESS[self.domain]}"
        return f"{self.base}@{self.domain}"


def read_mail(text: str) -> MailAddress | None:
    """Read a mail address; None where the text is none.

    Quoted local parts and domains without a dot are not read.

    References
    ----------
    RFC 5321, sections 4.1.2 and 4.5.3.1; RFC 6531 for characters beyond ASCII.

    Examples
    --------
    >>> read_mail("J.Doe+news@GoogleMail.com").mailbox
    'jdoe@gmail.com'
    """
    match = _ADDRESS.fullmatch(text)
    domain = None if match is None else _ascii(match[2])
    return None if match is None or domain is None else MailAddress(match[1], domain)


@lru_cache(4096)  # addresses are many, their domains few
def _ascii(domain: str) -> str | None:
    if not domain.isascii():
        try:
            domain = domain.encode("idna").decode()  # by the tables of Unicode 3.2 in every version of Python
        except UnicodeError:
            return None
    folded = domain.lower()
    return folded if len(folded) <= 253 and _DOMAIN.fullmatch(folded) else None
