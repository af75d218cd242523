"""Scoring inside a transaction: histories in, verdicts, link rows and events out.

The pools of all candidates are locked. A candidate's event time is later than everything that it sees, and it
sees everything that was committed under its link keys and the candidates before it in its batch. What leaves no
link rows, since a file would not take it for a record, is seen by nobody.
"""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar, cast

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.contract.verification import VerificationStatus
from scoring_model.features import StartedRow
from scoring_model.history import count_before
from scoring_model.records.contract import is_empty
from scoring_model.scorer.scorer import Scorer
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import IdentityNotValidated, RequestError, Unavailable
from scoring_model.service.core.faults import log_fault
from scoring_model.service.core.rows import LinkRow, PersonKeyRow, VerificationRow
from scoring_model.service.core.store import Past, Transaction
from scoring_model.service.identities.persons import seal_reference
from scoring_model.service.keys.data_keys import DataKey, Vault
from scoring_model.service.keys.keyring import UnknownMasterKey
from scoring_model.service.keys.link_hashes import Links, Masks
from scoring_model.service.keys.secrets import Purpose, Secrets
from scoring_model.service.scoring.request import VerificationRequest, pack_payload
from scoring_model.service.webhooks.events import (
    NewEvent,
    events_of_verification,
    verification_data,
    write_events,
)

T = TypeVar("T")

SKEW: Final = 5_000_000
"""Microseconds by which the newest instant seen may be ahead of the clock."""

LONGEST_RETRY: Final = 60
"""Seconds after which a client is asked to try again at most, however far the history is ahead: it may be repaired."""

SOURCE_SECONDS: Final = 5
"""After which the master keys may be at hand that were not."""

MAX_ATTEMPTS: Final = 3
"""After which a verification that can't be scored is an ERROR."""


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """What a change came to.

    Parameters
    ----------
    value : T
        What the caller gets: a row, or the resource itself.
    resource : bytes
        Identifier of what was changed.
    status : int
        201, 202 or 200: kept so that a repeated request is answered alike.
    answer : bytes, optional
        Sealed answer, where it can't be made again from the resource.
    """

    value: T
    resource: bytes
    status: int = 201
    answer: bytes | None = None


@dataclass(eq=False, slots=True, kw_only=True)
class Candidate:
    """A verification that is to be scored: all that can be known of it before the lock is taken.

    Parameters
    ----------
    id : bytes
    client : int
    pool : str
    request : VerificationRequest
    links : Links
    started : StartedRow
        Features that neither the instant nor the history decides.
    key_row : PersonKeyRow or None
        The key that must still be there: of the identity's person, or of the row that it has already. None where
        the person is found, or made, under the lock.
    opened : DataKey or None
        What `key_row` came to when it was opened.
    created_at : int
    reference : str or None
        Idempotency key.
    pending : VerificationRow or None
        The row that it has already, if it was kept as PENDING.
    late : bool
        Whether it has waited too long to be scored now.
    """

    id: bytes
    client: int
    pool: str
    request: VerificationRequest
    links: Links
    started: StartedRow
    key_row: PersonKeyRow | None
    created_at: int
    reference: str | None = field(repr=False)
    opened: DataKey | None = field(default=None, repr=False)
    pending: VerificationRow | None = None
    late: bool = False
    key: DataKey | None = field(default=None, init=False, repr=False)
    key_id: bytes = field(default=b"", init=False)


_Found = dict[Candidate, VerificationRow | RequestError]
_Scored = list[tuple[Candidate, int, FloatArray]]


