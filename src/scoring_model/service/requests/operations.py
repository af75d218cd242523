"""What the operations on all kinds of resources stand on."""

from dataclasses import dataclass

from scoring_model.service.core.clock import Clock
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.requests.commit_queue import CommitQueue
from scoring_model.service.requests.idempotency import IdempotencyStore
from scoring_model.service.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class Backend:
    """Store, queue of changes, keys of idempotency, secrets and clock of a service."""

    store: Store
    queue: CommitQueue
    idempotency: IdempotencyStore
    secrets: Secrets
    clock: Clock


class Operations:
    """Operations on one kind of resource."""

    def __init__(self, backend: Backend) -> None:
        self._store = backend.store
        self._queue = backend.queue
        self._idempotency = backend.idempotency
        self._secrets = backend.secrets
        self._clock = backend.clock
