"""The service: everything that a caller can ask for, over one bundle and one store."""

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scoring_model.records.normalisation import NORMALISATION_VERSION
from scoring_model.scorer.scorer import Scorer
from scoring_model.service.clients.credentials import Credentials
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.faults import log_fault
from scoring_model.service.core.resources import (
    Answer,
    Caller,
    IdempotentRequest,
    Identity,
    Verification,
    Webhook,
)
from scoring_model.service.core.rows import BundleRow
from scoring_model.service.core.sentences import Sentences
from scoring_model.service.core.store import WHOLE_DATABASE, Bucket, Store, StoreUnavailable, Transaction
from scoring_model.service.identities.identities import Identities
from scoring_model.service.identities.persons import Persons
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.keyring import Keyring
from scoring_model.service.keys.link_hashes import Linker
from scoring_model.service.keys.rotation import follow
from scoring_model.service.keys.secrets import Purpose, Secrets, load_or_create
from scoring_model.service.retention.sweep import Housekeeping, note_window, warn_of_short_history
from scoring_model.service.scoring.commit_queue import CommitQueue, QueueLimits
from scoring_model.service.scoring.idempotency import IdempotencyStore
from scoring_model.service.scoring.pending import PendingWork
from scoring_model.service.scoring.readiness import Readiness, ReadinessCheck
from scoring_model.service.scoring.verdicts import Verdicts
from scoring_model.service.scoring.verifications import Verifications
from scoring_model.service.webhooks.endpoints import Webhooks
from scoring_model.service.webhooks.webhook import seal_migrated

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

FAILURES_PER_MINUTE: Final = 60
"""Failed authentications that one address may have."""

_LINKS_FACT: Final = "link_keys"
_FOLLOW_SECONDS: Final = 2.0


class HistoryMismatch(ValueError):
    """The bundle ties records together in another way than the history in the store was written with."""


