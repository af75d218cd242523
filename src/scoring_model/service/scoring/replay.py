"""Replays a decision: from the stored feature row, with the bundle that decided."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

import numpy as np

from scoring_model.contract.outcome import Outcome
from scoring_model.contract.verification import VerificationStatus
from scoring_model.scorer.decider import Decider
from scoring_model.service.core.errors import Unavailable
from scoring_model.service.core.rows import VerificationRow
from scoring_model.service.identities import Persons
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.keyring import Keyring, Unreadable
from scoring_model.service.keys.secrets import Purpose, load_or_create
from scoring_model.service.store import Store


class Replay(StrEnum):
    """The result of a replay."""

    SAME = "same"
    DIFFERENT = "different"
    ERASED = "erased"


class NotReplayable(ValueError):
    """There is no decision to replay, or the bundle that decided or the master key is missing."""


async def replay(
    store: Store, keyring: Keyring, resource: bytes, *, find: Callable[[str, str | None], Path | None]
) -> Replay:
    """Decide about a verification again and compare.

    Parameters
    ----------
    store : Store
    keyring : Keyring
    resource : bytes
        Identifier of a verification of any client.
    find : callable
        Path of the bundle with a model version and a policy version, or None.

    Returns
    -------
    Replay
        SAME when score, outcome, reasons and the digest of the feature row are what they were; ERASED when the
        person's key is gone. DIFFERENT also when a sealed value does not open: its bytes were changed.

    Raises
    ------
    NotReplayable
    """
    secrets = await load_or_create(store, keyring)
    persons = Persons(Vault(keyring))
    async with store.reading() as reader:
        row = await reader.verification_by_id(resource)
        if row is None:
            raise NotReplayable("there is no such verification")
        if row.status != VerificationStatus.COMPLETED:
            raise NotReplayable(f"its status is {row.status}: there is no decision")
        try:
            key = None if row.payload is None else await persons.key_of(reader, row.key_id)
        except Unavailable:
            raise NotReplayable("its key is under a master key that the source does not give") from None
    if key is None:
        return Replay.ERASED
    try:
        packed = persons.verification_payload(row, key)[2]
    except Unreadable:
        return Replay.DIFFERENT
    if packed is None or secrets.digest(Purpose.ROW, packed) != row.row_digest:
        return Replay.DIFFERENT
    return Replay.SAME if _decides_alike(_decider(row, find), row, packed) else Replay.DIFFERENT


def _decider(row: VerificationRow, find: Callable[[str, str | None], Path | None]) -> Decider:
    path = find(row.model_version or "", row.policy_version)
    if path is None:
        raise NotReplayable(
            f"the bundle of model {row.model_version} with policy {row.policy_version} is not there"
        )
    return Decider.load(path)


def _decides_alike(decider: Decider, row: VerificationRow, packed: bytes) -> bool:
    decision = decider.decide_row(np.frombuffer(packed, dtype=np.float64))
    codes = ",".join(reason.code for reason in decision.reasons)
    return (decision.score, decision.outcome, codes) == (row.score, Outcome(row.outcome or ""), row.reasons)
