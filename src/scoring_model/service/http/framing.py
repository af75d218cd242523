"""Finds the boundaries of requests in the bytes of a connection (RFC 9112), ahead of the parser.

The parser checks the syntax. This module ensures that it never gets more than one request, an `Upgrade` that it would
obey, or trailers.
"""

import re
from dataclasses import dataclass
from typing import Final

HEAD_BYTES: Final = 64 * 1024
"""Maximum length of a request line with its headers."""

FRAMING_BYTES: Final = 64 * 1024
"""Maximum length of all chunk sizes and chunk extensions of one body."""

TRAILER_BYTES: Final = 8 * 1024
"""Maximum length of a trailer section, and of one line with a chunk size."""

# CONNECT would turn the connection into a tunnel (RFC 9110, section 9.3.6), which is not supported.
_BEGINNING: Final = re.compile(rb"(?!CONNECT )[A-Z][A-Z-]{0,31}(?: |\Z)")
_REQUEST_LINE: Final = re.compile(
    rb"(?!connect )[a-z-]+ ([^\x00-\x20\x7f]+) http/1\.([01])\r\n", re.IGNORECASE
)
_UPGRADE: Final = re.compile(rb"\r\nupgrade:[^\r\n]*", re.IGNORECASE)
_FIELDS: Final = re.compile(rb"\r\n(host|content-length|transfer-encoding):[ \t]*([^\r\n]*)")
_TRAILING_BLANKS: Final = re.compile(
    rb"(?<![ \t])[ \t]++(?=\r\n)"
)  # linear: tried once for each run of blanks
_LENGTH_DIGITS: Final = 18
_SIZE_LINE: Final = re.compile(rb"([0-9A-Fa-f]{1,16})(?:[ \t]*;[^\r\n]*)?\r\n")
_TRAILERS: Final = re.compile(rb"(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n\x00]*\r\n)*\r\n")


class BadFraming(Exception):
    """The bytes are not an HTTP/1.1 or HTTP/1.0 request, or its end is ambiguous."""


class TooLong(Exception):
    """The framing of a request is longer than its limit."""


def take_head(data: bytes) -> "tuple[bytes, bytes, Body | None]":
    """Split off the request line and headers, cleaned for the parser.

    Removes `Upgrade`, which is ignored (RFC 9110, section 7.8), blanks after values (section 5.5), and empty lines
    before a request (RFC 9112, section 2.2).

    Returns
    -------
    head : bytes
        Empty while incomplete.
    rest : bytes
        The bytes after the head, or the incomplete head.
    body : Body or None
        None if the request has no body.

    Raises
    ------
    BadFraming
        As soon as the bytes can't begin a request.
    TooLong
        Above `HEAD_BYTES`.
    """
    data = data.lstrip(b"\r\n")
    end = data.find(b"\r\n\r\n", 0, HEAD_BYTES) + 4
    if end < 4:
        if len(data) >= HEAD_BYTES:
            raise TooLong
        if data and _BEGINNING.match(data) is None:
            raise BadFraming
        return b"", data, None
    head = data[:end]
    if head.find(b" \r\n") >= 0 or head.find(b"\t\r\n") >= 0:
        head = _TRAILING_BLANKS.sub(b"", head)
    lower = head.lower()
    if lower.find(b"\nupgrade:") >= 0:
        head = _UPGRADE.sub(b"", head)
    return head, data[end:], _body_of(lower)


def target_of(head: bytes) -> bytes:
    """Return the request target in a head (RFC 9112, section 3.2)."""
    line = _REQUEST_LINE.match(head)
    return b"" if line is None else line[1]


def _body_of(lower: bytes) -> "Body | None":
    """Return the framing of a body from a head in lower case; raises `BadFraming` if it is ambiguous.

    HTTP/1.1 requires exactly one `Host` (RFC 9112, section 3.2). The only transfer coding is chunked, in HTTP/1.1 only
    and without a length (sections 6.1 to 6.3).
    """
    line = _REQUEST_LINE.match(lower)
    found = _FIELDS.findall(lower)
    fields = dict(found)
    if line is None or len(fields) < len(found) or (b"host" not in fields and line[2] == b"1"):
        raise BadFraming
    length, coding = fields.get(b"content-length"), fields.get(b"transfer-encoding")
    if length is None and coding is None:
        return None
    if length is None and coding == b"chunked" and line[2] == b"1":
        return ChunkedBody()
    if coding is not None or length is None or not length.isdigit() or len(length) > _LENGTH_DIGITS:
        raise BadFraming
    return SizedBody(int(length)) if int(length) else None


@dataclass(slots=True)
class SizedBody:
    """A body of known length, of which `left` bytes, at least one, are still to come."""

    left: int

    def take(self, data: bytes) -> tuple[bytes, bytes, bool]:
        """Split off the bytes of the body.

        Returns
        -------
        parsed : bytes
            For the parser.
        rest : bytes
            Incomplete line, or bytes of the next request.
        is_end : bool
            Whether the body ends with `parsed`.

        Raises
        ------
        BadFraming
        TooLong
        """
        part, rest = data[: self.left], data[self.left :]
        self.left -= len(part)
        return part, rest, not self.left


@dataclass(slots=True)
class ChunkedBody:
    """A body in chunks (RFC 9112, section 7.1). Its trailers are checked and dropped, so that the parser sees none."""

    _left: int = 0  # of a chunk with the CRLF that ends it
    _framing: int = 0
    _in_trailers: bool = False

    def take(self, data: bytes) -> tuple[bytes, bytes, bool]:
        """Split off the bytes of the body, as `SizedBody.take`."""
        at = 0
        while not self._in_trailers:
            step = min(self._left, len(data) - at)
            self._left -= step
            at += step
            if at == len(data):
                return data, b"", False
            line = _SIZE_LINE.match(data, at)
            if line is None:
                return _unfinished(data, at, b"\r\n")
            at = line.end()
            self._framing += at - line.start()
            if self._framing > FRAMING_BYTES:
                raise TooLong
            size = int(line[1], 16)
            self._in_trailers = not size
            self._left = size + len(b"\r\n")
        return self._take_trailers(data, at)

    def _take_trailers(self, data: bytes, at: int) -> tuple[bytes, bytes, bool]:
        section = _TRAILERS.match(data, at)
        if section is None:
            return _unfinished(data, at, b"\r\n\r\n")
        if section.end() - at > TRAILER_BYTES:
            raise TooLong
        return data[:at] + b"\r\n", data[section.end() :], True


Body = SizedBody | ChunkedBody
"""The rest of a body."""


def _unfinished(data: bytes, at: int, end: bytes) -> tuple[bytes, bytes, bool]:
    """Return a result that waits for the rest of a line or section; it is malformed if its end is present."""
    if end in data[at:]:
        raise BadFraming
    if len(data) - at > TRAILER_BYTES:
        raise TooLong
    return data[:at], data[at:], False