class Service:
    """The operations of the interface; errors are those of `core.errors` and `StoreUnavailable`.

    Parameters
    ----------
    store : Store
    scorer : Scorer
        Has passed its self-check.
    vault : Vault
    secrets : Secrets
    clock : Clock
    limits : QueueLimits
    sentences : Sentences
        Of every bundle that ever served.
    development : bool
    """

    def __init__(
        self,
        *,
        store: Store,
        scorer: Scorer,
        vault: Vault,
        secrets: Secrets,
        clock: Clock,
        limits: QueueLimits,
        sentences: Sentences,
        development: bool,
    ) -> None:
        self._store = store
        self._secrets = secrets
        self._clock = clock
        self._vault = vault
        self._credentials = Credentials(store, clock)
        self._repetition = IdempotencyStore(store, secrets, clock)
        verdicts = Verdicts(scorer, vault, secrets, clock)
        self._queue = CommitQueue(store, verdicts, clock, limits)
        linker = Linker(secrets, scorer.matrix.link_keys)
        persons = Persons(vault)
        self._identities = Identities(
            store=store,
            queue=self._queue,
            repetition=self._repetition,
            persons=persons,
            vault=vault,
            linker=linker,
            clock=clock,
        )
        self._verifications = Verifications(
            store=store,
            queue=self._queue,
            repetition=self._repetition,
            persons=persons,
            linker=linker,
            clock=clock,
            schema=scorer.contents.schema,
            matrix=scorer.matrix,
            sentences=sentences,
        )
        self._webhooks = Webhooks(
            store=store,
            queue=self._queue,
            repetition=self._repetition,
            secrets=secrets,
            clock=clock,
            development=development,
        )
        self._pending = PendingWork(
            store=store,
            queue=self._queue,
            verifications=self._verifications,
            verdicts=verdicts,
            clock=clock,
        )
        self._housekeeping = Housekeeping(store=store, clock=clock, longest=scorer.matrix.spec.windows[-1])
        self._readiness = ReadinessCheck(store, clock)
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin what runs beside requests: finishing what is PENDING, deleting what is old, following rotations."""
        self._tasks = [
            asyncio.create_task(self._pending.run()),
            asyncio.create_task(self._housekeeping.run()),
            asyncio.create_task(self._follow_rotations()),
        ]

    async def close(self) -> None:
        """Answer everything that was taken, then stop."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._queue.close()

    @property
    def oldest_waits(self) -> float:
        """For how many seconds the longest waiting request has waited for its transaction; 0 when none waits."""
        return self._queue.oldest_waits

    async def authenticate(self, client_id: str, api_key: str, *, limited: bool = False) -> Caller | None:
        """The client with these credentials; the same work is done for known and unknown ones."""
        return await self._credentials.authenticate(client_id, api_key, limited=limited)

    def enter(self, caller: Caller) -> None:
        """Admit a request that will change something, or raise `Overloaded`; `leave` must follow."""
        self._queue.enter(caller.client)

    def leave(self, caller: Caller) -> None:
        """End a request that was admitted."""
        self._queue.leave(caller.client)

    async def take_token(self, caller: Caller) -> Bucket:
        """Spend one request of a client."""
        return await self._store.take(
            b"client:%d" % caller.client,
            capacity=caller.quota,
            per_second=caller.quota / caller.quota_seconds,
            now=self._clock.now(),
        )

    async def take_failure(self, address: str) -> Bucket:
        """Spend one failed authentication of an address."""
        return await self._store.take(
            self._secrets.digest(Purpose.ADDRESS, address.encode(), size=16),
            capacity=FAILURES_PER_MINUTE,
            per_second=FAILURES_PER_MINUTE / 60,
            now=self._clock.now(),
        )

    async def ready(self) -> Readiness | None:
        """What there is to say when the database answers, else None; a model is loaded as long as this lives."""
        return await self._readiness.check()

    async def check_once(self, caller: Caller, once: IdempotentRequest) -> Answer[Any] | None:
        """What a POST was answered before, if it was; for bodies that nothing can be made of."""
        return await self._repetition.check(caller, once)

    async def create_identity(
        self, caller: Caller, body: Mapping[str, object], once: IdempotentRequest | None
    ) -> Answer[Identity]:
        """Create an identity."""
        return await self._identities.create(caller, body, once)

    async def identity(self, caller: Caller, resource: bytes) -> Identity:
        """Read an identity."""
        return await self._identities.get(caller, resource)

    async def erase_identity(self, caller: Caller, resource: bytes) -> Identity:
        """Erase the person of an identity."""
        return await self._identities.erase(caller, resource)

    async def create_verification(
        self, caller: Caller, body: Mapping[str, object], once: IdempotentRequest | None
    ) -> Answer[Verification]:
        """Score an identity, or signals alone."""
        return await self._verifications.create(caller, body, once)

    async def verification(self, caller: Caller, resource: bytes) -> Verification:
        """Read a verification."""
        return await self._verifications.get(caller, resource)

    async def erase_signals(self, caller: Caller, resource: bytes) -> Verification:
        """Erase the person of a verification."""
        return await self._verifications.erase_signals(caller, resource)

    async def create_webhook(
        self, caller: Caller, body: Mapping[str, object], once: IdempotentRequest | None
    ) -> Answer[Webhook]:
        """Create a webhook; the answer shows its secret."""
        return await self._webhooks.create(caller, body, once)

    async def webhook(self, caller: Caller, resource: bytes) -> Webhook:
        """Read a webhook."""
        return await self._webhooks.get(caller, resource)

    async def webhooks(
        self, caller: Caller, *, limit: int, after: bytes | None
    ) -> tuple[list[Webhook], bytes | None]:
        """Read a page of webhooks."""
        return await self._webhooks.page(caller, limit=limit, after=after)

    async def update_webhook(self, caller: Caller, resource: bytes, body: Mapping[str, object]) -> Webhook:
        """Change a webhook."""
        return await self._webhooks.update(caller, resource, body)

    async def delete_webhook(self, caller: Caller, resource: bytes) -> Webhook:
        """Delete a webhook."""
        return await self._webhooks.delete(caller, resource)

    async def test_webhook(
        self, caller: Caller, resource: bytes, once: IdempotentRequest | None
    ) -> Answer[Webhook]:
        """Send a test event to a webhook."""
        return await self._webhooks.test(caller, resource, once)

    async def rotate_secret(
        self, caller: Caller, resource: bytes, once: IdempotentRequest | None
    ) -> Answer[Webhook]:
        """Give a webhook a new secret, which the answer shows."""
        return await self._webhooks.rotate_secret(caller, resource, once)

    async def _follow_rotations(self) -> None:
        while True:
            await asyncio.sleep(_FOLLOW_SECONDS)
            try:
                await follow(self._store, self._vault)
            except StoreUnavailable:
                pass  # the next look will find out
            except Exception as error:
                log_fault("following a rotation of the master key", error)


