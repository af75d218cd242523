"""Losses of a service: missing acknowledged resources and partial writes.

Rows are read without the store, so that it does not judge itself; verdicts are replayed by the code of the command.
"""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from applying import Entry, Ledger, NeverAnswered, Persistent
from fleet import Site
from outside_client import IDENTITIES, VERIFICATIONS, WEBHOOKS
from scoring_model.contract.texts import from_text, to_text
from scoring_model.scorer.decider import Decider
from scoring_model.service.activation.shelf import BundleShelf
from scoring_model.service.core.rows import (
    ClientRow,
    DeliveryRow,
    EventRow,
    IdempotencyRow,
    IdentityRow,
    LinkRow,
    Row,
    VerificationRow,
    WebhookRow,
)
from scoring_model.service.events.events import message_id
from scoring_model.service.keys.keyring import Keyring
from scoring_model.service.scoring import replaying
from scoring_model.service.store import open_store
from service_use import select, table
from webhook_receiver import Receiver, Taken

EVENT_TYPES: Final = ("*", "verification.completed")
"""All types of events: wildcards leave the second one out."""

KINDS: Final[Sequence[type[Row]]] = (
    ClientRow,
    DeliveryRow,
    EventRow,
    IdempotencyRow,
    IdentityRow,
    LinkRow,
    VerificationRow,
    WebhookRow,
)
_HASH: Final = 16  # bytes
_Rows = Mapping[type[Row], Sequence[Any]]


@dataclass(frozen=True, kw_only=True)
class Audit:
    """Findings; `losses` is empty if nothing was lost.

    Parameters
    ----------
    pending : int
        Verifications acknowledged before they were scored.
    replayed : int
        Verdicts reproduced bit for bit.
    repeated : int
        Requests repeated under their keys with the first answer.
    again : int
        Delivery attempts after the first of each delivery.
    """

    losses: tuple[str, ...]
    acknowledged: int
    erased: int
    pending: int
    events: int
    replayed: int
    repeated: int
    delivered: int
    again: int

    def __str__(self) -> str:
        return (
            f"{self.acknowledged:,} acknowledged ({self.pending:,} as PENDING, {self.erased:,} erased since), "
            f"{self.events:,} events, {self.replayed:,} verdicts replayed, {self.repeated:,} keys repeated, "
            f"{self.delivered:,} deliveries, {self.again:,} of their attempts repeated, "
            f"{len(self.losses):,} losses"
        )


def add_webhook(client: Persistent, receiver: Receiver) -> None:
    """Register a webhook for all events."""
    body = {"destinationUrl": receiver.url, "active": True, "eventTypes": list(EVENT_TYPES)}
    answer = client.ask("POST", WEBHOOKS, body, "webhook")
    assert answer.status == 200, answer.body


def is_settled(url: str) -> bool:
    """Return True if no verification is PENDING and no event or delivery waits."""
    waiting = (
        "SELECT (SELECT count(*) FROM verifications WHERE status = 'PENDING') + "
        "(SELECT count(*) FROM events WHERE waiting = 1) + "
        "(SELECT count(*) FROM deliveries WHERE status = 'WAITING')"
    )
    return bool(asyncio.run(select(url, waiting))[0][0] == 0)


def audit(
    site: Site,
    keyring: Keyring,
    ledger: Ledger,
    receiver: Receiver,
    ports: Callable[[], Sequence[int]],
) -> Audit:
    """Check a settled service without load, every client of which has a webhook at the receiver."""
    rows = asyncio.run(_read(site.database))
    entries, taken = list(ledger.entries), list(receiver.taken)
    replayed, unlike = asyncio.run(_replay(site, keyring, ledger.of(VERIFICATIONS)))
    repeated, forgotten = _repeat(entries, ledger, ports)
    losses = [
        *ledger.faults,
        *_logged_errors(site),
        *_missing(rows, ledger),
        *_wrong_events(rows, ledger),
        *_gaps(rows),
        *_unlinked(rows),
        *_wrong_idempotency(rows, entries),
        *_undelivered(rows, taken),
        *unlike,
        *forgotten,
    ]
    arrived = {one.id for one in taken}
    return Audit(
        losses=tuple(losses),
        acknowledged=len(entries),
        erased=sum(entry.erased for entry in entries),
        pending=sum(entry.answer.status == 202 for entry in entries),
        events=len(rows[EventRow]),
        replayed=replayed,
        repeated=repeated,
        delivered=len(arrived),
        again=len(taken) - len(arrived),
    )


