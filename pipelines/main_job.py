"""The main job from nothing: invent records, check, train, score, evaluate, and print the paths of the results.

Twenty-three months train; the twenty-fourth is scored with them as its history, and evaluated.
"""

import os
import sys
import time
from datetime import datetime
from pathlib import Path

import pyarrow.parquet as pq

from scoring_model.cli import main
from scoring_model.synthetic.cut import cut

RUNS = Path("runs")
CONFIGURATION = Path("configs/identity.yaml")
RECORDS, SEED, TRIALS = 200_000, 7, 6
LAST_MONTH = datetime.fromisoformat("2025-12-01T00:00:00+00:00")


def idle_cores() -> int:
    """Return the number of cores idle in the last minute, 1 or 2; more threads would wait for each other."""
    cores = len(os.sched_getaffinity(0))
    return min(max(round(cores - os.getloadavg()[0]), 1), 2)


def run() -> int:
    """Run every step; the first that fails ends the job with its exit code."""
    started = time.monotonic()
    RUNS.mkdir(exist_ok=True)
    threads = ["--threads", os.environ.get("THREADS") or str(idle_cores())]
    everything, identities, new = (RUNS / f"{name}.parquet" for name in ("all", "identities", "new"))
    bundle, scored, evaluation = RUNS / "first", RUNS / "scored.parquet", RUNS / "evaluation.json"
    steps = [
        ["synth", everything, "--records", RECORDS, "--seed", SEED],
        ["check", identities, "--config", CONFIGURATION],
        [
            "train",
            identities,
            "--config",
            CONFIGURATION,
            "--out",
            bundle,
            "--trials",
            TRIALS,
            "--replace",
            *threads,
        ],
        ["score", bundle, new, "--out", scored, "--history", identities, "--reasons", *threads],
        ["evaluate", bundle, new, "--history", identities, "--json", evaluation, *threads],
    ]
    for step in steps:
        print(f"\n$ scoring-model {' '.join(map(str, step))}", flush=True)
        if code := main([str(word) for word in step]):
            return code
        if step[0] == "synth":
            for table, path in zip(
                cut(pq.read_table(everything), LAST_MONTH), (identities, new), strict=True
            ):
                pq.write_table(table, path)
    print(f"All records are invented. The job took {time.monotonic() - started:.0f} s.")
    store = f"sqlite:///{RUNS}/tracking/mlflow.db"
    for what, where, command in (
        ("bundle", bundle, f"scoring-model inspect {bundle}"),
        ("evaluation", RUNS / "first.training" / "evaluation.md", "less runs/first.training/evaluation.md"),
        ("MLflow store", RUNS / "tracking" / "mlflow.db", f"mlflow ui --backend-store-uri {store}"),
        ("scored file", scored, f"python -c \"import pandas; print(pandas.read_parquet('{scored}'))\""),
        ("report", RUNS / "first.training" / "report.html", "in a browser"),
    ):
        tool = command if command.startswith(("less", "in ")) else f".venv/bin/{command}"
        print(f"{what:<13} {where!s:<38} {tool}")
    return 0


if __name__ == "__main__":
    sys.exit(run())
