"""The service without HTTP, over a real store and a real bundle, for tests of its operations."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar, cast, overload
from unittest import mock
from uuid import UUID

import asyncpg
import numpy as np
import pyarrow as pa

from applications import IDENTITY
from identity_use import bodies
from scoring_model import synthetic
from scoring_model.bundle import CONFIGURATION, Bundle
from scoring_model.bundle.codec import json_bytes
from scoring_model.bundle.golden import Golden
from scoring_model.contract.fields import REQUIRED_FIELDS
from scoring_model.contract.identity import Identity, IdentityStatus
from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.contract.texts import to_text
from scoring_model.contract.verification import Verification, VerificationStatus
from scoring_model.contract.webhook import Webhook
from scoring_model.decision.rules import Policy
from scoring_model.records import rfc3339
from scoring_model.records.reading import read_records
from scoring_model.scorer import Scorer
from scoring_model.scorer.decider import Decider
from scoring_model.scorer.frames import score_table
from scoring_model.service.clients.clients import Caller, Permission, create_client
from scoring_model.service.core.rows import TABLES, EventRow, LinkRow, Row, VerificationRow
from scoring_model.service.identities.assessment import assess, parse_identity
from scoring_model.service.identities.persons import Persons
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.keyring import KeyEncryptionKey, Keyring
from scoring_model.service.keys.secrets import Secrets, load_or_create
from scoring_model.service.requests.commit_queue import CommitQueue, QueueLimits
from scoring_model.service.requests.idempotency import Answer, IdempotentRequest
from scoring_model.service.requests.jobs import Done
from scoring_model.service.scoring.pending import PendingWork
from scoring_model.service.service import Service, open_service
from scoring_model.service.store import Bucket, Reader, Store, Transaction, open_store
from store_story import as_test

T = TypeVar("T")
R = TypeVar("R", bound=Row)

SECOND: Final = 1_000_000
HOUR: Final = 3600 * SECOND
START: Final = 1_780_315_200 * SECOND
"""2026-06-01 12:00 UTC."""

MASTERS: Final = Keyring(KeyEncryptionKey(bytes(range(32))))


class SetClock:
    """A clock that a test sets, in microseconds."""

    def __init__(self, at: int = START) -> None:
        self.at = at
        self.asked: list[str | None] = []

    def now(self) -> int:
        """The set instant."""
        return self.at

    def event(self, reference: str | None) -> int:
        """The set instant; records the caller."""
        self.asked.append(reference)
        return self.at

    def advance(self, seconds: float) -> None:
        """Advance the clock."""
        self.at += round(seconds * SECOND)


class HeldStore:
    """A store that counts calls. Its transactions first wait at a gate, and can fail with an error set by a test."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.gate = asyncio.Event()
        self.gate.set()
        self.error: Exception | None = None
        self.error_on_commit: Exception | None = None
        self.history_scopes: list[list[str]] = []
        self.knocking = 0
        self.readings = 0
        self.takes = 0
        self.before_each: Callable[[], Awaitable[None]] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Reader]:
        """See `Store.reading`."""
        self.readings += 1
        async with self._store.reading() as reader:
            yield reader

    async def take(self, *arguments: Any, **options: Any) -> Bucket:
        """See `Store.take`."""
        self.takes += 1
        return await self._store.take(*arguments, **options)

    @asynccontextmanager
    async def writing(
        self, history_scopes: Sequence[str], *, wait: bool = True
    ) -> AsyncIterator[Transaction]:
        """See `Store.writing`."""
        self.knocking += 1
        await self.gate.wait()
        self.knocking -= 1
        if self.before_each is not None:
            await self.before_each()
        if self.error is not None:
            raise self.error
        async with self._store.writing(history_scopes, wait=wait) as transaction:
            self.history_scopes.append(list(history_scopes))
            yield transaction
            if self.error_on_commit is not None:
                raise self.error_on_commit


