"""A peer on a socket, a clock, and each of the two clients."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from either_client import Either, Kind
from scoring_peer import Peer, Server, Time, running_peer


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One server for all tests."""
    with running_peer() as found:
        yield found


@pytest.fixture
def peer(server: Server) -> Peer:
    """A new peer."""
    server.peer = Peer(server.peer.url)
    return server.peer


@pytest.fixture
def time() -> Time:
    """A clock that only sleeping moves."""
    return Time()


@pytest.fixture(params=["blocking", "async"])
def kind(request: pytest.FixtureRequest) -> Kind:
    """Which of the two clients."""
    kind: Kind = request.param
    return kind


@pytest.fixture
def opened(kind: Kind, peer: Peer, time: Time) -> Iterator[Callable[..., Either]]:
    """Opens a client of the peer, by default with the test's clock; closed after the test."""
    clients: list[Either] = []

    def one(url: str | None = None, **options: Any) -> Either:
        options = {"time": time} | options
        clients.append(Either(kind, peer.url if url is None else url, **options))
        return clients[-1]

    yield one
    for client in clients:
        client.close()


@pytest.fixture
def client(opened: Callable[..., Either]) -> Either:
    """A client of the peer with the usual options."""
    return opened()
