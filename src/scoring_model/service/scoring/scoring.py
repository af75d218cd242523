"""Scores verifications inside a transaction: reads keys and history, scores, and writes rows, links and events.

The locks of the candidates' history scopes are held. A candidate without link records, since it is no record of a
file, is seen by no other one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from scoring_model.contract.outcome import Outcome
from scoring_model.contract.verification import VerificationStatus
from scoring_model.scorer.scorer import Scorer
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import IdentityNotValidated, RequestError
from scoring_model.service.core.rows import LinkRow, VerificationRow
from scoring_model.service.core.store import Transaction
from scoring_model.service.identities.persons import seal_reference
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.link_hashes import Masks
from scoring_model.service.keys.secrets import Purpose, Secrets
from scoring_model.service.scoring.candidate import Candidate
from scoring_model.service.scoring.history import read_history
from scoring_model.service.scoring.jobs import Done, JobKind
from scoring_model.service.scoring.person_keys import PersonKey, PersonKeys, read_keys
from scoring_model.service.scoring.request import pack_stored
from scoring_model.service.scoring.score import Score, place, score
from scoring_model.service.webhooks.events import (
    NewEvent,
    events_of_verification,
    verification_data,
    write_events,
)

MAX_ATTEMPTS: Final = 3
"""After so many failed attempts a verification is an ERROR."""

Result = VerificationRow | RequestError
Results = list[Done[VerificationRow] | RequestError]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """Candidates as they stand under the lock.

    Parameters
    ----------
    candidates : list of Candidate
    open : list of Candidate
        Those that can be scored.
    keys : PersonKeys
    settled : dict of bytes to VerificationRow or RequestError
        Results of the others, by their ids.
    """

    candidates: list[Candidate]
    open: list[Candidate]
    keys: PersonKeys
    settled: dict[bytes, Result]


class Scoring:
    """Scores candidates with one bundle.

    Parameters
    ----------
    scorer : Scorer
    vault : Vault
    secrets : Secrets
    clock : Clock
    """

    def __init__(self, scorer: Scorer, vault: Vault, secrets: Secrets, clock: Clock) -> None:
        self.scorer = scorer
        self.jobs: JobKind[Candidate, VerificationRow] = JobKind(
            doing="scoring a verification",
            run=self.score,
            late=self.postpone,
            failed=self.count_failure,
            last=True,
        )
        self._vault = vault
        self._secrets = secrets
        self._masks = Masks(secrets)
        self._clock = clock

    async def score(self, transaction: Transaction, candidates: Sequence[Candidate]) -> Results:
        """Score candidates in their order."""
        batch = await self._read(transaction, candidates)
        history = await read_history(
            transaction, batch.open, matrix=self.scorer.matrix, masks=self._masks, clock=self._clock
        )
        placed, refused = place(batch.open, history, clock=self._clock)
        await history.read_older(transaction, [(one.candidate, one.instant) for one in placed])
        scores = refused | score(placed, history, scorer=self.scorer)
        results, links = dict(batch.settled), {}
        for candidate in batch.open:
            found = scores[candidate.id]
            if isinstance(found, Score):
                key = batch.keys.opened[candidate.id]
                results[candidate.id] = self._completed(candidate, key, found)
                links[candidate.id] = found.links
            else:
                results[candidate.id] = found
        return await _write(transaction, batch, results, links)

    async def postpone(self, transaction: Transaction, candidates: Sequence[Candidate]) -> Results:
        """Keep candidates as PENDING without an attempt."""
        return await self._keep(transaction, candidates, attempts=0)

    async def count_failure(self, transaction: Transaction, candidates: Sequence[Candidate]) -> Results:
        """Keep candidates as PENDING after a failed attempt; after the last one they are an ERROR."""
        return await self._keep(transaction, candidates, attempts=1)

    async def fail(self, transaction: Transaction, row: VerificationRow) -> Done[VerificationRow]:
        """Make an ERROR of a PENDING row that can't be scored."""
        # It may have been erased since it was read.
        row = await transaction.verification(row.client, row.id) or row
        failed = _failed(row, self._clock.now())
        if await transaction.settle([failed]):
            await _write_events(transaction, [failed])
        return Done(failed, failed.id, 200)

    async def _keep(
        self, transaction: Transaction, candidates: Sequence[Candidate], *, attempts: int
    ) -> Results:
        batch = await self._read(transaction, candidates)
        results = dict(batch.settled)
        for candidate in batch.open:
            key = batch.keys.opened[candidate.id]
            results[candidate.id] = self._unfinished(candidate, key, attempts)
        return await _write(transaction, batch, results, {})

    async def _read(self, transaction: Transaction, candidates: Sequence[Candidate]) -> _Batch:
        now = self._clock.now()
        current = [c if c.pending is None else await _current(transaction, c, c.pending) for c in candidates]
        settled: dict[bytes, Result] = {
            c.id: c.pending for c in current if c.pending is not None and _is_finished(c.pending)
        }
        waiting = [candidate for candidate in current if candidate.id not in settled]
        keys = await read_keys(transaction, waiting, self._vault, now)
        for candidate in waiting:
            if candidate.id not in keys.opened:
                settled[candidate.id] = keys.unavailable.get(candidate.id) or _erased(candidate, now)
        return _Batch(
            candidates=current,
            open=[candidate for candidate in waiting if candidate.id in keys.opened],
            keys=keys,
            settled=settled,
        )

    def _completed(self, candidate: Candidate, key: PersonKey, found: Score) -> VerificationRow:
        manifest = self.scorer.manifest
        return _row(candidate, key)._replace(
            status=VerificationStatus.COMPLETED.value,
            outcome=found.outcome.value,
            score=found.score,
            reasons=found.reasons,
            model_version=manifest.model_version,
            policy_version=manifest.policy_version,
            created_at=min(candidate.created_at, found.instant),
            completed_at=found.instant,
            row_digest=self._secrets.digest(Purpose.ROW, found.features),
            payload=_sealed(candidate, key, found.features),
            links=b"".join([link.hash for link in found.links]),
        )

    def _unfinished(self, candidate: Candidate, key: PersonKey, attempts: int) -> VerificationRow:
        if candidate.pending is None:
            return _row(candidate, key)._replace(
                attempts=attempts,
                payload=_sealed(candidate, key, None),
                reference=seal_reference(key.key, candidate.id, candidate.reference),
            )
        if candidate.pending.attempts < MAX_ATTEMPTS:
            return candidate.pending
        return _failed(candidate.pending, self._clock.now())