@dataclass(frozen=True)
class Made:
    """A verification as rows have it: ids of 16 bytes, instants in microseconds, and code and sentence of reasons."""

    id: bytes
    identity_id: bytes | None
    previous_id: bytes | None
    subject_id: str | None = field(repr=False)
    status: VerificationStatus
    outcome: Outcome | None
    score: int | None
    reasons: tuple[tuple[str, str], ...]
    model_version: str | None
    policy_version: str | None
    created_at: int
    completed_at: int | None

    @classmethod
    def of(cls, shown: Verification) -> "Made":
        """Read what a client sees."""
        identity, previous, outcome = shown.identity_id, shown.previous_verification_id, shown.scoring_outcome
        return cls(
            id=id_of(shown),
            identity_id=None if identity is None else UUID(identity).bytes,
            previous_id=None if previous is None else UUID(previous).bytes,
            subject_id=shown.subject_id,
            status=VerificationStatus(shown.status),
            outcome=None if outcome is None else Outcome(outcome),
            score=shown.scoring_score,
            reasons=tuple((reason.code, reason.description) for reason in shown.reason_codes),
            model_version=shown.model_version,
            policy_version=shown.policy_version,
            created_at=micros(shown.created_at),
            completed_at=None if shown.completed_at is None else micros(shown.completed_at),
        )


def id_of(shown: Identity | Verification | Webhook) -> bytes:
    """The identifier of a resource, 16 bytes."""
    return UUID(shown.id).bytes


def micros(time: datetime) -> int:
    """Microseconds since 1970-01-01 UTC."""
    return (time - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1)


@dataclass(frozen=True)
class World:
    """A service and the internals that tests inspect."""

    url: str
    bundle: Path
    store: HeldStore
    service: Service
    clock: SetClock
    secrets: Secrets = field(repr=False)

    @property
    def queue(self) -> CommitQueue:
        """The queue of all changes."""
        return self.service.queue

    @property
    def pending(self) -> PendingWork:
        """The finisher of PENDING verifications; a test calls its steps."""
        return self.service.pending

    @property
    def persons(self) -> Persons:
        """Opens sealed values."""
        return Persons(Vault(MASTERS))

    async def client(self, history_scope: str | None = None) -> Caller:
        """A new client."""
        made = await create_client(
            self.store,
            name="a client",
            permissions=frozenset(Permission),
            history_scope=history_scope,
            now=self.clock.now(),
        )
        caller = await self.service.credentials.authenticate(made.client_id, made.api_key)
        if caller is None:
            raise AssertionError("a new client is not let in")
        return caller

    async def identity(self, caller: Caller, body: Mapping[str, object]) -> bytes:
        """A new identity; its id."""
        return id_of((await self.service.identities.create(caller, body, None)).resource)

    async def verify(
        self,
        caller: Caller,
        *,
        identity: bytes | None = None,
        signals: Mapping[str, object] | None = None,
        subject: str | None = None,
        previous: bytes | None = None,
        key: str | None = None,
    ) -> Answer[Made]:
        """A new verification."""
        body = verification_body(identity=identity, signals=signals, subject=subject, previous=previous)
        request = None if key is None else request_of(key, body)
        answer = await self.service.verifications.create(caller, body, request)
        return Answer(Made.of(answer.resource), answer.pending, answer.replayed)

    async def verification(self, caller: Caller, resource: bytes) -> Made:
        """Read a verification as its client."""
        return Made.of(await self.service.verifications.get(caller, resource))

    async def erase_signals(self, caller: Caller, resource: bytes) -> Made:
        """Erase the person of a verification."""
        return Made.of(await self.service.verifications.erase_signals(caller, resource))

    async def finish(
        self, row: VerificationRow, caller: Caller, *, background: bool = False
    ) -> Callable[[], Awaitable[Done[VerificationRow]]]:
        """Prepare a PENDING row now; the callable scores it."""
        candidate = await self.service.candidates.pending(row, caller.history_scope)
        if candidate is None:
            raise AssertionError("the person was erased")
        jobs = self.service.scoring.jobs
        return lambda: self.queue.submit(candidate, jobs, candidate, background=background)

    async def row(self, resource: bytes) -> VerificationRow:
        """The row of a verification."""
        async with self.store.reading() as reader:
            row: VerificationRow | None = await reader.verification_by_id(resource)
        if row is None:
            raise AssertionError("there is no such verification")
        return row

    async def features(self, resource: bytes) -> dict[str, float]:
        """The feature row of a verification, by name."""
        row = await self.row(resource)
        async with self.store.reading() as reader:
            key = await self.persons.key_of(reader, row.key_id)
        if key is None:
            raise AssertionError("the person was erased")
        packed = self.persons.verification_payload(row, key)[2]
        names = self.service.scoring.scorer.matrix.names
        return dict(zip(names, np.frombuffer(packed or b"", dtype=np.float64).tolist(), strict=True))

    async def events(self, caller: Caller) -> list[EventRow]:
        """The events of a client in their order."""
        rows = await table(self.url, EventRow)
        return sorted((row for row in rows if row.client == caller.client), key=lambda row: row.sequence)

    async def event_types(self, caller: Caller, resource: bytes) -> list[str]:
        """Event types of one resource."""
        return [event.type for event in await self.events(caller) if event.resource == resource]

    async def link_rows(self) -> set[LinkRow]:
        """All link rows."""
        return set(await table(self.url, LinkRow))


