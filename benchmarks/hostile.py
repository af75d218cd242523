"""Cost of a hostile network: memory of the service, and latency of an honest client during each attack.

The service, one process on SQLite, has one core and all clients have the other; everything stays on this machine. The
honest client opens a new connection for each request. Exits with 1 if the service ever holds more than 400 MiB, if the
honest client's p99 reaches 1 s during an attack that needs no credentials, if wrong credentials slow its median request
more than fourfold, if any of its requests fails, or if the service does not stop within its grace period. Each attack
takes about `--seconds`.

Attacks on stored rows are those of another client with the default quota, whose identity has 1,000 verifications; the
honest client writes meanwhile. Each is measured in `--rounds` pairs of turns with and without it, which begin in turn
with either, since a machine that is also used by others is slower at one time than at another. The median ratio of both
p99 counts. Exits with 1 too if one costs the service 200 MiB more than before, or if this ratio is above 2. The second
ratio is that of the CPU time of the service, of all its threads, during a request of the honest client: it shows what
holds the event loop, also where the machine is too busy for the first.
"""

import asyncio
import contextlib
import itertools
import json
import math
import multiprocessing
import os
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache, partial
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Annotated, Final

import numpy as np
import typer
from shared.bundles import served_bundle
from shared.processes import on_core, resident_mebibytes, serving, two_cores
from shared.script import Verdict, at_most, in_turns, run

from multiplied import multiply, multiply_deliveries
from outside_client import (
    HOOK,
    IDENTITIES,
    PERSON,
    VERIFICATIONS,
    WEBHOOKS,
    OutsideClient,
    new_credentials,
    port_of,
)
from running_service import Running, until
from scoring_model.scorer import Scorer
from scoring_model.service.activation.rules import activate_rules
from scoring_model.service.keys.keyring import add_master_key
from scoring_model.service.store import open_store

MOST_MEBIBYTES: Final = 400.0
MOST_SECONDS: Final = 1.0
MOST_SLOWER: Final = {"wrong credentials": 4.0}
"""Greatest median beside an attack as a multiple of that beside none, where `none` is measured first."""
GRACE: Final = 10
HOST: Final = b"Host: a\r\n"
HEAD: Final = b"GET / HTTP/1.1\r\nHost: a\r\nx: "
POST: Final = b"POST /scoring/v1/identities HTTP/1.1\r\nHost: a\r\ncontent-type: application/json\r\n"
PIECE: Final = b"x-a: " + b"a" * 8_000 + b"\r\n"

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
MOST_MORE: Final = 200.0
MOST_RATIO: Final = 2.0
"""Greatest p99 of the honest client beside an attack on stored rows, as a multiple of that beside none."""

NICENESS: Final = 5
"""Of attackers, which share a core with the honest client: it is to wait for the service, not for that core."""

MANY: Final = 1_000
"""Verifications of the identity that attacks on stored rows name."""

LABELS: Final = "/scoring/v1/labels"
PERSONS: Final = 40
"""Large persons that one attack erases."""

HOOKS: Final = 50
"""Most webhooks of a client."""

RULE: Final = {"when": {"score": {"above": 990}}, "then": "OBSERVE"}
RESOLUTION: Final = {"result": "APPROVED", "method": "other"}
DEFAULT: Final = "6000/60"


@dataclass(frozen=True)
class Target:
    """What an attack needs to know: headers of good credentials, and identities with `MANY` verifications each.

    Some have a verification, or webhooks, instead. An operator needs the database and the bundle.
    """

    credentials: bytes
    identity: str = ""
    others: tuple[str, ...] = ()
    database: str = ""
    bundle: Path = Path()


class Bound(Enum):
    """What bounds the p99 of the honest client, and what it does meanwhile."""

    SECOND = "a second"
    TWICE = "twice that without the attack, of writes"
    NONE = "nothing"


Attack = Callable[[Streams, Target], Awaitable[None]]


async def pour(
    streams: Streams, _: Target, *, piece: bytes, beginning: bytes = b"", reading: bool = True
) -> None:
    """Send a beginning, and a piece after another as fast as the service takes them."""
    if not reading:
        streams[1].transport.pause_reading()  # type: ignore[attr-defined]
    streams[1].write(beginning)
    while True:
        streams[1].write(piece)
        await streams[1].drain()