def _row(candidate: Candidate, key: PersonKey) -> VerificationRow:
    """The row of a candidate before it is scored."""
    return VerificationRow(
        id=candidate.id,
        client=candidate.client,
        identity_id=candidate.request.identity_id,
        previous_id=candidate.request.previous_id,
        key_id=key.key_id,
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


def _sealed(candidate: Candidate, key: PersonKey, features: bytes | None) -> bytes:
    packed = pack_stored(candidate.request.signals, candidate.request.subject_id, features)
    return key.key.seal(packed, table="verifications", column="payload", row=candidate.id)


async def _current(transaction: Transaction, candidate: Candidate, pending: VerificationRow) -> Candidate:
    """Read a PENDING row again: when another process has finished it, it must get no link records again."""
    row = await transaction.verification(candidate.client, candidate.id)
    return replace(candidate, pending=row or pending)


def _is_finished(row: VerificationRow) -> bool:
    return row.status != VerificationStatus.PENDING


def _erased(candidate: Candidate, now: int) -> Result:
    """The result of a candidate whose person was erased while it waited."""
    return IdentityNotValidated() if candidate.pending is None else _failed(candidate.pending, now)


def _failed(row: VerificationRow, now: int) -> VerificationRow:
    return row._replace(
        status=VerificationStatus.ERROR.value, completed_at=now, leased_until=None, reference=None
    )


async def _write(
    transaction: Transaction,
    batch: _Batch,
    results: Mapping[bytes, Result],
    links: Mapping[bytes, Sequence[LinkRow]],
) -> Results:
    """Write the results of a batch; another process may have finished a pending row, which is left as it is."""
    rows = [(c, row) for c in batch.candidates if isinstance(row := results[c.id], VerificationRow)]
    fresh = [row for c, row in rows if c.pending is None]
    held = [row for c, row in rows if c.pending is not None and not _is_finished(c.pending)]
    used = {row.key_id for row in fresh}
    if keys := [row for row in batch.keys.new if row.key_id in used]:
        await transaction.insert(keys)
    if fresh:
        await transaction.insert(fresh)
    settled = await transaction.settle(held) if held else frozenset()
    written = [row for c, row in rows if c.pending is None or c.id in settled]
    if link_rows := [link for row in written for link in links.get(row.id, ())]:
        await transaction.insert(link_rows)
    await _write_events(transaction, written)
    return [_done(results[candidate.id]) for candidate in batch.candidates]


async def _write_events(transaction: Transaction, rows: Sequence[VerificationRow]) -> None:
    """Write the events of verifications; one that is PENDING has none."""
    events = []
    for row in rows:
        outcome = None if row.outcome is None else Outcome(row.outcome)
        kinds = events_of_verification(VerificationStatus(row.status), outcome)
        data = verification_data(row) if kinds else ""
        events += [
            NewEvent(row.client, kind, row.id, row.completed_at or row.created_at, data) for kind in kinds
        ]
    await write_events(transaction, events)


def _done(result: Result) -> Done[VerificationRow] | RequestError:
    if isinstance(result, RequestError):
        return result
    return Done(result, result.id, 202 if result.status == VerificationStatus.PENDING else 201)