class Verdicts:
    """Scores candidates with one bundle.

    Parameters
    ----------
    decider : Scorer
    vault : Vault
    secrets : Secrets
    clock : Clock
    """

    def __init__(self, decider: Scorer, vault: Vault, secrets: Secrets, clock: Clock) -> None:
        self._decider = decider
        self._matrix = decider.matrix
        self._spec = decider.matrix.spec
        self._manifest = decider.manifest
        self._vault = vault
        self._secrets = secrets
        self._masks = Masks(secrets)
        self._clock = clock

    async def apply(
        self, transaction: Transaction, candidates: Sequence[Candidate]
    ) -> list[Done[VerificationRow] | RequestError]:
        """Score candidates in their order and write what came of it.

        Returns
        -------
        list
            For each candidate its row in a `Done`, or why it has none: the identity was erased meanwhile, or
            the clock is too far behind.
        """
        found = await _find_finished(transaction, candidates)
        new_keys = await self._find_keys(transaction, [c for c in candidates if c not in found], found)
        pasts = await self._histories(transaction, [c for c in candidates if c not in found])
        links: dict[bytes, list[LinkRow]] = {}
        scored: _Scored = []
        for candidate in candidates:
            if candidate in found:
                continue
            if candidate.key is None:
                found[candidate] = _erased(candidate, self._clock.now())
            elif candidate.late:
                found[candidate] = self._unfinished(candidate, attempts=0)
            else:
                self._build(candidate, pasts, found, links, scored)
        try:
            found.update(self._decide(scored))
        except Exception as error:
            if len(candidates) > 1:
                raise  # each will be tried alone
            log_fault("deciding about a verification", error)
            found[candidates[0]] = self._unfinished(candidates[0], attempts=1)
            links.clear()
        settled = await self._write_verifications(transaction, candidates, found, new_keys)
        await self._write_traces(transaction, [c for c in candidates if c.id in settled], found, links)
        return [_done(found[candidate]) for candidate in candidates]

    async def fail(self, transaction: Transaction, row: VerificationRow) -> Done[VerificationRow]:
        """Make an ERROR of a PENDING row that can't be scored."""
        # As it stands under the lock: it may have been erased since it was read.
        row = await transaction.verification(row.client, row.id) or row
        failed = _failed(row, self._clock.now())
        if await transaction.settle([failed]):
            await _tell(transaction, [failed])
        return Done(failed, failed.id, 200)

    async def _find_keys(
        self, transaction: Transaction, candidates: Sequence[Candidate], found: _Found
    ) -> list[PersonKeyRow]:
        """Give every candidate the key of its person as it stands under the lock; returns the new ones."""
        needed = [c.key_row.key_id for c in candidates if c.key_row is not None]
        named = [
            (c.client, c.links.person) for c in candidates if c.key_row is None and c.links.person is not None
        ]
        living = await transaction.person_keys(needed) if needed else {}
        persons = dict(await transaction.persons(named)) if named else {}
        new = []
        for candidate in candidates:
            candidate.key = None  # an earlier attempt to commit may have found one that is gone
            person = candidate.links.person
            if candidate.key_row is not None:
                row = living.get(candidate.key_row.key_id)
                if row == candidate.key_row and candidate.opened is not None:
                    candidate.key, candidate.key_id = candidate.opened, row.key_id
                    continue
            else:
                row = None if person is None else persons.get((candidate.client, person))
            if row is not None:
                try:
                    candidate.key, candidate.key_id = self._vault.open_key(row), row.key_id
                except UnknownMasterKey:
                    found[candidate] = Unavailable(SOURCE_SECONDS)
            elif candidate.key_row is None:
                row, candidate.key = self._vault.new_key(candidate.client, person, self._clock.now())
                candidate.key_id = row.key_id
                new.append(row)
                if person is not None:
                    persons[candidate.client, person] = row
        return new

    async def _histories(
        self, transaction: Transaction, candidates: Sequence[Candidate]
    ) -> dict[bytes, list[Past]]:
        """What was committed under every link key of the candidates, the latest first."""
        scorable = [c for c in candidates if c.key is not None and not c.late]
        pools = {value: c.pool for c in scorable for _, value in c.links.hashes}
        if not pools:
            return {}
        since = min(self._clock.event(c.reference) for c in scorable) - self._spec.windows[-1]
        summed = self._spec.amount is not None
        pasts = await transaction.histories(list(pools), since=since, cap=self._spec.cap, amounts=summed)
        found = dict(zip(pools, pasts, strict=True))
        return self._unmasked(found, pools) if summed else found

    def _unmasked(
        self, pasts: Mapping[bytes, list[Past]], pools: Mapping[bytes, str]
    ) -> dict[bytes, list[Past]]:
        """The same histories with their amounts in the clear; `pools` says whose each hash is."""
        clear: dict[bytes, list[Past]] = {}
        for pool in set(pools.values()):
            own = {value: past for value, past in pasts.items() if pools[value] == pool}
            clear |= self._masks.unmask(pool, own)
        return clear

    def _build(
        self,
        candidate: Candidate,
        pasts: dict[bytes, list[Past]],
        found: _Found,
        links: dict[bytes, list[LinkRow]],
        scored: _Scored,
    ) -> None:
        """Build the row of one candidate and let those after it see it."""
        try:
            instant = self._instant(candidate, pasts)
            history = {
                name: count_before(pasts[value], at=instant, spec=self._spec)
                for name, value in candidate.links.hashes
            }
            row = self._matrix.finish(candidate.started, instant, history)
        except Unavailable as error:
            found[candidate] = error
        except Exception as error:
            log_fault("scoring a verification", error)
            found[candidate] = self._unfinished(candidate, attempts=1)
        else:
            links[candidate.id] = self._trace(candidate, instant, pasts)
            scored.append((candidate, instant, row))

    def _trace(self, candidate: Candidate, instant: int, pasts: Mapping[bytes, list[Past]]) -> list[LinkRow]:
        """Let those after a candidate see it; returns its link rows."""
        hashes, person = _traced(candidate), candidate.links.person or os.urandom(16)
        seen: Past = (instant, person, None)
        masked: Sequence[int | None] = [None] * len(hashes)
        amount = self._spec.amount
        if amount is not None:
            # The signal is one of numbers: its canonical value is a float.
            units = amount.units(cast("float | None", candidate.request.values.get(amount.field)))
            seen = (instant, person, None, units)
            masked = self._masks.mask(candidate.pool, hashes, instant, units)
        for value in hashes:
            pasts[value].insert(0, seen)
        return [
            LinkRow(value, instant, person, None, hidden)
            for value, hidden in zip(hashes, masked, strict=True)
        ]

    def _instant(self, candidate: Candidate, pasts: Mapping[bytes, list[Past]]) -> int:
        """The event time: the clock's, but later than everything that is seen."""
        instant = self._clock.event(candidate.reference)
        newest = max(
            (pasts[value][0][0] for _, value in candidate.links.hashes if pasts[value]), default=None
        )
        if newest is None or newest < instant:
            return instant
        if newest - instant > SKEW:
            raise Unavailable(min(math.ceil((newest - instant) / 1_000_000), LONGEST_RETRY))
        return newest + 1

    def _decide(self, scored: _Scored) -> dict[Candidate, VerificationRow]:
        if not scored:
            return {}
        rows = np.stack([row for _, _, row in scored])
        decisions = self._decider.decide(rows)
        outcomes = decisions.outcomes.tolist()
        to_explain = [i for i, outcome in enumerate(outcomes) if OUTCOMES[outcome] is not Outcome.PASSED]
        told = dict(zip(to_explain, self._decider.reasons_of(rows[to_explain]), strict=True))
        scores = decisions.scores.tolist()
        return {
            candidate: self._verdict(
                candidate,
                instant,
                row,
                OUTCOMES[outcomes[i]],
                scores[i],
                tuple(reason.code for reason in told.get(i, ())),
            )
            for i, (candidate, instant, row) in enumerate(scored)
        }

    def _verdict(
        self,
        candidate: Candidate,
        instant: int,
        row: FloatArray,
        outcome: Outcome,
        score: int,
        reasons: tuple[str, ...],
    ) -> VerificationRow:
        packed = row.tobytes()
        return self._base(candidate)._replace(
            status=VerificationStatus.COMPLETED.value,
            outcome=outcome.value,
            score=score,
            reasons=",".join(reasons),
            model_version=self._manifest.model_version,
            policy_version=self._manifest.policy_version,
            created_at=min(candidate.created_at, instant),
            completed_at=instant,
            row_digest=self._secrets.digest(Purpose.ROW, packed),
            payload=self._seal(candidate, packed),
            links=b"".join(_traced(candidate)),
        )

    def _unfinished(self, candidate: Candidate, *, attempts: int) -> VerificationRow:
        """The row of a candidate that is to be scored later, or has failed too often."""
        if candidate.pending is None:
            return self._base(candidate)._replace(
                attempts=attempts,
                payload=self._seal(candidate, None),
                reference=seal_reference(self._key_of(candidate), candidate.id, candidate.reference),
            )
        if candidate.pending.attempts < MAX_ATTEMPTS:
            return candidate.pending
        return _failed(candidate.pending, self._clock.now())

    def _base(self, candidate: Candidate) -> VerificationRow:
        request = candidate.request
        return VerificationRow(
            id=candidate.id,
            client=candidate.client,
            identity_id=request.identity_id,
            previous_id=request.previous_id,
            key_id=candidate.key_id,
            status=VerificationStatus.PENDING.value,
            outcome=None,
            score=None,
            reasons=None,
            model_version=None,
            policy_version=None,
            created_at=candidate.created_at,
            completed_at=None,
            row_digest=None,
            payload=None,
            links=None,
            attempts=0 if candidate.pending is None else candidate.pending.attempts,
            leased_until=None,
            reference=None,
        )

    def _seal(self, candidate: Candidate, row: bytes | None) -> bytes:
        packed = pack_payload(candidate.request, row)
        return self._key_of(candidate).seal(packed, table="verifications", column="payload", row=candidate.id)

    @staticmethod
    def _key_of(candidate: Candidate) -> DataKey:
        if candidate.key is None:
            raise RuntimeError("sealed without a key")
        return candidate.key

    async def _write_verifications(
        self,
        transaction: Transaction,
        candidates: Sequence[Candidate],
        found: _Found,
        new_keys: Sequence[PersonKeyRow],
    ) -> frozenset[bytes]:
        """Write rows; returns the ids of those whose status is now theirs."""
        rows = [(c, row) for c in candidates if isinstance(row := found[c], VerificationRow)]
        fresh = [row for c, row in rows if c.pending is None]
        held = [row for c, row in rows if c.pending is not None and not _is_finished(c.pending)]
        used = {row.key_id for row in fresh}
        keys = [row for row in new_keys if row.key_id in used]
        if keys:
            await transaction.insert(keys)
        if fresh:
            await transaction.insert(fresh)
        settled = await transaction.settle(held) if held else frozenset()
        return settled | {row.id for row in fresh}

    async def _write_traces(
        self,
        transaction: Transaction,
        candidates: Sequence[Candidate],
        found: _Found,
        links: Mapping[bytes, Sequence[LinkRow]],
    ) -> None:
        """Write what others see of verdicts: link rows and events."""
        traces = [row for candidate in candidates for row in links.get(candidate.id, ())]
        if traces:
            await transaction.insert(traces)
        await _tell(transaction, [row for c in candidates if isinstance(row := found[c], VerificationRow)])


