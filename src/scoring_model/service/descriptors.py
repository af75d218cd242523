"""The limit on open files, which bounds the connections of a process."""

import resource
from typing import Final

KEPT: Final = 256
"""Descriptors for everything but connections: database, deliveries, files."""


def connections_within_descriptors(wanted: int) -> int:
    """Raise the limit on open files to the hard one, and fit the number of connections to it.

    Parameters
    ----------
    wanted : int
        Connections, at least 1.

    Returns
    -------
    int
        As many as there are descriptors for beside `KEPT`, or half of all if that is more; at least 1, at most
        `wanted`.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard == resource.RLIM_INFINITY:
        return wanted
    return max(1, min(wanted, max(hard - KEPT, hard // 2)))