class Owner(NamedTuple):
    """The caller of changes in tests that need no client."""

    history_scope: str
    client: int = 0


Story = Callable[[World], Awaitable[T]]
_load: Final = cache(Scorer.load)
decider_of: Final = cache(Decider.load)
"""No test changes a bundle in its place, and checking one takes longer than most tests."""

_PATCH: Final = mock.patch.object(Scorer, "load", _load)
_OPENING: Final[list[None]] = []


@contextmanager
def _loaded_once() -> Iterator[None]:
    """Load each bundle once in a process. Services may be opened at the same time: the last one ends the patch."""
    if not _OPENING:
        _PATCH.start()
    _OPENING.append(None)
    try:
        yield
    finally:
        _OPENING.pop()
        if not _OPENING:
            _PATCH.stop()


@asynccontextmanager
async def opened(
    url: str,
    bundle: Path,
    *,
    clock: SetClock | None = None,
    limits: QueueLimits | None = None,
    work: bool = False,
    keyring: Callable[[], Keyring] = lambda: MASTERS,
    links_kept_for: int = 0,
) -> AsyncIterator[World]:
    """Open a service, possibly one of several, over a database; with `work` its background tasks run."""
    clock = clock or SetClock()
    store = HeldStore(await open_store(url))
    try:
        with _loaded_once():
            service = await open_service(
                store,
                bundle=bundle,
                keyring=keyring,
                clock=clock,
                limits=limits,
                links_kept_for=links_kept_for,
                background=work,
            )
        secrets = await load_or_create(store, keyring())
        try:
            yield World(url, bundle, store, service, clock, secrets)
        finally:
            store.gate.set()
            await service.close()
    finally:
        await store.close()


def run_story(url: str, bundle: Path, story: Story[T], **options: Any) -> T:
    """Open a service, run a story with it and close it; see `opened`."""

    async def run() -> T:
        async with opened(url, bundle, **options) as world:
            return await story(world)

    return asyncio.run(run())


@overload
def with_service(story: Callable[..., Awaitable[None]], /) -> Callable[..., None]: ...
@overload
def with_service(**options: Any) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., None]]: ...
def with_service(
    story: Callable[..., Awaitable[None]] | None = None,
    /,
    *,
    url: str = "store_url",
    bundle: str = "sealed",
    **options: Any,
) -> Any:
    """Make a test of a story of a world. `url` and `bundle` name fixtures, `options` are those of `opened`."""

    def decorated(story: Callable[..., Awaitable[None]]) -> Callable[..., None]:
        def run(**arguments: Any) -> None:
            where, served = arguments.pop(url), arguments.pop(bundle)
            run_story(where, served, lambda world: story(world, **arguments), **options)

        return as_test(run, story, url, bundle)

    return decorated if story is None else decorated(story)


