"""The service: operations over one bundle and one store, readiness, and background tasks."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scoring_model.records.normalisation import NORMALISATION_VERSION
from scoring_model.scorer.scorer import Scorer
from scoring_model.service.activations import Versions, fetch, read_activations
from scoring_model.service.bundles import BundleShelf
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.faults import log_fault, log_warning
from scoring_model.service.core.rows import BundleActivationRow, BundleRow
from scoring_model.service.credentials import Credentials, RateLimits
from scoring_model.service.following import BundleFollower, Steps
from scoring_model.service.idempotency import IdempotencyStore
from scoring_model.service.identities import Identities, Persons
from scoring_model.service.keys.data_keys import Vault, follow
from scoring_model.service.keys.keyring import Keyring
from scoring_model.service.keys.link_hashes import Linker, Masks
from scoring_model.service.keys.secrets import Secrets, load_or_create
from scoring_model.service.label_requests import Labels
from scoring_model.service.lists import Cursors
from scoring_model.service.retention import Housekeeping, note_window, warn_of_short_history
from scoring_model.service.scoring.candidate import CandidateBuilder
from scoring_model.service.scoring.commit_queue import CommitQueue, QueueLimits
from scoring_model.service.scoring.pending import PendingWork
from scoring_model.service.scoring.rehearsal import rehearse
from scoring_model.service.scoring.score import SKEW
from scoring_model.service.scoring.scoring import Scoring
from scoring_model.service.scoring.served import ServedBundle, Serving
from scoring_model.service.scoring.verifications import Verifications
from scoring_model.service.store import TRUNCATION_FACT, WHOLE_DATABASE, Store, StoreUnavailable
from scoring_model.service.unknown_signals import UnknownSignals
from scoring_model.service.webhooks import Webhooks

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

LINKS_FACT: Final = "link_keys"
"""Fact with the link keys, normalisation and amounts of the history."""

_FOLLOW_SECONDS: Final = 2.0

CLOCK_INTERVAL: Final = 5.0
"""Seconds between checks of the newest events: a check reads an index per client."""


class HistoryMismatch(ValueError):
    """The bundle links records differently from the history in the store."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedSince:
    """What a process serves.

    Parameters
    ----------
    since : int
        Instant since which it serves the bundle, microseconds since 1970-01-01 UTC.
    problem : str or None
        Why it does not serve the active bundle; None if it does.
    refused : BundleActivationRow or None
        The last candidate that was refused.
    """

    model_version: str
    policy_version: str
    since: int
    problem: str | None = None
    refused: BundleActivationRow | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Readiness:
    """The state of a process that accepts requests.

    Parameters
    ----------
    erasure_incomplete_since : int or None
        Instant since which an erasure has waited for the truncation of the write-ahead log, microseconds since
        1970-01-01 UTC. None if every erasure is complete in the database files, and always with PostgreSQL.
    clock_behind : int
        Microseconds by which the newest event with link records is ahead of this process's clock; 0 up to `SKEW`.
    """

    erasure_incomplete_since: int | None
    clock_behind: int
    serves: ServedSince


