"""Scores verifications inside a transaction: reads keys and history, scores, and writes rows, links and events.

The caller holds the locks of the candidates' history scopes. A candidate without link records is in no other
candidate's history.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from scoring_model.contract.outcome import DecidedBy
from scoring_model.contract.verification import SandboxOutcome, VerificationStatus
from scoring_model.scorer.scorer import Scorer
from scoring_model.service.core.clock import Clock
from scoring_model.service.core.errors import (
    HistoryIncomplete,
    IdentityNotValidated,
    RequestError,
    Unavailable,
)
from scoring_model.service.core.metrics import Steps
from scoring_model.service.core.payload import pack_stored
from scoring_model.service.core.rows import LinkRow, PersonKeyRow, VerificationRow
from scoring_model.service.events.events import events_of_verification, write_events
from scoring_model.service.identities.persons import seal_reference
from scoring_model.service.keys.data_keys import DataKey, Vault
from scoring_model.service.keys.keyring import UnknownMasterKey
from scoring_model.service.keys.link_hashes import Masks
from scoring_model.service.keys.secrets import Purpose, Secrets
from scoring_model.service.requests.jobs import Done, JobKind
from scoring_model.service.requests.lists import subject_hash
from scoring_model.service.resolutions.rows import follow
from scoring_model.service.scoring.candidate import Candidate
from scoring_model.service.scoring.control import ControlGroup, Draw
from scoring_model.service.scoring.listbook import Listbook
from scoring_model.service.scoring.overrides import Override, overridden, override_of
from scoring_model.service.scoring.rulebook import Rulebook
from scoring_model.service.scoring.sandbox import asked_outcome, sandboxed
from scoring_model.service.scoring.score import History, Placed, Score, place, score
from scoring_model.service.store import Transaction

MAX_ATTEMPTS: Final = 3
"""Failed attempts after which a verification becomes an ERROR."""

KEY_RETRY_SECONDS: Final = 5
"""`Retry-After` while a key-encryption key is missing: another process may have rotated it."""

IMPORT_RETRY_SECONDS: Final = 30
"""`Retry-After` while the history of a client is being imported."""

Result = VerificationRow | RequestError
Results = list[Done[VerificationRow] | RequestError]


class PersonKey(NamedTuple):
    """A data key and its identifier."""

    key_id: bytes
    key: DataKey


@dataclass(slots=True)
class _Batch:
    """The state of the candidates under the lock.

    Parameters
    ----------
    open : list of Candidate
        The candidates that can be scored.
    keys : dict of bytes to PersonKey
        Keys of the open candidates, by candidate id.
    new_keys : list of PersonKeyRow
        New keys, for persons without one; not written yet.
    results : dict of bytes to VerificationRow or RequestError
        By candidate id; initially only those that can't be scored.
    links : dict of bytes to list of LinkRow
        Link records of scored candidates, by candidate id.
    """

    candidates: list[Candidate]
    open: list[Candidate] = field(default_factory=list)
    keys: dict[bytes, PersonKey] = field(default_factory=dict)
    new_keys: list[PersonKeyRow] = field(default_factory=list)
    results: dict[bytes, Result] = field(default_factory=dict)
    links: dict[bytes, list[LinkRow]] = field(default_factory=dict)


class Scoring:
    """Scores candidates with one bundle."""

    def __init__(
        self, scorer: Scorer, vault: Vault, secrets: Secrets, clock: Clock, listbook: Listbook
    ) -> None:
        self.scorer = scorer
        self._vault = vault
        self._secrets = secrets
        self._masks = Masks(secrets)
        self._clock = clock
        self._rulebook = Rulebook(scorer.matrix.names)
        self._listbook = listbook
        self._control = ControlGroup.of(scorer.rules.policy, secrets, scorer.manifest.policy_version)

    @property
    def jobs(self) -> JobKind[Candidate, VerificationRow]:
        """The kind of the jobs that score candidates of this bundle.

        Not an attribute: a cycle would keep a bundle in memory that serves no longer.
        """
        return JobKind(
            doing="scoring a verification",
            run=self.score,
            late=self.postpone,
            failed=self.count_failure,
            last=True,
        )

    async def score(self, transaction: Transaction, candidates: Sequence[Candidate]) -> Results:
        """Score candidates in order."""
        steps = Steps()
        batch = await self._read(transaction, candidates)
        self._hold_back(batch)
        matrix = self.scorer.matrix
        history = await History.read(
            transaction, batch.open, matrix=matrix, masks=self._masks, clock=self._clock
        )
        placed, refused = place(batch.open, history, clock=self._clock)
        await history.read_older(transaction, placed)
        steps.end("read")
        decided = score(placed, history, scorer=self.scorer)
        real = [one for one in placed if not one.candidate.sandbox]
        overrides = await self._overrides(transaction, real, decided)
        # Only whom no list and no rule decides about reaches the policy with its control group.
        reached = [
            one
            for one in real
            if one.candidate.id not in overrides or overrides[one.candidate.id].decided_by is DecidedBy.POLICY
        ]
        draws = {} if self._control is None else await self._control.decide(transaction, reached, decided)
        scores = refused | decided
        for candidate in batch.open:
            found = scores[candidate.id]
            if isinstance(found, Score):
                row = self._completed(candidate, batch.keys[candidate.id], found)
                if candidate.sandbox:
                    row = sandboxed(row, asked_outcome(candidate.request.signals))
                elif override := overrides.get(candidate.id):
                    row = overridden(row, override)
                drawn = draws.get(candidate.id)
                batch.results[candidate.id] = row if drawn is None else _drawn(row, drawn)
                batch.links[candidate.id] = found.links
            else:
                batch.results[candidate.id] = found
        steps.end("score")
        results = await _write(transaction, batch)
        steps.end("write")
        return results

    async def _overrides(
        self,
        transaction: Transaction,
        placed: Sequence[Placed],
        scores: Mapping[bytes, Score],
    ) -> dict[bytes, Override]:
        """Return what lists and rules make of scored candidates, by id; none where neither are in use."""
        number_of_rules, number_of_lists = await transaction.latest_overrides()
        rules = await self._rulebook.active(transaction, number_of_rules)
        lists = await self._listbook.lists_of(transaction, number_of_lists, placed)
        found = {}
        for candidate in (one.candidate for one in placed):
            scored, held = scores[candidate.id], lists.get(candidate.id)
            if rules is None and held is None:
                continue
            verdict = None
            if rules is not None:
                verdict = rules.decide(
                    candidate.values,
                    candidate.request.signals or {},
                    score=scored.score,
                    outcome=scored.outcome,
                    features=scored.features,
                    event_time=scored.instant,
                )
            found[candidate.id] = override_of(
                scored.outcome,
                held or (),
                verdict,
                rules=None if rules is None else rules.number,
                lists=None if held is None else number_of_lists,
            )
        return found

    async def postpone(self, transaction: Transaction, candidates: Sequence[Candidate]) -> Results:
        """Store candidates as PENDING without counting an attempt."""
        return await self._keep(transaction, candidates, attempts=0)

    async def count_failure(self, transaction: Transaction, candidates: Sequence[Candidate]) -> Results:
        """Store candidates as PENDING after a failed attempt, or as ERROR after the last one."""
        return await self._keep(transaction, candidates, attempts=1)

    async def fail(self, transaction: Transaction, row: VerificationRow) -> Done[VerificationRow]:
        """Set a PENDING row that can't be scored to ERROR."""
        # Its person may have been erased since it was read.
        row = await transaction.verification(row.client, row.id) or row
        failed = _failed(row, self._clock.now())
        if await transaction.settle([failed]):
            await write_events(transaction, events_of_verification(failed))
        return Done(failed, failed.id, 200)

    async def _keep(
        self, transaction: Transaction, candidates: Sequence[Candidate], *, attempts: int
    ) -> Results:
        batch = await self._read(transaction, candidates)
        for candidate in batch.open:
            batch.results[candidate.id] = self._unfinished(candidate, batch.keys[candidate.id], attempts)
        return await _write(transaction, batch)

    async def _read(self, transaction: Transaction, candidates: Sequence[Candidate]) -> _Batch:
        """Reload PENDING rows and read the keys of all candidates.

        A row that another process has finished must not get link records twice.
        """
        batch = _Batch(list(candidates))
        for at, candidate in enumerate(candidates):
            if candidate.pending is not None:
                row = await transaction.verification(candidate.client, candidate.id) or candidate.pending
                batch.candidates[at] = replace(candidate, pending=row)
                if _is_finished(row):
                    batch.results[candidate.id] = row
        await self._read_keys(transaction, batch)
        return batch

    async def _read_keys(self, transaction: Transaction, batch: _Batch) -> None:
        """Read and open the data key of each candidate's person; a new person gets a new key."""
        now = self._clock.now()
        waiting = [c for c in batch.candidates if c.id not in batch.results]
        needed = [c.key_row.key_id for c in waiting if c.key_row is not None]
        named = [
            (c.client, c.links.person) for c in waiting if c.key_row is None and c.links.person is not None
        ]
        living = await transaction.person_keys(needed) if needed else {}
        persons = dict(await transaction.persons(named)) if named else {}
        for candidate in waiting:
            person, known = candidate.links.person, candidate.key_row
            if known is not None:
                row = living.get(known.key_id)
            else:
                row = None if person is None else persons.get((candidate.client, person))
            if row is not None:
                try:
                    key = candidate.opened if row == known else None
                    batch.keys[candidate.id] = PersonKey(row.key_id, key or self._vault.open_key(row))
                except UnknownMasterKey:
                    batch.results[candidate.id] = Unavailable(KEY_RETRY_SECONDS)
            elif known is not None:  # the person was erased while the candidate waited
                pending = candidate.pending
                batch.results[candidate.id] = (
                    IdentityNotValidated() if pending is None else _failed(pending, now)
                )
            else:
                row, key = self._vault.new_key(candidate.client, person, now)
                batch.keys[candidate.id] = PersonKey(row.key_id, key)
                batch.new_keys.append(row)
                if person is not None:
                    persons[candidate.client, person] = row
        batch.open = [candidate for candidate in waiting if candidate.id in batch.keys]

    def _hold_back(self, batch: _Batch) -> None:
        """Give results to sandbox candidates that ask for none at once, or for a technical fault."""
        for candidate in batch.open:
            asked = asked_outcome(candidate.request.signals) if candidate.sandbox else None
            if asked in (SandboxOutcome.PENDING, SandboxOutcome.ERROR) and candidate.pending is None:
                batch.results[candidate.id] = self._unfinished(candidate, batch.keys[candidate.id], 0)
            elif asked is SandboxOutcome.ERROR and candidate.pending is not None:
                batch.results[candidate.id] = _failed(candidate.pending, self._clock.now())
        batch.open = [candidate for candidate in batch.open if candidate.id not in batch.results]

    def _completed(self, candidate: Candidate, key: PersonKey, found: Score) -> VerificationRow:
        manifest = self.scorer.manifest
        return _row(candidate, key, found.features)._replace(
            status=VerificationStatus.COMPLETED.value,
            outcome=found.outcome.value,
            score=found.score,
            reasons=found.reasons,
            model_version=manifest.model_version,
            policy_version=manifest.policy_version,
            created_at=min(candidate.created_at, found.instant),
            completed_at=found.instant,
            row_digest=self._secrets.digest(Purpose.ROW, found.features),
            links=b"".join([link.hash for link in found.links]),
            subject=self._subject(candidate),
        )

    def _unfinished(self, candidate: Candidate, key: PersonKey, attempts: int) -> VerificationRow:
        if candidate.pending is None:
            return _row(candidate, key, None)._replace(
                attempts=attempts,
                reference=seal_reference(key.key, candidate.id, candidate.reference),
                subject=self._subject(candidate),
            )
        if candidate.pending.attempts < MAX_ATTEMPTS:
            return candidate.pending
        return _failed(candidate.pending, self._clock.now())

    def _subject(self, candidate: Candidate) -> bytes | None:
        """Return the hash by which lists find the verification."""
        request = candidate.request
        return subject_hash(self._secrets, candidate.client, request.identity_id, request.subject_id)


