"""Cost of one record in each step of the service: parse, start, count, finish, margin, reasons.

Run as ``python benchmarks/one_record.py``. It first checks every step: records that are parsed one by one
and counted against pasts as a store returns them must have the rows of the table, bit for bit. Times are CPU times,
which a busy machine disturbs less; each is a median.
"""

import argparse
import hashlib
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.standard_model import AS_THE_PROJECT_TRAINS

from scoring_model.arrays import FloatArray
from scoring_model.bundle import reason_factors
from scoring_model.configuration import load_configuration
from scoring_model.decision.contributions import Contributions
from scoring_model.decision.reasons import FactualReasons
from scoring_model.features import FeatureMatrix
from scoring_model.history import Counts, count_before, key_of, pack_label, person_of
from scoring_model.records import NEVER, Record, RecordSchema, RecordTable, parse_record
from scoring_model.records.reading import read_records
from scoring_model.scorer.session import MarginSession
from scoring_model.service.keys.link_hashes import Linker
from scoring_model.service.keys.secrets import Secrets
from scoring_model.synthetic import generate
from scoring_model.training.averaging import fix_leaves
from scoring_model.training.export import to_onnx
from scoring_model.training.fitting import fit
from scoring_model.training.model_text import parse_forest
from scoring_model.training.preparation import Prepared, prepare

CONFIGURATION: Final = Path(__file__).parents[1] / "configs" / "identity.yaml"
CHECKED: Final = 2_000
TIMED: Final = 200
HOT: Final = 256
MOST_HOT: Final = 250.0  # microseconds, with as many records under every key as a window sees

Events = list[tuple[int, bytes, bytes | None]]
"""Time, person and packed labels, latest first."""


