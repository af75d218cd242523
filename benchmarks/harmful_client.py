"""A client that harms deliveries: 50 webhooks, the events of 2,500 requests, and receivers of several kinds."""

import asyncio
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from benchmarks.filled_database import new_client
from benchmarks.waiting_events import new_webhook, write_waiting

from scoring_model.service.keys.keyring import Keyring
from webhook_receiver import hang, rough

HARMS: Final = ("backlog", "hanging receivers", "hanging names")
"""Receivers that are quick but many, receivers that never answer, and names that never resolve."""

WEBHOOKS: Final = 50
EVENTS: Final = 5_000
"""Events per request: created and validated, or completed and its outcome."""

_RESOLVER: Final = """
import socket, time
as_always = socket.getaddrinfo
def getaddrinfo(host, *words, **named):
    if str(host).endswith(".hanging.example"):
        time.sleep(30)
    return as_always("127.0.0.1" if str(host).endswith(".example") else host, *words, **named)
socket.getaddrinfo = getaddrinfo
"""


def resolving(folder: Path) -> Mapping[str, str]:
    """Environment variables that resolve names of ``.example`` to this machine, or let them hang for 30 s."""
    (folder / "sitecustomize.py").write_text(_RESOLVER, encoding="utf-8")
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


@contextmanager
def harmful(harm: str, url: str, keyring: Keyring, *, receiver: str, secret: str) -> Iterator[None]:
    """Write a harmful client into a database; its receivers run until the context ends.

    Parameters
    ----------
    harm : str
        One of `HARMS`.
    url : str
        Of the database.
    keyring : Keyring
    receiver : str
        Base URL of the quick receiver.
    secret : str
        Signs all deliveries.
    """

    async def write(port: int | None, domain: str) -> None:
        client, _ = await new_client(url)
        for number in range(WEBHOOKS):
            destination = f"http://{number}.{domain}:{port}/harm"
            await new_webhook(url, keyring, client=client.client, destination=destination, secret=secret)
        await write_waiting(url, client=client.client, count=EVENTS)

    if harm == "hanging receivers":
        with rough(hang) as silent:
            asyncio.run(write(silent.server_address[1], "example"))
            yield
    else:
        domain = "hanging.example" if harm == "hanging names" else "example"
        asyncio.run(write(urlsplit(receiver).port, domain))
        yield
