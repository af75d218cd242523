"""A backtest of 12 folds against 12 separate trainings: 500,000 invented records over 24 months.

Run as ``python benchmarks/backtest.py``. The backtest runs as a program with two processes; time is that of the whole
program, memory the largest sum, over the program and its processes, of resident pages that each shares with others
only in part (PSS, sampled). The trainings run as programs too (``train --as-of``, two threads), at the first and at the
last instant; their mean, times the number of folds, is the time of all of them, since the train part grows by the same
length from fold to fold. ``--all`` runs every one. Before times count, each bundle must have the thresholds of its
fold. Ends with an error if the backtest takes more than a third of the time, or more than 4 GB.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.invented_file import invented_file

CONFIGURATION: Final = Path(__file__).parents[1] / "configs" / "identity.yaml"
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
_PROGRAM: Final = (sys.executable, "-c", "import sys; from scoring_model.cli import main; sys.exit(main())")


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A finished program.

    Parameters
    ----------
    seconds, cpu : float
        Wall-clock time, and CPU time of the program and its processes, which other work disturbs less.
    gigabytes : float
        Largest memory of the program and its processes.
    """

    seconds: float
    cpu: float
    gigabytes: float
    output: str


def run(*arguments: object) -> Measured:
    """Run the program, and sample its memory."""
    started, before, peak = time.perf_counter(), cpu_of_children(), 0.0
    with tempfile.TemporaryFile("w+") as output:
        with subprocess.Popen([*_PROGRAM, *map(str, arguments)], stdout=output) as program:
            while program.poll() is None:
                peak = max(peak, sum(map(resident, tree(program.pid))))
                time.sleep(1.0)
        seconds = time.perf_counter() - started
        if program.returncode:
            raise SystemExit(f"{arguments[0]} ended with code {program.returncode}")
        output.seek(0)
        cpu = cpu_of_children() - before
        return Measured(seconds=seconds, cpu=cpu, gigabytes=peak, output=output.read())


def cpu_of_children() -> float:
    """Return the CPU seconds of all processes that ended so far."""
    times = os.times()
    return times.children_user + times.children_system


def tree(pid: int) -> list[int]:
    """Return a process and its descendants."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        threads = [path.name for path in Path(f"/proc/{pid}/task").iterdir() if path.name != str(pid)]
        for thread in threads:
            children += Path(f"/proc/{pid}/task/{thread}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(one for child in children for one in tree(int(child)))]


def resident(pid: int) -> float:
    """Return the resident gigabytes of a process, of shared pages its part."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) / 1e6


def write_configuration(path: Path) -> None:
    """Write the default use with fixed parameters, young labels, no test part, and bounds that every fold can keep."""
    plain = yaml.safe_load(CONFIGURATION.read_text(encoding="utf-8"))
    plain["training"]["split"] = {"label_maturity": "14d", "test": 0}
    plain["training"]["tuned"] = PARAMETERS
    plain["policy"] = {"confidence": 0.95, "max_false_reject": 0.01, "max_step_up": 0.05}
    path.write_text(yaml.safe_dump(plain), encoding="utf-8")


def train(records: Path, config: Path, fold: dict[str, Any], folder: Path) -> Measured:
    """Train as of the instant of a fold; exit if the thresholds are not those of the fold."""
    out = folder / f"bundle-{fold['as_of'][:10]}"
    found = run(
        "train", records, "--config", config, "--out", out, "--as-of", fold["as_of"], "--no-track", "--threads", 2
    )  # fmt: skip
    policy = json.loads((out / "policy.json").read_text(encoding="utf-8"))
    if any(policy[name] != fold[name] for name in ("step_up_from", "fail_from")):
        raise SystemExit(f"the thresholds as of {fold['as_of']} differ: nothing is timed")
    return found


def main() -> None:
    """Measure, print, and exit with an error if a limit is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=500_000)
    parser.add_argument("--folds", type=int, default=12)
    parser.add_argument("--all", action="store_true", help="run every separate training")
    options = parser.parse_args()
    records = invented_file(options.records)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = folder / "use.yaml"
        write_configuration(config)
        found = run(
            "backtest", records, "--config", config, "--cadence", "1m,3m", "--folds", options.folds, "--processes", 2,
            "--report", folder / "report.html", "--json",
        )  # fmt: skip
        folds = [fold for fold in json.loads(found.output)["folds"] if fold["failure"] is None]
        if len(folds) < options.folds:
            raise SystemExit(f"{len(folds)} folds gave a model: more records are needed")
        print(
            f"backtest, {len(folds)} folds: {found.seconds:.0f} s ({found.cpu:.0f} s of CPU), "
            f"{found.gigabytes:.2f} GB",
            flush=True,
        )
        separate = []
        for fold in folds if options.all else [folds[0], folds[-1]]:
            separate.append(train(records, config, fold, folder))
            last = separate[-1]
            print(
                f"training as of {fold['as_of'][:10]}: {last.seconds:.0f} s ({last.cpu:.0f} s of CPU), "
                f"{last.gigabytes:.2f} GB",
                flush=True,
            )
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