@dataclass(frozen=True)
class Applicant:
    """An applicant: the body of a valid identity, and signals."""

    identity: dict[str, Any]
    signals: dict[str, Any]

    @property
    def texts(self) -> set[str]:
        """What identifies a person."""
        body = self.identity
        return {body["firstName"], body["lastName"], body["address"]["line1"], self.signals["deviceId"]}


@cache
def _invented(seed: int) -> pa.Table:
    return pa.Table.from_batches(list(synthetic.generate(records=4_000, seed=seed)))


def _decided_at_start(
    bundle: Path, table: pa.Table, parts: Collection[str]
) -> Mapping[int, tuple[int, Outcome]]:
    """Score and outcome at `START`, without history, of these parts of each record, by row.

    Records of one instant do not see each other. A row that keeps no part is left out.
    """
    kept = table.select([name for name in table.column_names if name.partition(".")[0] in parts])
    times = pa.array([rfc3339(START)] * len(table))
    scorer = _load(bundle)
    records = read_records(
        kept.append_column("eventTime", times), scorer.contents.schema, labelled=False
    ).table
    decided = score_table(scorer, records, reasons=False).decisions
    outcomes = [OUTCOMES[place] for place in decided.outcomes.tolist()]
    return dict(
        zip(records.source_rows.tolist(), zip(decided.scores.tolist(), outcomes, strict=True), strict=True)
    )


@cache
def _applicants(bundle: Path) -> Mapping[Outcome, Sequence[Applicant]]:
    found: dict[Outcome, list[Applicant]] = {outcome: [] for outcome in Outcome}
    seen: set[str] = set()
    table = _invented(7)
    decided = _decided_at_start(bundle, table, (*IDENTITY, "signals"))
    for row, body in enumerate(bodies(table)):
        _, outcome = decided[row]
        if len(found[outcome]) == 40 or (applicant := _applicant(body)) is None or applicant.texts & seen:
            continue
        found[outcome].append(applicant)
        seen |= {text for text in applicant.texts if len(text) > 12}
    return found


def _applicant(body: Mapping[str, Any]) -> Applicant | None:
    identity = {name: body[name] for name in IDENTITY if name in body}
    signals = dict(body.get("signals", {}))
    status = assess(parse_identity(identity, START), START).status
    whole = status is IdentityStatus.VALIDATED and "line1" in identity["address"] and "deviceId" in signals
    return Applicant(identity, signals) if whole else None


def applicants(bundle: Path, outcome: Outcome = Outcome.PASSED) -> list[Applicant]:
    """Unrelated persons who get this outcome at `START` without history."""
    return deepcopy(list(_applicants(bundle)[outcome]))


@cache
def _signals(bundle: Path) -> Mapping[Outcome, Sequence[dict[str, Any]]]:
    found: dict[Outcome, list[dict[str, Any]]] = {outcome: [] for outcome in Outcome}
    table = _invented(8)
    decided = _decided_at_start(bundle, table, ("signals",))
    for row, body in enumerate(bodies(table)):
        signals = body.get("signals", {})
        if "deviceId" in signals and len(of_outcome := found[decided[row][1]]) < 20:
            of_outcome.append(signals)
    return found


def signals_of(bundle: Path, outcome: Outcome = Outcome.PASSED) -> list[dict[str, Any]]:
    """Signals that alone give this outcome at `START` without history."""
    return deepcopy(list(_signals(bundle)[outcome]))


