"""One method of one path: what it does, what the API reference says of it, and the checks of its requests."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from scoring_model.contract.body import Body, Nothing
from scoring_model.contract.ids import from_text, to_text
from scoring_model.contract.resource import Resource
from scoring_model.contract.rules import Rule, kind_of
from scoring_model.contract.violation import MOST_ERRORS, Violation, pointer
from scoring_model.service.clients import Caller, Permission
from scoring_model.service.core.errors import BatchUnsupported, Invalid, parsed
from scoring_model.service.http.bodies import check_length, check_media_type, read_body, read_json
from scoring_model.service.http.context import context_of, header_values
from scoring_model.service.http.errors import Forbidden, MethodNotAllowed, allow
from scoring_model.service.http.settings import HttpSettings
from scoring_model.service.idempotency import IdempotentRequest

if TYPE_CHECKING:
    from scoring_model.service.service import Service

NOTHING: Final = bytes(16)
"""Stands for a malformed id: it names nothing, so that such a path is answered as any unknown one, after all checks."""

PAGE: Final = 100
"""Items on a page of a list, by default and at most."""

KEY_LENGTH: Final = 255
_KEY_RULE: Final = f"Idempotency-Key must come once, with 1 to {KEY_LENGTH} printable ASCII characters"


@dataclass(frozen=True, slots=True)
class Call:
    """A request that passed all checks.

    Parameters
    ----------
    resource : bytes
        16 bytes of the id in the path; `NOTHING` where it has none or a malformed one.
    query : mapping of str to str
        Known parameters by name.
    body : mapping of str to object
        Empty where there is none.
    """

    service: "Service"
    caller: Caller
    resource: bytes
    query: Mapping[str, str]
    body: Mapping[str, object]
    request: IdempotentRequest | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What the API reference says of an operation.

    Parameters
    ----------
    name : str
        Identifies the operation in generated clients.
    shown : type
        Resource of the response.
    example : mapping or None
        Of the response; by default that of the resource.
    pending : mapping or None
        Example of a response with status 202.
    statuses : tuple of int
        Of success.
    cached : bool
        Whether the response has an entity tag.
    """

    name: str
    summary: str
    text: str
    shown: type[Resource]
    example: Mapping[str, Any] | None = None
    pending: Mapping[str, Any] | None = None
    statuses: tuple[int, ...] = (200,)
    cached: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path.

    Parameters
    ----------
    path : str
        Route with `{id}`.
    permission : Permission
        Needed of the API key.
    act : callable
        Carries the call out.
    present : callable
        Makes a response of the result of `act`.
    body : type or None
        Model of the request body; None without one. A body of `Nothing` may be empty.
    parameters : frozenset of str
        Names that the query may hold.
    batch : bool
        Whether an array gets the error `batch_unsupported`.
    """

    method: str
    path: str
    permission: Permission
    act: Callable[[Call], Awaitable[Any]]
    present: Callable[[Any, Scope], Response]
    reference: Reference
    body: type[Body] | None = None
    parameters: frozenset[str] = frozenset()
    batch: bool = False


class Endpoint:
    """ASGI application of one path: checks a request in the documented order and carries it out.

    The order is method, scope, length, media type, JSON, idempotency key, query and body. The service then checks the
    state.
    """

    def __init__(
        self, path: str, operations: list[Operation], service: "Service", settings: HttpSettings
    ) -> None:
        self._path = path
        self._operations = {operation.method: operation for operation in operations}
        self._allowed = allow(self._operations)
        if "GET" in self._operations:
            self._operations["HEAD"] = self._operations["GET"]
        self._service = service
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request.

        Raises
        ------
        RequestError
            Of the first check that fails.
        """
        context = context_of(scope)
        context.route = self._path
        operation = self._operations.get(context.method)
        if operation is None:
            raise MethodNotAllowed(self._allowed)
        caller = context.caller
        if caller is None:
            raise RuntimeError("an operation needs an authenticated caller")
        if operation.permission not in caller.permissions:
            raise Forbidden(operation.permission)
        response = await self._carry_out(operation, caller, scope, receive)
        await response(scope, receive, send)

    async def _carry_out(
        self, operation: Operation, caller: Caller, scope: Scope, receive: Receive
    ) -> Response:
        raw, value = await self._body(operation, scope, receive)
        resource = from_text(scope["path_params"].get("id", "")) or NOTHING
        request = _idempotent(operation, scope, resource, raw) if operation.method == "POST" else None
        try:
            query = _query(operation, scope)
            body = _object(operation, value)
        except Invalid:
            if request is not None:
                await self._service.idempotency.check(caller.client, request)
            raise
        result = await operation.act(Call(self._service, caller, resource, query, body, request))
        return operation.present(result, scope)

    async def _body(self, operation: Operation, scope: Scope, receive: Receive) -> tuple[bytes, object]:
        """The body as bytes and as JSON."""
        if operation.body is None:
            check_length(scope, self._settings.max_body)
            return b"", {}
        raw = await read_body(scope, receive, self._settings)
        if not raw and operation.body is Nothing:
            return raw, {}
        if raw or header_values(scope, b"content-type"):
            check_media_type(scope)
        return raw, read_json(raw)


def _idempotent(operation: Operation, scope: Scope, resource: bytes, raw: bytes) -> IdempotentRequest | None:
    keys = header_values(scope, b"idempotency-key")
    if not keys:
        return None
    key = keys[0].decode("latin-1").strip()
    if len(keys) > 1 or not 1 <= len(key) <= KEY_LENGTH or not (key.isascii() and key.isprintable()):
        raise Invalid((Violation("", "idempotency_key_invalid", _KEY_RULE),))
    # The canonical id, so that another spelling is the same operation.
    path = operation.path.replace("{id}", to_text(resource))
    return IdempotentRequest(key, f"POST {path}", raw)


def _query(operation: Operation, scope: Scope) -> Mapping[str, str]:
    """Read the query. As for unknown fields, only the pointer of a violation holds the name of a parameter."""
    text: bytes = scope["query_string"]
    if not text:
        return {}
    # No path has as many parameters as there are errors in an answer: further ones would only be further errors.
    written = [pair for pair in text.decode("latin-1").split("&") if pair][:MOST_ERRORS]
    found: dict[str, str] = {}
    errors: list[Violation] = []
    for name, value in parse_qsl("&".join(written), keep_blank_values=True):
        if name not in operation.parameters:
            detail = "must be a query parameter that is known"
            errors.append(Violation(pointer(name), "unknown_parameter", detail))
        elif name in found:
            errors.append(Violation(pointer(name), "repeated_parameter", "must come once"))
        found[name] = value
    if errors:
        raise Invalid(tuple(errors))
    return found


def _object(operation: Operation, value: object) -> Mapping[str, object]:
    if operation.batch and isinstance(value, list):
        raise BatchUnsupported
    if not isinstance(value, dict):
        raise Invalid((Violation("", Rule.WRONG_TYPE.value, f"must be an object, got {kind_of(value)}"),))
    if operation.body is Nothing:
        parsed(Nothing, value)
    return value
