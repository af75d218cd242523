"""Lets a process follow the activations in the database: it checks requested bundles and switches to active ones."""

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scoring_model.bundle import BundleError
from scoring_model.contract.units import HOUR
from scoring_model.scorer.scorer import Scorer
from scoring_model.service.activation.activations import (
    Activations,
    Versions,
    accept,
    read_activations,
    refuse,
)
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.faults import log_fault, log_notice, log_warning
from scoring_model.service.core.rows import ActivationState, BundleActivationRow, ServingProcessRow
from scoring_model.service.scoring.served import ServedBundle, Serving
from scoring_model.service.store import Store, StoreUnavailable, attempt

INTERVAL: Final = 0.5
"""Seconds between two looks at the database: one row by its key."""

REPORT_SECONDS: Final = 5.0
"""Seconds between two reports of a process, a third of `activations.ALIVE`."""

_TURN: Final = 0.0005
"""Seconds of a thread's turn while a bundle is loaded."""

_FORGET: Final = HOUR
"""Microseconds after which the report of a process that was killed is deleted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Steps:
    """What a process does with a bundle before and when it switches to it.

    Attributes
    ----------
    find : callable
        Returns the path of a bundle, which is written from the database if it is not there.
    load : callable
        Reads a bundle and checks seal, signature and golden rows.
    check : callable
        Raises unless the bundle's link keys are those of the history.
    build : callable
        Makes what scores with it.
    rehearse : callable
        Scores the latest verifications; returns what was scored, for the log.
    prepare : callable
        Called just before the switch, with the longest window that the history must have.
    """

    find: Callable[[Versions], Awaitable[Path]]
    load: Callable[[Path], Scorer]
    check: Callable[[Scorer], Awaitable[None]]
    build: Callable[[Scorer], ServedBundle]
    rehearse: Callable[[ServedBundle], Awaitable[object]]
    prepare: Callable[[ServedBundle, int], Awaitable[None]]


@contextlib.contextmanager
def _short_turns() -> Iterator[None]:
    """Let threads take shorter turns: with Python's own 5 ms each statement of a request waits that long for a load."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class BundleFollower:
    """Follows the activations in the database for one process; see ADR 0018."""

    def __init__(self, *, store: Store, clock: Clock, serving: Serving, steps: Steps) -> None:
        self._store = store
        self._clock = clock
        self._serving = serving
        self._steps = steps
        self._process = os.urandom(16)
        self._settled = 0  # number of the latest row that needs nothing more
        self._checked = 0
        self._candidate: tuple[Versions, ServedBundle] | None = None
        self._previous: tuple[Versions, ServedBundle] | None = None  # loaded still, for a rollback
        self._report_at = 0.0
        self._retry_at = 0.0

    async def run(self) -> None:
        """Look periodically until cancelled."""
        while True:
            await attempt("following the activation of bundles", self.step)
            await asyncio.sleep(INTERVAL)

    async def close(self) -> None:
        """Report that the process has ended."""
        async with self._store.writing([]) as transaction:
            await transaction.forget_processes(self._process, self._clock.now() - _FORGET)

    async def step(self) -> None:
        """Check a requested bundle or switch to an active one, if there is any, and report periodically."""
        if asyncio.get_running_loop().time() >= self._report_at:
            await self._report()
        async with self._store.reading() as reader:
            latest = await reader.latest_activation()
        if latest is None or latest.number == self._settled:
            return
        if latest.state == ActivationState.REQUESTED and not await self._decide(latest):
            return
        await self._follow()

    async def _decide(self, request: BundleActivationRow) -> bool:
        """Check a requested bundle, and decide about it if this process is the last to check it."""
        if self._checked < request.number:
            reason = await self._check(request)
            if reason is not None:
                answer = request._replace(at=self._clock.now(), request=request.number)
                await refuse(self._store, answer, reason)
                return True
            self._checked = request.number
            await self._report()
        served = request._replace(
            at=self._serving.since,
            model_version=self._serving.current.scorer.manifest.model_version,
            policy_version=self._serving.current.scorer.manifest.policy_version,
            longest_window=self._serving.current.scorer.matrix.reach,
            state=ActivationState.ACTIVE,
            requested_by="serve --bundle",
            request=None,
        )
        return await accept(self._store, request, served, now=self._clock.now())

    async def _check(self, request: BundleActivationRow) -> str | None:
        """Return the reason to refuse a bundle; without one it is the candidate."""
        versions = Versions.of(request)
        try:
            bundle = await self._load(versions)
            done = await self._steps.rehearse(bundle)
        except StoreUnavailable:
            raise
        except (BundleError, ValueError, OSError) as error:
            return str(error) or type(error).__name__
        except Exception as error:
            log_fault("checking a bundle that is to be activated", error)
            return f"{type(error).__name__} while it was checked"
        self._candidate = (versions, bundle)
        log_notice(f"bundle {versions} can serve: {done}")
        return None

    async def _load(self, versions: Versions) -> ServedBundle:
        path = await self._steps.find(versions)
        with _short_turns():
            scorer = await asyncio.to_thread(self._steps.load, path)
        await self._steps.check(scorer)
        return self._steps.build(scorer)

    async def _follow(self) -> None:
        """Serve the active bundle. If this process can't, it goes on with its own, says why, and retries."""
        activations = await read_activations(self._store)
        if activations.candidate is not None:
            return  # requested meanwhile: the next step checks it
        self._note_refusal(activations)
        active = activations.active
        if active is not None and self._own != Versions.of(active):
            if asyncio.get_running_loop().time() < self._retry_at:
                return
            try:
                await self._switch(activations, Versions.of(active))
            except (BundleError, ValueError, OSError) as error:
                self._retry_at = asyncio.get_running_loop().time() + REPORT_SECONDS
                self._serving.problem = f"{Versions.of(active)} can't be served: {error}"
                log_warning(self._serving.problem)
                await self._report()
                return
        self._serving.problem = None
        self._candidate = None
        await self._report()
        self._settled = activations.rows[0].number

    async def _switch(self, activations: Activations, versions: Versions) -> None:
        loaded = dict(one for one in (self._candidate, self._previous) if one is not None)
        bundle = loaded.get(versions) or await self._load(versions)
        await self._steps.prepare(bundle, activations.longest_window)
        self._previous = (self._own, self._serving.current)
        self._serving.switch(bundle, now=self._clock.now())
        log_notice(f"bundle {versions} serves; until now it was {self._previous[0]}")

    def _note_refusal(self, activations: Activations) -> None:
        refused, known = activations.refused, self._serving.refused
        if refused is not None and (known is None or refused.number > known.number):
            self._serving.refused = refused
            log_warning(f"bundle {Versions.of(refused)} was refused: {refused.reason}")

    @property
    def _own(self) -> Versions:
        manifest = self._serving.current.scorer.manifest
        return Versions(manifest.model_version, manifest.policy_version)

    async def _report(self) -> None:
        row = ServingProcessRow(
            process=self._process,
            host=socket.gethostname(),
            pid=os.getpid(),
            model_version=self._own.model,
            policy_version=self._own.policy,
            since=self._serving.since,
            checked=self._checked,
            problem=self._serving.problem,
            seen_at=self._clock.now(),
        )
        async with self._store.writing([]) as transaction:
            await transaction.report_process(row)
        self._report_at = asyncio.get_running_loop().time() + REPORT_SECONDS
