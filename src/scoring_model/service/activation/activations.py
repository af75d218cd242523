"""The succession of served bundles in the database: requests, decisions about them, and who serves what."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from scoring_model.service.activation.shelf import (
    BundleShelf,
    BundlesMissing,
    is_intact,
    read_bundle_directory,
)
from scoring_model.service.core.rows import (
    ActivationState,
    BundleActivationRow,
    BundleFileRow,
    BundleRow,
    ServingProcessRow,
)
from scoring_model.service.store import WHOLE_DATABASE, Reader, Store, Transaction

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from scoring_model.scorer.scorer import Scorer
    from scoring_model.service.core.clock import Clock

ALIVE: Final = 15_000_000
"""Microseconds since its last report after which a process counts as ended."""

LONGEST_REASON: Final = 500
"""Characters of a reason that are kept."""


class Versions(NamedTuple):
    """What names a bundle: equal versions decide equally and give the same reasons."""

    model: str
    policy: str

    @classmethod
    def of(cls, row: BundleActivationRow | ServingProcessRow) -> Versions:
        """Return those of a row."""
        return cls(row.model_version, row.policy_version)

    def __str__(self) -> str:
        return f"{self.model} with policy {self.policy}"


@dataclass(frozen=True, slots=True)
class Activations:
    """The succession of served bundles, latest step first; empty until a bundle is activated for the first time."""

    rows: tuple[BundleActivationRow, ...]

    @property
    def active(self) -> BundleActivationRow | None:
        """The bundle that every process serves; None if each serves the one of its settings."""
        return next((row for row in self.rows if row.state == ActivationState.ACTIVE), None)

    @property
    def previous(self) -> BundleActivationRow | None:
        """The bundle that was active before it, to which a rollback leads."""
        active = self.active
        others = (row for row in self.rows if row.state == ActivationState.ACTIVE)
        return next((row for row in others if active and Versions.of(row) != Versions.of(active)), None)

    @property
    def candidate(self) -> BundleActivationRow | None:
        """The request without a decision."""
        return self.rows[0] if self.rows and self.rows[0].state == ActivationState.REQUESTED else None

    @property
    def refused(self) -> BundleActivationRow | None:
        """The last candidate that was refused."""
        return next((row for row in self.rows if row.state == ActivationState.REFUSED), None)

    @property
    def longest_window(self) -> int:
        """The longest window of the active bundle and of the previous one, microseconds; 0 without any."""
        return max((row.longest_window for row in (self.active, self.previous) if row is not None), default=0)

    def answer_to(self, request: BundleActivationRow) -> BundleActivationRow | None:
        """Return the decision about a request, or the later request that replaced it; None if neither is there."""
        later = [row for row in self.rows if row.number > request.number]
        decided = (row for row in later if row.request == request.number)
        return next(decided, later[0] if later else None)


async def read_activations(store: Store) -> Activations:
    """Read the succession of served bundles."""
    async with store.reading() as reader:
        return Activations(tuple(await reader.activations()))


async def register(store: Store, scorer: Scorer, clock: Clock) -> Sequence[BundleRow]:
    """Record that a bundle is served; returns every bundle ever served."""
    model, policy = scorer.manifest.model_version, scorer.manifest.policy_version
    async with store.writing([WHOLE_DATABASE]) as transaction:
        served = await transaction.bundles()
        if (model, policy) not in {(row.model_version, row.policy_version) for row in served}:
            sentences = json.dumps(dict(scorer.sentences), sort_keys=True)
            served.append(BundleRow(model, policy, sentences, clock.now()))
            await transaction.insert(served[-1:])
    return served


async def add_activation(transaction: Transaction, row: BundleActivationRow) -> BundleActivationRow:
    """Append a row with the next number, whatever number it has. The caller holds the lock of the whole database."""
    latest = await transaction.latest_activation()
    reason = None if row.reason is None else row.reason[:LONGEST_REASON]
    row = row._replace(number=1 if latest is None else latest.number + 1, reason=reason)
    await transaction.insert([row])
    return row


async def request(
    store: Store,
    bundle: Mapping[str, bytes],
    row: BundleActivationRow,
    check: Callable[[Reader], Awaitable[None]],
) -> BundleActivationRow:
    """Store the files of a bundle and request its activation; a request without a decision is replaced.

    `check` may raise, in the same transaction.
    """
    versions = Versions.of(row)
    async with store.writing([WHOLE_DATABASE]) as transaction:
        await check(transaction)
        if await transaction.bundle_files(*versions) != bundle:  # such as without a signature
            await transaction.delete_bundle_files(*versions)
            files = [BundleFileRow(*versions, name, content) for name, content in bundle.items()]
            await transaction.insert(files)
        return await add_activation(transaction, row._replace(state=ActivationState.REQUESTED))


async def refuse(store: Store, row: BundleActivationRow, reason: str) -> None:
    """Record that a bundle was refused, unless that request has a decision or was replaced."""
    async with store.writing([WHOLE_DATABASE]) as transaction:
        latest = await transaction.latest_activation()
        if row.request is not None and (latest is None or latest.number != row.request):
            return
        await add_activation(transaction, row._replace(state=ActivationState.REFUSED, reason=reason))


async def accept(
    store: Store, requested: BundleActivationRow, served: BundleActivationRow, *, now: int
) -> bool:
    """Activate a requested bundle if every living process has checked it; False while one has not.

    Parameters
    ----------
    served : BundleActivationRow
        The bundle that this process serves. It becomes the first of the succession if there is none yet, so that a
        rollback leads back to it.
    """
    async with store.writing([WHOLE_DATABASE]) as transaction:
        activations = Activations(tuple(await transaction.activations()))
        if activations.rows[0].number != requested.number:
            return True  # decided or replaced meanwhile
        if any(process.checked < requested.number for process in await living(transaction, now)):
            return False
        if activations.active is None:
            await add_activation(transaction, served)
        decision = requested._replace(at=now, state=ActivationState.ACTIVE, request=requested.number)
        await add_activation(transaction, decision)
        return True


class NoEarlierBundle(ValueError):
    """There is no bundle to roll back to."""


async def roll_back(store: Store, *, by: str, now: int) -> BundleActivationRow:
    """Make the previously active bundle the active one again, in one step: it has served already.

    Raises
    ------
    NoEarlierBundle
        If there is none.
    """
    async with store.writing([WHOLE_DATABASE]) as transaction:
        previous = Activations(tuple(await transaction.activations())).previous
        if previous is None:
            raise NoEarlierBundle("no bundle was active before the present one")
        row = previous._replace(at=now, requested_by=by, request=None)
        return await add_activation(transaction, row)


async def living(reader: Reader, now: int) -> list[ServingProcessRow]:
    """Return the processes that have reported recently."""
    return [row for row in await reader.serving_processes() if row.seen_at > now - ALIVE]


async def fetch(
    store: Store, shelf: BundleShelf, versions: Versions, *, public_key: Ed25519PublicKey | None = None
) -> Path:
    """Return the path of a bundle; one that the directory lacks, or holds torn, is written from the database.

    With a public key only a bundle with its signature is written.

    Raises
    ------
    BundleError
        If the database lacks it too, or if the bundle there has a broken seal or lacks the signature.
    OSError
        If the directory can't be written.
    """
    # Files are read and synced in another thread, so that requests do not wait for the disk.
    path = await asyncio.to_thread(shelf.find, *versions)
    if path is not None and await asyncio.to_thread(is_intact, path):
        return path
    async with store.reading() as reader:
        files = await reader.bundle_files(*versions)
    if not files and path is not None:
        return path  # whoever loads it says what is wrong
    if not files:
        raise BundlesMissing(shelf.directory, ((versions.model, versions.policy),))
    return await asyncio.to_thread(shelf.restore, files, public_key=public_key)


async def serving_versions(store: Store) -> Versions | None:
    """Return the active bundle; without an activation, the one that serves, or began to serve last."""
    async with store.reading() as reader:
        active = Activations(tuple(await reader.activations())).active
        processes = await reader.serving_processes()
        began = [Versions(row.model_version, row.policy_version) for row in await reader.bundles()]
    row = active or max(processes, key=attrgetter("seen_at"), default=None)
    return Versions.of(row) if row is not None else began[-1] if began else None


async def serving_bundle(store: Store) -> Path:
    """Return the path of the bundle that `serving_versions` names.

    Raises
    ------
    ValueError
        If none has served, or this machine lacks it.
    """
    versions, directory = await serving_versions(store), await read_bundle_directory(store)
    if versions is None or directory is None:
        raise ValueError("no bundle has served this database yet: name one")
    path = BundleShelf(directory).find(*versions)
    if path is None:
        raise ValueError(f"{directory} lacks the bundle that serves, {versions}: name its directory")
    return path
