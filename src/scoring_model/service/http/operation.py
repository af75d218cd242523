"""What one method of one path does, and in which order its request is checked."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, TypeVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from scoring_model.contract.body import Nothing
from scoring_model.contract.ids import from_text, to_text
from scoring_model.contract.rules import Rule, kind_of
from scoring_model.contract.violation import Violation
from scoring_model.service.core import resources
from scoring_model.service.core.body import parsed
from scoring_model.service.core.errors import BatchUnsupported, Invalid
from scoring_model.service.core.resources import Caller
from scoring_model.service.http.bodies import check_length, check_media_type, read_body
from scoring_model.service.http.context import context_of, header_values
from scoring_model.service.http.errors import Forbidden, MethodNotAllowed, allow
from scoring_model.service.http.ijson import read_json
from scoring_model.service.http.parameters import check_names, pairs_of
from scoring_model.service.http.settings import HttpSettings
from scoring_model.service.idempotency import IdempotentRequest

if TYPE_CHECKING:
    from scoring_model.service.service import Service

R = TypeVar("R")

NOTHING: Final = bytes(16)
"""Stands for a malformed id: it names nothing, so that such a path is answered as any unknown one, in its turn."""

KEY_LENGTH: Final = 255
_KEY_RULE: Final = f"Idempotency-Key must come once, with 1 to {KEY_LENGTH} printable ASCII characters"


class Body(Enum):
    """What the body of a request has to be."""

    NONE = "none"
    EMPTY = "empty"  # nothing, or an object without fields
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class Call:
    """A request that may be carried out.

    Parameters
    ----------
    service : Service
    caller : Caller
    resource : bytes
        16 bytes of the id in the path; `NOTHING` where it has none or a malformed one.
    query : mapping of str to str
        Parameters by name; unknown ones were refused.
    body : mapping of str to object
        Empty where there is none.
    request : IdempotentRequest or None
    """

    service: "Service"
    caller: Caller
    resource: bytes
    query: Mapping[str, str]
    body: Mapping[str, object]
    request: IdempotentRequest | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path.

    Parameters
    ----------
    method : str
    path : str
        As the reference has it.
    permission : core.resources.Permission
        Needed of the API key.
    act : callable
        Carries the call out.
    present : callable
        Makes a response of what `act` gave.
    body : Body
    parameters : frozenset of str
        Names that the query may hold.
    batch : bool
        Whether an array is refused because batches are not supported.
    """

    method: str
    path: str
    permission: resources.Permission
    act: Callable[[Call], Awaitable[Any]]
    present: Callable[[Any, Scope], Response]
    body: Body = Body.NONE
    parameters: frozenset[str] = frozenset()
    batch: bool = False


class Endpoint:
    """ASGI application of one path: checks a request in the order that is promised, and has it carried out.

    Methods of the path, scope, length, media type, JSON, idempotency key, what the request holds; what the state
    forbids is found by the service.

    Parameters
    ----------
    path : str
    operations : list of Operation
        All those of the path.
    service : Service
    settings : HttpSettings
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
            Anything that it breaks, in the order of the checks.
        """
        context = context_of(scope)
        context.route = self._path
        operation = self._operations.get(context.method)
        if operation is None:
            raise MethodNotAllowed(self._allowed)
        caller = context.caller
        if caller is None:
            raise RuntimeError("an operation is behind the gate")
        if operation.permission not in caller.permissions:
            raise Forbidden(operation.permission)
        response = await self._carried_out(operation, caller, scope, receive)
        await response(scope, receive, send)

    async def _carried_out(
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
                await self._service.idempotency.check(caller, request)
            raise
        result = await operation.act(Call(self._service, caller, resource, query, body, request))
        return operation.present(result, scope)

    async def _body(self, operation: Operation, scope: Scope, receive: Receive) -> tuple[bytes, object]:
        """The body as bytes and as JSON."""
        if operation.body is Body.NONE:
            check_length(scope, self._settings.max_body)
            return b"", {}
        raw = await read_body(scope, receive, self._settings)
        if not raw and operation.body is Body.EMPTY:
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
    # The id as we write it, so that its spelling makes no other operation.
    path = operation.path.replace("{id}", to_text(resource))
    return IdempotentRequest(key, f"POST {path}", raw)


def _query(operation: Operation, scope: Scope) -> Mapping[str, str]:
    text: bytes = scope["query_string"]
    if not text:
        return {}
    return check_names(pairs_of(text.decode("latin-1")), operation.parameters)


def _object(operation: Operation, value: object) -> Mapping[str, object]:
    if operation.batch and isinstance(value, list):
        raise BatchUnsupported
    if not isinstance(value, dict):
        raise Invalid((Violation("", Rule.WRONG_TYPE.value, f"must be an object, got {kind_of(value)}"),))
    if operation.body is Body.EMPTY:
        parsed(Nothing, value)
    return value
