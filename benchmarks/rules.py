"""Time rules of operators: one record in plain Python, a table with numpy.

Both are compared on the same rows first: their hits must be equal. The peer for one record is the evaluator of tables
on a table of one row, which is what a service without the other one would run. Ends with an error if 20 rules take
more than 3 us for one record.
"""

import timeit
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from shared.script import Verdict, at_most, run

from scoring_model import synthetic
from scoring_model.records import RecordSchema, SignalType
from scoring_model.records.reading import read_records
from scoring_model.rules import Kind, RuleEvaluator, parse_rules

BOUND_US = 3.0
COLUMNS = tuple(f"link_device_7d_{place}" for place in range(60))
SIGNALS = {"emailAgeDays": SignalType.NUMBER, "vpn": SignalType.BOOLEAN, "channel": SignalType.CATEGORY}
NAMES = {
    "score": Kind.NUMBER,
    "signals.emailAgeDays": Kind.NUMBER,
    "signals.vpn": Kind.BOOLEAN,
    "signals.channel": Kind.TEXT,
    "citizenship": Kind.TEXT,
    **dict.fromkeys(COLUMNS, Kind.NUMBER),
}


def evaluator(count: int) -> RuleEvaluator:
    """Rules of two or three conditions, like those of docs/rules.md."""
    kinds = (
        lambda place: {"signals.emailAgeDays": {"below": place + 2}, COLUMNS[place]: {"at_least": 1}},
        lambda place: {"score": {"at_least": 100}, COLUMNS[place]: {"above": 2}, "citizenship": {"is": "GB"}},
        lambda place: {"signals.channel": {"in": ["web", "app"]}, "signals.vpn": {"is": True}},
        lambda place: {COLUMNS[place]: {"at_least": 3}, COLUMNS[place + 1]: {"at_most": 1}},
    )
    rules = [
        {"code": f"R{place}", "title": "rule", "when": kinds[place % 4](place), "then": "STEPPED_UP"}
        for place in range(count)
    ]
    return RuleEvaluator(parse_rules({"rules": rules}, NAMES), COLUMNS)


def microseconds(call: Callable[[], object], *, number: int, repeat: int) -> float:
    """Return the least time of a call."""
    return min(timeit.repeat(call, number=number, repeat=repeat)) / number * 1e6


def main(*, records: int = 20_000, rules: int = 20) -> Iterator[Verdict]:
    """Compare, time and print."""
    source = pa.Table.from_batches(synthetic.generate(records=records, seed=3, months=6))
    table = read_records(source, RecordSchema(signals=SIGNALS), labelled=False).table
    ready = evaluator(rules)
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 1001, len(table))
    shape = (len(table), len(COLUMNS))
    rows = np.where(rng.random(shape) < 0.1, np.nan, rng.poisson(1, shape))
    held = ready.table_hits(scores, table, rows)
    some = [table.record(place) for place in range(2_000)]
    calls = [(int(scores[at]), one.values, rows[at], one.event_time) for at, one in enumerate(some)]
    if any(ready.hits(*one) != tuple(np.flatnonzero(held[at]).tolist()) for at, one in enumerate(calls)):
        raise SystemExit("the evaluators differ")
    print(f"{len(some):,} records have the same hits, {held[: len(some)].sum():,} in all")
    alone = microseconds(lambda: [ready.hits(*one) for one in calls], number=5, repeat=9) / len(calls)
    first = table.take(np.arange(1))
    peer = microseconds(lambda: ready.table_hits(scores[:1], first, rows[:1]), number=50, repeat=5)
    whole = microseconds(lambda: ready.table_hits(scores, table, rows), number=3, repeat=3) / len(table)
    print(f"{rules} rules, a table of {len(table):,}: {whole * 1e3:.0f} ns for each record")
    print(f"{rules} rules, one record: numpy on one row {peer:.0f} us, {peer / alone:.0f} times")
    yield at_most(f"{rules} rules, one record, us", alone, BOUND_US * rules / 20)


if __name__ == "__main__":
    run(main)
