"""A request to the service and how its answer is read, without sending anything."""

import json
import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

import httpx

from scoring_model.client.fields import Fields, decoded_object

T = TypeVar("T")
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)
_KEY: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Generic[T]):
    """What is asked of the service.

    Parameters
    ----------
    method, path : str
        The path is relative to the base URL and starts with a slash.
    read : callable
        Reads an answer; raises `Malformed` where it is not what the interface promises.
    query : mapping of str to str, or str
        A string is sent as it is.
    body : mapping of str to object, or None
        JSON. Not shown by `repr`.
    idempotency_key : str or None
        For a POST; None makes one.
    repeatable : bool
        Whether the service says that doing it again changes nothing.
    cached : bool
        Whether its answer may be kept.
    clears : bool
        Whether it changes what may have been kept.
    credentials : bool
        Whether they are sent.
    accepts : frozenset of int
        Statuses that are answers although they are no success.
    """

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    query: Mapping[str, str] | str = field(default_factory=dict)
    body: Mapping[str, object] | None = field(default=None, repr=False)
    idempotency_key: str | None = None
    repeatable: bool = False
    cached: bool = False
    clears: bool = False
    credentials: bool = True
    accepts: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Call:
    """An HTTP request, the same for every attempt.

    Parameters
    ----------
    method, path : str
    query : mapping of str to str, or str
    headers : mapping of str to str
        Not shown by `repr`: they hold the credentials.
    content : bytes or None
        Not shown by `repr`.
    """

    method: str
    path: str
    query: Mapping[str, str] | str
    headers: Mapping[str, str] = field(repr=False)
    content: bytes | None = field(repr=False)

    @property
    def url(self) -> str:
        """Path and query."""
        query = self.query if isinstance(self.query, str) else str(httpx.QueryParams(self.query))
        return f"{self.path}?{query}" if query else self.path


@dataclass(frozen=True, slots=True)
class Attempt:
    """What whoever runs `Steps` does next: wait `delay` seconds, then send the call once."""

    call: Call
    delay: float


Steps = Generator[Attempt, httpx.Response | httpx.RequestError, T]
"""A conversation that knows nothing of sockets: it says what to send and is told what came of it."""


def in_path(id: str) -> str:  # noqa: A002 - as the field is called
    """An identifier that may stand in a path.

    Raises
    ------
    ValueError
        If it is none that a service could have given, such as one with a slash.
    """
    if not _ID.fullmatch(id):
        raise ValueError("an identifier must be 1 to 128 ASCII letters, digits, hyphens or underscores")
    return id


def checked_key(key: str) -> str:
    """An idempotency key.

    Raises
    ------
    ValueError
        If it is not 1 to 255 printable ASCII characters, or has a space at an end.
    """
    if not _KEY.fullmatch(key):
        raise ValueError("idempotency_key must be 1 to 255 printable ASCII characters without outer spaces")
    return key


def encoded(body: Mapping[str, object]) -> bytes:
    """JSON of what is given; what is None is left out.

    Raises
    ------
    TypeError, ValueError
        If a value is none of JSON (RFC 8259), such as NaN.
    """
    given = {name: value for name, value in body.items() if value is not None}
    return json.dumps(given, allow_nan=False, separators=(",", ":")).encode()


def resource(read: Callable[[Fields], T]) -> Callable[[httpx.Response], T]:
    """A reader of answers that hold one JSON object."""
    return lambda response: read(decoded_object(response.content))
