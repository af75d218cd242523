"""Link records that are ahead of the clock."""

from collections import Counter
from collections.abc import Mapping

from scoring_model.service.core.clock import SKEW
from scoring_model.service.store import Store


async def future_links(store: Store, *, now: int, delete: bool = False) -> Mapping[int, int]:
    """Find link records that are ahead of the clock by more than `SKEW`, left by a clock that ran ahead.

    A verification that shares a link key with such a record is refused until the clock has caught up.

    Parameters
    ----------
    now : int
        The correct time, microseconds since 1970-01-01 UTC.
    delete : bool
        Delete them with their labels. Verdicts stay.

    Returns
    -------
    mapping of int to int
        Number of link records by instant.

    Raises
    ------
    StoreUnavailable
        What was deleted before stays deleted.
    """
    found: Counter[int] = Counter()
    for first in range(256):  # hashes are uniform: each part is small, so that servers are not blocked
        if delete:
            async with store.writing([]) as transaction:
                found.update(await transaction.delete_future_links(first, now + SKEW))
        else:
            async with store.reading() as reader:
                found.update(await reader.future_links(first, now + SKEW))
    return found
