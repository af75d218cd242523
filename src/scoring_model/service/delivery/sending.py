"""What the deliverer asks of whatever sends: one POST, one answer, no exception."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Reply:
    """What became of one attempt.

    Parameters
    ----------
    status : int or None
        Status of HTTP that the receiver answered, 100 to 599, or None when no whole answer came.
    retry_after : str or None
        The header ``Retry-After`` as it was sent (RFC 9110, section 10.2.3), not yet read, at most
        200 characters.
    excerpt : str or None
        At most 200 printable characters: the beginning of the answer's body when it is no success,
        or, without an answer, why there was none, in our own words.
    """

    status: int | None
    retry_after: str | None = None
    excerpt: str | None = None


class Sender(Protocol):
    """Sends one attempt of a delivery."""

    async def send(self, url: str, headers: Mapping[str, str], body: bytes, *, client: int) -> Reply:
        """POST ``body`` to ``url`` once; follows no redirect and raises nothing but a cancellation.

        Parameters
        ----------
        url : str
            Address of the receiver, ``https``, or ``http`` under development.
        headers : mapping of str to str
            Headers of the request besides those that HTTP itself needs.
        body : bytes
            The payload as it was signed.
        client : int
            Whose delivery it is: clients share what sending takes.
        """
