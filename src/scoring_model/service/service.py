"""The service: the operations over one bundle and one store, and what runs beside requests."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scoring_model.records.normalisation import NORMALISATION_VERSION
from scoring_model.scorer.scorer import Scorer
from scoring_model.service.clients.credentials import Credentials
from scoring_model.service.clients.rate_limits import RateLimits
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.faults import log_fault
from scoring_model.service.core.rows import BundleRow
from scoring_model.service.core.store import WHOLE_DATABASE, Store, StoreUnavailable, Transaction
from scoring_model.service.idempotency import IdempotencyStore
from scoring_model.service.identities.identities import Identities
from scoring_model.service.identities.persons import Persons
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.keyring import Keyring
from scoring_model.service.keys.link_hashes import Linker
from scoring_model.service.keys.rotation import follow
from scoring_model.service.keys.secrets import Secrets, load_or_create
from scoring_model.service.retention.sweep import Housekeeping, note_window, warn_of_short_history
from scoring_model.service.scoring.candidate import CandidateBuilder
from scoring_model.service.scoring.commit_queue import CommitQueue, QueueLimits
from scoring_model.service.scoring.pending import PendingWork
from scoring_model.service.scoring.readiness import ReadinessCheck
from scoring_model.service.scoring.scoring import Scoring
from scoring_model.service.scoring.verifications import Sentences, Verifications
from scoring_model.service.webhooks.endpoints import Webhooks
from scoring_model.service.webhooks.webhook import seal_migrated

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_LINKS_FACT: Final = "link_keys"
_FOLLOW_SECONDS: Final = 2.0


class HistoryMismatch(ValueError):
    """The bundle links records in another way than the history in the store was written with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """The parts of a running service.

    The operations of `identities`, `verifications` and `webhooks` raise the errors of `core.errors` and
    `StoreUnavailable`.
    """

    store: Store
    credentials: Credentials
    rate_limits: RateLimits
    readiness: ReadinessCheck
    idempotency: IdempotencyStore
    queue: CommitQueue
    identities: Identities
    verifications: Verifications
    webhooks: Webhooks
    scoring: Scoring
    candidates: CandidateBuilder
    pending: PendingWork
    housekeeping: Housekeeping
    vault: Vault
    _tasks: list[asyncio.Task[None]] = field(default_factory=list, init=False)

    def start(self) -> None:
        """Start the background tasks: pending verifications, housekeeping, key rotations."""
        for work in (self.pending.run(), self.housekeeping.run(), self._follow_rotations()):
            self._tasks.append(asyncio.create_task(work))

    async def close(self) -> None:
        """Stop the background tasks and answer every request that waits."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.queue.close()

    async def _follow_rotations(self) -> None:
        while True:
            await asyncio.sleep(_FOLLOW_SECONDS)
            try:
                await follow(self.store, self.vault)
            except StoreUnavailable:
                pass  # the next step finds out
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
    background: bool = True,
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
        Reads the keyring.
    clock : Clock
    limits : QueueLimits, optional
    development : bool
        Whether webhooks may be plain http and on this machine.
    background : bool
        Whether to start the background tasks.

    Raises
    ------
    BundleError
        When the bundle is invalid.
    HistoryMismatch
        When it links records in another way than the history in the store.
    """
    scorer = Scorer.load(bundle, public_key=public_key)
    keys = keyring()
    secrets = await load_or_create(store, keys)
    await seal_migrated(store, secrets)
    await _agree_on_links(store, scorer)
    sentences = await _register(store, scorer, clock)
    await warn_of_short_history(store, clock, longest=scorer.matrix.reach)
    await note_window(store, scorer.matrix.reach)
    service = _assemble(
        store=store,
        scorer=scorer,
        vault=Vault(keys, reload=keyring),
        secrets=secrets,
        clock=clock,
        limits=limits or QueueLimits(),
        sentences=sentences,
        development=development,
    )
    if background:
        service.start()
    return service


def _assemble(
    *,
    store: Store,
    scorer: Scorer,
    vault: Vault,
    secrets: Secrets,
    clock: Clock,
    limits: QueueLimits,
    sentences: Sentences,
    development: bool,
) -> Service:
    idempotency = IdempotencyStore(store, secrets, clock)
    queue = CommitQueue(store, clock, limits)
    scoring = Scoring(scorer, vault, secrets, clock)
    linker = Linker(secrets, scorer.matrix.link_keys)
    persons = Persons(vault)
    candidates = CandidateBuilder(
        store=store,
        persons=persons,
        linker=linker,
        clock=clock,
        schema=scorer.contents.schema,
        matrix=scorer.matrix,
    )
    return Service(
        store=store,
        credentials=Credentials(store, clock),
        rate_limits=RateLimits(store, secrets, clock),
        readiness=ReadinessCheck(store, clock),
        idempotency=idempotency,
        queue=queue,
        identities=Identities(
            store=store,
            queue=queue,
            idempotency=idempotency,
            persons=persons,
            vault=vault,
            linker=linker,
            clock=clock,
        ),
        verifications=Verifications(
            store=store,
            queue=queue,
            idempotency=idempotency,
            persons=persons,
            candidates=candidates,
            scoring=scoring,
            clock=clock,
            sentences=sentences,
        ),
        webhooks=Webhooks(
            store=store,
            queue=queue,
            idempotency=idempotency,
            secrets=secrets,
            clock=clock,
            development=development,
        ),
        scoring=scoring,
        candidates=candidates,
        pending=PendingWork(store=store, queue=queue, candidates=candidates, scoring=scoring, clock=clock),
        housekeeping=Housekeeping(store=store, clock=clock, longest=scorer.matrix.reach),
        vault=vault,
    )


async def _agree_on_links(store: Store, scorer: Scorer) -> None:
    """Record how the first bundle links records, and reject a bundle that differs."""
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
    """What a history depends on; databases from before there were amounts have no `amount`."""
    keys = {key.name: list(key.parts) for key in scorer.matrix.link_keys}
    found: dict[str, object] = {"keys": keys, "normalisation": NORMALISATION_VERSION}
    amounts = [asdict(amount) for amount in scorer.matrix.amounts]
    if len(amounts) == 1:
        found["amount"] = amounts[0]
    elif amounts:
        found["amounts"] = amounts
    return found


async def _register(store: Store, scorer: Scorer, clock: Clock) -> Sentences:
    """Record that a bundle serves; returns the sentences of every bundle that ever served."""
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
