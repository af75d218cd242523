"""How the bundles of a database link records: all of them like the first."""

import json
from typing import Final

from scoring_model.history import LinkKey
from scoring_model.records.normalisation import NORMALISATION_VERSION
from scoring_model.scorer.scorer import Scorer
from scoring_model.service.store import WHOLE_DATABASE, Reader, Store

LINKS_FACT: Final = "link_keys"
"""Fact with the link keys, normalisation and amounts of the history."""


class HistoryMismatch(ValueError):
    """The bundle links records differently from the history in the store."""


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


async def link_keys_of(reader: Reader) -> tuple[LinkKey, ...]:
    """Return the link keys of the history; none before a bundle was served."""
    fact = await reader.fact(LINKS_FACT)
    parts = {} if fact is None else json.loads(fact)["keys"]
    return tuple(LinkKey(name=name, parts=tuple(fields)) for name, fields in parts.items())


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