async def open_service(
    store: Store,
    *,
    bundle: Path,
    public_key: "Ed25519PublicKey | None" = None,
    keyring: Callable[[], Keyring],
    clock: Clock,
    limits: QueueLimits | None = None,
    development: bool = False,
) -> Service:
    """Load a bundle, check that it fits the store, and start.

    Parameters
    ----------
    store : Store
        Its schema is up to date.
    bundle : Path
    public_key : Ed25519PublicKey, optional
        Whose signature the bundle must carry.
    keyring : callable
        Gives the master keys as they stand.
    clock : Clock
    limits : QueueLimits, optional
    development : bool
        Whether webhooks may be plain http and on this machine.

    Raises
    ------
    BundleError
        When the bundle is not sound.
    HistoryMismatch
        When it ties records together in another way than those that the store has history of.
    """
    scorer = Scorer.load(bundle, public_key=public_key)
    keys = keyring()
    secrets = await load_or_create(store, keys)
    await seal_migrated(store, secrets)
    await _agree_on_links(store, scorer)
    sentences = await _register(store, scorer, clock)
    await warn_of_short_history(store, clock, longest=scorer.matrix.spec.windows[-1])
    await note_window(store, scorer.matrix.spec.windows[-1])
    service = Service(
        store=store,
        scorer=scorer,
        vault=Vault(keys, reload=keyring),
        secrets=secrets,
        clock=clock,
        limits=limits or QueueLimits(),
        sentences=sentences,
        development=development,
    )
    service.start()
    return service


async def _agree_on_links(store: Store, scorer: Scorer) -> None:
    """Let the first bundle say how records are tied together, and refuse another that differs."""
    wanted = json.dumps(_links_of(scorer), sort_keys=True).encode()
    async with store.writing([WHOLE_DATABASE]) as transaction:
        known = await transaction.fact(_LINKS_FACT)
        if known is None:
            await transaction.set_fact(_LINKS_FACT, wanted)
        elif known != wanted:
            raise HistoryMismatch(
                f"the bundle's link keys are {wanted.decode()}, but the history in the database was written with "
                f"{known.decode()}: serve a bundle with the same keys and amount, or begin a new database"
            )


def _links_of(scorer: Scorer) -> dict[str, object]:
    """What a history has to agree on; without an amount it is as it was before there were any."""
    keys = {key.name: list(key.parts) for key in scorer.matrix.link_keys}
    found: dict[str, object] = {"keys": keys, "normalisation": NORMALISATION_VERSION}
    amount = scorer.matrix.spec.amount
    if amount is not None:
        found["amount"] = {"signal": amount.signal, "decimals": amount.decimals}
    return found


async def _register(store: Store, scorer: Scorer, clock: Clock) -> Sentences:
    """Write down that a bundle serves; returns the sentences of all that ever did."""
    manifest = scorer.manifest
    async with store.writing([WHOLE_DATABASE]) as transaction:
        served = await transaction.bundles()
        versions = {(row.model_version, row.policy_version) for row in served}
        if (manifest.model_version, manifest.policy_version) not in versions:
            served = [*served, await _write_bundle(transaction, scorer, clock)]
    return Sentences(served)


async def _write_bundle(transaction: Transaction, scorer: Scorer, clock: Clock) -> BundleRow:
    row = BundleRow(
        scorer.manifest.model_version,
        scorer.manifest.policy_version,
        json.dumps(dict(scorer.sentences), sort_keys=True),
        clock.now(),
    )
    await transaction.insert([row])
    return row
