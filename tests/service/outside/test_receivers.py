"""Harmful receivers beside a healthy one: a whole service, several webhooks, two clients."""

import io
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from outside_client import (
    IDENTITIES,
    PERSON,
    WEBHOOKS,
    Answer,
    OutsideClient,
    new_credentials,
    open_service,
    port_of,
)
from running_service import until
from scoring_model.cli import main
from webhook_receiver import flood, hang, receiving, redirect, refuse, rough, trickle

PRIVATE: Final = "private.example"
# What a server of DNS may say of a name that its owner chose. Everything else is looked up as always.
RESOLVER: Final = f"""
import socket
as_always = socket.getaddrinfo
def getaddrinfo(host, *words, **named):
    return as_always("10.1.2.3" if host == {PRIVATE!r} else host, *words, **named)
socket.getaddrinfo = getaddrinfo
"""
MADE: Final = 25  # identities of each client
EVENTS: Final = 2 * MADE
"""Each is created and validated."""
GROWTH: Final = 64  # mebibytes, where each of the events is answered with 4,096
HARMFUL: Final = ("hanging", "trickling", "flooding", "redirecting", "broken")


@dataclass
class Seen:
    """What was seen of a service among all of them.

    Parameters
    ----------
    arrived : dict of str to int
        Different events that each of the healthy ones had got in the end.
    meanwhile : dict of str to list
        Deliveries as operators see them, by receiver, when the healthy ones had all of theirs.
    afterwards : dict of str to list
        The same once the attempts on the slowest were over.
    answers : list of Answer
        To requests that were sent meanwhile.
    grown : float
        Mebibytes by which the service grew.
    elsewhere : int
        Attempts that came where the redirections led.
    """

    arrived: dict[str, int] = field(default_factory=dict)
    meanwhile: dict[str, list[Any]] = field(default_factory=dict)
    afterwards: dict[str, list[Any]] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)
    grown: float = 0.0
    elsewhere: int = 0


def deliveries(folder: Path, webhook: str) -> list[Any]:
    """What the command for operators shows of a webhook."""
    database = f"sqlite:///{folder / 'scoring.db'}"
    with redirect_stdout(io.StringIO()) as shown:
        words = ["--database", database, "--webhook", webhook, "--limit", "1000", "--json"]
        assert main(["webhooks", "deliveries", *words]) == 0
    found: list[Any] = json.loads(shown.getvalue())
    return found


def mebibytes(pid: int) -> float:
    """Resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS:")).split()[1]) / 1024


@pytest.fixture(scope="module")
def seen(sealed: Path, migrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """Two clients with four webhooks each make identities; it lasts until the slowest attempts are over."""
    folder, found = tmp_path_factory.mktemp("receivers"), Seen()
    shutil.copy(migrated, folder)
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text(RESOLVER, encoding="utf-8")
    with ExitStack() as stack:
        healthy = {name: stack.enter_context(receiving()) for name in ("healthy", "other healthy")}
        elsewhere = stack.enter_context(receiving())
        ways = (hang, trickle, flood, redirect(elsewhere.url), refuse)
        urls = {name: stack.enter_context(rough(way)).url for name, way in zip(HARMFUL, ways, strict=True)}
        urls |= {name: receiver.url for name, receiver in healthy.items()}
        urls |= {"private": f"http://{PRIVATE}/hook"}
        words = ["--development", "--no-request-log"]
        paths = [str(folder / "site"), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {"PYTHONPATH": os.pathsep.join(paths)}
        service = stack.enter_context(open_service(folder, sealed, *words, environment=environment))
        clients = [OutsideClient(port_of(service), new_credentials(folder)) for _ in range(2)]
        shared = {
            "hanging": clients[0],
            "flooding": clients[0],
            "broken": clients[0],
            "healthy": clients[0],
            "trickling": clients[1],
            "redirecting": clients[1],
            "private": clients[1],
            "other healthy": clients[1],
        }
        hooks = {
            name: client.made(WEBHOOKS, {"destinationUrl": urls[name], "active": True})["id"]
            for name, client in shared.items()
        }
        before = mebibytes(service.process.pid)
        for _ in range(MADE):
            made = [client.made(IDENTITIES, PERSON)["id"] for client in clients]
        until(
            lambda: all(len({taken.id for taken in one.taken}) == EVENTS for one in healthy.values()),
            "all events at the healthy ones",
        )
        found.meanwhile = {name: deliveries(folder, hook) for name, hook in hooks.items()}
        found.answers = [
            client.ask("GET", f"{IDENTITIES}/{one}") for client, one in zip(clients, made, strict=True)
        ]
        slowest = (hooks["hanging"], hooks["trickling"])
        until(
            lambda: all(any(row["attempts"] for row in deliveries(folder, hook)) for hook in slowest),
            "the end of a first attempt on the slowest",
            pause=0.5,
        )
        found.answers += [client.ask("GET", WEBHOOKS) for client in clients]
        found.afterwards = {name: deliveries(folder, hook) for name, hook in hooks.items()}
        found.grown = mebibytes(service.process.pid) - before
        found.elsewhere = len(elsewhere.taken)
        found.arrived = {name: len({taken.id for taken in one.taken}) for name, one in healthy.items()}
        yield found


def outcomes(rows: list[Any]) -> set[tuple[Any, ...]]:
    """What is recorded of those that were attempted."""
    return {(row["status"], row["answered"], row["excerpt"]) for row in rows if row["attempts"]}


def test_a_healthy_receiver_waits_for_no_other(seen: Seen) -> None:
    """It had all of its events before the first attempt on one that hangs or trickles was over, 15 s long."""
    assert seen.arrived == {"healthy": EVENTS, "other healthy": EVENTS}
    for name in ("hanging", "trickling"):
        assert [row["attempts"] for row in seen.meanwhile[name]] == [0] * EVENTS


def test_what_arrived_is_recorded(seen: Seen) -> None:
    """Every delivery to a healthy one is delivered, at its first attempt."""
    for name in ("healthy", "other healthy"):
        assert outcomes(seen.afterwards[name]) == {("DELIVERED", 200, None)}
        assert [row["attempts"] for row in seen.afterwards[name]] == [1] * EVENTS


def test_requests_are_answered_meanwhile(seen: Seen) -> None:
    """Harmful receivers do not affect the HTTP interface."""
    assert [answer.status for answer in seen.answers] == [200] * 4


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("hanging", ("WAITING", None, "no complete answer within 15 s")),
        ("trickling", ("WAITING", None, "no complete answer within 15 s")),
        ("flooding", ("DELIVERED", 200, None)),
        ("redirecting", ("WAITING", 302, None)),
        ("private", ("WAITING", None, "no address of the destination may be dialled")),
        ("broken", ("WAITING", 500, "broken")),
    ],
)
def test_harmful_receivers_have_their_outcome(seen: Seen, name: str, outcome: tuple[Any, ...]) -> None:
    """It is the same for each of the events, and reveals no address."""
    assert outcomes(seen.afterwards[name]) == {outcome}


def test_gigabytes_are_not_read_and_redirections_not_followed(seen: Seen) -> None:
    """The service does not grow by what it is sent, and nothing arrives where redirections lead."""
    assert len(seen.afterwards["flooding"]) == EVENTS
    assert seen.grown < GROWTH
    assert seen.elsewhere == 0
