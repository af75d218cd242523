"""Nothing leaks: no log, event, error text, representation or database contains a canary of any field.

Webhook destinations without their queries are not personal: they may occur only in their own column, where finding
them shows that the search works.
"""

import base64
import logging
import struct
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from databases import Databases
from scoring_model.contract.identity import IdentityStatus
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.texts import to_text
from scoring_model.features import FeatureMatrix
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core import ids
from scoring_model.service.core.errors import RequestError
from scoring_model.service.keys.keyring import Unreadable
from scoring_model.service.labels.imports import LabelLine, import_labels
from scoring_model.service.requests.commit_queue import QueueLimits
from scoring_model.service.scoring.replaying import NotReplayable, replay
from service_use import (
    MASTERS,
    START,
    Owner,
    World,
    blob,
    file_of,
    id_of,
    opened,
    request_of,
    run_story,
    select,
    signals_of,
    verification_body,
)

NUMBER: Final = 31_337.271828
SECONDS: Final = 98_765_432_101.2
UNITS: Final = 987_654_321_012
"""The same as the link rows count it: tenths."""
PERSON: Final[Mapping[str, Any]] = {
    "firstName": "Zqxcanaryfirst",
    "lastName": "Wvkcanarylast",
    "dob": "1961-12-13",
    "citizenship": "FR",
    "documentType": "PASSPORT",
    "imageUrls": ["https://canary-host.example/canary-image.png?token=canarytoken"],
    "address": {
        "line1": "77 Canarystreet",
        "line2": "Canaryfloor",
        "city": "Canaryville",
        "region": "Canaryregion",
        "postalCode": "CNRY 1",
        "country": "FR",
    },
    "externalId": "canary-external",
}
SUBJECT: Final = "canary-subject"
NOTE, RESOLVED_BY = "canary-note", "canary-resolver"
KEY: Final = "canary-idempotency-key"
SIGNALS: Final[Mapping[str, object]] = {
    "deviceId": "canary-device",
    "emailDomain": "canary-domain.example",
    "emailAgeDays": NUMBER,
    "formSeconds": SECONDS,
    "unusedCanaryname": "canary-unused",
}
HOOK: Final = {
    "destinationUrl": "https://canary-hook.example/canary-path?canary=query",
    "active": True,
    "description": "canary-description",
}
OF_PERSONS: Final = (
    *(
        text
        for text in (*PERSON.values(), *PERSON["address"].values(), *PERSON["imageUrls"])
        if len(text) > 4
    ),
    SUBJECT,
    NOTE,
    RESOLVED_BY,
    KEY,
    *(str(value) for value in SIGNALS.values()),
    "unusedCanaryname",
    "canary-malformed",
    "canary-fault",
    "canary=query",
    "canary-description",
)
OF_HOOKS: Final = ("canary-hook",)


def texts_of(values: tuple[Any, ...]) -> list[str]:
    """Those that are text and could not be there by chance."""
    return [value for value in values if isinstance(value, str) and value != "PASSPORT"]


