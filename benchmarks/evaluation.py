r"""Time and memory of an evaluation of a million records: 1,000 draws of days, groups and every curve.

With a bundle, a scored file of as
many rows and a file of their labels are invented, the command that reports on them is timed as a whole and printed, and
its report is opened in Chromium on a desk and on a phone, three times each, until it is painted. Ends with 1 if the
command takes more than 60 seconds or 4 GB, or the report has more than 3 MB or takes 2 seconds to open.
"""

import asyncio
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
import pandas as pd
from shared.browser import open_times
from shared.processes import run_program
from shared.script import Verdict, at_most, run
from shared.simulation import rules_of

from scoring_model.arrays import IntArray
from scoring_model.configuration import CostSettings
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.evaluation import EvaluatedRecords, evaluate_records
from scoring_model.records import Column
from scoring_model.records.times import DAY
from scoring_model.scorer import Scorer

RULES = rules_of(fail_from=700)
COSTS = CostSettings(fraud_loss=100, reject_cost=10, step_up_cost=1, step_up_effectiveness=0.8)
MOST_SECONDS: Final = 60.0
MOST_GIGABYTES: Final = 4.0
MOST_TO_OPEN: Final = 2.0
MOST_BYTES: Final = 3_000_000
T = TypeVar("T")
CURVES = ("scores", "roc", "capacity", "reliability", "thresholds", "weeks")


def invent(size: int, *, days: int, frauds: float) -> EvaluatedRecords:
    """Draw decisions on records of persons with two records on average, in a hundred countries and two channels."""
    rng = np.random.default_rng(7)
    labels = (rng.random(size) < frauds).astype(np.int8)
    countries = Column(
        tuple(f"C{code:02}" for code in range(100)), (rng.zipf(1.5, size) % 100).astype(np.int32)
    )
    channels = Column(("app", "web"), rng.integers(-1, 2, size).astype(np.int32))
    return EvaluatedRecords(
        decisions=RULES.decide(rng.normal(2.0 * labels - 4, 1.0)),
        labels=labels,
        event_times=rng.integers(0, days * DAY, size),
        persons=rng.integers(0, max(size // 2, 1), size),
        columns={"country": countries, "channel": channels},
    )


def timed(name: str, work: Callable[[], T]) -> T:
    """Print the seconds of some work."""
    started = time.perf_counter()
    found = work()
    print(f"{name:<24}{time.perf_counter() - started:8.2f} s", flush=True)
    return found


def write_scored(scorer: Scorer, records: EvaluatedRecords, folder: Path) -> tuple[Path, Path]:
    """Write decisions under the rules of a bundle as `score` writes them, and the labels, known a month later."""
    scored, labels = folder / "scored.parquet", folder / "labels.csv"
    decisions, words = scorer.rules.decide(records.decisions.margins), scorer.contents.schema.labels
    ids = [f"r{row:07}" for row in range(len(records))]
    pd.DataFrame(
        {
            "recordId": ids,
            "eventTime": _texts(records.event_times),
            "scoringScore": decisions.scores,
            "scoringOutcome": np.array(OUTCOMES)[decisions.outcomes],
            "margin": decisions.margins,
            "modelVersion": scorer.manifest.model_version,
            "policyVersion": scorer.manifest.policy_version,
            **{
                name: pd.Categorical.from_codes(one.codes, pd.Index(one.values))
                for name, one in records.columns.items()
            },
        }
    ).to_parquet(scored, index=False)
    label = np.array([min(words.genuine), min(words.fraud)])[records.labels]
    known = _texts(records.event_times + 30 * DAY)
    pd.DataFrame({"recordId": ids, "label": label, "labelKnownAt": known}).to_csv(labels, index=False)
    return scored, labels


def _texts(instants: IntArray) -> "pd.Index[str]":
    return pd.to_datetime(instants, unit="us", utc=True).strftime("%Y-%m-%dT%H:%M:%SZ")


def time_command(bundle: Path, records: EvaluatedRecords) -> Iterator[Verdict]:
    """Time the command, and the opening of its report."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scored, labels = write_scored(Scorer.load(bundle), records, folder)
        report = folder / "a.html"
        words = (bundle, scored, "--labels", labels, "--by", "country", "--report", report)
        found = run_program("evaluate", *words)
        if f"{len(records.labels):,} records" not in report.read_text(encoding="utf-8"):
            raise SystemExit("the report is about other records: nothing is measured")
        opened = max(map(max, asyncio.run(open_times(report, repeats=3)).values()))
        size = report.stat().st_size
        shown = " ".join(word.name if isinstance(word, Path) else word for word in words)
        print(f"scoring-model evaluate {shown}: {found.cpu:.1f} s of processor time")
    yield at_most("seconds", found.seconds, MOST_SECONDS)
    yield at_most("gigabytes", found.gigabytes, MOST_GIGABYTES)
    yield at_most("megabytes of the report", size / 1e6, MOST_BYTES / 1e6)
    yield at_most("seconds until the report is open", opened, MOST_TO_OPEN)


def main(
    *, records: int = 1_000_000, days: int = 730, frauds: float = 0.015, bundle: Path | None = None
) -> Iterator[Verdict]:
    """Measure."""
    made = invent(records, days=days, frauds=frauds)
    print(f"{records:,} records, {days} days, {int(made.labels.sum()):,} frauds")
    by = {"country": None, "channel": None}
    result = timed("evaluation with groups", lambda: evaluate_records(made, rules=RULES, costs=COSTS, by=by))
    for name in CURVES:
        timed(name, partial(getattr, result.curves, name))
    print(f"{'memory':<24}{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:8.2f} GB")
    if bundle is not None:
        yield from time_command(bundle, made)


if __name__ == "__main__":
    run(main)
