"""A service in memory for tests of the HTTP layer: tests set its resources and answers."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, TypeVar, cast

import httpx
from starlette.types import ASGIApp

from scoring_model.contract.delivery import Delivery
from scoring_model.contract.identity import Identity, IdentityStatus
from scoring_model.contract.label import LabelReport, LabelResult, LabelsInput, LabelStatus
from scoring_model.contract.operator_list import (
    ListChanged,
    ListEntriesInput,
    ListRemovalInput,
    OperatorLists,
)
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.resolution import Resolution, ResolutionInput, Resolutions
from scoring_model.contract.resource import PresentContext, instant
from scoring_model.contract.texts import from_text, to_text
from scoring_model.contract.verification import (
    ReasonCode,
    Verification,
    VerificationInput,
    VerificationStatus,
)
from scoring_model.contract.webhook import Webhook, WebhookContext, WebhookInput, WebhookUpdate
from scoring_model.service.clients.clients import Caller, Permission
from scoring_model.service.core.errors import (
    IdempotencyMismatch,
    IdentityNotValidated,
    InProgress,
    NotFound,
    Overloaded,
    WebhookLimit,
    parsed,
)
from scoring_model.service.core.ids import new_id
from scoring_model.service.core.rows import IdentityRow
from scoring_model.service.http import HttpSettings, create_app
from scoring_model.service.identities.assessment import assess, parse_identity
from scoring_model.service.identities.persons import StoredIdentity, shown
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.labels.requests import Visit
from scoring_model.service.readiness import ProcessState, ServedSince
from scoring_model.service.requests.idempotency import Answer, IdempotentRequest
from scoring_model.service.requests.lists import Cursors, ListFilter
from scoring_model.service.resolutions.requests import Resolved
from scoring_model.service.service import Service
from scoring_model.service.store import Bucket, Position

T = TypeVar("T")

NOW = 1_780_000_000_000_001  # microseconds: in May 2026
SECRET = "whsec_" + "A" * 43 + "="
GOOD = {"x-client-id": "cl_1", "x-api-key": "sk_1"}
OTHER = {"x-client-id": "cl_2", "x-api-key": "sk_2"}
NARROW = {"x-client-id": "cl_3", "x-api-key": "sk_3"}
"""Credentials of a client of all scopes, of another one, and of one without any scope."""

PERSON: dict[str, Any] = {
    "firstName": "Ada",
    "lastName": "Byron",
    "dob": "1985-12-10",
    "citizenship": "GB",
    "documentType": "PASSPORT",
    "imageUrls": ["https://images.example/1.jpg"],
    "address": {"line1": "12 Example Street", "country": "GB"},
}
HOOK = {"destinationUrl": "https://hooks.example/in", "active": True}


class StoppedClock:
    """A fixed clock."""

    def now(self) -> int:
        """The fixed instant."""
        return NOW

    def event(self, reference: str | None) -> int:
        """The fixed instant."""
        return NOW


def _caller(number: int, scopes: frozenset[Permission]) -> Caller:
    return Caller(number, f"cl_{number}", str(number), scopes, 6000, 60)


class FakeService:
    """The parts of a service without a database. Every call that concerns a resource raises `fault`."""

    def __init__(self) -> None:
        everything = frozenset(Permission)
        self.callers = {
            ("cl_1", "sk_1"): _caller(1, everything),
            ("cl_2", "sk_2"): _caller(2, everything),
            ("cl_3", "sk_3"): _caller(3, frozenset()),
        }
        self.credentials = self.queue = self.rate_limits = self.readiness = self.idempotency = self
        self.identities = _Identities(self)
        self.verifications = _Verifications(self)
        self.webhooks = _Webhooks(self)
        self.labels = _Labels(self)
        self.resolutions = _Resolutions(self)
        self.lists = _Lists(self)
        self.cursors = Cursors(Secrets(bytes(32)))
        self.bucket = Bucket(True, 5999, 0.01, 0.0)
        self.failures_left = 60
        self.failed_from: list[str] = []
        self.tokens: list[str] = []
        self.ready: ProcessState | None = ProcessState(
            erasure_incomplete_since=None,
            clock_behind=0,
            serves=ServedSince(model_version="m1", policy_version="p1", since=NOW),
        )
        self.limited: list[bool] = []
        self.overload: Overloaded | None = None
        self.under_load = 0
        self.pending = False
        self.delay = 0.0
        self.fault: BaseException | None = None
        self.kept: dict[tuple[int, bytes | None], Any] = {}
        self.answered: dict[tuple[int, str, str], tuple[bytes, Answer[Any]]] = {}
        self.in_progress: set[str] = set()
        self.requests: list[IdempotentRequest | None] = []

    @property
    def parts(self) -> Service:
        """The same object, typed for the application, which uses only its parts."""
        return cast(Service, self)

    async def authenticate(self, client_id: str, api_key: str, *, limited: bool = False) -> Caller | None:
        """See `Credentials.authenticate`."""
        self.limited.append(limited)
        return self.callers.get((client_id, api_key))

    def enter(self, client: int) -> None:
        """See `CommitQueue.enter`."""
        if self.overload is not None:
            raise self.overload
        self.under_load += 1

    def leave(self, client: int) -> None:
        """See `CommitQueue.leave`."""
        self.under_load -= 1

    def aside(self) -> AbstractContextManager[None]:
        """See `CommitQueue.aside`."""
        return nullcontext()

    async def lull(self) -> None:
        """See `CommitQueue.lull`."""
        await asyncio.sleep(0)

    async def take_token(self, caller: Caller) -> Bucket:
        """See `RateLimits.take_token`."""
        self.tokens.append(caller.client_id)
        return self.bucket

    async def take_failure(self, address: str) -> Bucket:
        """See `RateLimits.take_failure`."""
        self.failed_from.append(address)
        self.failures_left -= 1
        return Bucket(self.failures_left >= 0, max(0, self.failures_left), 60.0, 0.4)

    async def check(self, client: int | None = None, request: IdempotentRequest | None = None) -> Any:
        """See `ReadinessCheck.check` and `IdempotencyStore.check`."""
        self.stumble()
        if client is None or request is None:
            return self.ready
        if request.key in self.in_progress:
            raise InProgress
        if (client, request.operation, request.key) in self.answered:
            raise IdempotencyMismatch
        return None

    async def once(
        self, caller: Caller, request: IdempotentRequest | None, act: Callable[[], Awaitable[Answer[T]]]
    ) -> Answer[T]:
        """Carry out a request, or replay its answer."""
        self.stumble()
        self.requests.append(request)
        if self.delay:
            await asyncio.sleep(self.delay)
        if request is None:
            return await act()
        if request.key in self.in_progress:
            raise InProgress
        place = (caller.client, request.operation, request.key)
        if place in self.answered:
            body, answer = self.answered[place]
            if body != request.body:
                raise IdempotencyMismatch
            return replace(answer, replayed=True)
        answer = await act()
        self.answered[place] = (request.body, answer)
        return answer

    def page(
        self, caller: Caller, kind: type[T], after: Position | None, limit: int
    ) -> tuple[list[T], Position | None]:
        """Resources of a client, latest first; all were created at `NOW`."""
        self.stumble()
        kept = [(resource, one) for (client, resource), one in self.kept.items() if client == caller.client]
        found = [(resource or b"", one) for resource, one in kept if isinstance(one, kind)]
        rest = [pair for pair in found[::-1] if after is None or pair[0] < after.id]
        end = Position(NOW, rest[limit - 1][0]) if len(rest) > limit else None
        return [one for _, one in rest[:limit]], end

    def stumble(self) -> None:
        """Raise the fault, if a test set one."""
        if self.fault is not None:
            raise self.fault

    def keep(self, caller: Caller, resource: T) -> T:
        """Store a resource of a client."""
        self.kept[caller.client, from_text(resource.id)] = resource  # type: ignore[attr-defined]
        return resource

    def found(self, caller: Caller, resource: bytes, kind: type[T]) -> T:
        """A resource of a client."""
        self.stumble()
        found = self.kept.get((caller.client, resource))
        if not isinstance(found, kind):
            raise NotFound
        return found


class _Identities:
    def __init__(self, service: FakeService) -> None:
        self._service = service

    async def create(
        self, caller: Caller, body: Mapping[str, object], request: IdempotentRequest | None
    ) -> Answer[Identity]:
        async def create() -> Answer[Identity]:
            values = parse_identity(body, NOW)
            status, errors, missing = assess(values, NOW)
            row = IdentityRow(new_id(NOW), caller.client, b"", status, None, NOW, NOW)
            return Answer(self._service.keep(caller, shown(row, StoredIdentity(values, errors, missing))))

        return await self._service.once(caller, request, create)

    async def get(self, caller: Caller, resource: bytes) -> Identity:
        return self._service.found(caller, resource, Identity)

    async def page(
        self, caller: Caller, wanted: ListFilter, *, after: Position | None, limit: int
    ) -> tuple[list[Identity], Position | None]:
        return self._service.page(caller, Identity, after, limit)

    async def erase(self, caller: Caller, resource: bytes) -> Identity:
        self._service.found(caller, resource, Identity)
        row = IdentityRow(resource, caller.client, b"", IdentityStatus.REDACTED, None, NOW, NOW)
        return self._service.keep(caller, shown(row, StoredIdentity({})))


class _Verifications:
    def __init__(self, service: FakeService) -> None:
        self._service = service

    async def create(
        self, caller: Caller, body: Mapping[str, object], request: IdempotentRequest | None
    ) -> Answer[Verification]:
        async def create() -> Answer[Verification]:
            wanted = parsed(VerificationInput, body)
            if wanted.identity_id is not None:
                identity = self._service.found(caller, wanted.identity_id, Identity)
                if identity.status != IdentityStatus.VALIDATED:
                    raise IdentityNotValidated(identity.missing_fields)
            made = self._verification(wanted.identity_id, wanted.subject_id)
            return Answer(self._service.keep(caller, made), pending=self._service.pending)

        return await self._service.once(caller, request, create)

    def _verification(self, identity_id: bytes | None, subject_id: str | None) -> Verification:
        pending = self._service.pending
        reason = ReasonCode(code="ADDRESS_FORM", description="The address has an unusual form.")
        return Verification(
            id=to_text(new_id(NOW)),
            identity_id=None if identity_id is None else to_text(identity_id),
            subject_id=subject_id,
            status=VerificationStatus.PENDING if pending else VerificationStatus.COMPLETED,
            scoring_outcome=None if pending else Outcome.STEPPED_UP,
            scoring_score=None if pending else 531,
            reason_codes=() if pending else (reason,),
            model_version=None if pending else "m1",
            policy_version=None if pending else "p1",
            created_at=instant(NOW),
            completed_at=None if pending else instant(NOW + 1),
        )

    async def get(self, caller: Caller, resource: bytes) -> Verification:
        return self._service.found(caller, resource, Verification)

    async def page(
        self, caller: Caller, wanted: ListFilter, *, after: Position | None, limit: int
    ) -> tuple[list[Verification], Position | None]:
        return self._service.page(caller, Verification, after, limit)

    async def erase_signals(self, caller: Caller, resource: bytes) -> Verification:
        found = self._service.found(caller, resource, Verification)
        return self._service.keep(caller, found.model_copy(update={"subject_id": None}))


class _Labels:
    def __init__(self, service: FakeService) -> None:
        self._service = service

    async def create(
        self, caller: Caller, body: Mapping[str, object], request: IdempotentRequest | None, _visit: Visit
    ) -> Answer[LabelReport]:
        async def create() -> Answer[LabelReport]:
            rows = parsed(LabelsInput, body).labels
            return Answer(LabelReport.of(tuple(LabelResult(status=LabelStatus.CREATED) for _ in rows)))

        return await self._service.once(caller, request, create)


class _Resolutions:
    def __init__(self, service: FakeService) -> None:
        self._service = service

    async def create(
        self,
        caller: Caller,
        verification: bytes,
        body: Mapping[str, object],
        request: IdempotentRequest | None,
    ) -> Answer[Resolved]:
        async def create() -> Answer[Resolved]:
            sent = parsed(ResolutionInput, body)
            self._service.found(caller, verification, Verification)
            made = Resolution(
                id=to_text(new_id(NOW)),
                verification_id=to_text(verification),
                result=sent.result,
                method=sent.method,
                resolved_at=instant(NOW),
                created_at=instant(NOW),
            )
            return Answer(Resolved(made, is_new=True))

        return await self._service.once(caller, request, create)

    async def list(self, caller: Caller, verification: bytes) -> Resolutions:
        self._service.found(caller, verification, Verification)
        return Resolutions(resolutions=())


class _Lists:
    def __init__(self, service: FakeService) -> None:
        self._service = service

    async def add(
        self, caller: Caller, body: Mapping[str, object], request: IdempotentRequest | None, _spend: object
    ) -> Answer[ListChanged]:
        async def add() -> Answer[ListChanged]:
            given = parsed(ListEntriesInput, body, PresentContext(NOW))
            return Answer(ListChanged(list=given.list, changed=len(given.values), unchanged=0, entries=1))

        return await self._service.once(caller, request, add)

    async def remove(
        self, caller: Caller, body: Mapping[str, object], request: IdempotentRequest | None, _spend: object
    ) -> Answer[ListChanged]:
        async def remove() -> Answer[ListChanged]:
            given = parsed(ListRemovalInput, body)
            return Answer(ListChanged(list=given.list, changed=len(given.values), unchanged=0, entries=0))

        return await self._service.once(caller, request, remove)

    async def list_all(self, caller: Caller) -> OperatorLists:
        self._service.stumble()
        return OperatorLists(lists=())


class _Webhooks:
    def __init__(self, service: FakeService) -> None:
        self._service = service

    async def create(
        self, caller: Caller, body: Mapping[str, object], request: IdempotentRequest | None
    ) -> Answer[Webhook]:
        async def create() -> Answer[Webhook]:
            sent = parsed(WebhookInput, body, WebhookContext(development=False))
            if len(self._all(caller)) >= 50:
                raise WebhookLimit
            webhook = Webhook(
                id=to_text(new_id(NOW)),
                destination_url=sent.destination_url,
                active=sent.active,
                event_types=sent.event_types or ("*",),
                description=sent.description or None,
                created_at=instant(NOW),
                updated_at=instant(NOW),
            )
            return Answer(_with_secret(self._service.keep(caller, webhook)))

        return await self._service.once(caller, request, create)

    async def get(self, caller: Caller, resource: bytes) -> Webhook:
        return self._service.found(caller, resource, Webhook)

    async def page(
        self, caller: Caller, *, limit: int, after: bytes | None
    ) -> tuple[list[Webhook], bytes | None]:
        self._service.stumble()
        found = [hook for hook in self._all(caller) if after is None or hook.id > to_text(after)]
        return found[:limit], from_text(found[limit - 1].id) if len(found) > limit else None

    async def deliveries(
        self, caller: Caller, resource: bytes, *, status: str | None, after: Position | None, limit: int
    ) -> tuple[list[Delivery], Position | None]:
        self._service.found(caller, resource, Webhook)
        return self._service.page(caller, Delivery, after, limit)

    async def update(self, caller: Caller, resource: bytes, body: Mapping[str, object]) -> Webhook:
        sent = parsed(WebhookUpdate, body, WebhookContext(development=False))
        webhook = self._service.found(caller, resource, Webhook)
        changes = {"destination_url": sent.destination_url, "active": sent.active}
        return self._service.keep(caller, webhook.model_copy(update=changes))

    async def delete(self, caller: Caller, resource: bytes) -> Webhook:
        webhook = self._service.found(caller, resource, Webhook)
        del self._service.kept[caller.client, resource]
        return webhook

    async def test(
        self, caller: Caller, resource: bytes, request: IdempotentRequest | None
    ) -> Answer[Webhook]:
        async def test() -> Answer[Webhook]:
            return Answer(self._service.found(caller, resource, Webhook))

        return await self._service.once(caller, request, test)

    async def rotate_secret(
        self, caller: Caller, resource: bytes, request: IdempotentRequest | None
    ) -> Answer[Webhook]:
        async def rotate() -> Answer[Webhook]:
            return Answer(_with_secret(self._service.found(caller, resource, Webhook)))

        return await self._service.once(caller, request, rotate)

    def _all(self, caller: Caller) -> list[Webhook]:
        return [
            kept
            for (client, _), kept in self._service.kept.items()
            if client == caller.client and isinstance(kept, Webhook)
        ]


def _with_secret(webhook: Webhook) -> Webhook:
    return webhook.model_copy(update={"secret": SECRET})


class Client:
    """Sends requests into an application, without a socket."""

    def __init__(self, service: FakeService | None = None, settings: HttpSettings | None = None) -> None:
        self.service = FakeService() if service is None else service
        self.settings = HttpSettings(access_log=False) if settings is None else settings
        self.app: ASGIApp = create_app(self.service.parts, self.settings, clock=StoppedClock())

    def ask(
        self,
        method: str,
        path: str,
        *,
        credentials: Mapping[str, str] | None = GOOD,
        address: str = "192.0.2.1",
        headers: Mapping[str, str] | list[tuple[str, str]] = (),  # type: ignore[assignment]
        **content: Any,
    ) -> httpx.Response:
        """Send one request as a client; None sends no credentials."""

        async def sent() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, client=(address, 1234))
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                listed = list(headers.items()) if isinstance(headers, Mapping) else list(headers)
                return await client.request(
                    method, path, headers=[*(credentials or {}).items(), *listed], **content
                )

        return asyncio.run(sent())

    def new_identity(self, **fields: Any) -> dict[str, Any]:
        """Create an identity that is valid except for the given fields."""
        return self._made("/scoring/v1/identities", {**PERSON, **fields})

    def new_verification(self) -> dict[str, Any]:
        """Create a verification of signals."""
        return self._made("/scoring/v1/verifications", {"signals": {"device": "d"}, "subjectId": "s"})

    def new_webhook(self) -> dict[str, Any]:
        """Create a webhook."""
        return self._made("/scoring/v1/webhooks", HOOK)

    def _made(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        response = self.ask("POST", path, json=body)
        if not response.is_success:
            raise AssertionError(response.text)
        made: dict[str, Any] = response.json()
        return made