class ReadinessCheck:
    """Checks the database for one process."""

    def __init__(self, store: Store, clock: Clock, serving: Serving) -> None:
        self._store = store
        self._clock = clock
        self._serving = serving
        self._behind = 0
        self._next_check = 0.0

    async def check(self) -> Readiness | None:
        """Return the state; None while the database does not answer."""
        try:
            async with self._store.reading() as reader:
                since = await reader.fact(TRUNCATION_FACT)
            await self._check_clock()
        except StoreUnavailable:
            return None
        manifest = self._serving.current.scorer.manifest
        return Readiness(
            erasure_incomplete_since=None if since is None else int(since),
            clock_behind=self._behind,
            serves=ServedSince(
                model_version=manifest.model_version,
                policy_version=manifest.policy_version,
                since=self._serving.since,
                problem=self._serving.problem,
                refused=self._serving.refused,
            ),
        )

    async def _check_clock(self) -> None:
        present = asyncio.get_running_loop().time()
        if present < self._next_check:
            return
        now = self._clock.now()
        async with self._store.reading() as reader:
            newest = await reader.newest_event(now + SKEW)
        if newest is not None and not self._behind:
            log_warning(
                f"The newest event is {(newest - now) // 1_000_000} s ahead of this process's clock: verifications "
                "that share a link key with such an event are answered 503. See 'Clocks' in docs/service.md."
            )
        self._behind = 0 if newest is None else newest - now
        self._next_check = present + CLOCK_INTERVAL


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
            try:
                await follow(self.store, self.vault)
            except StoreUnavailable:
                pass  # the next step retries
            except Exception as error:
                log_fault("following a rotation of the master key", error)


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
    """
    find = partial(fetch, store, BundleShelf(bundles or bundle.parent), public_key=public_key)
    activations = await read_activations(store)
    if activations.active is not None:
        bundle = await find(Versions.of(activations.active))

    def load(path: Path) -> Scorer:
        found = Scorer.load(path, public_key=public_key)
        _ = found.base  # what reasons need is made now, not within the first request
        return found

    scorer = load(bundle)
    longest = max(scorer.matrix.reach, activations.longest_window, links_kept_for)
    keys = keyring()
    secrets = await load_or_create(store, keys)
    await agree_on_links(store, scorer)
    served = await _register(store, scorer, clock)
    await warn_of_short_history(store, clock, longest=scorer.matrix.reach)
    await note_window(store, longest)
    service = _assemble(
        store=store,
        scorer=scorer,
        load=load,
        find=find,
        longest=longest,
        vault=Vault(keys, reload=keyring),
        secrets=secrets,
        clock=clock,
        limits=limits or QueueLimits(),
        bundles=served,
        development=development,
        links_kept_for=links_kept_for,
    )
    service.serving.refused = activations.refused
    if background:
        service.start()
    return service


def _assemble(
    *,
    store: Store,
    scorer: Scorer,
    load: Callable[[Path], Scorer],
    find: Callable[[Versions], Awaitable[Path]],
    longest: int,
    vault: Vault,
    secrets: Secrets,
    clock: Clock,
    limits: QueueLimits,
    bundles: Sequence[BundleRow],
    development: bool,
    links_kept_for: int,
) -> Service:
    idempotency = IdempotencyStore(store, secrets, clock)
    queue = CommitQueue(store, clock, limits)
    linker = Linker(secrets, scorer.matrix.link_keys)
    persons = Persons(vault)
    unknown_signals = UnknownSignals(store, clock, scorer.contents.schema.signals)

    def build(scorer: Scorer) -> ServedBundle:
        candidates = CandidateBuilder(
            store=store,
            persons=persons,
            linker=linker,
            clock=clock,
            schema=scorer.contents.schema,
            matrix=scorer.matrix,
            unknown_signals=unknown_signals,
        )
        return ServedBundle(candidates=candidates, scoring=Scoring(scorer, vault, secrets, clock))

    async def prepare(bundle: ServedBundle, longest: int) -> None:
        verifications.learn(await _register(store, bundle.scorer, clock))
        await warn_of_short_history(store, clock, longest=bundle.scorer.matrix.reach)
        housekeeping.longest = max(longest, links_kept_for)
        await note_window(store, housekeeping.longest)
        unknown_signals.known = bundle.scorer.contents.schema.signals

    serving = Serving(build(scorer), since=clock.now())
    housekeeping = Housekeeping(store=store, clock=clock, longest=longest)
    verifications = Verifications(
        store=store,
        queue=queue,
        idempotency=idempotency,
        persons=persons,
        serving=serving,
        linker=linker,
        secrets=secrets,
        clock=clock,
        bundles=bundles,
    )
    steps = Steps(
        find=find,
        load=load,
        check=partial(agree_on_links, store),
        build=build,
        rehearse=lambda bundle: rehearse(store, bundle, Masks(secrets), clock),
        prepare=prepare,
    )
    return Service(
        store=store,
        credentials=Credentials(store, clock),
        rate_limits=RateLimits(store, secrets, clock),
        readiness=ReadinessCheck(store, clock, serving),
        idempotency=idempotency,
        queue=queue,
        identities=Identities(
            store=store,
            queue=queue,
            idempotency=idempotency,
            persons=persons,
            vault=vault,
            linker=linker,
            secrets=secrets,
            clock=clock,
            required=lambda: serving.current.scorer.contents.identity_requires,
        ),
        verifications=verifications,
        webhooks=Webhooks(
            store=store,
            queue=queue,
            idempotency=idempotency,
            secrets=secrets,
            clock=clock,
            development=development,
        ),
        labels=Labels(store=store, queue=queue, idempotency=idempotency, secrets=secrets, clock=clock),
        cursors=Cursors(secrets),
        serving=serving,
        follower=BundleFollower(store=store, clock=clock, serving=serving, steps=steps),
        pending=PendingWork(store=store, queue=queue, serving=serving, clock=clock),
        housekeeping=housekeeping,
        unknown_signals=unknown_signals,
        vault=vault,
    )


async def agree_on_links(store: Store, scorer: Scorer) -> None:
    """Record how the first bundle links records; reject later bundles that differ."""
    wanted = _links_of(scorer)
    async with store.writing([WHOLE_DATABASE]) as transaction:
        known = await transaction.fact(LINKS_FACT)
        if known is None:
            await transaction.set_fact(LINKS_FACT, wanted)
    if known is not None and known != wanted:
        raise _mismatch(wanted, known)


async def require_same_links(store: Store, scorer: Scorer) -> None:
    """Reject a bundle that links records in another way than the history; only reads the database.

    Raises
    ------
    HistoryMismatch
    """
    wanted = _links_of(scorer)
    async with store.reading() as reader:
        known = await reader.fact(LINKS_FACT)
    if known != wanted:
        raise _mismatch(wanted, known or b"no bundle")


def _links_of(scorer: Scorer) -> bytes:
    keys = {key.name: list(key.parts) for key in scorer.matrix.link_keys}
    links: dict[str, object] = {"keys": keys, "normalisation": NORMALISATION_VERSION}
    amounts = [{"signal": one.signal, "decimals": one.decimals} for one in scorer.matrix.amounts]
    if amounts:
        links["amounts"] = amounts
    return json.dumps(links, sort_keys=True).encode()


def _mismatch(wanted: bytes, known: bytes) -> HistoryMismatch:
    return HistoryMismatch(
        f"the bundle's link keys are {wanted.decode()}, but the history in the database was written with "
        f"{known.decode()}: serve a bundle with the same keys and amount, or begin a new database"
    )


async def _register(store: Store, scorer: Scorer, clock: Clock) -> Sequence[BundleRow]:
    """Record that a bundle is served; returns every bundle ever served."""
    model, policy = scorer.manifest.model_version, scorer.manifest.policy_version
    async with store.writing([WHOLE_DATABASE]) as transaction:
        served = await transaction.bundles()
        if (model, policy) not in {(row.model_version, row.policy_version) for row in served}:
            sentences = json.dumps(dict(scorer.sentences), sort_keys=True)
            served.append(BundleRow(model, policy, sentences, clock.now()))
            await transaction.insert(served[-1:])
    return served
