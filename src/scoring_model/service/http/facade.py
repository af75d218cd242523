"""What the routes ask of the service."""

from collections.abc import Mapping
from typing import Any, Protocol

from scoring_model.service.core.resources import (
    Answer,
    Caller,
    IdempotentRequest,
    Identity,
    Verification,
    Webhook,
)
from scoring_model.service.core.store import Bucket
from scoring_model.service.scoring.readiness import Readiness


class Service(Protocol):
    """The domain, as `core` offers it. Any call may raise `RequestError` or `StoreUnavailable`."""

    async def authenticate(self, client_id: str, api_key: str, *, limited: bool = False) -> Caller | None:
        """The client with these credentials; the same work is done for known and unknown ones.

        Those from addresses that failed too often (`limited`) must not delay others.
        """
        ...

    def enter(self, caller: Caller) -> None:
        """Admit a request that will change something, or raise `Overloaded`; `leave` must follow."""
        ...

    def leave(self, caller: Caller) -> None:
        """End a request that was admitted."""
        ...

    async def take_token(self, caller: Caller) -> Bucket:
        """Spend one request of a client."""
        ...

    async def take_failure(self, address: str) -> Bucket:
        """Spend one failed authentication of an address."""
        ...

    async def ready(self) -> Readiness | None:
        """What there is to say when the database answers and a model is loaded, else None."""
        ...

    async def check_once(self, caller: Caller, once: IdempotentRequest) -> Answer[Any] | None:
        """What this POST was answered before, if it was; for bodies that are no object."""
        ...

    async def create_identity(
        self, caller: Caller, body: Mapping[str, object], once: IdempotentRequest | None
    ) -> Answer[Identity]:
        """Create an identity, or find what this request created before."""
        ...

    async def identity(self, caller: Caller, resource: bytes) -> Identity:
        """Find an identity."""
        ...

    async def erase_identity(self, caller: Caller, resource: bytes) -> Identity:
        """Erase the person; the identity is left redacted."""
        ...

    async def create_verification(
        self, caller: Caller, body: Mapping[str, object], once: IdempotentRequest | None
    ) -> Answer[Verification]:
        """Score a person, or find what this request created before."""
        ...

    async def verification(self, caller: Caller, resource: bytes) -> Verification:
        """Find a verification."""
        ...

    async def erase_signals(self, caller: Caller, resource: bytes) -> Verification:
        """Erase the person of a verification; the verdict stays."""
        ...

    async def create_webhook(
        self, caller: Caller, body: Mapping[str, object], once: IdempotentRequest | None
    ) -> Answer[Webhook]:
        """Create a webhook; the answer shows its secret."""
        ...

    async def webhook(self, caller: Caller, resource: bytes) -> Webhook:
        """Find a webhook; its secret is not shown."""
        ...

    async def webhooks(
        self, caller: Caller, *, limit: int, after: bytes | None
    ) -> tuple[list[Webhook], bytes | None]:
        """A page of webhooks, and the id to go on after when there are more."""
        ...

    async def update_webhook(self, caller: Caller, resource: bytes, body: Mapping[str, object]) -> Webhook:
        """Replace what the body names of a webhook."""
        ...

    async def delete_webhook(self, caller: Caller, resource: bytes) -> Webhook:
        """Delete a webhook, and give it back as it was."""
        ...

    async def test_webhook(
        self, caller: Caller, resource: bytes, once: IdempotentRequest | None
    ) -> Answer[Webhook]:
        """Send a test event to this webhook alone."""
        ...

    async def rotate_secret(
        self, caller: Caller, resource: bytes, once: IdempotentRequest | None
    ) -> Answer[Webhook]:
        """Give a webhook a new secret, which the answer shows."""
        ...