def encodings(text: str) -> set[bytes]:
    """A text as bytes in which a file might hold it."""
    raw = text.encode()
    found = {variant.encode() for variant in (text, text.upper(), text.lower())}
    found |= {text.encode("utf-16-le"), text.encode("utf-32-le"), raw.hex().encode()}
    for lead in range(3):
        # The digits that what stands before and after it does not move.
        digits = base64.b64encode(bytes(lead) + raw)
        found.add(digits[-(-8 * lead // 6) : 8 * (lead + len(raw)) // 6])
    return found


PERSONAL: Final = {
    *(needle for text in texts_of(OF_PERSONS) for needle in encodings(text)),
    *(struct.pack(f"{order}d", number) for order in "<>" for number in (NUMBER, SECONDS, UNITS)),
    *encodings(str(UNITS)),
    UNITS.to_bytes(8, "little"),
    UNITS.to_bytes(6, "big"),  # SQLite leaves out what is before it
}


@dataclass
class Heard:
    """Texts readable by others than the client, by where they were found."""

    texts: list[str] = field(default_factory=list)

    def error(self, error: BaseException) -> None:
        """Keep all texts of an error and of its causes."""
        self.texts += [repr(error), *traceback.format_exception(error)]

    def log(self, records: list[logging.LogRecord]) -> None:
        """Keep log records with everything attached to them."""
        for record in records:
            self.texts += [record.getMessage(), repr(vars(record)), record.exc_text or ""]
            if record.exc_info and record.exc_info[1] is not None:
                self.error(record.exc_info[1])

    def check(self, needles: set[bytes]) -> None:
        """Fail on any canary."""
        reported = "\n".join(self.texts).encode("utf-8", "surrogatepass")
        assert [needle for needle in needles if needle in reported] == []


async def refused(heard: Heard, call: Callable[[], Awaitable[object]]) -> None:
    """Send a request that is refused, and keep the texts of its error."""
    with pytest.raises((RequestError, NotReplayable, Unreadable, ValueError)) as caught:
        await call()
    heard.error(caught.value)


def malformed() -> Iterator[dict[str, object]]:
    """Bodies of identities, each with a canary where it breaks a rule."""
    long = "canary-malformed" * 200
    for name in PERSON:
        for value in (long, ["canary-malformed"], {"canary": "canary-malformed"}, 31337.271828):
            yield {**PERSON, name: value}
    for part in PERSON["address"]:
        yield {**PERSON, "address": {**PERSON["address"], part: long}}
    yield {**PERSON, "imageUrls": ["http://canary-malformed.example", "canary-malformed\0"]}
    yield {**PERSON, "nickname": "canary-malformed"}


async def errors(world: World, caller: Caller, heard: Heard) -> None:
    """All refusals of the core, with canaries in the requests."""
    service = world.service
    for body in malformed():
        await refused(heard, lambda body=body: service.identities.create(caller, body, None))  # type: ignore[misc]
    bad = "canary-malformed"
    bodies: list[dict[str, object]] = [
        {"identityId": bad},
        {"signals": bad},
        {"signals": {"vpn": bad, "emailAgeDays": bad, "deviceId": [bad], "ipCountry": bad * 100}},
        {"signals": {"vpn": True}, "subjectId": bad * 100, "previousVerificationId": bad},
        {"signals": {"vpn": True}, "nickname": bad},
        {"subjectId": SUBJECT},
        {"identityId": to_text(ids.new_id(0)), "signals": SIGNALS, "subjectId": SUBJECT},
    ]
    for body in bodies:
        await refused(heard, lambda body=body: service.verifications.create(caller, body, None))  # type: ignore[misc]
    incomplete = await world.identity(caller, {"firstName": PERSON["firstName"]})
    await refused(heard, lambda: world.verify(caller, identity=incomplete, signals=SIGNALS, subject=SUBJECT))
    await refused(heard, lambda: world.verify(caller, signals={"deviceId": "canary-device"}, key=KEY))
    hooks: list[dict[str, object]] = [
        {**HOOK, "destinationUrl": "ftp://user:canary-malformed@canary-malformed.example/#canary-malformed"},
        {**HOOK, "description": bad * 100},
        {**HOOK, "eventTypes": [bad], "nickname": bad},
    ]
    for body in hooks:
        await refused(heard, lambda body=body: service.webhooks.create(caller, body, None))  # type: ignore[misc]
    await refused(heard, lambda: service.identities.get(caller, bad.encode()))
    await refused(heard, lambda: service.webhooks.get(caller, bad.encode()))


async def faults(world: World, caller: Caller, heard: Heard, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Unexpected errors whose texts contain personal data; return the id of a PENDING verification after one."""

    def broken(*_: object) -> Any:
        raise ValueError("canary-fault", dict(SIGNALS))

    async def poison(_: object) -> Any:
        raise ValueError("canary-fault")

    with monkeypatch.context() as patched:
        patched.setattr(FeatureMatrix, "finish", broken)
        answer = await world.verify(caller, signals=SIGNALS, subject=SUBJECT)
        assert answer.pending
        await world.pending.step()
    with pytest.raises(ValueError, match="canary-fault"):  # to the one who asked for it, and not to the log
        await world.queue.change(Owner("p"), poison)
    row = await world.row(answer.resource.id)
    assert row.payload is not None
    statement = f"payload = {blob(world.url, row.payload[::-1])} WHERE id = {blob(world.url, row.id)}"
    await select(world.url, f"UPDATE verifications SET {statement}")
    await refused(heard, lambda: world.verification(caller, row.id))
    return row.id


async def stored(url: str) -> list[tuple[str, bytes]]:
    """Every value of every table of a database, as bytes, under the name of its table."""
    if url.startswith("sqlite"):
        query = "SELECT name FROM sqlite_master WHERE type = 'table'"
    else:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    names = [name for (name,) in await select(url, query)]
    return [
        (name, value if isinstance(value, bytes) else str(value).encode())
        for name in names
        for row in await select(url, f"SELECT * FROM {name}")
        for value in row
    ]


class Moment(NamedTuple):
    """Seconds since 1970, and the file of the log that a server writes to, with the place in it; SQLite has none."""

    at: float
    log: str = ""
    place: int = 0


async def moment(url: str) -> Moment:
    """The present."""
    now = time.time()
    if url.startswith("sqlite"):
        return Moment(now)
    ((log, place),) = await select(url, "SELECT * FROM pg_walfile_name_offset(pg_current_wal_insert_lsn())")
    return Moment(now, log, place)


async def written(url: str, postgres: Databases | None, since: Moment) -> list[tuple[str, bytes]]:
    """Files of a database that changed since a moment, and what its log got since then, with the names of folders."""
    if postgres is None:
        return [(path.parent.name, path.read_bytes()) for path in file_of(url).parent.iterdir()]
    await select(url, "CHECKPOINT")
    data = postgres.server.folder / "data"
    ((oid,),) = await select(url, "SELECT oid FROM pg_database WHERE datname = current_database()")
    files = (data / "base" / str(oid)).iterdir()
    # The clock of a file system may be behind by some milliseconds.
    changed = [path for path in files if path.stat().st_mtime >= since.at - 1]
    until = await moment(url)
    logs = {
        path.name: path.read_bytes()
        for path in (data / "pg_wal").iterdir()
        if since.log <= path.name <= until.log
    }
    logs[until.log] = logs[until.log][: until.place]
    logs[since.log] = logs[since.log][since.place :]
    return [
        *((path.parent.name, path.read_bytes()) for path in changed),
        *(("pg_wal", log) for log in logs.values()),
    ]


async def search(world: World, postgres: Databases | None, since: Moment) -> None:
    """Look for canaries in all rows and in all that was written. Every link row has an amount, and is found there."""
    values = await stored(world.url)
    assert [(name, needle) for name, value in values for needle in PERSONAL if needle in value] == []
    hooks = {name for name, value in values for text in OF_HOOKS if text.encode() in value}
    assert hooks == {"webhooks"}
    links = await world.link_rows()
    assert {link.amount is None for link in links} == {False}
    seen, of_links = set(), False
    for folder, content in await written(world.url, postgres, since):
        assert [needle for needle in PERSONAL if needle in content] == []
        if OF_HOOKS[0].encode() in content:
            seen.add(folder)
        of_links = of_links or any(link.hash in content for link in links)
    assert of_links
    # In the tables and in the log: these files are those of the database.
    assert len(seen) == (1 if postgres is None else 2)


async def used(world: World, caller: Caller, heard: Heard, bundle: Path) -> tuple[bytes, list[bytes]]:
    """All successful operations: an identity, scored and waiting verifications, labels, replays."""
    service = world.service
    once = request_of(KEY, PERSON, "POST /identities")
    identity = await service.identities.create(caller, PERSON, once)
    assert (await service.identities.create(caller, PERSON, once)).resource == identity.resource
    assert identity.resource.status == IdentityStatus.VALIDATED
    resource = id_of(identity.resource)
    made = [
        await world.verify(caller, identity=resource, signals=SIGNALS, subject=SUBJECT, key=KEY),
        await world.verify(caller, signals=SIGNALS, subject=SUBJECT),
        await world.verify(caller, signals={**signals_of(bundle, Outcome.FAILED)[0], **SIGNALS}),
    ]
    async with opened(world.url, bundle, clock=world.clock, limits=QueueLimits(scoring_seconds=-1.0)) as busy:
        made.append(await busy.verify(caller, signals=SIGNALS, subject=SUBJECT, key=f"{KEY} 2"))
        assert made[-1].pending
    hook = await service.webhooks.create(caller, HOOK, request_of(KEY, HOOK, "POST /webhooks"))
    await service.webhooks.test(caller, id_of(hook.resource), None)
    async with world.store.reading() as reader:
        clients = await reader.clients()
    verifications = [answer.resource.id for answer in made]
    lines = [LabelLine(one, None, "fraud", START) for one in verifications]
    await import_labels(world.store, clients, lines, world.clock)
    told = {"result": "DECLINED", "method": "manualReview", "note": NOTE, "resolvedBy": RESOLVED_BY}
    resolved = await service.resolutions.create(
        caller, verifications[0], told, request_of(KEY, told, "POST /r")
    )
    assert resolved.resource.resolution.note == NOTE
    heard.texts.append(repr(resolved))
    read = [await service.verifications.get(caller, one) for one in verifications]
    assert read[0].subject_id == SUBJECT
    heard.texts += [repr(one) for one in (identity, made, read, caller, once)]
    body = verification_body(identity=resource, signals=SIGNALS, subject=SUBJECT)
    heard.texts.append(repr(await service.candidates.new(caller, body, KEY)))
    return resource, verifications


def test_nothing_leaks(
    store_url: str,
    summing: Path,
    request: pytest.FixtureRequest,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Law 11, Privacy: through success, refusals, faults, labels and erasure, before and after it."""
    postgres = None if store_url.startswith("sqlite") else request.getfixturevalue("postgres")
    heard = Heard()

    async def story(world: World) -> None:
        since = await moment(world.url)
        caller = await world.client()
        identity, verifications = await used(world, caller, heard, summing)
        await errors(world, caller, heard)
        broken = await faults(world, caller, heard, monkeypatch)
        await search(world, postgres, since)
        await world.service.identities.erase(caller, identity)
        for one in (*verifications, broken):
            await world.erase_signals(caller, one)
        await world.pending.step()
        for resource in (broken, verifications[-1]):
            await refused(heard, lambda one=resource: replay(world.store, MASTERS, one, find=lambda *_: None))  # type: ignore[misc]
        await search(world, postgres, since)
        heard.texts += [event.data for event in await world.events(caller)]

    with caplog.at_level(logging.DEBUG):
        run_story(store_url, summing, story)
    heard.log(caplog.records)
    assert any("scoring a verification" in text for text in heard.texts)  # faults were reported
    heard.check(PERSONAL)
    heard.check({text.encode() for text in OF_HOOKS})