def _drawn(row: VerificationRow, draw: Draw) -> VerificationRow:
    """Return a completed row with what the control group made of it."""
    return row._replace(
        outcome=draw.outcome.value,
        decided_by=(DecidedBy.POLICY if draw.outcome is draw.policy_outcome else DecidedBy.CONTROL).value,
        policy_outcome=draw.policy_outcome.value,
        control_share=draw.share,
        control_drawn=None if draw.drawn is None else int(draw.drawn),
        control_repeat=int(draw.is_repeat) if draw.drawn else None,
    )


def _row(candidate: Candidate, key: PersonKey, features: bytes | None) -> VerificationRow:
    """Return the PENDING row of a candidate, with its sealed payload."""
    request = candidate.request
    packed = pack_stored(request.signals or {}, request.subject_id, features)
    return VerificationRow(
        id=candidate.id,
        client=candidate.client,
        identity_id=request.identity_id,
        previous_id=request.previous_verification_id,
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
        payload=key.key.seal(packed, table="verifications", column="payload", row=candidate.id),
        links=None,
        attempts=0 if candidate.pending is None else candidate.pending.attempts,
        leased_until=None,
        reference=None,
        decided_by=DecidedBy.SANDBOX.value if candidate.sandbox else None,
    )


def _is_finished(row: VerificationRow) -> bool:
    return row.status != VerificationStatus.PENDING


