"""A request to the service and how its answer is read, without sending anything."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import update_wrapper
from typing import Any, Final, Generic, TypeVar

import httpx
from pydantic import ValidationError

from scoring_model.contract.resource import Resource

T = TypeVar("T")
R = TypeVar("R", bound=Resource)
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Generic[T]):
    """A request to the service.

    Parameters
    ----------
    path : str
        Relative to the base URL, with a leading slash and an optional query.
    read : callable
        Reads an answer; raises `ValueError` if it violates the interface.
    body : mapping of str to object, or None
        JSON.
    idempotency_key : str or None
        For a POST; None makes one.
    repeatable : bool
        Whether the service guarantees that repeating it changes nothing.
    cached : bool
        Whether its answer may be cached.
    clears : bool
        Whether it may change cached resources.
    credentials : bool
        Whether credentials are sent.
    accepts : frozenset of int
        Error statuses that count as answers.
    retried : bool
        Whether it may be retried at all.
    """

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    body: Mapping[str, object] | None = field(default=None, repr=False)
    idempotency_key: str | None = None
    repeatable: bool = False
    cached: bool = False
    clears: bool = False
    credentials: bool = True
    accepts: frozenset[int] = frozenset()
    retried: bool = True


def path_of(collection: str, id: str) -> str:  # noqa: A002 - as the field is called
    """The path of a resource; raises `ValueError` for an identifier that would change it, such as one with a slash."""
    if not _ID.fullmatch(id):
        raise ValueError("an identifier must be 1 to 128 ASCII letters, digits, hyphens or underscores")
    return f"{collection}/{id}"


def resource(kind: type[R]) -> Callable[[httpx.Response], R]:
    """A reader of answers that hold one resource."""
    return lambda response: kind.model_validate_json(response.content)


def broken_rules(error: ValueError) -> str:
    """Describe the fields and rules that an answer violates, without values."""
    if not isinstance(error, ValidationError):
        return str(error)
    items = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, item['loc'])) or 'body'}: {item['msg']}" for item in items)


M = TypeVar("M", bound=Callable[..., Any])


def as_method(method: M, operation: Callable[..., object]) -> M:
    """Give a method the name, docstring and parameters of its operation."""
    signature = inspect.signature(operation)
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    update_wrapper(method, operation)
    del method.__wrapped__  # type: ignore[attr-defined]
    method.__signature__ = signature.replace(parameters=[first, *signature.parameters.values()])  # type: ignore[attr-defined]
    return method
