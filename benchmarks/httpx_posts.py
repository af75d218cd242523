"""The peer of deliveries: a loop that posts with httpx and stores nothing.

Run as ``python benchmarks/httpx_posts.py URL CONCURRENCY``; each line of standard input is a JSON list of headers and
body. Prints the posts per second and the microseconds of CPU that each took.
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterator

import httpx


async def post_all(url: str, posts: Iterator[tuple[dict[str, str], str]], concurrency: int) -> None:
    """Post all bodies with the given concurrency."""
    limits = httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    async with httpx.AsyncClient(limits=limits, timeout=15, trust_env=False) as client:

        async def work() -> None:
            for headers, body in posts:
                answer = await client.post(url, headers=headers, content=body)
                answer.raise_for_status()

        await asyncio.gather(*(work() for _ in range(concurrency)))


def main() -> None:
    """Read the bodies, post them, and report the rate."""
    import uvloop

    url, concurrency = sys.argv[1], int(sys.argv[2])
    posts = [(headers, body) for headers, body in map(json.loads, sys.stdin)]
    began, used = time.perf_counter(), time.process_time()
    uvloop.run(post_all(url, iter(posts), concurrency))
    seconds, cpu = time.perf_counter() - began, time.process_time() - used
    print(json.dumps({"rate": len(posts) / seconds, "cpu": 1e6 * cpu / len(posts)}))


if __name__ == "__main__":
    main()
