"""Operations (a method of a path), the checks of their requests, and successful responses."""

import base64
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, unquote_to_bytes

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from scoring_model.contract.resource import Body, Nothing, Resource
from scoring_model.contract.rules import Rule, kind_of
from scoring_model.contract.texts import from_text, to_text
from scoring_model.contract.violation import MOST_ERRORS, Violation, pointer
from scoring_model.service.clients.clients import Caller, Permission
from scoring_model.service.core.errors import BatchUnsupported, Invalid, OneAtATime, parsed
from scoring_model.service.http.bodies import check_media_type, read_body, read_json
from scoring_model.service.http.context import CONTEXT, RequestContext
from scoring_model.service.http.errors import BodyTooLarge, Forbidden, MethodNotAllowed
from scoring_model.service.http.settings import HttpSettings
from scoring_model.service.requests.idempotency import Answer, IdempotentRequest

if TYPE_CHECKING:
    from scoring_model.service.service import Service

NOTHING: Final = bytes(16)
"""Replaces a malformed id: no resource has it, so such a path gets the answer of an unknown id, after all checks."""

PAGE: Final = 100
"""Default and maximum number of items on a page."""

KEY_LENGTH: Final = 255
_KEY_RULE: Final = f"Idempotency-Key must come once, with 1 to {KEY_LENGTH} printable ASCII characters"
_JSON: Final = (b"content-type", b"application/json")
_VARY: Final = "authorization, x-api-key, x-client-id"
Header = tuple[bytes, bytes]