async def trickle(streams: Streams, _: Target, *, beginning: bytes) -> None:
    """Send a beginning, and a byte a second, whatever is answered."""
    streams[1].write(beginning)
    while True:
        streams[1].write(b" ")
        await streams[1].drain()
        await asyncio.sleep(1)


async def silence(streams: Streams, _: Target) -> None:
    """Send nothing."""
    await streams[0].read()


async def ask(
    streams: Streams, target: Target, *, request: Callable[[Target, int], bytes], pause: float = 0.0
) -> None:
    """Send numbered requests, each once the one before is answered and as much later as Retry-After says."""
    for number in itertools.count():
        streams[1].write(request(target, number))
        head = await streams[0].readuntil(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        await streams[0].readexactly(int(length))
        await asyncio.sleep(pause)


async def abandon(streams: Streams, target: Target) -> None:
    """Go while labels are stored."""
    streams[1].write(most_labels(target, 0))
    await asyncio.sleep(0.2)


async def activate(_: Streams, target: Target) -> None:
    """Activate as many rules as a file may have, again and again others, as an operator does."""
    store, scorers = await open_store(target.database), [Scorer.load(target.bundle)]
    while True:
        now = time.time_ns() // 1_000
        rules = [{**RULE, "code": f"R{place}", "title": f"At {now}"} for place in range(50)]
        await activate_rules(store, {"rules": rules}, scorers, by="a", now=now)
        await asyncio.sleep(0.2)


def wrong_credentials(_: Target, number: int) -> bytes:
    """Make a request with a pair of credentials that nobody has."""
    pair = b"x-client-id: cl_%022d\r\nx-api-key: sk_%043d\r\n" % (number, number)
    return b"GET /scoring/v1/webhooks HTTP/1.1\r\n" + HOST + pair + b"\r\n"


@cache
def _marks() -> bytes:
    text = "a" + "\u0301" * 65_400 + "\u0316" * 65_400
    return json.dumps({"externalId": text}, ensure_ascii=False).encode()[: 256 * 1024]


def combining_marks(target: Target, _: int) -> bytes:
    """Make a request with long runs of combining marks."""
    return POST + target.credentials + b"content-length: %d\r\n\r\n" % len(_marks()) + _marks()


def posted(path: str, target: Target, content: Mapping[str, object]) -> bytes:
    """Make a request with a body."""
    body = json.dumps(content).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: a\r\ncontent-type: application/json\r\n".encode()
    return head + target.credentials + b"content-length: %d\r\n\r\n" % len(body) + body


@cache
def labels(target: Target, first: int, count: int) -> bytes:
    """Make a request with different labels of the identity."""
    label = {"identityId": target.identity, "label": "fraud"}
    rows = [
        {**label, "knownAt": f"2026-01-01T00:00:{place // 10**6:02}.{place % 10**6:06}Z"}
        for place in range(first, first + count)
    ]
    return posted(LABELS, target, {"labels": rows})


def most_labels(target: Target, number: int) -> bytes:
    """Report as many labels of an identity as a request may."""
    return labels(target, 10 * number, 10_000 // MANY)


def too_many_labels(target: Target, _: int) -> bytes:
    """Report a hundred times as many, the same ones each time."""
    return labels(target, 0, 1_000)


def empty_page(target: Target, _: int) -> bytes:
    """Ask for a page that checks as many rows as a page may, and finds none."""
    path = f"/scoring/v1/verifications?identityId={target.identity}&modelVersion=x".encode()
    return b"GET " + path + b" HTTP/1.1\r\n" + HOST + target.credentials + b"\r\n"


def longest_history(target: Target, _: int) -> bytes:
    """Verify a person whose history is longer than what a window sees."""
    return posted(VERIFICATIONS, target, {"identityId": target.identity})


def most_resolutions(target: Target, number: int) -> bytes:
    """List the resolutions of a verification that has as many as it may, or add one to them, which is refused."""
    path = f"{VERIFICATIONS}/{target.identity}/resolutions"
    if number % 2:
        return posted(path, target, RESOLUTION)
    return f"GET {path} HTTP/1.1\r\n".encode() + HOST + target.credentials + b"\r\n"


def dropped_deliveries(target: Target, _: int) -> bytes:
    """Delete one of the webhooks that many deliveries wait for."""
    path = f"{WEBHOOKS}/{random.choice(target.others)}".encode()
    return b"DELETE " + path + b" HTTP/1.1\r\n" + HOST + target.credentials + b"\r\n"


def most_deliveries(target: Target, _: int) -> bytes:
    """Make an event, which becomes a delivery of each webhook."""
    return posted(VERIFICATIONS, target, {"signals": {"vpn": True}})


@cache
def _values(target: Target, operation: str) -> bytes:
    persons = [{"firstName": f"Ann{place}", "lastName": "Lee", "dob": "1990-02-01"} for place in range(1_000)]
    made = {"key": "person", "outcome": "FAILED"} if operation == "entries" else {}
    return posted(f"/scoring/v1/lists/{operation}", target, {"list": "many", "values": persons, **made})


def most_values(target: Target, number: int) -> bytes:
    """Add as many values to a list as a request may, and remove them again."""
    return _values(target, "removals" if number % 2 else "entries")


def large_person(target: Target, _: int) -> bytes:
    """Erase one of the persons who have many verifications."""
    path = f"{IDENTITIES}/{random.choice(target.others)}".encode()
    return b"DELETE " + path + b" HTTP/1.1\r\n" + HOST + target.credentials + b"\r\n"


LONGEST: Final = b"GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: a\r\n\r\n" * 500
CHUNKED: Final = POST + b"transfer-encoding: chunked\r\n\r\n0\r\n"
LARGE: Final = HEAD + b"x" * 65_000
BODY: Final = POST + b"content-length: 250000\r\n\r\n"

ATTACKS: Final[Mapping[str, tuple[Attack, int, Bound]]] = {
    "none": (silence, 0, Bound.SECOND),
    "trailers": (partial(pour, beginning=CHUNKED, piece=PIECE), 40, Bound.SECOND),
    "unread responses": (partial(pour, piece=LONGEST, reading=False), 1_200, Bound.SECOND),
    "silent connections": (silence, 3_000, Bound.SECOND),
    "trickled heads": (partial(trickle, beginning=HEAD), 1_000, Bound.SECOND),
    "large heads": (partial(trickle, beginning=LARGE), 2_000, Bound.SECOND),
    "trickled bodies after 401": (partial(trickle, beginning=BODY), 1_000, Bound.SECOND),
    "wrong credentials": (partial(ask, request=wrong_credentials), 100, Bound.SECOND),
    "quadratic bodies": (partial(ask, request=combining_marks), 4, Bound.NONE),
    "most labels": (partial(ask, request=most_labels, pause=1), 100, Bound.TWICE),
    "too many labels": (partial(ask, request=too_many_labels, pause=1), 100, Bound.TWICE),
    "abandoned labels": (abandon, 100, Bound.TWICE),
    "empty pages": (partial(ask, request=empty_page), 4, Bound.TWICE),
    "longest histories": (partial(ask, request=longest_history), 4, Bound.TWICE),
    "histories of 100 labels each": (partial(ask, request=longest_history), 4, Bound.TWICE),
    "most values of lists": (partial(ask, request=most_values, pause=1), 100, Bound.TWICE),
    "large persons": (partial(ask, request=large_person), 4, Bound.TWICE),
    "most deliveries": (partial(ask, request=most_deliveries), 4, Bound.TWICE),
    "dropped deliveries": (partial(ask, request=dropped_deliveries), 4, Bound.TWICE),
    "most resolutions": (partial(ask, request=most_resolutions), 4, Bound.TWICE),
    "activations of rules": (activate, 1, Bound.TWICE),
}
"""By name: what each connection does, the number of connections, and the bound of others' latency."""


async def _one(attack: Attack, port: int, target: Target) -> None:
    """Attack on one connection; open another whenever it is cut."""
    while True:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            streams = await asyncio.open_connection("127.0.0.1", port)
            try:
                await attack(streams, target)
            finally:
                streams[1].transport.abort()
        await asyncio.sleep(0.2)


def attack_for_ever(name: str, port: int, target: Target, is_under_way: Event) -> None:
    """Attack until the process is killed."""
    os.nice(NICENESS)

    async def run() -> None:
        attack, count, _ = ATTACKS[name]
        tasks = [asyncio.create_task(_one(attack, port, target)) for _ in range(count)]
        await asyncio.sleep(2)
        is_under_way.set()
        await asyncio.gather(*tasks)

    asyncio.run(run())


@contextlib.contextmanager
def attacked(name: str, port: int, target: Target) -> Iterator[None]:
    """Attack from a separate process until the context ends."""
    context = multiprocessing.get_context("spawn")
    is_under_way = context.Event()
    process = context.Process(target=attack_for_ever, args=(name, port, target, is_under_way))
    process.start()
    try:
        if not is_under_way.wait(60):
            raise SystemExit(f"{name}: the attack did not start")
        yield
    finally:
        process.kill()
        process.join()


@dataclass
class Honest:
    """What the honest client met: seconds of its requests, CPU seconds of the service during each, largest MiB."""

    took: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    mebibytes: float = 0.0

    @property
    def failed(self) -> int:
        """Requests without a good answer."""
        return sum(map(math.isinf, self.took))

    def quantile(self, share: float) -> float:
        """Seconds within which a share of the requests was answered; a failed one counts as a minute."""
        return float(np.quantile([60.0 if math.isinf(took) else took for took in self.took], share))

    def add(self, other: "Honest") -> None:
        """Take over what another turn met."""
        self.took += other.took
        self.cpu += other.cpu
        self.mebibytes = max(self.mebibytes, other.mebibytes)


def beside(service: Running, client: OutsideClient, seconds: float, *, writes: bool = False) -> Honest:
    """Send honest requests for a while."""
    asked = ("POST", VERIFICATIONS, {"signals": {"vpn": True}}) if writes else ("GET", WEBHOOKS, None)
    pid, honest, end = service.process.pid, Honest(), time.monotonic() + seconds
    clock = ~pid << 3 | 2  # of the CPU time of a process, as clock_getcpuclockid(3) makes it
    while time.monotonic() < end:
        began, used = time.monotonic(), time.clock_gettime(clock)
        try:
            ok = client.ask(*asked).status in (200, 201)
        except OSError:
            ok = False
        honest.took.append(time.monotonic() - began if ok else math.inf)
        honest.cpu.append(time.clock_gettime(clock) - used)
        honest.mebibytes = max(honest.mebibytes, resident_mebibytes(pid))
        time.sleep(0.02)
    return honest


def measure(
    name: str, service: Running, client: OutsideClient, seconds: float, usual: dict[str, float]
) -> Verdict:
    """Judge the cost of one attack, and put its median into `usual`."""
    with attacked(name, client.port, Target(_lines(client))):
        honest = beside(service, client, seconds)
    usual[name] = honest.quantile(0.5)
    holds = honest.mebibytes <= MOST_MEBIBYTES
    if ATTACKS[name][2] is not Bound.NONE:
        holds = holds and honest.quantile(0.99) < MOST_SECONDS and not honest.failed
    holds = holds and usual[name] <= MOST_SLOWER.get(name, math.inf) * usual.get("none", math.inf)
    return Verdict(holds, _row(name, honest))


def measure_on_rows(
    name: str, service: Running, client: OutsideClient, target: Target, seconds: float, rounds: int
) -> Verdict:
    """Judge what an attack on stored rows costs, in pairs of turns."""
    before = resident_mebibytes(service.process.pid)
    both, ratios = {False: Honest(), True: Honest()}, []

    def turn(under_attack: bool) -> Honest:
        with attacked(name, client.port, target) if under_attack else contextlib.nullcontext():
            honest = beside(service, client, seconds / rounds, writes=True)
        both[under_attack].add(honest)
        time.sleep(1)  # what is under way ends
        return honest

    for used, without in in_turns(rounds, turn):
        cpu = [float(np.quantile(one.cpu, 0.99)) for one in (used, without)]
        ratios.append((used.quantile(0.99) / without.quantile(0.99), cpu[0] / cpu[1]))
    ratio, of_cpu = (statistics.median(column) for column in zip(*ratios, strict=True))
    most = min(MOST_MEBIBYTES, before + MOST_MORE)
    holds = ratio <= MOST_RATIO and both[True].mebibytes <= most and not both[True].failed
    print(f"      {_row('  without it', both[False])}")
    print(f"        p99 with / without {ratio:.2f} (at most {MOST_RATIO:g}), of CPU {of_cpu:.2f}")
    return Verdict(holds, _row(name, both[True]))


def _row(name: str, honest: Honest) -> str:
    times = "".join(f"{honest.quantile(share) * 1e3:10.1f}" for share in (0.5, 0.99))
    return f"{name:28}{len(honest.took):8}{honest.failed:8}{times}{honest.mebibytes:10.0f}"


def _lines(client: OutsideClient) -> bytes:
    return b"".join(f"{key}: {value}\r\n".encode() for key, value in client.credentials.items())


def _target(name: str, service: Running, client: OutsideClient) -> Target:
    """Prepare what an attack names."""
    hooks: list[str] = []
    if name in ("most deliveries", "dropped deliveries"):
        hooks = [str(client.made(WEBHOOKS, HOOK)["id"]) for _ in range(HOOKS)]
    if name == "dropped deliveries":
        client.made(VERIFICATIONS, {"signals": {"vpn": True}})
        database = service.log.with_name("scoring.db")
        until(lambda: multiply_deliveries(database, MANY), "a delivery that waits")
        return Target(_lines(client), others=tuple(hooks))
    if name == "most resolutions":
        made = str(client.made(VERIFICATIONS, {"signals": {"vpn": True}})["id"])
        for _ in range(100):
            client.made(f"{VERIFICATIONS}/{made}/resolutions", RESOLUTION)
        return Target(_lines(client), made)
    labels = 100 if name == "histories of 100 labels each" else 0
    persons = PERSONS if name == "large persons" else 0
    first, *others = [_large_identity(service, client, number, labels) for number in range(1 + persons)]
    return Target(_lines(client), first, tuple(others))


def _large_identity(service: Running, client: OutsideClient, number: int, labels: int) -> str:
    """Make an identity with `MANY` verifications, each with its own link records, which have some labels."""
    person = {**PERSON, "firstName": f"{PERSON['firstName']}{number}"}
    made = str(client.made(IDENTITIES, person)["id"])
    first = client.made(VERIFICATIONS, {"identityId": made})["id"]
    multiply(service.log.with_name("scoring.db"), first, MANY - 1, labels=labels)
    return made


def main(
    *,
    seconds: float = 15.0,
    rounds: int = 5,
    attack: Annotated[list[str], typer.Option(default_factory=lambda: list(ATTACKS), show_default="all")],
    bundle: Path | None = None,
) -> Iterator[Verdict]:
    """Run attacks of some seconds in turn on one service, then stop it during one."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        words = ("--shutdown-grace", f"{GRACE}s")
        add_master_key(folder / "key")
        database, key = f"sqlite:///{folder / 'scoring.db'}", f"file:{folder / 'key'}"
        served = bundle or served_bundle().save(folder / "bundle")
        with (
            serving(folder, *words, bundle=served, database=database, master_key=key) as service,
            on_core(two_cores()[1]),
        ):
            client = OutsideClient(port_of(service), new_credentials(folder, database))
            print(f"{'':34}{'requests':>8}{'failed':>8}{'p50 ms':>10}{'p99 ms':>10}{'MiB':>10}")
            usual: dict[str, float] = {}
            for name in attack:
                if ATTACKS[name][2] is Bound.TWICE:
                    other = OutsideClient(client.port, new_credentials(folder, database, quota=DEFAULT))
                    target = replace(_target(name, service, other), database=database, bundle=served)
                    yield measure_on_rows(name, service, client, target, seconds, rounds)
                    for hook in other.ask("GET", WEBHOOKS).json:  # whose deliveries would delay the end
                        other.ask("DELETE", f"{WEBHOOKS}/{hook['id']}")
                else:
                    yield measure(name, service, client, seconds, usual)
            with attacked("unread responses", client.port, Target(b"")):
                began = time.monotonic()
                service.stop()
                took = time.monotonic() - began
        yield at_most("seconds until the service stopped beside unread responses", took, GRACE)


if __name__ == "__main__":
    run(main)
