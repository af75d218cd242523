"""Check that reasons are true: every reason of 100,000 invented records, judged by its words.

Run as ``python benchmarks/reasons_audit.py``. A model is trained on the records; then the reasons of each record are
chosen as if it had not passed, and every sentence is judged on the record's values and on earlier records, without the
feature row. The table counts stated and untrue reasons by code. Exits with 1 if any is untrue.
"""

import sys
from collections import Counter

import numpy as np
from shared.bundles import IDENTITY, default_booster
from shared.judging import arguments

from identity_use import bodies
from reason_oracle import Earlier, History, Values, is_true
from scoring_model.bundle import reason_factors
from scoring_model.configuration import Configuration, load_configuration
from scoring_model.decision.contributions import Contributions
from scoring_model.decision.reasons import FactualReasons
from scoring_model.records import RecordTable, parse_record
from scoring_model.training.model_text import parse_forest


def history_of(configuration: Configuration, table: RecordTable, values: list[Values]) -> History:
    """All records as later ones see them."""
    titles = {signal.title: name for name, signal in configuration.signals.items() if signal.title}
    history = History(configuration.links.link_keys, titles)
    for place in np.argsort(table.event_times, kind="stable").tolist():
        label, known = int(table.labels[place]), int(table.label_times[place])
        history.add(values[place], Earlier(int(table.event_times[place]), label == 1, known))
    return history


def main() -> int:
    """Train, state the reasons of every record, and judge them."""
    parser = arguments(__doc__)
    parser.add_argument("--records", type=int, default=100_000, help="invented records to train on and audit")
    parser.add_argument("--rounds", type=int, default=100, help="trees of the model")
    options = parser.parse_args()
    configuration = load_configuration(IDENTITY)
    booster, prepared, table, source = default_booster(options.records, rounds=options.rounds)
    values = [parse_record(body, configuration.schema).values for body in bodies(source)]
    history = history_of(configuration, table, list(values))
    contributions = Contributions(parse_forest(booster.model_to_string()))
    factors = reason_factors(prepared.matrix, use=configuration.use, share=configuration.policy.reason_share)
    reasons = FactualReasons(factors, prepared.matrix.names)
    stated: Counter[str] = Counter()
    untrue: Counter[str] = Counter()
    for place, row in enumerate(prepared.rows):
        for code in reasons.choose(row, contributions.explain(row)):
            stated[code] += 1
            at = int(table.event_times[place])
            untrue[code] += not is_true(reasons.sentences[code], values[place], at, history)
    print(f"{'code':<32} {'stated':>9} {'untrue':>9}")
    for code, count in stated.most_common():
        print(f"{code:<32} {count:>9,} {untrue[code]:>9,}")
    print(f"{f'all, of {len(table):,} records':<32} {stated.total():>9,} {untrue.total():>9,}")
    return 1 if untrue.total() else 0


if __name__ == "__main__":
    sys.exit(main())
