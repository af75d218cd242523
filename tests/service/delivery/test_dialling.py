"""From names to sockets: look-ups that hang, fail or are many, and the check on each address."""

import asyncio
import socket
import threading
from collections.abc import Sequence

import pytest

from scoring_model.service.delivery.dialling import (
    CLIENT,
    MOST_ADDRESSES,
    CheckedNames,
    Lookups,
    RefusedAddress,
    UnknownName,
    checked_sockets,
    system_lookup,
)
from scoring_model.service.delivery.egress import AddressPolicy

PUBLIC = AddressPolicy()


class HangingServer:
    """A look-up that hangs for some names until released."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.asked: list[str] = []

    def __call__(self, host: str) -> Sequence[str]:
        """Look a name up."""
        self.asked.append(host)
        if host.startswith("slow"):
            self.gate.wait(20)
        return ["8.8.8.8"]


def test_a_name_that_hangs_holds_up_no_other() -> None:
    """A hanging look-up delays only its own name, even if requested often."""
    server = HangingServer()

    async def run() -> None:
        lookups = Lookups(server)
        slow = [asyncio.create_task(lookups.addresses("slow.example", client=1)) for _ in range(50)]
        assert await lookups.addresses("quick.example", client=1) == ["8.8.8.8"]
        assert not any(task.done() for task in slow)
        server.gate.set()
        assert await asyncio.gather(*slow) == [["8.8.8.8"]] * 50

    asyncio.run(run())
    assert server.asked.count("slow.example") == 1


def test_a_cancelled_caller_leaves_the_look_up_to_the_others() -> None:
    """A look-up abandoned by one caller still answers the next."""
    server = HangingServer()

    async def run() -> Sequence[str]:
        lookups = Lookups(server)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await lookups.addresses("slow.example", client=1)
        later = asyncio.create_task(lookups.addresses("slow.example", client=1))
        await asyncio.sleep(0)
        server.gate.set()
        return await later

    assert asyncio.run(run()) == ["8.8.8.8"]
    assert server.asked == ["slow.example"]


def test_look_ups_are_bounded_and_the_next_wait_for_their_turn() -> None:
    """A look-up above a client's share of threads waits until another one ends, and does not fail."""
    server = HangingServer()

    async def run() -> None:
        lookups = Lookups(server, most=4)
        slow = [asyncio.create_task(lookups.addresses(f"slow{n}.example", client=1)) for n in range(3)]
        await asyncio.sleep(0)
        waits = asyncio.create_task(lookups.addresses("quick.example", client=1))
        await asyncio.sleep(0)
        assert "quick.example" not in server.asked
        server.gate.set()
        assert await asyncio.gather(*slow, waits) == [["8.8.8.8"]] * 4

    asyncio.run(run())
    assert len(server.asked) == 4


def test_a_loop_that_ends_leaves_no_error_behind() -> None:
    """A look-up that outlives its loop ends without an error."""
    server = HangingServer()

    async def run() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await Lookups(server).addresses("slow.example", client=1)

    before = set(threading.enumerate())
    asyncio.run(run())
    server.gate.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)  # an error within would be a warning of pytest


@pytest.mark.parametrize("error", [socket.gaierror(-2, "unknown"), UnicodeError("label too long"), OSError()])
def test_a_name_without_an_address_is_unknown(error: Exception) -> None:
    """A failed look-up makes the name unknown, and the next one is new."""
    answers: list[Exception | list[str]] = [error, [], ["8.8.8.8"]]

    def lookup(host: str) -> Sequence[str]:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def run() -> Sequence[str]:
        lookups = Lookups(lookup)
        for _ in range(2):
            with pytest.raises(UnknownName):
                await lookups.addresses("no.example", client=1)
        return await lookups.addresses("no.example", client=1)

    assert asyncio.run(run()) == ["8.8.8.8"]


def test_every_address_of_a_name_is_checked() -> None:
    """Webhooks, delivery: only permitted addresses of a name are used, and an empty result is an error."""
    found = {
        "mixed.example": ["10.0.0.1", "8.8.8.8", "::1", "2606:4700::1111", "::ffff:127.0.0.1"],
        "inside.example": ["192.168.1.1", "fd00::1"],
        "many.example": [f"8.8.{n}.8" for n in range(200)],
    }

    async def run() -> None:
        CLIENT.set(1)
        names = CheckedNames(PUBLIC, Lookups(found.__getitem__))
        results = await names.resolve("mixed.example", 443)
        assert [(r["host"], r["port"], r["family"]) for r in results] == [
            ("8.8.8.8", 443, socket.AF_INET),
            ("2606:4700::1111", 443, socket.AF_INET6),
        ]
        with pytest.raises(RefusedAddress):
            await names.resolve("inside.example", 443)
        assert len(await names.permitted("many.example")) == MOST_ADDRESSES

    asyncio.run(run())


def test_literal_addresses_are_checked_without_a_look_up() -> None:
    """An address in place of a name is never looked up, and checked like any other."""

    def never(host: str) -> Sequence[str]:
        raise AssertionError(host)

    async def run() -> None:
        names = CheckedNames(PUBLIC, Lookups(never))
        assert await names.permitted("8.8.8.8") == ["8.8.8.8"]
        for host in ("127.0.0.1", "::1", "::ffff:10.0.0.1"):
            with pytest.raises(RefusedAddress):
                await names.permitted(host)

    asyncio.run(run())


def test_no_socket_is_opened_for_an_address_that_is_not_permitted() -> None:
    """Webhooks, delivery: the check is on the very address that a socket is opened for."""
    open_socket = checked_sockets(PUBLIC)
    tcp = (socket.SOCK_STREAM, socket.IPPROTO_TCP, "")
    with open_socket((socket.AF_INET, *tcp, ("8.8.8.8", 443))) as opened:
        assert opened.family is socket.AF_INET
    for sockaddr in (("::1", 443, 0, 0), ("::ffff:127.0.0.1", 443, 0, 0), ("fe80::1%1", 443, 0, 1)):
        with pytest.raises(RefusedAddress):
            open_socket((socket.AF_INET6, *tcp, sockaddr))


def test_the_system_knows_this_machine() -> None:
    """The system look-up returns only addresses, each once."""
    found = system_lookup("localhost")
    assert found
    assert len(set(found)) == len(found)
    assert all(map(AddressPolicy.of(development=True).permits, found))