def _traced(candidate: Candidate) -> list[bytes]:
    """The hashes under which others will see a candidate.

    One without a value but references is decided about, but is no record of a file, and so none of a history.
    """
    if candidate.request.identity_id is None and is_empty(candidate.request.values):
        return []
    return [value for _, value in candidate.links.hashes]


async def _tell(transaction: Transaction, rows: Sequence[VerificationRow]) -> None:
    """Write the events of verifications as they stand; one that is PENDING has none."""
    told = []
    for row in rows:
        outcome = None if row.outcome is None else Outcome(row.outcome)
        kinds = events_of_verification(VerificationStatus(row.status), outcome)
        data = verification_data(row) if kinds else ""
        told += [
            NewEvent(row.client, kind, row.id, row.completed_at or row.created_at, data) for kind in kinds
        ]
    await write_events(transaction, told)


async def _find_finished(transaction: Transaction, candidates: Sequence[Candidate]) -> _Found:
    """Read again, under the lock, what was PENDING; returns what somebody else has finished meanwhile.

    What is finished must not be seen by the others of its batch a second time.
    """
    found: _Found = {}
    for candidate in candidates:
        if candidate.pending is not None:
            row = await transaction.verification(candidate.client, candidate.id)
            candidate.pending = row or candidate.pending
            if _is_finished(candidate.pending):
                found[candidate] = candidate.pending
    return found


def _is_finished(row: VerificationRow) -> bool:
    return row.status != VerificationStatus.PENDING


def _erased(candidate: Candidate, now: int) -> VerificationRow | RequestError:
    """What becomes of a candidate whose person was erased while it waited."""
    return IdentityNotValidated() if candidate.pending is None else _failed(candidate.pending, now)


def _failed(row: VerificationRow, now: int) -> VerificationRow:
    return row._replace(
        status=VerificationStatus.ERROR.value, completed_at=now, leased_until=None, reference=None
    )


def _done(found: VerificationRow | RequestError) -> Done[VerificationRow] | RequestError:
    if isinstance(found, RequestError):
        return found
    return Done(found, found.id, 202 if found.status == VerificationStatus.PENDING else 201)