def _logged_errors(site: Site) -> Iterable[str]:
    """Faults and tracebacks in the logs."""
    for log in sorted(site.folder.glob("*.log")):
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            if '"places"' in line or line.startswith("Traceback"):
                yield f"{log.name}: {line}"


async def _read(url: str) -> _Rows:
    return {kind: await table(url, kind) for kind in KINDS}


def _missing(rows: _Rows, ledger: Ledger) -> Iterable[str]:
    """Acknowledged resources that are missing, and stored ones never acknowledged, so created twice."""
    for kind, known, entries in (
        ("identity", {to_text(row.id) for row in rows[IdentityRow]}, ledger.of(IDENTITIES)),
        ("verification", {to_text(row.id) for row in rows[VerificationRow]}, ledger.of(VERIFICATIONS)),
    ):
        wanted = Counter(entry.id for entry in entries)
        yield from (f"{kind} {one} was acknowledged and is not there" for one in wanted if one not in known)
        yield from (f"{kind} {one} is there twice over" for one in known if one not in wanted)
        yield from (f"{kind} {one} stands for {count} keys" for one, count in wanted.items() if count > 1)
    for row in rows[VerificationRow]:
        if row.status != "COMPLETED":
            yield f"verification {to_text(row.id)} is {row.status}"


def _wrong_events(rows: _Rows, ledger: Ledger) -> Iterable[str]:
    """Events without their change, and changes without theirs."""
    found = defaultdict(list)
    for event in sorted(rows[EventRow], key=lambda event: event.sequence):
        found[event.resource].append(event.type)
    entries = {entry.id: entry for entry in ledger.of(IDENTITIES)}
    wanted: dict[bytes, list[str]] = {}
    for row in rows[IdentityRow]:
        entry = entries.get(to_text(row.id))
        if entry is not None:
            status = entry.answer.json["status"]
            wanted[row.id] = [
                "identity.created",
                *(["identity.validated"] if status == "VALIDATED" else []),
                *(["identity.redacted"] if entry.erased else []),
            ]
            if row.status != ("REDACTED" if entry.erased else status):
                yield f"identity {entry.id} is {row.status}"
    for verdict in rows[VerificationRow]:
        wanted[verdict.id] = ["verification.completed", f"verification.{(verdict.outcome or '').lower()}"]
    for resource in wanted.keys() | found.keys():
        if wanted.get(resource) != found.get(resource):
            yield f"the events of {to_text(resource)} are {found.get(resource)}, not {wanted.get(resource)}"


def _gaps(rows: _Rows) -> Iterable[str]:
    """Gaps in the sequences of clients."""
    sequences = defaultdict(list)
    for event in rows[EventRow]:
        sequences[event.client].append(event.sequence)
    for client in rows[ClientRow]:
        if sorted(sequences[client.client]) != list(range(1, client.sequence + 1)):
            yield f"the sequence of client {client.client} has gaps below {client.sequence}"


def _unlinked(rows: _Rows) -> Iterable[str]:
    """Verdicts without their link records."""
    links = {(row.hash, row.time) for row in rows[LinkRow]}
    for row in rows[VerificationRow]:
        hashes = [row.links[at : at + _HASH] for at in range(0, len(row.links), _HASH)] if row.links else []
        if any((one, row.completed_at) not in links for one in hashes):
            yield f"verification {to_text(row.id)} is in no history"
        if row.payload is not None and not hashes:
            yield f"verification {to_text(row.id)} has no links"


