"""Check that reasons are true: every reason of 100,000 invented records, judged by its words.

A model is trained on the records; then the reasons of each record are
chosen as if it had not passed, and every sentence is judged on the record's values and on earlier records, without the
feature row. The table counts stated and untrue reasons by code. Ends with 1 if any is untrue.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np
from shared.bundles import IDENTITY, default_booster
from shared.script import Verdict, at_most, print_head, print_row, run

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


def main(*, records: int = 100_000, rounds: int = 100) -> Iterator[Verdict]:
    """Train that many trees, state the reasons of every record, and judge them."""
    configuration = load_configuration(IDENTITY)
    booster, prepared, table, source = default_booster(records, rounds=rounds)
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
    print_head("code", "stated", "untrue")
    for code, count in stated.most_common():
        print_row(code, count, untrue[code])
    yield at_most(f"untrue of {stated.total():,} reasons of {len(table):,} records", untrue.total(), 0)


if __name__ == "__main__":
    run(main)
