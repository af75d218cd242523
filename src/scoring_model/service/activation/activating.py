"""What an operator does with the bundles of a database: list, activate, roll back, and wait for the processes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scoring_model.bundle import BundleError, read_bundle
from scoring_model.bundle.reader import read_manifest
from scoring_model.contract.texts import rfc3339
from scoring_model.scorer.scorer import Scorer
from scoring_model.service.activation.activations import (
    Activations,
    Versions,
    living,
    read_activations,
    refuse,
    request,
    roll_back,
)
from scoring_model.service.activation.links import HistoryMismatch, agree_on_links
from scoring_model.service.activation.rules import RulesRefused, check_names
from scoring_model.service.activation.shelf import contents_of
from scoring_model.service.core.rows import ActivationState, BundleActivationRow, ServingProcessRow

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from scoring_model.service.core.clock import Clock
    from scoring_model.service.store import Store

_LOOK_SECONDS: Final = 0.1


class ActivationRefused(ValueError):
    """A bundle can't serve. The one that serves goes on."""


class ActivationUnanswered(ValueError):
    """Some processes have neither switched nor refused in time; they still may."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Activated:
    """The result of an activation or a rollback.

    Attributes
    ----------
    processes : int
        Processes that serve the bundle now; 0 if none runs, so that the next one to start serves it.
    """

    versions: Versions
    processes: int


async def activate(
    store: Store,
    bundle: Path,
    *,
    public_key: Ed25519PublicKey | None = None,
    by: str,
    clock: Clock,
    timeout: float,
) -> Activated:
    """Request the activation of a bundle, and wait until every process serves it.

    Parameters
    ----------
    timeout : float
        Seconds to wait.

    Raises
    ------
    BundleError
        If it is no bundle at all.
    ActivationRefused
        If the bundle is already active, can't be loaded or links records differently, or if a process refuses it.
    ActivationUnanswered
        If a process did not answer in time.
    """
    manifest = read_manifest(bundle)
    versions = Versions(manifest.model_version, manifest.policy_version)
    row = BundleActivationRow(
        number=0,
        at=clock.now(),
        model_version=versions.model,
        policy_version=versions.policy,
        longest_window=0,
        state=ActivationState.REQUESTED,
        requested_by=by,
    )
    active = (await read_activations(store)).active
    if active is not None and Versions.of(active) == versions:
        raise ActivationRefused(f"bundle {versions} is active already, since {rfc3339(active.at)}")
    try:
        sealed = read_bundle(bundle, public_key=public_key)
        scorer = Scorer.of(sealed)
        await agree_on_links(store, scorer)
        row = row._replace(longest_window=scorer.matrix.reach)
        requested = await request(store, contents_of(sealed), row, partial(check_names, scorer=scorer))
    except (BundleError, HistoryMismatch, RulesRefused) as error:
        await refuse(store, row, str(error))
        raise ActivationRefused(f"bundle {versions} is refused: {error}") from None
    return await _wait(store, requested, clock, timeout)


async def roll_back_and_wait(store: Store, *, by: str, clock: Clock, timeout: float) -> Activated:
    """Make the previously active bundle the active one again, and wait until every process serves it.

    Raises
    ------
    NoEarlierBundle
        If there is none.
    ActivationUnanswered
        If a process did not answer in time.
    """
    return await _wait(store, await roll_back(store, by=by, now=clock.now()), clock, timeout)


async def _wait(store: Store, row: BundleActivationRow, clock: Clock, timeout: float) -> Activated:
    loop, versions = asyncio.get_running_loop(), Versions.of(row)
    until = loop.time() + timeout
    while True:
        answer = (
            row if row.state == ActivationState.ACTIVE else (await read_activations(store)).answer_to(row)
        )
        async with store.reading() as reader:
            processes = await living(reader, clock.now())
        if answer is not None and answer.request != row.number and answer.number != row.number:
            raise ActivationRefused(
                f"bundle {versions} was replaced by a later request for {Versions.of(answer)}"
            )
        if answer is not None and answer.state == ActivationState.REFUSED:
            raise ActivationRefused(f"bundle {versions} is refused: {answer.reason}")
        others = [one for one in processes if Versions.of(one) != versions]
        if not processes or (answer is not None and not others):
            return Activated(versions=versions, processes=len(processes))
        if loop.time() > until:
            waited = [one for one in processes if one.checked < row.number] if answer is None else others
            raise ActivationUnanswered(
                f"bundle {versions} is {'active' if answer else 'requested'}, but no answer came within "
                f"{timeout:g} s from {len(waited)} of {len(processes)} processes: {'; '.join(map(_named, waited))}"
            )
        await asyncio.sleep(_LOOK_SECONDS)


def _named(process: ServingProcessRow) -> str:
    name = f"{process.host} pid {process.pid}"
    return name if process.problem is None else f"{name} ({process.problem})"


async def list_bundles(store: Store, *, now: int) -> dict[str, Any]:
    """Return every bundle that ever served or was to, latest first, the last refusal, and what each process serves."""
    activations = await read_activations(store)
    async with store.reading() as reader:
        served = await reader.bundles()
        processes = await living(reader, now)
    active, candidate, refused = activations.active, activations.candidate, activations.refused
    known = dict.fromkeys([Versions.of(row) for row in activations.rows])
    known |= dict.fromkeys(Versions(row.model_version, row.policy_version) for row in reversed(served))
    first_served = {Versions(row.model_version, row.policy_version): row.first_served_at for row in served}
    return {
        "bundles": [
            {
                "modelVersion": versions.model,
                "policyVersion": versions.policy,
                "state": _state(versions, activations),
                "firstServedAt": _time(first_served.get(versions)),
            }
            for versions in known
        ],
        "active": None if active is None else _step(active),
        "candidate": None if candidate is None else _step(candidate),
        "lastRefused": None if refused is None else {**_step(refused), "reason": refused.reason},
        "processes": [
            {
                "host": row.host,
                "pid": row.pid,
                "modelVersion": row.model_version,
                "policyVersion": row.policy_version,
                "since": rfc3339(row.since),
                "problem": row.problem,
            }
            for row in processes
        ],
    }


def _state(versions: Versions, activations: Activations) -> str:
    roles = {
        "active": activations.active,
        "candidate": activations.candidate,
        "rollback": activations.previous,
    }
    for role, row in roles.items():
        if row is not None and Versions.of(row) == versions:
            return role
    latest = next((row for row in activations.rows if Versions.of(row) == versions), None)
    return "refused" if latest is not None and latest.state == ActivationState.REFUSED else "served"


def _step(row: BundleActivationRow) -> dict[str, Any]:
    return {
        "modelVersion": row.model_version,
        "policyVersion": row.policy_version,
        "at": rfc3339(row.at),
        "by": row.requested_by,
    }


def _time(instant: int | None) -> str | None:
    return None if instant is None else rfc3339(instant)
