"""Who comes first when several share something: they take turns."""

from collections.abc import Iterable


def in_turn(clients: Iterable[int], *, after: int) -> list[int]:
    """Order clients by their numbers, beginning with the first one after another and going round.

    Parameters
    ----------
    after : int
        The client that was served last.

    Examples
    --------
    >>> in_turn([9, 1, 5], after=1)
    [5, 9, 1]
    """
    return sorted(clients, key=lambda client: (client <= after, client))
