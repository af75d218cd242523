"""Labels that clients report: bounded by what a request may name, and paid for by the tokens of its client."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from scoring_model.contract import violation
from scoring_model.contract.label import (
    LabelInput,
    LabelReport,
    LabelResult,
    LabelsInput,
    LabelStatus,
)
from scoring_model.contract.resource import PresentContext
from scoring_model.contract.rules import Rule, kind_of
from scoring_model.contract.violation import MOST_ERRORS, Violation
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core.errors import Invalid, parsed
from scoring_model.service.core.row_files import batches
from scoring_model.service.core.rows import IdempotencyRow
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.labels.rows import MOST_KEPT, Fate, Report, append_all
from scoring_model.service.past.history_import import record_hash
from scoring_model.service.requests.idempotency import Answer, IdempotencyRecord, IdempotentRequest
from scoring_model.service.requests.jobs import Done
from scoring_model.service.requests.lists import Pause
from scoring_model.service.requests.operations import Backend, Operations
from scoring_model.service.store import Reader, Transaction

MOST_PAIRS: Final = 10_000
"""Pairs of a label and a verification in one request."""

PAIRS_OF_A_TOKEN: Final = 100
"""Pairs that a token of the rate limit pays for; the token of the request itself pays for the first ones."""

AT_ONCE: Final = 25
"""Rows that are checked, or pairs that are stored in one transaction, before others get a turn."""

IDS_AT_ONCE: Final = 250
"""Verifications of an identity that are counted before others get a turn."""

_NO_RESOURCE: Final = bytes(16)
_TOO_MANY_PAIRS: Final = Violation(
    "/labels",
    "too_many_pairs",
    f"must reach at most {MOST_PAIRS:,} verifications, each counted once for every label: "
    "spread the labels over several requests, or name verifications",
)
_PROBLEMS: Final = {
    Fate.NOT_COMPLETED: Violation("", "not_completed", "must name a completed verification"),
    Fate.ERASED: Violation("", "erased", "must name a person who was not erased"),
    Fate.TOO_MANY: Violation(
        "", "too_many_labels", f"must be about a verification or record with fewer than {MOST_KEPT} labels"
    ),
}
_NOT_FOUND: Final = {
    "verificationId": Violation("/verificationId", "not_found", "must be a verification of this client"),
    "identityId": Violation("/identityId", "not_found", "must be an identity of this client"),
    "recordId": Violation(
        "/recordId", "not_found", "must be a record that was imported and that windows still reach"
    ),
}
_STORED: Final = {
    Fate.NEW: LabelResult(status=LabelStatus.CREATED),
    Fate.REPEATED: LabelResult(status=LabelStatus.UNCHANGED),
}


async def _free(_tokens: int) -> None:
    """Spend nothing."""


def _stays() -> None:
    """Never leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """What a request can do besides being answered.

    Parameters
    ----------
    spend : callable
        Takes so many tokens of the client or none; raises if it has fewer.
    stay : callable
        Raises once the caller has gone.
    """

    spend: Callable[[int], Awaitable[None]] = _free
    stay: Callable[[], None] = _stays


_UNLIMITED: Final = Visit()


@dataclass(slots=True)
class _Wanted:
    """The labels of one request, and what became of each so far."""

    count: int
    labels: dict[int, LabelInput] = field(default_factory=dict)
    errors: dict[int, tuple[Violation, ...]] = field(default_factory=dict)
    left: int = MOST_ERRORS  # errors that may still be kept
    omitted: int = 0
    ids: dict[bytes, list[bytes]] = field(default_factory=dict)  # of the verifications of each identity
    fates: dict[int, Fate] = field(default_factory=dict)
    pairs: int = 0

    def parse(self, line: int, row: object, context: PresentContext) -> None:
        """Check one label; at most `MOST_ERRORS` errors are kept of all."""
        try:
            if not isinstance(row, dict):
                wrong = Violation("", Rule.WRONG_TYPE.value, f"must be an object, got {kind_of(row)}")
                raise violation.Invalid((wrong,))
            self.labels[line] = LabelInput.parse(row, context)
        except violation.Invalid as error:
            self.errors[line] = error.violations[: self.left]
            self.omitted += error.omitted + len(error.violations[self.left :])
            self.left -= len(self.errors[line])

    async def count_pairs(self, reader: Reader, client: int, lines: Sequence[int], pause: Pause) -> None:
        """Count what some labels are about, by ids alone; raises `Invalid` if it is too much in all.

        `pause` is awaited after every `IDS_AT_ONCE` ids.
        """
        asked = {line: label for line in lines if (label := self.labels.get(line)) is not None}
        named = [label.identity_id for label in asked.values() if label.identity_id is not None]
        found = await reader.identities_by_ids(list(dict.fromkeys(named)))
        own = {id_ for id_, row in found.items() if row.client == client}
        for line, label in asked.items():
            if label.identity_id is None:
                self.pairs += 1
            elif label.identity_id in own:
                if label.identity_id not in self.ids:
                    most = MOST_PAIRS - self.pairs + 1
                    self.ids[label.identity_id] = await _ids(reader, label.identity_id, most, pause)
                self.pairs += len(self.ids[label.identity_id])
                self.fates[line] = Fate.NOT_COMPLETED
            if self.pairs > MOST_PAIRS:
                raise Invalid((_TOO_MANY_PAIRS,))

    def reports(self, caller: Caller, secrets: Secrets) -> Iterator[Report]:
        """Make the pairs, one after the other: all of them would fill the memory."""
        for line, label in self.labels.items():
            report = Report(line, label.verification_id or b"", label.label, label.known_at)
            if label.record_id is not None:
                about = record_hash(secrets, caller.client, label.record_id)
                yield report._replace(about=about, is_record=True)
            elif label.identity_id is not None:
                yield from (report._replace(about=id_) for id_ in self.ids.get(label.identity_id, ()))
            else:
                yield report

    def note(self, report: Report, fate: Fate) -> None:
        """Note what became of a pair."""
        self.fates[report.line] = max(self.fates.get(report.line, fate), fate)

    def answer(self) -> LabelReport:
        """Answer every label, with at most `MOST_ERRORS` errors in all."""
        results, left, omitted = [], MOST_ERRORS, self.omitted
        for line in range(self.count):
            fate = self.fates.get(line, Fate.NOT_FOUND)
            if line in self.labels and fate in _STORED:
                results.append(_STORED[fate])
                continue
            errors = self.errors[line] if line in self.errors else (self._problem(line, fate),)
            shown = tuple(error.within("labels", line) for error in errors[:left])
            left, omitted = left - len(shown), omitted + len(errors) - len(shown)
            results.append(LabelResult(status=LabelStatus.REFUSED, errors=shown))
        return LabelReport.of(tuple(results), omitted)

    def _problem(self, line: int, fate: Fate) -> Violation:
        label = self.labels[line]
        if fate is not Fate.NOT_FOUND:
            return _PROBLEMS[fate]
        if label.identity_id is not None:
            return _NOT_FOUND["identityId"]
        return _NOT_FOUND["recordId" if label.verification_id is None else "verificationId"]