def _failed(row: VerificationRow, now: int) -> VerificationRow:
    return row._replace(
        status=VerificationStatus.ERROR.value, completed_at=now, leased_until=None, reference=None
    )


async def _write(transaction: Transaction, batch: _Batch) -> Results:
    """Write the results of a batch; pending rows that another process has finished stay unchanged."""
    rows = [(c, row) for c in batch.candidates if isinstance(row := batch.results[c.id], VerificationRow)]
    fresh = [row for c, row in rows if c.pending is None]
    held = [row for c, row in rows if c.pending is not None and not _is_finished(c.pending)]
    used = {row.key_id for row in fresh}
    await transaction.insert([row for row in batch.new_keys if row.key_id in used])
    await transaction.insert(fresh)
    settled = await transaction.settle(held) if held else frozenset()
    written = [row for c, row in rows if c.pending is None or c.id in settled]
    await transaction.insert([link for row in written for link in batch.links.get(row.id, ())])
    resolved = await follow(transaction, [row for row in written if row.previous_id is not None])
    events = [event for row in written for event in events_of_verification(row)]
    states = await write_events(transaction, [*events, *resolved])
    if any(states[row.client].importing for row in written if row.status == VerificationStatus.COMPLETED):
        raise HistoryIncomplete(IMPORT_RETRY_SECONDS)  # the import began after the request was admitted
    results = [batch.results[candidate.id] for candidate in batch.candidates]
    return [
        Done(result, result.id, 202 if result.status == VerificationStatus.PENDING else 201)
        if isinstance(result, VerificationRow)
        else result
        for result in results
    ]
