"""Peak memory of a training on a million records with 80 features, from the file to the sealed bundle.

Run as ``python benchmarks/training_memory.py [--records N] [--features N]``. It uses the default configuration
with an even selection of its features and without its bound on missed frauds, which so few features may not keep. One
process does a search of a few trials, the first of which trains on everything, then fit, calibration, thresholds and
evaluation. The sealed bundle is opened again, which checks its decisions. Exits with 1 above 4 gigabytes.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.invented_file import invented_file

from scoring_model import Scorer
from scoring_model.configuration import Configuration, load_configuration
from scoring_model.features import FeatureMatrix, fit_state
from scoring_model.records import RecordTable
from scoring_model.records.reading import read_records
from scoring_model.training.run import run_training

CONFIGURATION: Final = Path(__file__).parents[1] / "configs" / "identity.yaml"
TRIALS: Final = 3
SAMPLE: Final = 1000
GIGABYTE: Final = 1e9
MOST: Final = 4.0


def configuration_of(table: RecordTable, features: int) -> Configuration:
    """The default configuration with a number of features and few trials."""
    whole = load_configuration(CONFIGURATION)
    first = table.take(np.arange(SAMPLE))
    names = FeatureMatrix(whole.feature_settings, fit_state(first, whole.feature_settings)).names
    kept = names[:: len(names) // features][:features]
    tuning = replace(whole.training.tuning, trials=TRIALS)
    return replace(
        whole,
        features=replace(
            whole.features, exclude=tuple(name for name in names if name not in kept), drop_useless=False
        ),
        training=replace(whole.training, tuning=tuning),
        policy=replace(whole.policy, max_missed_fraud=None),
    )


def measure(path: Path, features: int) -> dict[str, float]:
    """Train in this process; return seconds, gigabytes, and the shape of the training data."""
    started = time.monotonic()
    table = read_records(path, load_configuration(CONFIGURATION).schema, labelled=True).table
    training = run_training(
        table,
        configuration_of(table, features),
        progress=False,
        report=lambda text: print(text, file=sys.stderr),
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIGABYTE
    seconds = time.monotonic() - started
    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(folder) / "bundle"
        training.bundle.save(bundle)
        Scorer.load(bundle)  # decides on its golden rows, and raises if a bit differs
    shape = {"records": len(table), "features": len(training.bundle.contents.features.features)}
    return {"seconds": seconds, "peak": peak, **shape}


def main() -> None:
    """Measure in a separate process, and judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=80)
    parser.add_argument("--file", type=Path, help="measure this file in this process")
    options = parser.parse_args()
    if options.file is not None:
        print(json.dumps(measure(options.file, options.features)))
        return
    command = [sys.executable, __file__, "--features", str(options.features)]
    done = subprocess.run(
        [*command, "--file", str(invented_file(options.records))],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.returncode)
    found = json.loads(done.stdout.splitlines()[-1])
    print(
        f"{found['records']:,} x {found['features']}: {found['seconds']:.0f} s, peak {found['peak']:.2f} GB"
    )
    print(f"target: at most {MOST:g} GB")
    sys.exit(0 if found["peak"] <= MOST else 1)


if __name__ == "__main__":
    main()
