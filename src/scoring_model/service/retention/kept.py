"""How long link records are kept, and since when the history is complete: facts of the database."""

import math
from typing import Final

from scoring_model.contract.units import DAY
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.faults import log_warning
from scoring_model.service.store import Store

KEPT_SINCE: Final = "links_kept_since"
"""Fact with the instant since which the history is complete. All facts here are microseconds in decimal digits."""

KEPT_FOR: Final = "links_kept_for"
"""Fact with how long link records are kept: the longest window of the bundle that was opened last, or longer."""


async def kept_since(store: Store) -> int:
    """Return the instant since which the history is complete, microseconds since 1970-01-01 UTC; 0 for all of it."""
    return await read_fact(store, KEPT_SINCE) or 0


async def note_window(store: Store, longest: int) -> None:
    """Store how long the service keeps link records, microseconds, for commands that have no bundle."""
    if await noted_window(store) != longest:
        async with store.writing([]) as transaction:
            await transaction.set_fact(KEPT_FOR, b"%d" % longest)


async def noted_window(store: Store) -> int | None:
    """Return how long the service opened last keeps link records, microseconds; None if there was none."""
    return await read_fact(store, KEPT_FOR)


async def warn_of_short_history(store: Store, clock: Clock, *, longest: int) -> None:
    """Warn if the history is shorter than the longest window of this bundle, so that its counts are too low."""
    days = math.ceil((await kept_since(store) - (clock.now() - longest)) / DAY)
    if days > 0:
        log_warning(
            "The windows of this bundle are longer than the history that was kept for earlier bundles: "
            f"its counts are too low for the next {days} days."
        )


async def read_fact(store: Store, name: str) -> int | None:
    """Return the instant or period of a fact, microseconds; None if it is not stored."""
    async with store.reading() as reader:
        fact = await reader.fact(name)
    return None if fact is None else int(fact)


async def raise_fact(store: Store, name: str, instant: int) -> None:
    """Store an instant, unless a later one is stored."""
    async with store.writing([]) as transaction:
        if instant > int(await transaction.fact(name) or 0):
            await transaction.set_fact(name, b"%d" % instant)
