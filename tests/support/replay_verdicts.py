"""Compare the service's verdicts with those of the same history as a file, bit for bit."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq

from replay_server import MASTERS
from scoring_model.arrays import FloatArray
from scoring_model.batch import score_file
from scoring_model.contract.texts import to_text
from scoring_model.records.reading import read_records
from scoring_model.scorer import Scorer
from scoring_model.service.identities.persons import Persons
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.past.export import export_pages
from scoring_model.service.store import Store


class Verdict(NamedTuple):
    """The feature row as bytes, and its verdict."""

    row: bytes
    score: int
    outcome: str
    reasons: tuple[str, ...]


class Stored(NamedTuple):
    """A completed verification of the store: verdict and event time."""

    verdict: Verdict
    at: int


async def exported(store: Store, *clients: int) -> list[dict[str, Any]]:
    """The history of clients with the instants set by the service."""
    pages = export_pages(store, Vault(MASTERS), clients)
    return [dict(one.record) async for page in pages for one in page.verifications]


async def stored(store: Store, client: int) -> dict[str, Stored]:
    """Stored data of a client's completed verifications, by id."""
    persons = Persons(Vault(MASTERS))
    found: dict[str, Stored] = {}
    async with store.reading() as reader:
        for row in await reader.completed(client, None, 1_000_000):
            key = await persons.key_of(reader, row.key_id)
            assert key is not None
            packed = persons.verification_payload(row, key)[2]
            assert packed is not None
            assert row.score is not None
            assert row.outcome is not None
            assert row.completed_at is not None
            reasons = tuple(row.reasons.split(",")) if row.reasons else ()
            found[to_text(row.id)] = Stored(
                Verdict(packed, row.score, row.outcome, reasons), row.completed_at
            )
    return found


def decision_of(answer: Mapping[str, Any]) -> tuple[int, str, tuple[str, ...]]:
    """Score, outcome and reasons of a response."""
    return (
        answer["scoringScore"],
        answer["scoringOutcome"],
        tuple(reason["code"] for reason in answer["reasonCodes"]),
    )


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> Path:
    """Write records as JSON Lines."""
    with path.open("w", encoding="utf-8") as file:
        for record in records:
            print(json.dumps(record, ensure_ascii=False), file=file)
    return path


def scored(scorer: Scorer, source: Path) -> dict[str, Verdict]:
    """Score a file of records, none of which may be rejected; verdicts by record id."""
    reading = read_records(source, scorer.contents.schema, labelled=False)
    assert reading.violations == ()
    rows = scorer.matrix.rows(reading.table)
    out = source.with_suffix(".scored.parquet")
    score_file(scorer, source, out, reasons=True)
    decisions = pq.read_table(out).to_pylist()
    assert [decision["recordId"] for decision in decisions] == list(reading.table.record_ids)
    return {
        decision["recordId"]: Verdict(
            row.tobytes(),
            decision["scoringScore"],
            decision["scoringOutcome"],
            tuple(decision["reasonCodes"]),
        )
        for decision, row in zip(decisions, rows, strict=True)
    }


def differences(scorer: Scorer, here: Mapping[str, Verdict], there: Mapping[str, Verdict]) -> list[str]:
    """Differences: records missing on one side, then the differing columns of each record."""
    found = [f"{name}: on one side only" for name in here.keys() ^ there.keys()]
    for name in here.keys() & there.keys():
        if here[name] != there[name]:
            mine, theirs = row_of(here[name]), row_of(there[name])
            differ = mine.view(np.int64) != theirs.view(np.int64)
            found.append(
                f"{name}: {here[name][1:]} and {there[name][1:]}; "
                + ", ".join(
                    f"{column} {a!r} and {b!r}"
                    for column, a, b in zip(
                        np.array(scorer.matrix.names)[differ], mine[differ], theirs[differ], strict=True
                    )
                )
            )
    return found


def row_of(verdict: Verdict) -> FloatArray:
    """The feature row of a verdict: ndarray of shape (d,), float64."""
    return np.frombuffer(verdict.row, dtype=np.float64)


def columns(scorer: Scorer, verdicts: Iterable[Verdict]) -> dict[str, FloatArray]:
    """The features of verdicts by their names: each ndarray of shape (n,), float64."""
    rows = np.stack([row_of(verdict) for verdict in verdicts])
    return dict(zip(scorer.matrix.names, rows.T, strict=True))
