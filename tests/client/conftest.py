"""A peer on a socket, a clock, and each of the two clients."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from either_client import Either, Kind
from scoring_peer import Peer, Time, running_peer


@pytest.fixture(scope="session")
def served() -> Iterator[Peer]:
    """One peer for all tests."""
    with running_peer() as peer:
        yield peer


@pytest.fixture
def peer(served: Peer) -> Peer:
    """The peer, as new."""
    fresh = Peer(url=served.url)
    served.__dict__.update(fresh.__dict__)
    return served


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
