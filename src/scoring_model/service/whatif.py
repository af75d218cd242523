"""Decides past verifications again with another bundle: links and labels as known at the instant of each.

A link record holds the instant of its event, and a label the instant from which it counts. So the history that a
verification saw is read back exactly, as long as its link records are kept. The database is only read.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from scoring_model.contract.texts import to_text
from scoring_model.contract.verification import VerificationContext, VerificationInput
from scoring_model.scorer.scorer import Scorer
from scoring_model.service.core.errors import Invalid, parsed
from scoring_model.service.core.rows import ClientRow, VerificationRow
from scoring_model.service.export import (
    ROW_GROUP,
    LeftOut,
    OpenedValues,
    label_fields,
    open_values,
    private_parquet,
)
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.link_hashes import Linker, Masks
from scoring_model.service.keys.secrets import Purpose, Secrets
from scoring_model.service.retention import kept_since
from scoring_model.service.scoring.candidate import Candidate
from scoring_model.service.scoring.score import History, Placed, Score, score
from scoring_model.service.store import Store

_PAGE: Final = 500
_TEXT: Final = pa.dictionary(pa.int32(), pa.string())
SCHEMA: Final = pa.schema(
    [
        ("verificationId", pa.string()),
        ("clientId", _TEXT),
        ("eventTime", pa.timestamp("us", "UTC")),
        ("scoringScore", pa.int16()),
        ("scoringOutcome", _TEXT),
        ("modelVersion", _TEXT),
        ("policyVersion", _TEXT),
        ("whatifScore", pa.int16()),
        ("whatifOutcome", _TEXT),
        ("flipped", pa.bool_()),
        ("label", _TEXT),
    ]
)
"""Columns of the file: the verdict, that of the other bundle, whether the outcomes differ, and the latest label."""


class NotReplayed(StrEnum):
    """Why a verification can't be decided again, besides `LeftOut`."""

    TOO_OLD = "tooOld"  # link records that the bundle's longest window reaches were deleted
    REFUSED = "refused"  # the bundle takes a signal of another type: the request would have got 422


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """The result.

    Parameters
    ----------
    verifications : int
        Completed verifications of the period.
    replayed : int
        Those that were decided again.
    differ : int
        Those of them with another score, outcome or reasons.
    outcomes : mapping of (str, str) to int
        Number of replayed verifications by outcome then, and by the bundle.
    own, own_differ : int
        Replayed verifications that the same model and policy had decided, and those of them whose verdict or feature
        row differs in any bit: 0 unless link records were deleted by hand.
    left_out : mapping of str to int
        Verifications that can't be decided again, by the reason.
    """

    verifications: int
    replayed: int
    differ: int
    outcomes: Mapping[tuple[str, str], int]
    own: int
    own_differ: int
    left_out: Mapping[str, int]


class _Replayer:
    """Decides pages of verifications again."""

    def __init__(self, store: Store, vault: Vault, secrets: Secrets, scorer: Scorer) -> None:
        self._store = store
        self._vault = vault
        self._scorer = scorer
        self._linker = Linker(secrets, scorer.matrix.link_keys)
        self._masks = Masks(secrets)

    async def replay(
        self, client: ClientRow, rows: Sequence[VerificationRow]
    ) -> tuple[dict[bytes, Score], Counter[str]]:
        """Return the new decisions by id, and how many rows have none."""
        placed, left_out = await self._placed(client, rows)
        async with self._store.reading() as reader:
            history = await History.of_past(reader, placed, matrix=self._scorer.matrix, masks=self._masks)
        # Read afterwards: a sweep raises it before it deletes.
        complete = await kept_since(self._store) + self._scorer.matrix.reach
        whole = [one for one in placed if one.instant >= complete]
        left_out[NotReplayed.TOO_OLD] += len(placed) - len(whole)
        return score(whole, history, scorer=self._scorer), left_out

    async def _placed(
        self, client: ClientRow, rows: Sequence[VerificationRow]
    ) -> tuple[list[Placed], Counter[str]]:
        async with self._store.reading() as reader:
            keys = await reader.person_keys([row.key_id for row in rows])
            wanted = list({row.identity_id: None for row in rows if row.identity_id is not None})
            identities = await reader.identities_by_ids(wanted)
        left_out: Counter[str] = Counter()
        placed = []
        for row in rows:
            opened = open_values(self._vault, row, keys.get(row.key_id), identities)
            candidate = opened if isinstance(opened, LeftOut) else self._candidate(client, row, opened)
            if isinstance(candidate, Candidate):
                placed.append(Placed(candidate=candidate, instant=row.completed_at or 0, links=[]))
            else:
                left_out[candidate] += 1
        return placed, left_out

    def _candidate(
        self, client: ClientRow, row: VerificationRow, opened: OpenedValues
    ) -> Candidate | NotReplayed:
        body = {"signals": opened.signals, "subjectId": opened.subject}
        try:
            request = parsed(
                VerificationInput, body, VerificationContext(self._scorer.contents.schema.signals)
            )
        except Invalid:
            return NotReplayed.REFUSED
        values = {**opened.identity, **request.values()}
        return Candidate(
            id=row.id,
            client=row.client,
            history_scope=client.pool,
            request=request,
            values=values,
            links=self._linker.link(client.pool, row.client, values),
            started=self._scorer.matrix.start(values),
            created_at=row.created_at,
            reference=None,
        )