@dataclass(slots=True)  # not frozen: one is created per request, in a third of the time
class Call:
    """A request that passed all checks.

    Parameters
    ----------
    resource : bytes
        The 16-byte id in the path; `NOTHING` if it is missing or malformed.
    query : mapping of str to str
        Known parameters by name.
    body : mapping of str to object
        Empty if there is none.
    receive : callable
        Waits until the client has gone, or was answered.
    """

    service: "Service"
    context: RequestContext
    caller: Caller
    resource: bytes
    query: Mapping[str, str]
    body: Mapping[str, object]
    request: IdempotentRequest | None
    receive: Receive

    def write(self, shown: Resource) -> bytes:
        """Write a resource of the caller as JSON, which is marked for a sandbox client."""
        body = shown.to_json()
        return body[:-1] + b',"sandbox":true}' if self.caller.sandbox else body


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter.

    Parameters
    ----------
    name : str
        Of its component in the API reference.
    schema : mapping
        JSON Schema of its values.
    parse : callable
        Reads a value; raises `RuleError`.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    parse: Callable[[str], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path.

    Parameters
    ----------
    answer : callable
        Handles the call. The API reference takes the operation's name, summary and description from the name and the
        docstring of this function.
    path : str
        Route with `{id}`.
    permission : Permission
        Permission that the API key needs.
    body : type or None
        Model of the request body; None without one. A body of `Nothing` may be empty.
    parameters : mapping of str to Parameter
        Allowed query parameters by name. An operation that has some answers with a list.
    batch : bool
        Answer an array with the error `batch_unsupported`.
    single : bool
        Answer 429 while another such request of the client is under way in this process.
    shown : type
        Resource of the response.
    example, pending : mapping or None
        Examples of the response (by default that of the resource) and of a response with status 202.
    statuses : tuple of int
        Statuses of success.
    cached : bool
        Whether the response has an entity tag.
    """

    answer: Callable[[Call], Awaitable[Response]] = field(kw_only=False)
    method: str
    path: str
    permission: Permission
    body: type[Body] | None = None
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    batch: bool = False
    single: bool = False
    shown: type[Resource]
    example: Mapping[str, Any] | None = None
    pending: Mapping[str, Any] | None = None
    statuses: tuple[int, ...] = (200,)
    cached: bool = False

    @property
    def name(self) -> str:
        """Its `operationId`."""
        first, *words = self.answer.__name__.split("_")
        return first + "".join(map(str.capitalize, words))


class Endpoint:
    """ASGI application of one path: checks a request in the documented order and runs its operation.

    The order is method, scope, length, media type, JSON, idempotency key, query and body. The service then checks the
    state.
    """

    def __init__(
        self, path: str, operations: list[Operation], service: "Service", settings: HttpSettings
    ) -> None:
        self._path = path
        self._operations = {operation.method: operation for operation in operations}
        self._names = {operation.method: operation.name for operation in operations}
        if "GET" in self._operations:
            self._operations["HEAD"], self._names["HEAD"] = self._operations["GET"], self._names["GET"]
        self._service = service
        self._settings = settings
        self._under_way: set[int] = set()  # clients with a request of a single operation

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request.

        Raises
        ------
        RequestError
            From the first check that fails.
        """
        context: RequestContext = scope[CONTEXT]
        context.route = self._path
        operation = self._operations.get(context.method)
        if operation is None:
            raise MethodNotAllowed(self._operations)
        if context.caller is None:
            raise RuntimeError("an operation needs an authenticated caller")
        context.operation = self._names[context.method]
        if operation.permission not in context.caller.permissions:
            raise Forbidden(operation.permission)
        if operation.single:
            response = await self._answer_alone(operation, context.caller, scope, receive)
        else:
            response = await operation.answer(await self._read(operation, context.caller, scope, receive))
        await response(scope, receive, send)

    async def _answer_alone(
        self, operation: Operation, caller: Caller, scope: Scope, receive: Receive
    ) -> Response:
        """Answer a large request: only one of each client at a time, and others go first."""
        # Before the body is read: a hundred of them cost little more than one.
        if caller.client in self._under_way:
            raise OneAtATime
        self._under_way.add(caller.client)
        queue = self._service.queue
        try:
            with queue.aside():
                await queue.lull()  # meanwhile those that have arrived with it are refused
                return await operation.answer(await self._read(operation, caller, scope, receive))
        finally:
            self._under_way.remove(caller.client)

    async def _read(self, operation: Operation, caller: Caller, scope: Scope, receive: Receive) -> Call:
        context: RequestContext = scope[CONTEXT]
        # The server has checked that it is a number. Unread bodies are limited too.
        if int(context.received.get(b"content-length", [b"0"])[0]) > self._settings.max_body:
            raise BodyTooLarge
        raw = b""
        value: object = {}
        if operation.body is not None:
            raw = await read_body(scope, receive, self._settings)
            if raw or operation.body is not Nothing:
                if raw or b"content-type" in context.received:
                    check_media_type(context)
                value = read_json(raw)
        resource = from_text(scope["path_params"].get("id", "")) or NOTHING
        request = None
        if operation.method == "POST" and b"idempotency-key" in context.received:
            request = _idempotent(operation, context, resource, raw)
        try:
            query = _query(operation, scope["query_string"]) if scope["query_string"] else {}
            if not isinstance(value, dict):
                raise _no_object(operation, value)
            if operation.body is Nothing:
                parsed(Nothing, value)
        except Invalid:
            if request is not None:
                await self._service.idempotency.check(caller.client, request)
            raise
        return Call(self._service, context, caller, resource, query, value, request, receive)


def _idempotent(
    operation: Operation, context: RequestContext, resource: bytes, raw: bytes
) -> IdempotentRequest:
    keys = context.received[b"idempotency-key"]
    key = keys[0].decode("latin-1").strip()
    if len(keys) > 1 or not 1 <= len(key) <= KEY_LENGTH or not (key.isascii() and key.isprintable()):
        raise Invalid((Violation("", "idempotency_key_invalid", _KEY_RULE),))
    # Canonical id: another spelling is the same operation.
    path = operation.path.replace("{id}", to_text(resource))
    return IdempotentRequest(key, f"POST {path}", raw)


def _query(operation: Operation, text: bytes) -> Mapping[str, str]:
    """Parse the query. As for unknown fields, only the pointer of a violation contains the parameter's name."""
    # No path has as many parameters as an answer has errors: further ones would only add errors.
    written = [pair for pair in text.split(b"&") if pair][:MOST_ERRORS]
    found: dict[str, str] = {}
    errors: list[Violation] = []
    for pair in written:
        ((name, value),) = parse_qsl(pair.decode(errors="replace"), keep_blank_values=True)
        if name not in operation.parameters:
            detail = "must be a query parameter that is known"
            errors.append(Violation(pointer(name), "unknown_parameter", detail))
        elif name in found:
            errors.append(Violation(pointer(name), "repeated_parameter", "must come once"))
        elif not _is_utf8(pair):
            errors.append(Violation(pointer(name), "not_utf8", "must be UTF-8, percent-encoded"))
        found[name] = value
    if errors:
        raise Invalid(tuple(errors))
    return found


def _is_utf8(pair: bytes) -> bool:
    try:
        unquote_to_bytes(pair).decode()
    except UnicodeDecodeError:
        return False
    return True


def _no_object(operation: Operation, value: object) -> Invalid:
    if operation.batch and isinstance(value, list):
        return BatchUnsupported()
    return Invalid((Violation("", Rule.WRONG_TYPE.value, f"must be an object, got {kind_of(value)}"),))


class JsonResponse(Response):
    """A resource as JSON. Its headers are complete: Starlette would encode and search them for each response."""

    def __init__(self, body: bytes, status: int = 200, headers: Sequence[Header] = ()) -> None:
        self.status_code = status
        self.background = None
        self.body = body
        self.raw_headers = [*headers, (b"content-length", b"%d" % len(body)), _JSON]


def plain(call: Call, shown: Resource) -> Response:
    """Answer 200 with a resource."""
    return JsonResponse(call.write(shown))


def created(call: Call, answer: Answer[Any], collection: str | None = None) -> Response:
    """Answer 201 with a `Location` in the collection, 202 while the resource is pending, 200 without a collection.

    `Idempotency-Replayed` marks the repeated answer to an earlier request.
    """
    status = 200
    headers = [(b"idempotency-replayed", b"true")] if answer.replayed else []
    if collection is not None:
        status = 202 if answer.pending else 201
        headers.append((b"location", f"{collection}/{answer.resource.id}".encode()))
    if answer.pending:
        headers.append((b"retry-after", b"1"))
    return JsonResponse(call.write(answer.resource), status, headers)


def cacheable(call: Call, shown: Resource, max_age: int) -> Response:
    """Answer 200 with a resource that the client may cache for `max_age` seconds, or 304 if it is unchanged.

    RFC 9110, sections 8.8.3 and 13.1.2; RFC 9111. The answer depends on the credentials as well as on the path.
    """
    body = call.write(shown)
    digest = hashlib.blake2b(body, digest_size=15).digest()
    tag = f'"{base64.urlsafe_b64encode(digest).decode()}"'
    call.context.cache = f"private, max-age={max_age}"
    if _matches(tag, call.context.received.get(b"if-none-match", ())):
        return Response(status_code=304, headers={"ETag": tag, "Vary": _VARY})
    return JsonResponse(body, headers=[(b"etag", tag.encode()), (b"vary", _VARY.encode())])


def _matches(tag: str, wanted: Sequence[bytes]) -> bool:
    """Return True if `If-None-Match` contains a strong entity tag, which must have no comma."""
    tags = [text.strip() for text in b",".join(wanted).decode("latin-1").split(",")]
    return "*" in tags or any(text.removeprefix("W/") == tag for text in tags)
