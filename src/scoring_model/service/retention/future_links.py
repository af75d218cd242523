"""Link records of the future, which a clock that ran ahead has left: counted, and deleted to repair the history.

A verification that shares a link key with one is refused for as long as the record is ahead of the clock. No instant
is ever rewritten: a record is deleted or stays.
"""

from collections import Counter
from collections.abc import Mapping

from scoring_model.service.core.store import Store
from scoring_model.service.scoring.verdicts import SKEW


async def future_links(store: Store, *, now: int, delete: bool = False) -> Mapping[int, int]:
    """Find the link records that are further ahead than clocks may differ (`SKEW`).

    Parameters
    ----------
    now : int
        Microseconds since 1970-01-01 UTC, by a clock that is right.
    delete : bool
        Whether they are deleted, with their labels. Verdicts stay.

    Returns
    -------
    mapping of int to int
        The instants of their events, and how many link records each had.

    Raises
    ------
    StoreUnavailable
        What was deleted before stays deleted.
    """
    found: Counter[int] = Counter()
    for first in range(256):  # hashes are evenly spread: each part is small, so that servers go on
        if delete:
            async with store.writing([]) as transaction:
                found.update(await transaction.delete_future_links(first, now + SKEW))
        else:
            async with store.reading() as reader:
                found.update(await reader.future_links(first, now + SKEW))
    return found
