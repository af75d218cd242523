"""Past verifications as records with the feature rows that bundles make of them, as of each verification."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from scoring_model.arrays import FloatArray
from scoring_model.evaluation import RecordRows
from scoring_model.evaluation.decided import decided_sentences
from scoring_model.evaluation.holdout import read_labelled, with_columns
from scoring_model.scorer.scorer import Scorer
from scoring_model.service.core.rows import ClientRow
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.secrets import Secrets
from scoring_model.service.past.export import ROW_GROUP, ExportedVerification, RecordColumns, record_of
from scoring_model.service.past.pages import LEFT_OUT, LeftOut, PastPage, past_pages
from scoring_model.service.past.replay import NOT_REPLAYED, Replayer
from scoring_model.service.scoring.score import Score
from scoring_model.service.store import Store


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PastRecords:
    """Past verifications that all of some bundles can decide again.

    Parameters
    ----------
    records : pyarrow.Table
        The columns of an export, with the labels known at the end of the period.
    rows : tuple of ndarray of shape (n, d), float64
        Feature rows for each bundle, as of the verifications.
    seconds : tuple of float
        What making them took each bundle.
    left_out : mapping of str to int
        Completed verifications of the period that are not among the records, by the reason.
    """

    records: pa.Table
    rows: tuple[FloatArray, ...]
    seconds: tuple[float, ...]
    left_out: Mapping[str, int]

    def of(self, place: int, scorer: Scorer, *, by: Iterable[str], max_bad_share: float) -> RecordRows:
        """Return the records for one of the bundles, with the columns of `by`.

        Raises
        ------
        TooManyBadRows
            If more records break the contract of the data.
        """
        table = read_labelled(
            scorer, self.records, None, by=by, max_bad_share=max_bad_share, required=False
        ).table
        return RecordRows(table=table, rows=self.rows[place][table.source_rows], seconds=self.seconds[place])

    def describe(self) -> tuple[str, ...]:
        """Say in sentences what was left out, whom lists and rules stopped, and how step-ups ended."""
        left_out = (
            f"Left out: {count:,} verifications {text}"
            for reason, text in {**LEFT_OUT, **NOT_REPLAYED}.items()
            if (count := self.left_out.get(reason))
        )
        return (*left_out, *decided_sentences(self.records))


async def read_past(
    store: Store,
    vault: Vault,
    secrets: Secrets,
    scorers: Sequence[Scorer],
    *,
    since: int,
    before: int,
    by: Iterable[str] = (),
    progress: Callable[[int], None] = lambda verifications: None,
) -> PastRecords:
    """Read the completed verifications of all clients, with links as known then and labels as known at the end.

    Parameters
    ----------
    scorers : sequence of Scorer
        Bundles with the link keys of the history.
    since, before : int
        Microseconds: event times from `since` on and before `before`, with the labels that were reported before
        `before`.
    by : iterable of str
        Further columns that groups are made by.

    Raises
    ------
    UnknownMasterKey
        If the keyring lacks the master key of a person's key.
    """
    async with store.reading() as reader:
        clients = await reader.clients()
    reader_of = _PastReader(store, secrets, scorers, clients, by)
    seen = 0
    async for page in past_pages(store, vault, since=since, before=before):
        await reader_of.add(page)
        seen += len(page.rows)
        progress(seen)
    return reader_of.result()


class _PastReader:
    """Collects pages of verifications."""

    def __init__(
        self,
        store: Store,
        secrets: Secrets,
        scorers: Sequence[Scorer],
        clients: Sequence[ClientRow],
        by: Iterable[str],
    ) -> None:
        schemas = [with_columns(scorer.contents.schema, by) for scorer in scorers]
        signals = {name: kind for schema in reversed(schemas) for name, kind in schema.signals.items()}
        self._columns = RecordColumns(signals, {row.client: row.client_id for row in clients})
        self._replayers = [Replayer(store, secrets, scorer) for scorer in scorers]
        self._rows: list[list[FloatArray]] = [[np.empty((0, len(s.matrix.names)))] for s in scorers]
        self._seconds = [0.0] * len(scorers)
        self._batches: list[pa.RecordBatch] = []
        self._waiting: list[ExportedVerification] = []
        self._left_out: Counter[str] = Counter()
        self._hashed = len(clients) > 1

    async def add(self, page: PastPage) -> None:
        scores: list[dict[bytes, Score]] = []
        missing: dict[bytes, str] = {}
        for place, replayer in enumerate(self._replayers):
            started = time.perf_counter()
            found, left_out = await replayer.replay(page)
            self._seconds[place] += time.perf_counter() - started
            scores.append(found)
            missing |= left_out
        kept = []
        for row in page.rows:
            record = record_of(page, row, hashed=self._hashed)
            if not isinstance(record, LeftOut) and not self._columns.is_record(record):
                record = LeftOut.EMPTY
            if row.id in missing or isinstance(record, LeftOut):
                self._left_out[missing.get(row.id) or str(record)] += 1
            else:
                kept.append(
                    ExportedVerification(record=record, row=row, resolution=page.resolutions.get(row.id))
                )
        for rows, found in zip(self._rows, scores, strict=True):
            made = np.frombuffer(b"".join(found[one.row.id].features for one in kept))
            rows.append(made.reshape(len(kept), rows[0].shape[1]))
        self._waiting += kept
        if len(self._waiting) >= ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        self._batches.append(self._columns.batch(self._waiting))
        self._waiting = []

    def result(self) -> PastRecords:
        if self._waiting:
            self._flush()
        return PastRecords(
            records=pa.Table.from_batches(self._batches, schema=self._columns.schema),
            rows=tuple(np.concatenate(rows) for rows in self._rows),
            seconds=tuple(self._seconds),
            left_out=self._left_out,
        )
