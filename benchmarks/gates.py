r"""How often gates call two models of one recipe different, and whether they find planted differences.

Both models of a pair see the same records through independent noise, as two seeds of one recipe do. Days differ in
their share of frauds and in how hard these are. At most 18 of 200 pairs may be promoted or called significantly
worse. A better model must be promoted, and one that is stricter with a group must be refused by that gate.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
from shared.bundles import CONFIGURATIONS
from shared.script import Verdict, counted, run
from shared.simulation import DAY, rules_of

from scoring_model.arrays import FloatArray
from scoring_model.configuration import FindingGate, GateSettings, PromiseGate, load_gates
from scoring_model.evaluation import (
    EvaluatedRecords,
    Evaluation,
    GateReport,
    check_gates,
    compare_evaluations,
    evaluate_records,
)
from scoring_model.records import Column

LARGEST_SHARE: Final = 18 / 200
DOCUMENTS: Final = ("ID_CARD", "PASSPORT", "DRIVERS_LICENSE")
RULES: Final = rules_of(fail_from=560)


def settings() -> GateSettings:
    """Return the committed gates without promises and findings about records of a training: there are none here."""
    loaded = load_gates(CONFIGURATIONS / "gates.yaml")
    kept = {name: one for name, one in loaded.gates.items() if not isinstance(one, PromiseGate | FindingGate)}
    return GateSettings(gates=kept, min_days=loaded.min_days)


def judge(
    seed: int, *, records: int, days: int, gain: float = 0.0, unfair: float = 0.0, noise: float = 0.25
) -> GateReport:
    """Compare two models with noise of their own on invented records.

    The challenger rates frauds higher by `gain` (log-odds), genuine holders of a driver's licence by `unfair`, and all
    other genuine records lower by half of that.
    """
    rng = np.random.default_rng(seed)
    day = rng.integers(0, days, records)
    share = 0.04 * np.exp(rng.normal(0, 0.5, days))
    labels = (rng.random(records) < share[day]).astype(np.int8)
    documents = rng.choice(3, records, p=(0.5, 0.3, 0.2))
    hardness = rng.normal(0, 0.5, days)[day]
    signal = rng.normal(-4, 1, records) + labels * (2.5 + hardness)
    better = gain * labels + unfair * (1 - labels) * np.where(documents == 2, 1.0, -0.5)

    def evaluated(more: FloatArray) -> Evaluation:
        return evaluate_records(
            EvaluatedRecords(
                decisions=RULES.decide(signal + more + rng.normal(0, noise, records)),
                labels=labels,
                event_times=day * DAY,
                columns={"documentType": Column(DOCUMENTS, documents.astype(np.int32))},
            ),
            rules=RULES,
            by={"documentType": None},
        )

    champion, challenger = evaluated(np.zeros(records)), evaluated(better)
    return check_gates(settings(), compare_evaluations(champion, challenger))


def main(*, pairs: int = 200, records: int = 8_000, days: int = 60) -> Iterator[Verdict]:
    """Count false alarms and check planted differences."""
    better = judge(1, records=40_000, days=days, gain=0.2, noise=0.05)
    unfair = judge(1, records=40_000, days=days, gain=0.2, unfair=0.6, noise=0.05)
    few = judge(1, records=records, days=29, gain=0.5)
    refusing = [result.name for result in unfair.results if result.verdict != "passed"]
    names = ", ".join(better.improved) or "nothing"
    yield Verdict(better.promotes, f"a better model: promoted {better.promotes}, better in {names}")
    refused = "documents" in refusing and not unfair.promotes
    names = ", ".join(refusing) or "nothing"
    yield Verdict(refused, f"an unfair model: promoted {unfair.promotes}, refused by {names}")
    yield Verdict(few.exit_code == 11, f"29 days: exit code {few.exit_code}")
    reports = [judge(seed, records=records, days=days) for seed in range(pairs)]
    promoted, worse, improved = (
        sum(map(bool, column))
        for column in zip(*((one.promotes, one.worsened, one.improved) for one in reports), strict=True)
    )
    print(f"{pairs} pairs of one recipe: {promoted} promoted, {worse} significantly worse", end=", ")
    print(f"{improved} significantly better in some figure, promoted or not")
    either = sum(one.promotes or bool(one.worsened) for one in reports)
    yield counted("promoted or significantly worse", either, pairs, at_most=LARGEST_SHARE)


if __name__ == "__main__":
    run(main)
