"""The service: operations over one bundle and one store, and background tasks."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from scoring_model.scorer.scorer import Scorer
from scoring_model.service.activation.activations import Versions, fetch, read_activations, register
from scoring_model.service.activation.following import BundleFollower, Steps
from scoring_model.service.activation.links import agree_on_links
from scoring_model.service.activation.shelf import BundleShelf
from scoring_model.service.clients.credentials import Credentials, RateLimits
from scoring_model.service.clients.unknown_signals import UnknownSignals
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.rows import BundleRow
from scoring_model.service.events.webhooks import Webhooks
from scoring_model.service.identities.identities import Identities
from scoring_model.service.identities.persons import Persons
from scoring_model.service.keys.data_keys import Vault, follow
from scoring_model.service.keys.keyring import Keyring
from scoring_model.service.keys.link_hashes import Linker, Masks
from scoring_model.service.keys.restored import require_keys
from scoring_model.service.keys.secrets import Secrets, load_or_create
from scoring_model.service.labels.requests import Labels
from scoring_model.service.operator_lists.requests import ListRequests
from scoring_model.service.readiness import ReadinessCheck
from scoring_model.service.requests.commit_queue import CommitQueue, QueueLimits
from scoring_model.service.requests.idempotency import IdempotencyStore
from scoring_model.service.requests.lists import Cursors
from scoring_model.service.requests.operations import Backend
from scoring_model.service.resolutions.requests import ResolutionRequests
from scoring_model.service.retention.kept import note_window, warn_of_short_history
from scoring_model.service.retention.sweeping import Housekeeping
from scoring_model.service.scoring.candidate import CandidateBuilder
from scoring_model.service.scoring.listbook import Listbook
from scoring_model.service.scoring.pending import PendingWork
from scoring_model.service.scoring.rehearsal import rehearse
from scoring_model.service.scoring.scoring import Scoring
from scoring_model.service.scoring.served import ServedBundle, Serving
from scoring_model.service.scoring.verifications import Verifications
from scoring_model.service.store import Store, StoreUnavailable, attempt

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


_FOLLOW_SECONDS: Final = 2.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """The parts of a running service.

    The operations of `identities`, `verifications`, `webhooks` and `labels` raise the errors of `core.errors` and
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
    labels: Labels
    resolutions: ResolutionRequests
    lists: ListRequests
    cursors: Cursors
    serving: Serving
    follower: BundleFollower
    pending: PendingWork
    housekeeping: Housekeeping
    unknown_signals: UnknownSignals
    vault: Vault
    _tasks: list[asyncio.Task[None]] = field(default_factory=list, init=False)

    @property
    def scoring(self) -> Scoring:
        """What scores with the bundle that serves now."""
        return self.serving.current.scoring

    @property
    def candidates(self) -> CandidateBuilder:
        """What builds candidates for the bundle that serves now."""
        return self.serving.current.candidates

    def start(self) -> None:
        """Start the background tasks.

        Pending verifications, housekeeping, unknown signals, key rotations, activations of bundles.
        """
        tasks = (
            self.pending.run(),
            self.housekeeping.run(),
            self.unknown_signals.run(),
            self._follow_rotations(),
            self.follower.run(),
        )
        for work in tasks:
            self._tasks.append(asyncio.create_task(work))

    async def close(self) -> None:
        """Stop the background tasks and answer all waiting requests."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.queue.close()
        with suppress(StoreUnavailable):
            await self.unknown_signals.write()
            if self._tasks:
                await self.follower.close()

    async def _follow_rotations(self) -> None:
        while True:
            await asyncio.sleep(_FOLLOW_SECONDS)
            await attempt("following a rotation of the master key", partial(follow, self.store, self.vault))


async def open_service(
    store: Store,
    *,
    bundle: Path,
    bundles: Path | None = None,
    public_key: "Ed25519PublicKey | None" = None,
    keyring: Callable[[], Keyring],
    clock: Clock,
    limits: QueueLimits | None = None,
    development: bool = False,
    links_kept_for: int = 0,
    background: bool = True,
) -> Service:
    """Load the active bundle, check that it is compatible with the store, and start the service.

    Parameters
    ----------
    store : Store
        A store with an up-to-date schema.
    bundle : Path
        The bundle to serve as long as none was activated in the database.
    bundles : Path, optional
        Directory of all served bundles, which gets those that are activated; by default where `bundle` is.
    public_key : Ed25519PublicKey, optional
        If given, the bundle must carry its signature.
    keyring : callable
        Reads the keyring.
    development : bool
        Allow webhooks with plain http and on this machine.
    links_kept_for : int
        Microseconds; link records are kept for so long if that is more than the longest window.
    background : bool
        Whether to start the background tasks.

    Raises
    ------
    BundleError
        If the bundle is invalid.
    HistoryMismatch
        If it links records differently from the history in the store.
    KeysMissing
        If the store is a copy without its person keys.
    """
    async with store.reading() as reader:
        await require_keys(reader)
    find = partial(fetch, store, BundleShelf(bundles or bundle.parent), public_key=public_key)
    load = partial(_load, public_key=public_key)
    activations = await read_activations(store)
    scorer = load(bundle if activations.active is None else await find(Versions.of(activations.active)))
    longest = max(scorer.matrix.reach, activations.longest_window, links_kept_for)
    keys = keyring()
    secrets = await load_or_create(store, keys)
    await agree_on_links(store, scorer)
    served = await register(store, scorer, clock)
    await warn_of_short_history(store, clock, longest=scorer.matrix.reach)
    await note_window(store, longest)
    vault = Vault(keys, reload=keyring)
    ground = _Ground.of(store, clock, secrets, vault, scorer, limits or QueueLimits())
    serving = Serving(ground.served(scorer), since=clock.now())
    serving.refused = activations.refused
    housekeeping = Housekeeping(store=store, clock=clock, longest=longest)
    verifications = ground.verifications(serving, served)
    prepare = partial(ground.prepare, verifications, housekeeping, links_kept_for)
    steps = ground.steps(find, load, prepare)
    service = _assemble(ground, serving, verifications, housekeeping, steps, development=development)
    if background:
        service.start()
    return service


def _load(bundle: Path, *, public_key: "Ed25519PublicKey | None") -> Scorer:
    scorer = Scorer.load(bundle, public_key=public_key)
    _ = scorer.base  # what reasons need is made now, not within the first request
    return scorer


@dataclass(frozen=True, kw_only=True, slots=True)
class _Ground(Backend):
    """What the parts of a service stand on."""

    vault: Vault
    persons: Persons
    linker: Linker
    unknown_signals: UnknownSignals
    listbook: Listbook

    @classmethod
    def of(
        cls, store: Store, clock: Clock, secrets: Secrets, vault: Vault, scorer: Scorer, limits: QueueLimits
    ) -> Self:
        return cls(
            store=store,
            clock=clock,
            secrets=secrets,
            vault=vault,
            persons=Persons(vault),
            linker=Linker(secrets, scorer.matrix.link_keys),
            idempotency=IdempotencyStore(store, secrets, clock),
            queue=CommitQueue(store, clock, limits),
            unknown_signals=UnknownSignals(store, clock, scorer.contents.schema.signals),
            listbook=Listbook(),
        )

    def served(self, scorer: Scorer) -> ServedBundle:
        candidates = CandidateBuilder(
            store=self.store,
            persons=self.persons,
            linker=self.linker,
            clock=self.clock,
            schema=scorer.contents.schema,
            matrix=scorer.matrix,
            unknown_signals=self.unknown_signals,
        )
        return ServedBundle(
            candidates=candidates,
            scoring=Scoring(scorer, self.vault, self.secrets, self.clock, self.listbook),
        )

    def identities(self, serving: Serving) -> Identities:
        return Identities(
            self,
            persons=self.persons,
            vault=self.vault,
            linker=self.linker,
            required=lambda: serving.current.scorer.contents.identity_requires,
        )

    def verifications(self, serving: Serving, bundles: Sequence[BundleRow]) -> Verifications:
        return Verifications(
            self,
            persons=self.persons,
            serving=serving,
            linker=self.linker,
            bundles=bundles,
        )

    def steps(
        self,
        find: Callable[[Versions], Awaitable[Path]],
        load: Callable[[Path], Scorer],
        prepare: Callable[[ServedBundle, int], Awaitable[None]],
    ) -> Steps:
        return Steps(
            find=find,
            load=load,
            check=partial(agree_on_links, self.store),
            build=self.served,
            rehearse=lambda bundle: rehearse(self.store, bundle, Masks(self.secrets), self.clock),
            prepare=prepare,
        )

    async def prepare(
        self,
        verifications: Verifications,
        housekeeping: Housekeeping,
        least: int,
        bundle: ServedBundle,
        longest: int,
    ) -> None:
        """Prepare for serving another bundle from now on; see `Steps`."""
        verifications.learn(await register(self.store, bundle.scorer, self.clock))
        await warn_of_short_history(self.store, self.clock, longest=bundle.scorer.matrix.reach)
        housekeeping.longest = max(longest, least)
        await note_window(self.store, housekeeping.longest)
        self.unknown_signals.known = bundle.scorer.contents.schema.signals


def _assemble(
    ground: _Ground,
    serving: Serving,
    verifications: Verifications,
    housekeeping: Housekeeping,
    steps: Steps,
    *,
    development: bool,
) -> Service:
    store, clock, queue = ground.store, ground.clock, ground.queue
    return Service(
        store=store,
        credentials=Credentials(store, clock),
        rate_limits=RateLimits(store, ground.secrets, clock),
        readiness=ReadinessCheck(store, clock, serving),
        idempotency=ground.idempotency,
        queue=queue,
        identities=ground.identities(serving),
        verifications=verifications,
        webhooks=Webhooks(ground, development=development),
        labels=Labels(ground),
        resolutions=ResolutionRequests(ground, persons=ground.persons),
        lists=ListRequests(ground, link_keys=serving.current.scorer.matrix.link_keys),
        cursors=Cursors(ground.secrets),
        serving=serving,
        follower=BundleFollower(store=store, clock=clock, serving=serving, steps=steps),
        pending=PendingWork(store=store, queue=queue, serving=serving, clock=clock),
        housekeeping=housekeeping,
        unknown_signals=ground.unknown_signals,
        vault=ground.vault,
    )