def verification_body(
    *,
    identity: bytes | None = None,
    signals: Mapping[str, object] | None = None,
    subject: str | None = None,
    previous: bytes | None = None,
) -> dict[str, object]:
    """The body of a verification, without None values."""
    fields = {
        "identityId": None if identity is None else to_text(identity),
        "signals": signals,
        "subjectId": subject,
        "previousVerificationId": None if previous is None else to_text(previous),
    }
    return {name: value for name, value in fields.items() if value is not None}


def request_of(
    key: str, body: object, operation: str = "POST /scoring/v1/verifications"
) -> IdempotentRequest:
    """A request under an idempotency key."""
    return IdempotentRequest(key, operation, repr(body).encode())


def deciding_about_signals(bundle: Path) -> Policy:
    """A policy under which signals alone, without values of a person, reach every outcome."""
    decided = _decided_at_start(bundle, _invented(8).slice(0, 400), ("signals",))
    scores = sorted(score for score, _ in decided.values())
    return Policy(step_up_from=scores[200] + 1, fail_from=max(scores[360], scores[200]) + 1)


def save_under(
    bundle: Bundle, out: Path, policy: Policy, *, requires: tuple[str, ...] = REQUIRED_FIELDS
) -> Path:
    """Seal the same model under another policy, which requires these fields of an identity."""
    contents = bundle.contents
    rules = replace(contents.rules, policy=policy)
    golden = Golden(rows=contents.golden.rows, decisions=rules.decide(contents.golden.decisions.margins))
    contents = replace(contents, rules=rules, golden=golden, identity_requires=requires)
    described = dict(bundle.described)
    if requires != REQUIRED_FIELDS:
        settings = json.loads(described[CONFIGURATION])
        settings["use"]["identity_requires"] = requires
        described[CONFIGURATION] = json_bytes(settings)
    return replace(bundle, contents=contents, described=described).save(out)


async def table(url: str, kind: type[R]) -> list[R]:
    """All rows of a kind, read directly from the database."""
    columns = ", ".join(kind._fields)
    name = next(name for known, name in TABLES.items() if known is kind)
    return [cast("R", kind._make(row)) for row in await select(url, f"SELECT {columns} FROM {name}")]


async def select(url: str, statement: str) -> list[tuple[Any, ...]]:
    """Run a statement directly on the database; return its rows."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(file_of(url), isolation_level=None)) as connection:
            return connection.execute(statement).fetchall()
    server = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await server.fetch(statement)]
    finally:
        await server.close()


def blob(url: str, value: bytes) -> str:
    """A literal of bytes in the SQL of this database."""
    return f"x'{value.hex()}'" if url.startswith("sqlite") else f"'\\x{value.hex()}'::bytea"


def file_of(url: str) -> Path:
    """The file of a database of SQLite."""
    return Path(url.removeprefix("sqlite:///"))


async def blocked(world: World) -> "asyncio.Future[Done[str]]":
    """Close the gate behind a change that is under way: all later changes wait."""

    async def nothing(transaction: Transaction) -> Done[str]:
        return Done("", b"")

    world.store.gate.clear()
    first = asyncio.ensure_future(world.queue.change(Owner("first", -1), nothing))
    while not world.store.knocking:
        await asyncio.sleep(0)
    return first


async def together(world: World, *works: Awaitable[object]) -> list[Any]:
    """Let several changes wait for the same transaction; return the result of each."""
    first = await blocked(world)
    tasks = []
    for work in works:
        before = world.queue.waiting
        tasks.append(asyncio.ensure_future(work))
        while world.queue.waiting == before:
            await asyncio.sleep(0)
    world.store.history_scopes.clear()
    world.store.gate.set()
    await asyncio.gather(first, return_exceptions=True)
    return list(await asyncio.gather(*tasks, return_exceptions=True))


async def eventually(condition: Callable[[], Awaitable[bool]] | Callable[[], bool]) -> None:
    """Wait until a condition holds; only the test's own time limit applies."""
    while True:
        found = condition()
        if found if isinstance(found, bool) else await found:
            return
        await asyncio.sleep(0.005)