def _wrong_idempotency(rows: _Rows, entries: Sequence[Entry]) -> Iterable[str]:
    """Answers not stored under their keys."""
    kept = Counter((row.resource, row.status) for row in rows[IdempotencyRow])
    wanted = Counter((_bytes(entry), entry.answer.status) for entry in entries)
    wanted.update((row.id, 200) for row in rows[WebhookRow])
    if kept != wanted:
        yield f"{len(wanted - kept)} answers are not kept, {len(kept - wanted)} are kept that nobody got"


def _undelivered(rows: _Rows, taken: Sequence[Taken]) -> Iterable[str]:
    """Events that did not arrive at webhooks created before them."""
    arrived = defaultdict(set)
    for one in taken:
        data = one.event["data"]
        arrived[one.id].add((one.event["type"], data["id"], data["sequence"]))
    found = {(row.event, row.webhook): row for row in rows[DeliveryRow]}
    for event in rows[EventRow]:
        wanted = (event.type, to_text(event.resource), event.sequence)
        for webhook in rows[WebhookRow]:
            if webhook.client != event.client or webhook.created_at > event.created_at:
                continue
            delivery = found.get((event.id, webhook.id))
            if delivery is None:
                yield f"event {wanted} has no delivery"
            elif delivery.status != "DELIVERED":
                yield f"event {wanted} is {delivery.status}"
            elif arrived[message_id(delivery.id)] != {wanted}:
                yield f"event {wanted} arrived as {arrived[message_id(delivery.id)]}"


async def _replay(site: Site, keyring: Keyring, entries: Sequence[Entry]) -> tuple[int, list[str]]:
    """Replay every verdict; return the number of equal ones, and the failures."""
    found: list[str] = []
    same = 0

    @cache  # there is one bundle: reading it again for each verdict would take longer than everything else
    def find(model_version: str, policy_version: str | None) -> Decider | None:
        path = BundleShelf(site.shelf).find(model_version, policy_version)
        return None if path is None else Decider.load(path)

    store = await open_store(site.database)
    try:
        for entry in entries:
            try:
                result = await replaying.replay(store, keyring, _bytes(entry), find=find)
            except replaying.NotReplayable as error:
                found.append(f"verification {entry.id} has no verdict: {error}")
                continue
            wanted = replaying.Replay.ERASED if entry.erased else replaying.Replay.SAME
            if result is not wanted:
                found.append(f"verification {entry.id} is replayed as {result}")
            same += result is replaying.Replay.SAME
    finally:
        await store.close()
    return same, found


def _repeat(
    entries: Sequence[Entry], ledger: Ledger, ports: Callable[[], Sequence[int]]
) -> tuple[int, list[str]]:
    """Repeat every request under its key; return their number, and those with another answer."""
    rng = random.Random(0)

    def again(entry: Entry) -> str | None:
        client = Persistent(ports, entry.credentials, ledger, rng)
        try:
            answer = client.ask("POST", entry.path, entry.body, entry.key)
        except NeverAnswered as error:
            return str(error)
        first: Mapping[str, Any] = entry.answer.json
        if "idempotency-replayed" not in answer.headers:
            return f"{entry.path}/{entry.id} was made again under its key as {answer.status}"
        if (answer.status, answer.json["id"]) != (entry.answer.status, entry.id):
            return f"{entry.path}/{entry.id} is answered {answer.status} under its key, as another one"
        if not entry.erased and answer.json != first:
            return f"{entry.path}/{entry.id} is answered otherwise than the first time"
        return None

    with ThreadPoolExecutor(4) as pool:
        unlike = [found for found in pool.map(again, entries) if found is not None]
    return len(entries), unlike


def _bytes(entry: Entry) -> bytes:
    found = from_text(entry.id)
    assert found is not None, entry.id
    return found
