"""The domain in memory, for tests of the HTTP side alone: what it keeps and what it answers can be set by a test."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import httpx
from starlette.types import ASGIApp

from scoring_model.contract.identity import IdentityStatus
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.verification import VerificationStatus
from scoring_model.records import RecordSchema
from scoring_model.service.core.errors import (
    IdempotencyMismatch,
    IdentityNotValidated,
    InProgress,
    NotFound,
    Overloaded,
    WebhookLimit,
)
from scoring_model.service.core.ids import new_id
from scoring_model.service.core.resources import (
    Answer,
    Caller,
    IdempotentRequest,
    Identity,
    Scope,
    Verification,
    Webhook,
)
from scoring_model.service.core.store import Bucket
from scoring_model.service.http import HttpSettings, create_app
from scoring_model.service.identities.identity import assess, parse_identity
from scoring_model.service.scoring.readiness import Readiness
from scoring_model.service.scoring.request import parse_request
from scoring_model.service.webhooks.webhook import parse_new_webhook, parse_webhook_update

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
    """A clock that stands still."""

    def now(self) -> int:
        """Always the same."""
        return NOW

    def event(self, reference: str | None) -> int:
        """Always the same."""
        return NOW


def _caller(number: int, scopes: frozenset[Scope]) -> Caller:
    return Caller(number, f"cl_{number}", str(number), scopes, 6000, 60)


class FakeService:
    """A facade without a database. `fault` is raised by every call that concerns a resource."""

    def __init__(self) -> None:
        everything = frozenset(Scope)
        self.callers = {
            ("cl_1", "sk_1"): _caller(1, everything),
            ("cl_2", "sk_2"): _caller(2, everything),
            ("cl_3", "sk_3"): _caller(3, frozenset()),
        }
        self.bucket = Bucket(True, 5999, 0.01, 0.0)
        self.failures_left = 60
        self.failed_from: list[str] = []
        self.tokens: list[str] = []
        self.readiness: Readiness | None = Readiness(erasure_incomplete_since=None, clock_behind=0)
        self.limited: list[bool] = []
        self.overload: Overloaded | None = None
        self.under_load = 0
        self.pending = False
        self.delay = 0.0
        self.fault: BaseException | None = None
        self.kept: dict[tuple[int, bytes], Any] = {}
        self.answered: dict[tuple[int, str, str], tuple[bytes, Answer[Any]]] = {}
        self.under_way: set[str] = set()
        self.seen_once: list[IdempotentRequest | None] = []

    async def authenticate(self, client_id: str, api_key: str, *, limited: bool = False) -> Caller | None:
        """As the facade says."""
        self.limited.append(limited)
        return self.callers.get((client_id, api_key))

    def enter(self, caller: Caller) -> None:
        """As the facade says."""
        if self.overload is not None:
            raise self.overload
        self.under_load += 1

    def leave(self, caller: Caller) -> None:
        """As the facade says."""
        self.under_load -= 1

    async def take_token(self, caller: Caller) -> Bucket:
        """As the facade says."""
        self.tokens.append(caller.client_id)
        return self.bucket

    async def take_failure(self, address: str) -> Bucket:
        """As the facade says."""
        self.failed_from.append(address)
        self.failures_left -= 1
        return Bucket(self.failures_left >= 0, max(0, self.failures_left), 60.0, 0.4)

    async def ready(self) -> Readiness | None:
        """As the facade says."""
        self._stumble()
        return self.readiness

    async def check_once(self, caller: Caller, once: IdempotentRequest) -> Answer[Any] | None:
        """As the facade says."""
        self._stumble()
        if once.key in self.under_way:
            raise InProgress
        found = self.answered.get((caller.client, once.operation, once.key))
        if found is None:
            return None
        if found[0] != once.body:
            raise IdempotencyMismatch
        return replace(found[1], replayed=True)

    async def create_identity(
        self, caller: Caller, body: Mapping[str, object], once: IdempotentRequest | None
    ) -> Answer[Identity]:
        """As the facade says."""

        async def create() -> Answer[Identity]:
            values = parse_identity(body, NOW)
            status, errors = assess(values, NOW)
            return Answer(self._keep(caller, Identity(new_id(NOW), values, status, errors, NOW, NOW)))

        return await self._once(caller, once, create)

    async def identity(self, caller: Caller, resource: bytes) -> Identity:
        """As the facade says."""
        return self._found(caller, resource, Identity)

    async def erase_identity(self, caller: Caller, resource: bytes) -> Identity:
        """As the facade says."""
        identity = self._found(caller, resource, Identity)
        status = IdentityStatus.REDACTED
        return self._keep(caller, replace(identity, values={}, status=status, validation_errors=()))

    async def create_verification(
        self, caller: Caller, body: Mapping[str, object], once: IdempotentRequest | None
    ) -> Answer[Verification]:
        """As the facade says."""

        async def create() -> Answer[Verification]:
            request = parse_request(body, RecordSchema())
            if request.identity_id is not None:
                identity = self._found(caller, request.identity_id, Identity)
                if identity.status is not IdentityStatus.VALIDATED:
                    raise IdentityNotValidated
            made = self._verification(request.identity_id, request.subject_id)
            return Answer(self._keep(caller, made), pending=self.pending)

        return await self._once(caller, once, create)

    def _verification(self, identity_id: bytes | None, subject_id: str | None) -> Verification:
        status = VerificationStatus.PENDING if self.pending else VerificationStatus.COMPLETED
        return Verification(
            id=new_id(NOW),
            identity_id=identity_id,
            previous_id=None,
            subject_id=subject_id,
            status=status,
            outcome=None if self.pending else Outcome.STEPPED_UP,
            score=None if self.pending else 531,
            reasons=() if self.pending else (("ADDRESS_FORM", "The address has an unusual form."),),
            model_version=None if self.pending else "m1",
            policy_version=None if self.pending else "p1",
            created_at=NOW,
            completed_at=None if self.pending else NOW + 1,
        )

    async def verification(self, caller: Caller, resource: bytes) -> Verification:
        """As the facade says."""
        return self._found(caller, resource, Verification)

    async def erase_signals(self, caller: Caller, resource: bytes) -> Verification:
        """As the facade says."""
        return self._keep(caller, replace(self._found(caller, resource, Verification), subject_id=None))

    async def create_webhook(
        self, caller: Caller, body: Mapping[str, object], once: IdempotentRequest | None
    ) -> Answer[Webhook]:
        """As the facade says."""

        async def create() -> Answer[Webhook]:
            fields = parse_new_webhook(body, development=False)
            if len(self._webhooks(caller)) >= 50:
                raise WebhookLimit
            webhook = Webhook(
                id=new_id(NOW),
                destination_url=fields.destination_url,
                active=fields.active,
                event_types=fields.event_types,
                description=fields.description,
                secret=None,
                disabled_reason=None,
                created_at=NOW,
                updated_at=NOW,
            )
            return Answer(replace(self._keep(caller, webhook), secret=SECRET))

        return await self._once(caller, once, create)

    async def webhook(self, caller: Caller, resource: bytes) -> Webhook:
        """As the facade says."""
        return self._found(caller, resource, Webhook)

    async def webhooks(
        self, caller: Caller, *, limit: int, after: bytes | None
    ) -> tuple[list[Webhook], bytes | None]:
        """As the facade says."""
        self._stumble()
        found = [webhook for webhook in self._webhooks(caller) if after is None or webhook.id > after]
        return found[:limit], found[limit - 1].id if len(found) > limit else None

    async def update_webhook(self, caller: Caller, resource: bytes, body: Mapping[str, object]) -> Webhook:
        """As the facade says."""
        update = parse_webhook_update(body, development=False)
        webhook = self._found(caller, resource, Webhook)
        return self._keep(
            caller, replace(webhook, destination_url=update.destination_url, active=update.active)
        )

    async def delete_webhook(self, caller: Caller, resource: bytes) -> Webhook:
        """As the facade says."""
        webhook = self._found(caller, resource, Webhook)
        del self.kept[caller.client, resource]
        return webhook

    async def test_webhook(
        self, caller: Caller, resource: bytes, once: IdempotentRequest | None
    ) -> Answer[Webhook]:
        """As the facade says."""

        async def test() -> Answer[Webhook]:
            return Answer(self._found(caller, resource, Webhook))

        return await self._once(caller, once, test)

    async def rotate_secret(
        self, caller: Caller, resource: bytes, once: IdempotentRequest | None
    ) -> Answer[Webhook]:
        """As the facade says."""

        async def rotate() -> Answer[Webhook]:
            return Answer(replace(self._found(caller, resource, Webhook), secret=SECRET))

        return await self._once(caller, once, rotate)

    async def _once(
        self, caller: Caller, once: IdempotentRequest | None, act: Callable[[], Awaitable[Answer[T]]]
    ) -> Answer[T]:
        self._stumble()
        self.seen_once.append(once)
        if self.delay:
            await asyncio.sleep(self.delay)
        if once is None:
            return await act()
        earlier = await self.check_once(caller, once)
        if earlier is not None:
            return earlier
        answer = await act()
        self.answered[caller.client, once.operation, once.key] = (once.body, answer)
        return answer

    def _stumble(self) -> None:
        if self.fault is not None:
            raise self.fault

    def _keep(self, caller: Caller, resource: T) -> T:
        self.kept[caller.client, resource.id] = resource  # type: ignore[attr-defined]
        return resource

    def _found(self, caller: Caller, resource: bytes, kind: type[T]) -> T:
        self._stumble()
        found = self.kept.get((caller.client, resource))
        if not isinstance(found, kind):
            raise NotFound
        return found

    def _webhooks(self, caller: Caller) -> list[Webhook]:
        return [
            kept
            for (client, _), kept in self.kept.items()
            if client == caller.client and isinstance(kept, Webhook)
        ]


class Client:
    """Sends requests into an application, without a socket.

    Parameters
    ----------
    service : FakeService, optional
    settings : HttpSettings, optional
    """

    def __init__(self, service: FakeService | None = None, settings: HttpSettings | None = None) -> None:
        self.service = FakeService() if service is None else service
        self.settings = HttpSettings(access_log=False) if settings is None else settings
        self.app: ASGIApp = create_app(self.service, self.settings, clock=StoppedClock())

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
        """Send one request as some client; None for nobody."""

        async def sent() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, client=(address, 1234))
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                listed = list(headers.items()) if isinstance(headers, Mapping) else list(headers)
                return await client.request(
                    method, path, headers=[*(credentials or {}).items(), *listed], **content
                )

        return asyncio.run(sent())

    def new_identity(self, **fields: Any) -> dict[str, Any]:
        """Create an identity that is valid but for some fields."""
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