async def _ids(reader: Reader, identity: bytes, most: int, pause: Pause) -> list[bytes]:
    """Return the ids of at most `most` verifications of an identity."""
    ids: list[bytes] = []
    while True:
        wanted = min(IDS_AT_ONCE, most - len(ids))
        found = await reader.ids_of_identity(identity, wanted, ids[-1] if ids else b"")
        ids += found
        if len(found) < wanted or len(ids) == most:
            return ids
        await pause()


class Labels(Operations):
    """The operation on labels of one client."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        # One request is resolved, or one batch is stored, at a time: requests take turns after each batch.
        self._turn = asyncio.Lock()

    async def create(
        self,
        caller: Caller,
        body: Mapping[str, object],
        request: IdempotentRequest | None,
        visit: Visit = _UNLIMITED,
    ) -> Answer[LabelReport]:
        """Report labels, each on its own: a bad one is refused and the others are stored.

        They are stored in transactions of at most `AT_ONCE`. When one fails, or the caller goes, those before it stay,
        and the same request can be repeated: what is stored already stays as it is.

        Raises
        ------
        Invalid
            If the body is no list of 1 to 1,000 labels, or these make more than `MOST_PAIRS` pairs.
        """

        async def action(record: IdempotencyRecord | None) -> Answer[LabelReport]:
            rows = parsed(LabelsInput, body).labels
            if record is not None:
                await self._idempotency.raise_answered(record)
            # Reading the labels is paid for first, since it is done for refused ones too.
            read = await self._spend(visit, caller, len(rows), paid=0)
            async with self._turn:
                visit.stay()
                wanted = await self._resolve(caller, rows)
            await self._spend(visit, caller, wanted.pairs, paid=read)
            await self._store_all(caller, wanted, record, visit)
            return Answer(wanted.answer())

        return await self._idempotency.run(caller.client, request, action, self._replay)

    async def _spend(self, visit: Visit, caller: Caller, pairs: int, *, paid: int) -> int:
        """Pay for pairs beyond the first hundred; returns the tokens paid so far.

        A full bucket suffices for every request, however small the quota.
        """
        cost = min((pairs - 1) // PAIRS_OF_A_TOKEN, caller.quota - 1)
        if cost <= paid:
            return paid
        await visit.spend(cost - paid)
        return cost

    async def _resolve(self, caller: Caller, rows: Sequence[object]) -> _Wanted:
        """Check all labels and count their pairs."""
        wanted = _Wanted(len(rows))
        context = PresentContext(self._clock.now())
        async with self._store.reading() as reader:
            for batch in batches(enumerate(rows), AT_ONCE):
                await self._queue.lull()
                for line, row in batch:
                    wanted.parse(line, row, context)
                lines = [line for line, _ in batch]
                await wanted.count_pairs(reader, caller.client, lines, self._queue.lull)
        return wanted

    async def _store_all(
        self, caller: Caller, wanted: _Wanted, record: IdempotencyRecord | None, visit: Visit
    ) -> None:
        """Store all pairs batch by batch; with a record, keep the answer with the last one."""
        loop, left = asyncio.get_running_loop(), wanted.pairs
        pairs = batches(wanted.reports(caller, self._secrets), AT_ONCE)
        while left > 0 or record is not None:
            batch, left = next(pairs, []), left - AT_ONCE
            kept = record if left <= 0 else None
            async with self._turn:
                await self._queue.lull()
                visit.stay()
                began = loop.time()
                await self._store_batch(caller, batch, wanted, kept)
            if left <= 0:
                return
            await asyncio.sleep(loop.time() - began)  # half of the time is for others

    async def _store_batch(
        self,
        caller: Caller,
        batch: Sequence[Report],
        wanted: _Wanted,
        record: IdempotencyRecord | None,
    ) -> None:
        async def change(transaction: Transaction) -> Done[None]:
            for report, fate in await append_all(transaction, batch, self._clock, client=caller.client):
                wanted.note(report, fate)
            answer = None if record is None else self._idempotency.seal(record, wanted.answer().to_json())
            return Done(None, _NO_RESOURCE, 200, answer)

        await self._queue.change(caller, change, record)

    async def _replay(self, row: IdempotencyRow) -> Answer[LabelReport]:
        return Answer(LabelReport.model_validate_json(self._idempotency.open(row)), replayed=True)
