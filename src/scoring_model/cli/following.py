"""The comparison of bundles on verifications as they arrive: `compare --follow`."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from scoring_model.cli import console, shared
from scoring_model.cli.database import settled
from scoring_model.cli.past import with_past

if TYPE_CHECKING:
    from pathlib import Path

    from scoring_model.cli.option_groups import Past
    from scoring_model.scorer import Scorer
    from scoring_model.service.keys.data_keys import Vault
    from scoring_model.service.keys.secrets import Secrets
    from scoring_model.service.past.challenger import FollowState
    from scoring_model.service.store import Store

_PAUSE: Final = 5.0
"""Most seconds between two looks at the database."""


def follow_verifications(past: Past, scorers: tuple[Scorer, Scorer], path: Path, *, every: str) -> None:
    """Print flips of arriving verifications and a summary from time to time, until SIGTERM or Ctrl-C."""
    from scoring_model.records.times import SECOND, parse_duration

    seconds = parse_duration(every) / SECOND
    state = _state(path, scorers, past.since)
    console.report("comparing verifications as they arrive; Ctrl-C ends it")
    try:
        with_past(
            past.url,
            past.master_key,
            scorers,
            lambda *opened: _follow(opened, scorers, state, path, seconds),
        )
    except asyncio.CancelledError:
        console.report("stopped")
    _print(state.summary(at=shared.now()))


def _state(path: Path, scorers: tuple[Scorer, Scorer], since: int | None) -> FollowState:
    """Read the state of an earlier run, or begin at an instant, by default now."""
    from scoring_model.service.past.challenger import FollowState

    if path.exists():
        return FollowState.read(path.read_bytes(), *scorers)
    return FollowState.new(*scorers, since=settled() if since is None else since)


async def _follow(
    opened: tuple[Store, Vault, Secrets],
    scorers: tuple[Scorer, Scorer],
    state: FollowState,
    path: Path,
    seconds: float,
) -> None:
    from scoring_model.service.core.stop_signals import cancelled_by_signals
    from scoring_model.service.past.challenger import follow

    store, vault, secrets = opened
    due = time.monotonic() + seconds
    with cancelled_by_signals():
        while True:
            async for flips in follow(store, vault, secrets, scorers, state, before=settled()):
                for flip in flips:
                    _print(flip)
                _save(state, path)
            _save(state, path)
            if time.monotonic() >= due:
                _print(state.summary(at=shared.now()))
                due += seconds
            await asyncio.sleep(min(_PAUSE, seconds))


def _print(document: object) -> None:
    # Flushed before the state is saved: a killed process may repeat flips, but loses none.
    console.say_json(document, indent=None)


def _save(state: FollowState, path: Path) -> None:
    from scoring_model.records.atomic import write_whole

    write_whole(path, state.to_bytes())
