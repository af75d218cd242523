"""A backtest of 12 folds against 12 separate trainings: 500,000 invented records over 24 months.

The backtest runs as a program with two processes; time is that of the whole
program, memory the largest of its processes together. The trainings run as programs too (``train --as-of``, two
threads), at the first and at the last instant; their mean, times the number of folds, is the time of all of them, since
the train part grows by the same length from fold to fold. ``--every`` runs every one. Before times count, each bundle
must have the thresholds of its fold. Ends with an error if the backtest takes more than a third of the time, or more
than 4 GB.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml
from shared.bundles import IDENTITY, invented_file
from shared.processes import Measured, run_program
from shared.script import Verdict, at_most, run

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


def main(*, records: int = 500_000, folds: int = 12, every: bool = False) -> Iterator[Verdict]:
    """Measure; with `every`, run every separate training."""
    file = invented_file(records)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = folder / "use.yaml"
        write_configuration(config)
        whole = run_program(
            "backtest", file, "--config", config, "--cadence", "1m,3m", "--folds", folds, "--processes", 2,
            "--report", folder / "report.html", "--json",
        )  # fmt: skip
        made = [fold for fold in json.loads(whole.output)["folds"] if fold["failure"] is None]
        if len(made) < folds:
            raise SystemExit(f"{len(made)} folds gave a model: more records are needed")
        print(f"backtest, {folds} folds: {shown(whole)}", flush=True)
        separate = []
        for fold in made if every else [made[0], made[-1]]:
            separate.append(train(file, config, fold, folder))
            print(f"training as of {fold['as_of'][:10]}: {shown(separate[-1])}", flush=True)
    total = sum(one.seconds for one in separate) / len(separate) * folds
    print(f"{folds} separate trainings: {total:.0f} s ({len(separate)} were run)")
    yield at_most("time of the backtest beside that of the trainings", whole.seconds / total, MOST_SHARE)
    yield at_most("peak gigabytes", whole.gigabytes, MOST_GIGABYTES)


if __name__ == "__main__":
    run(main)
