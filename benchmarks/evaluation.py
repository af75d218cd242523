"""Time and memory of an evaluation of a million records: 1,000 draws of days, groups and every curve.

A scored file of a bundle and a file of labels are invented. The command that reports on them is timed as a whole, and
its report is opened in Chromium on a desk and on a phone, three times each, until it is painted. Ends with 1 if the
command takes more than 60 seconds or 4 GB, or the report has more than 3 MB or takes 2 seconds to open.
"""

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import numpy as np
import pandas as pd
import typer
from shared.browser import open_times
from shared.processes import run_program
from shared.script import Verdict, at_most, run

from scoring_model.arrays import IntArray
from scoring_model.contract.outcome import OUTCOMES
from scoring_model.records.times import DAY
from scoring_model.scorer import Scorer

MOST_SECONDS: Final = 60.0
MOST_GIGABYTES: Final = 4.0
MOST_TO_OPEN: Final = 2.0
MOST_BYTES: Final = 3_000_000


def invent(scorer: Scorer, size: int, days: int, frauds: float, folder: Path) -> tuple[Path, Path]:
    """Write records in a hundred countries as `score` writes them, and their labels, known a month later."""
    scored, labels, rng = folder / "scored.parquet", folder / "labels.csv", np.random.default_rng(7)
    fraud, times = rng.random(size) < frauds, rng.integers(0, days * DAY, size)
    decisions, words = scorer.rules.decide(rng.normal(2.0 * fraud - 4, 1.0)), scorer.contents.schema.labels
    ids = pd.Series(np.arange(size)).map("r{:07}".format)
    countries = [f"C{code:02}" for code in range(100)]
    pd.DataFrame(
        {
            "recordId": ids,
            "eventTime": _texts(times),
            "scoringScore": decisions.scores,
            "scoringOutcome": np.array(OUTCOMES)[decisions.outcomes],
            "margin": decisions.margins,
            "modelVersion": scorer.manifest.model_version,
            "policyVersion": scorer.manifest.policy_version,
            "country": pd.Categorical.from_codes(rng.zipf(1.5, size) % 100, pd.Index(countries)),
        }
    ).to_parquet(scored, index=False)
    label = np.where(fraud, min(words.fraud), min(words.genuine))
    known = _texts(times + 30 * DAY)
    pd.DataFrame({"recordId": ids, "label": label, "labelKnownAt": known}).to_csv(labels, index=False)
    return scored, labels


def _texts(instants: IntArray) -> "pd.Index[str]":
    return pd.to_datetime(instants, unit="us", utc=True).strftime("%Y-%m-%dT%H:%M:%SZ")


def main(
    *,
    records: int = 1_000_000,
    days: int = 730,
    frauds: float = 0.015,
    bundle: Annotated[Path, typer.Option()],
) -> Iterator[Verdict]:
    """Time the command, and the opening of its report."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scored, labels = invent(Scorer.load(bundle), records, days, frauds, folder)
        report = folder / "a.html"
        found = run_program(
            "evaluate", bundle, scored, "--labels", labels, "--by", "country", "--report", report
        )
        if f"{records:,} records" not in report.read_text(encoding="utf-8"):
            raise SystemExit("the report is about other records: nothing is measured")
        opened = max(map(max, asyncio.run(open_times(report, repeats=3)).values()))
        size = report.stat().st_size
    print(f"{found.cpu:.1f} s of processor time")
    yield at_most("seconds", found.seconds, MOST_SECONDS)
    yield at_most("gigabytes", found.gigabytes, MOST_GIGABYTES)
    yield at_most("megabytes of the report", size / 1e6, MOST_BYTES / 1e6)
    yield at_most("seconds until the report is open", opened, MOST_TO_OPEN)


if __name__ == "__main__":
    run(main)
