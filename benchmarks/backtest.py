"""A backtest of 12 folds against 12 separate trainings: 500,000 invented records over 24 months.

Run as ``python benchmarks/backtest.py``. The backtest runs as a program with two processes; time is that of the whole
program, memory the largest of its processes together. The trainings run as programs too (``train --as-of``, two
threads), at the first and at the last instant; their mean, times the number of folds, is the time of all of them, since
the train part grows by the same length from fold to fold. ``--all`` runs every one. Before times count, each bundle
must have the thresholds of its fold. Ends with an error if the backtest takes more than a third of the time, or more
than 4 GB.
"""

import json
import tempfile
from pathlib import Path
from typing import Any, Final

import yaml
from shared.bundles import IDENTITY, invented_file
from shared.judging import arguments
from shared.processes import Measured, run_program

PARAMETERS: Final = {
    "params": {
        "learning_rate": 0.05,
        "num_leaves": 31,
        "min_data_in_leaf": 50,
        "feature_fraction": 0.5,
        "bagging_fraction": 0.8,
        "bagging_freq": 1,
    },
    "rounds": 200,
}
MOST_SHARE, MOST_GIGABYTES = 1 / 3, 4.0


def write_configuration(path: Path) -> None:
    """Write the default use with fixed parameters, young labels, no test part, and bounds that every fold can keep."""
    plain = yaml.safe_load(IDENTITY.read_text(encoding="utf-8"))
    plain["training"]["split"] = {"label_maturity": "14d", "test": 0}
    plain["training"]["tuned"] = PARAMETERS
    plain["policy"] = {"confidence": 0.95, "max_false_reject": 0.01, "max_step_up": 0.05}
    path.write_text(yaml.safe_dump(plain), encoding="utf-8")


def train(records: Path, config: Path, fold: dict[str, Any], folder: Path) -> Measured:
    """Train as of the instant of a fold; exit if the thresholds are not those of the fold."""
    out = folder / f"bundle-{fold['as_of'][:10]}"
    found = run_program(
        "train", records, "--config", config, "--out", out, "--as-of", fold["as_of"], "--no-track", "--threads", 2
    )  # fmt: skip
    policy = json.loads((out / "policy.json").read_text(encoding="utf-8"))
    if any(policy[name] != fold[name] for name in ("step_up_from", "fail_from")):
        raise SystemExit(f"the thresholds as of {fold['as_of']} differ: nothing is timed")
    return found


def shown(one: Measured) -> str:
    """Time and memory of a program."""
    return f"{one.seconds:.0f} s ({one.cpu:.0f} s of CPU), {one.gigabytes:.2f} GB"


def main() -> None:
    """Measure, print, and exit with an error if a limit is broken."""
    parser = arguments(__doc__)
    parser.add_argument("--records", type=int, default=500_000)
    parser.add_argument("--folds", type=int, default=12)
    parser.add_argument("--all", action="store_true", help="run every separate training")
    options = parser.parse_args()
    records = invented_file(options.records)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = folder / "use.yaml"
        write_configuration(config)
        found = run_program(
            "backtest", records, "--config", config, "--cadence", "1m,3m", "--folds", options.folds, "--processes", 2,
            "--report", folder / "report.html", "--json",
        )  # fmt: skip
        folds = [fold for fold in json.loads(found.output)["folds"] if fold["failure"] is None]
        if len(folds) < options.folds:
            raise SystemExit(f"{len(folds)} folds gave a model: more records are needed")
        print(f"backtest, {len(folds)} folds: {shown(found)}", flush=True)
        separate = []
        for fold in folds if options.all else [folds[0], folds[-1]]:
            separate.append(train(records, config, fold, folder))
            print(f"training as of {fold['as_of'][:10]}: {shown(separate[-1])}", flush=True)
    total = sum(one.seconds for one in separate) / len(separate) * len(folds)
    share = found.seconds / total
    print(
        f"{len(folds)} separate trainings: {total:.0f} s ({len(separate)} were run); "
        f"the backtest takes {share:.2f} of it"
    )
    if share > MOST_SHARE or found.gigabytes > MOST_GIGABYTES:
        raise SystemExit(f"at most {MOST_SHARE:.2f} of the time and {MOST_GIGABYTES:g} GB are accepted")


if __name__ == "__main__":
    main()
