"""Time to refuse credentials, by what is wrong with them: the time must not reveal which clients exist.

Checks four kinds in turn, many times, against a store with clients: a known client with a wrong key, an unknown client,
the key of another client, and malformed text. Prints the medians and the overlap of the distributions.

Run as ``python benchmarks/authentication.py``. It first checks that every refusal is right.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import numpy as np

from databases import running_server
from scoring_model.service.clients import Permission, create_client
from scoring_model.service.core.clock import SystemClock
from scoring_model.service.credentials import Credentials
from scoring_model.service.store import migrate, open_store

CLIENTS: Final = 1_000
BINS: Final = 60
Pair = tuple[str, str]


async def wrong_pairs(url: str) -> Mapping[str, Pair]:
    """Fill a store with clients; return pairs that must be refused, by what is wrong with them.

    Parameters
    ----------
    url : str
        Of a store with tables.
    """
    store = await open_store(url)
    now = SystemClock().now()
    made = [
        await create_client(store, name=f"client {place}", permissions=frozenset(Permission), now=now)
        for place in range(CLIENTS)
    ]
    await store.close()
    first, last = made[0], made[-1]
    return {
        "known client, wrong key": (first.client_id, "sk_" + "A" * 43),
        "unknown client, wrong key": ("cl_" + "0" * 22, "sk_" + "A" * 43),
        "known client, another's key": (first.client_id, last.api_key),
        "unknown client, known key": ("cl_" + "0" * 22, first.api_key),
        "malformed": ("?", "\xe9"),
    }


async def measured(url: str, pairs: Mapping[str, Pair], times: int) -> dict[str, list[float]]:
    """Check each pair in turn.

    Parameters
    ----------
    url : str
    pairs : mapping of str to (str, str)
    times : int
        For each pair, at least 2.

    Returns
    -------
    dict of str to list of float
        Microseconds by what is wrong.

    Raises
    ------
    RuntimeError
        If a pair is accepted.
    """
    store = await open_store(url)
    credentials = Credentials(store, SystemClock())
    taken: dict[str, list[float]] = {name: [] for name in pairs}
    for turn in range(times + times // 10):
        for name, pair in pairs.items():
            began = time.perf_counter()
            caller = await credentials.authenticate(*pair)
            took = time.perf_counter() - began
            if caller is not None:
                raise RuntimeError(f"{name}: accepted")
            if turn >= times // 10:  # earlier checks fill the caches
                taken[name].append(took * 1e6)
    await store.close()
    return taken


def overlap(first: Sequence[float], second: Sequence[float]) -> float:
    """Overlap of two distributions, in [0, 1]: 1 when they cannot be distinguished.

    The sum over bins of the smaller of both frequencies; bins are equal shares of both together.
    """
    edges = np.unique(np.quantile(np.concatenate([first, second]), np.linspace(0, 1, BINS + 1)))
    shares = [np.histogram(one, edges)[0] / len(one) for one in (first, second)]
    return float(np.minimum(*shares).sum())


def report(kind: str, taken: Mapping[str, Sequence[float]]) -> None:
    """Print quartiles and the overlap with the first kind, and the overlap that chance alone allows."""
    base = next(iter(taken.values()))
    chance = overlap(base[::2], base[1::2])
    print(f"\n{kind}: {len(base)} of each; two halves of the first overlap by {chance:.3f}")
    print(f"{'':30}{'25 %':>9}{'median':>9}{'75 %':>9}  us   overlap")
    for name, times in taken.items():
        low, middle, high = statistics.quantiles(times, n=4)
        print(f"{name:30}{low:9.1f}{middle:9.1f}{high:9.1f}{overlap(base, times):13.3f}")


def run(kind: str, url: str, times: int) -> None:
    """Make the tables, fill them, measure and print."""
    asyncio.run(migrate(url))
    pairs = asyncio.run(wrong_pairs(url))
    report(kind, asyncio.run(measured(url, pairs, times)))


def main() -> None:
    """Measure on both stores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=3_000)
    times = parser.parse_args().times
    with tempfile.TemporaryDirectory() as folder:
        run("SQLite", f"sqlite:///{folder}/scoring.db", times)
    with running_server() as server:
        run("PostgreSQL", server.create("scoring"), times)


if __name__ == "__main__":
    main()