async def what_if(
    store: Store,
    vault: Vault,
    secrets: Secrets,
    scorer: Scorer,
    out: Path,
    *,
    since: int,
    before: int,
    progress: Callable[[int], None] = lambda verifications: None,
) -> WhatIf:
    """Decide the completed verifications of all clients again with a bundle that has the link keys of the history.

    Arrivals stay as they were: a follow-up is decided whether or not the bundle would have asked for it.

    Parameters
    ----------
    out : Path
        Ends in ``.parquet``: the columns of `SCHEMA` for each replayed verification, without personal data.
    since, before : int
        Microseconds: event times from `since` on and before `before`.

    Raises
    ------
    ValueError
        If the name of the file has another ending.
    UnknownMasterKey
        If the keyring lacks the master key of a person's key.
    """
    replayer = _Replayer(store, vault, secrets, scorer)
    tally = _Tally(secrets, scorer)
    waiting: list[tuple[Any, ...]] = []
    async with store.reading() as reader:
        clients = await reader.clients()
    with private_parquet(out, SCHEMA) as writer:
        for client in clients:
            after = (since, b"")
            while True:
                async with store.reading() as reader:
                    page = await reader.completed(client.client, after, _PAGE)
                    rows = [row for row in page if (row.completed_at or 0) < before]
                    labels = await reader.labels([row.id for row in rows])
                scores, left_out = await replayer.replay(client, rows)
                tally.add(rows, scores, left_out)
                waiting += [
                    _cells(client, row, scores[row.id], label_fields(labels.get(row.id, []), before))
                    for row in rows
                    if row.id in scores
                ]
                if len(waiting) >= ROW_GROUP:
                    writer.write_batch(_batch(waiting))
                    waiting.clear()
                progress(tally.verifications)
                if len(rows) < _PAGE:
                    break
                after = (rows[-1].completed_at or 0, rows[-1].id)
        if waiting:
            writer.write_batch(_batch(waiting))
    return tally.result()


class _Tally:
    """Counts pages of verifications."""

    def __init__(self, secrets: Secrets, scorer: Scorer) -> None:
        self._secrets = secrets
        self._versions = (scorer.manifest.model_version, scorer.manifest.policy_version)
        self._left_out: Counter[str] = Counter()
        self._outcomes: Counter[tuple[str, str]] = Counter()
        self._differ = self._own = self._own_differ = 0
        self.verifications = 0

    def add(
        self, rows: Sequence[VerificationRow], scores: Mapping[bytes, Score], left_out: Mapping[str, int]
    ) -> None:
        self.verifications += len(rows)
        self._left_out.update(left_out)
        for row in rows:
            if (new := scores.get(row.id)) is None:
                continue
            differs = (row.score, row.outcome, row.reasons) != (new.score, new.outcome, new.reasons)
            self._differ += differs
            self._outcomes[str(row.outcome), str(new.outcome)] += 1
            if (row.model_version, row.policy_version) == self._versions:
                is_same_row = self._secrets.digest(Purpose.ROW, new.features) == row.row_digest
                self._own += 1
                self._own_differ += differs or not is_same_row

    def result(self) -> WhatIf:
        return WhatIf(
            verifications=self.verifications,
            replayed=sum(self._outcomes.values()),
            differ=self._differ,
            outcomes=self._outcomes,
            own=self._own,
            own_differ=self._own_differ,
            left_out=self._left_out,
        )


def _cells(
    client: ClientRow, row: VerificationRow, new: Score, label: Mapping[str, object]
) -> tuple[Any, ...]:
    """Return the cells of a row of the file."""
    return (
        to_text(row.id),
        client.client_id,
        row.completed_at,
        row.score,
        row.outcome,
        row.model_version,
        row.policy_version,
        new.score,
        str(new.outcome),
        row.outcome != new.outcome,
        label.get("label"),
    )


def _batch(rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(cells, field.type) for cells, field in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
