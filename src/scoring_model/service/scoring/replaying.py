"""Replays: a decision is recomputed from what is stored, and compared."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from scoring_model.contract.outcome import DecidedBy
from scoring_model.contract.verification import VerificationStatus
from scoring_model.scorer.decider import Decider, Decision
from scoring_model.service.core.errors import Unavailable
from scoring_model.service.core.rows import ClientRow, OperatorListRow, RuleSetRow, VerificationRow
from scoring_model.service.identities.persons import Persons
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.keyring import Keyring, Unreadable
from scoring_model.service.keys.link_hashes import Linker, split_hashes
from scoring_model.service.keys.restored import was_erased
from scoring_model.service.keys.secrets import Purpose, Secrets, load_or_create
from scoring_model.service.retention.kept import kept_since
from scoring_model.service.scoring.control import ControlGroup, explains
from scoring_model.service.scoring.listbook import in_order, lists_then
from scoring_model.service.scoring.overrides import override_of
from scoring_model.service.scoring.rulebook import active_rules
from scoring_model.service.scoring.sandbox import explains_sandbox
from scoring_model.service.store import Store


class Replay(StrEnum):
    """The result of a replay."""

    SAME = "same"
    DIFFERENT = "different"
    ERASED = "erased"


class NotReplayable(ValueError):
    """There is no decision to replay, or its bundle or the master key is missing."""


async def replay(
    store: Store, keyring: Keyring, resource: bytes, *, find: Callable[[str, str | None], Decider | None]
) -> Replay:
    """Recompute the decision of a verification and compare it with the stored one.

    Parameters
    ----------
    resource : bytes
        Identifier of a verification of any client.
    find : callable
        Returns the decider of the bundle with a model version and a policy version, or None.

    Returns
    -------
    Replay
        SAME if score, outcome, reasons, the draw for the control group and the digest of the feature row are
        unchanged; ERASED if the person's key was deleted; otherwise DIFFERENT, also if a sealed value can't be
        decrypted because its bytes were changed.

    Raises
    ------
    NotReplayable
    KeysMissing
        If the keys of persons were not restored to this copy of a database.
    """
    secrets = await load_or_create(store, keyring)
    past = await _read(store, Persons(Vault(keyring)), resource)
    if isinstance(past, Replay):
        return past
    row = past.row
    if past.features is None or secrets.digest(Purpose.ROW, past.features) != row.row_digest:
        return Replay.DIFFERENT
    decider = find(row.model_version or "", row.policy_version)
    if decider is None:
        raise NotReplayable(
            f"the bundle of model {row.model_version} with policy {row.policy_version} is missing"
        )
    decision = decider.decide_row(np.frombuffer(past.features, dtype=np.float64))
    is_same = (decision.score, decision.outcome) == (row.score, row.outcome_of_policy)
    if is_same and await _explains(store, secrets, past, past.features, decider, decision):
        return Replay.SAME
    return Replay.DIFFERENT


@dataclass(frozen=True, slots=True)
class _Past:
    row: VerificationRow
    client: ClientRow
    signals: Mapping[str, object]
    values: Mapping[str, object]
    features: bytes | None
    rule_set: RuleSetRow | None


async def _read(store: Store, persons: Persons, resource: bytes) -> _Past | Replay:
    """Read and decrypt what was decided about; or return the result that does without."""
    async with store.reading() as reader:
        row = await reader.verification_by_id(resource)
        if row is None:
            raise NotReplayable("there is no such verification")
        if row.status != VerificationStatus.COMPLETED:
            raise NotReplayable(f"its status is {row.status}: there is no decision")
        try:
            key = None if row.payload is None else await persons.key_of(reader, row.key_id)
        except Unavailable:
            raise NotReplayable("its key is under a master key that the source lacks") from None
        if key is None:
            if row.payload is None or await was_erased(reader, row.key_id):
                return Replay.ERASED
            raise NotReplayable("its key is not among those that were restored: what it sealed is unreadable")
        try:
            signals, _, features = persons.verification_payload(row, key)
            values = await persons.record_values(reader, row, key)
        except Unreadable:
            return Replay.DIFFERENT
        client = next(one for one in await reader.clients() if one.client == row.client)
        rule_set = None if row.rules is None else await reader.rule_set(row.rules)
    return _Past(row, client, signals, values, features, rule_set)


async def _explains(
    store: Store, secrets: Secrets, past: _Past, features: bytes, decider: Decider, decision: Decision
) -> bool:
    """Return True if a decision with the rules, lists and draw of then gives what is stored."""
    row, client = past.row, past.client
    codes = ",".join(reason.code for reason in decision.reasons)
    if client.sandbox:
        return explains_sandbox(row, past.signals, codes)
    if (row.rules is None) != (past.rule_set is None):
        return False
    verdict = None
    if past.rule_set is not None:
        verdict = active_rules(past.rule_set, decider.columns).decide(
            past.values,
            past.signals,
            score=decision.score,
            outcome=decision.outcome,
            features=features,
            event_time=row.completed_at or 0,
        )
    held = await _lists_then(store, row, client.pool)
    override = override_of(decision.outcome, held, verdict, rules=row.rules, lists=row.lists)
    if not override.explains(row) or override.reasons(codes) != row.reasons:
        return False
    if override.decided_by is not DecidedBy.POLICY:
        return row.control_share is None and row.control_drawn is None
    group = ControlGroup.of(decider.rules.policy, secrets, decider.manifest.policy_version)
    person = Linker(secrets, ()).link(client.pool, client.client, past.values).person
    return await explains(store, row, group, person)


async def _lists_then(store: Store, row: VerificationRow, history_scope: str) -> tuple[OperatorListRow, ...]:
    """Return the lists that held for a verification; as they are stored, once ended entries are deleted."""
    if row.lists is None:
        return ()
    at = row.completed_at or 0
    async with store.reading() as reader:
        found = await lists_then(reader, split_hashes(row.links), row.lists, at)
        known = await reader.lists_of(history_scope)
    # Read afterwards: a sweep raises it before it deletes.
    if at >= await kept_since(store):
        return found
    stored = (row.list_hits or "").split(",")
    return in_order([one for one in known if one.name in stored])