def body_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Shape a flat row like the body of a request, without its label."""
    body: dict[str, Any] = {}
    for name, value in row.items():
        if value is not None and not name.startswith("label"):
            part, _, leaf = name.rpartition(".")
            (body.setdefault(part, {}) if part else body)[leaf] = value
    return body


class Pasts:
    """All events by link key, as a store returns them.

    Parameters
    ----------
    matrix : FeatureMatrix
    table : RecordTable
        Source of the labels.
    records : sequence of Record
        The same records, parsed one by one.
    """

    def __init__(self, matrix: FeatureMatrix, table: RecordTable, records: Sequence[Record]) -> None:
        self._matrix = matrix
        self._events: dict[tuple[str, tuple[str, ...]], Events] = defaultdict(list)
        for place in np.argsort(-table.event_times, kind="stable").tolist():
            known, record = int(table.label_times[place]), records[place]
            person = hashlib.sha256(repr(person_of(record.values) or place).encode()).digest()[:16]
            labels = None if known == NEVER else pack_label(known, fraud=bool(table.labels[place] == 1))
            for key in matrix.link_keys:
                found = key_of(record.values, key)
                if found is not None:
                    self._events[key.name, found].append((record.event_time, person, labels))

    def counts(self, record: Record) -> dict[str, Counts]:
        """Count the past of a record under each of its keys."""
        counts = {}
        for key in self._matrix.link_keys:
            found = key_of(record.values, key)
            if found is not None:
                events = self._events[key.name, found]
                counts[key.name] = count_before(
                    events, at=record.event_time, spec=self._matrix.specs[key.name]
                )
        return counts


def check(matrix: FeatureMatrix, table: RecordTable, records: Sequence[Record], pasts: Pasts) -> None:
    """Compare single rows with the rows of the table; exit if a bit differs."""
    rows = matrix.rows(table)
    places = np.random.default_rng(1).choice(len(records), min(CHECKED, len(records)), replace=False).tolist()
    differing = sum(
        matrix.row(records[place], pasts.counts(records[place])).tobytes() != rows[place].tobytes()
        for place in places
    )
    print(f"records that differ from their row of the table in a bit: {differing:,} of {len(places):,}")
    if differing:
        raise SystemExit("a record alone differs from its row of the table: nothing is timed")


def train_as_served(prepared: Prepared) -> tuple[MarginSession, Contributions]:
    """Train 300 trees of up to 31 leaves, and prepare to serve them."""
    booster = fit(
        prepared.rows[prepared.split.train],
        prepared.split.train_targets,
        params={**AS_THE_PROJECT_TRAINS, "num_leaves": 31},
        rounds=300,
        seed=1,
        threads=2,
        **prepared.feature_options,
    )
    forest = parse_forest(fix_leaves(booster).model_to_string())
    margins = booster.predict(prepared.rows[:3000], raw_score=True)
    graph = to_onnx(
        forest, cuts=np.quantile(margins, np.linspace(0, 1, 1000)), feature_names=booster.feature_name()
    )
    contributions = Contributions(forest)
    for row in prepared.rows[:100]:
        expected = booster.predict(row[np.newaxis], pred_contrib=True)[0, :-1]
        if np.abs(contributions.explain(row) - expected).max() > 1e-9:
            raise SystemExit("contributions differ from LightGBM's: nothing is timed")
    return MarginSession(graph), contributions


def microseconds(step: str, calls: Sequence[Callable[[], object]]) -> float:
    """Time some calls; print and return the median over several rounds of their means."""
    rounds = []
    for _ in range(41):
        start = time.process_time_ns()
        for call in calls:
            call()
        rounds.append((time.process_time_ns() - start) / len(calls) / 1e3)
    median = float(np.median(rounds))
    print(f"{step:<44} {median:7.1f} us")
    return median


def time_record(matrix: FeatureMatrix, schema: RecordSchema, bodies: Sequence[Mapping[str, Any]]) -> None:
    """Time the steps without the model, on pasts of several sizes."""
    records = [parse_record(body, schema) for body in bodies]
    microseconds("parse", [partial(parse_record, body, schema) for body in bodies])
    microseconds("start", [partial(matrix.start, record.values) for record in records])
    linker = Linker(Secrets(bytes(32)), matrix.link_keys)
    microseconds("keys, hashed", [partial(linker.link, "pool", 1, record.values) for record in records])
    whole = [partial(_without_history, matrix, linker, record) for record in records]
    microseconds("all features and keys", whole)
    print(f"{'  median record (target 80)':<44} {_median_record(whole):7.1f} us")
    started, at, others = matrix.start(records[0].values), records[0].event_time, len(matrix.link_keys) - 1
    for name, sizes in {
        "no past": [0] * (others + 1),
        "3 past records under each key": [3] * (others + 1),
        f"{HOT} past records under one key": [HOT] + [0] * others,
        f"{HOT} past records under every key": [HOT] * (others + 1),
    }.items():
        count = partial(_count, matrix, [_past(at, size, matrix.reach) for size in sizes], at)
        counting = microseconds(f"count, {name}", [count] * TIMED)
        finishing = microseconds(f"finish, {name}", [partial(matrix.finish, started, at, count())] * TIMED)
    print(f"{'  count and finish, the last (at most ' + f'{MOST_HOT:g})':<44} {counting + finishing:7.1f} us")
    if counting + finishing > MOST_HOT:
        raise SystemExit(f"hot keys: count and finish take more than {MOST_HOT:g} us")


def _median_record(calls: Sequence[Callable[[], object]]) -> float:
    """Microseconds of the median record; each record counts with its median over several rounds."""
    taken = np.empty((41, len(calls)))
    for round_ in taken:
        for place, call in enumerate(calls):
            began = time.perf_counter_ns()
            call()
            round_[place] = time.perf_counter_ns() - began
    return float(np.median(np.median(taken, axis=0))) / 1e3


def _without_history(matrix: FeatureMatrix, linker: Linker, record: Record) -> FloatArray:
    """Every step of the service for a row, except reading its history."""
    linker.link("pool", 1, record.values)
    return matrix.finish(matrix.start(record.values), record.event_time, {})


def _count(matrix: FeatureMatrix, pasts: Sequence[Events], at: int) -> dict[str, Counts]:
    keys = zip(matrix.link_keys, pasts, strict=True)
    return {key.name: count_before(past, at=at, spec=matrix.specs[key.name]) for key, past in keys}


def _past(at: int, size: int, span: int) -> Events:
    """Invent past events, evenly over a span before an instant."""
    return [(at - 1 - place * span // size, place.to_bytes(16), None) for place in range(size)]


def time_model(
    session: MarginSession, contributions: Contributions, reasons: FactualReasons, rows: FloatArray
) -> None:
    """Time the steps that need only the model."""
    explained = [contributions.explain(row) for row in rows]
    microseconds("margin", [partial(session.margin, row) for row in rows])
    microseconds("contributions", [partial(contributions.explain, row) for row in rows])
    pairs = zip(rows, explained, strict=True)
    microseconds("reasons of contributions", [partial(reasons.choose, *pair) for pair in pairs])


def main() -> None:
    """Check single records against the table, then time the steps on the default configuration."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=60_000, help="invented records to train and check on")
    options = parser.parse_args()
    configuration = load_configuration(CONFIGURATION)
    invented = pa.Table.from_batches(generate(records=options.records, seed=1))
    bodies = [body_of(row) for row in invented.to_pylist()]
    table = read_records(invented, configuration.schema, labelled=True).table
    prepared = prepare(table, configuration)
    records = [parse_record(body, configuration.schema) for body in bodies]
    check(prepared.matrix, table, records, Pasts(prepared.matrix, table, records))
    session, contributions = train_as_served(prepared)
    rows = prepared.rows[-TIMED:]
    time_record(prepared.matrix, configuration.schema, bodies[-TIMED:])
    factors = reason_factors(prepared.matrix, use=configuration.use, share=configuration.policy.reason_share)
    time_model(session, contributions, FactualReasons(factors, prepared.matrix.names), rows)


if __name__ == "__main__":
    main()
