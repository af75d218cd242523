"""Time rules of operators: one record in plain Python, a table with numpy.

Both are compared on the same rows first: their hits must be equal. The peer for one record is the evaluator of tables
on a table of one row, which is what a service without the other one would run. Ends with an error if 20 rules take
more than 3 us for one record.
"""

import argparse
import sys
import timeit

import numpy as np
import pyarrow as pa

from scoring_model import synthetic
from scoring_model.records import RecordSchema, RecordTable, SignalType
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


def invented(records: int) -> RecordTable:
    """Invented records."""
    table = pa.Table.from_batches(synthetic.generate(records=records, seed=3, months=6))
    return read_records(table, RecordSchema(signals=SIGNALS), labelled=False).table


def main() -> int:
    """Compare, time and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--rules", type=int, default=20)
    given = parser.parse_args()
    table, ready = invented(given.records), evaluator(given.rules)
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 1001, len(table))
    rows = np.where(
        rng.random((len(table), len(COLUMNS))) < 0.1, np.nan, rng.poisson(1, (len(table), len(COLUMNS)))
    )
    held = ready.table_hits(scores, table, rows)
    records = [table.record(place) for place in range(2_000)]
    for place, one in enumerate(records):
        hits = ready.hits(int(scores[place]), one.values, rows[place], one.event_time)
        if hits != tuple(np.flatnonzero(held[place]).tolist()):
            raise AssertionError(f"record {place}: the evaluators differ")
    print(f"{len(records):,} records have the same hits, {held[:2_000].sum():,} in all")
    arguments = [(int(scores[at]), one.values, rows[at], one.event_time) for at, one in enumerate(records)]

    def each() -> None:
        for one in arguments:
            ready.hits(*one)

    alone = min(timeit.repeat(each, number=5, repeat=9)) / 5 / len(records) * 1e6
    first = table.take(np.arange(1))
    peer = (
        min(timeit.repeat(lambda: ready.table_hits(scores[:1], first, rows[:1]), number=50, repeat=5))
        / 50
        * 1e6
    )
    whole = (
        min(timeit.repeat(lambda: ready.table_hits(scores, table, rows), number=3, repeat=3)) / 3 / len(table)
    )
    print(
        f"{given.rules} rules, one record: {alone:.2f} us (numpy on one row {peer:.0f} us, {peer / alone:.0f} times)"
    )
    print(f"{given.rules} rules, a table of {len(table):,}: {whole * 1e9:.0f} ns for each record")
    if given.rules == 20 and alone > BOUND_US:
        print(f"more than {BOUND_US} us for one record")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
