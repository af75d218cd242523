"""Compare search and fit with FLAML and AutoGluon: LightGBM only, same matrix, same minutes, two cores.

Run as ``python benchmarks/automl.py --signup FILE``, where FILE is the fraud e-commerce table (data/README.md says
where it comes from), whole or in part; without it only invented records are used. The project's features are built once
and every system gets the same rows. The models then score the test period, which no system has seen, and this script
measures the scores. Every result is kept as a file, so that an interrupted run resumes; a result is computed again when
the system, the rows or the minutes change.

Each peer is installed into its own environment, which needs uv and a package index. Run nothing else meanwhile: what a
search finds within a time depends on the load of the machine.

Exits with 1 when the pooled interval of ours minus a peer lies wholly below 0, or when a system exceeded its time by
more than a tenth: nothing is compared then.
"""

import argparse
import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Final, Self

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import searches
from benchmarks.environments import RESOLVED_ON, install_environment
from benchmarks.paired import (
    MEASURES,
    Difference,
    draw_measures,
    measures_of,
    paired,
    pooled,
)
from benchmarks.periods import CONFIGS, Period, signup_period, synthetic_period

import scoring_model
from scoring_model.arrays import BoolArray, FloatArray
from scoring_model.evaluation.metrics import Ranking
from scoring_model.records.atomic import atomic_file

OURS: Final = "ours"
REQUIREMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    # FLAML always imports XGBoost; this build of it comes without GPU libraries.
    "flaml": ("flaml==2.7.0", "lightgbm==4.7.0", "xgboost-cpu==2.1.4", "scikit-learn", "pandas", "psutil"),
    "autogluon": ("autogluon.tabular[lightgbm]==1.6.3", "lightgbm==4.7.0"),
}
RESULTS: Final = Path(__file__).parents[1] / "runs" / "benchmarks" / "automl"
MOST_OVERTIME: Final = 1.1
TOLERANCE: Final = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """Result of a search.

    Parameters
    ----------
    scores : ndarray of shape (m,), float64
        Probabilities of fraud on the test period.
    seconds, processors : float
        Of search and fit: wall-clock time, and CPU time of all cores. If the CPU time is far from twice the
        wall-clock time, the system did not use both cores or something else ran.
    """

    scores: FloatArray
    seconds: float
    processors: float

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a result that `searches` or `write` wrote."""
        with np.load(path) as file:
            return cls(**{field.name: file[field.name][()] for field in fields(cls)})

    def write(self, path: Path, fingerprint: str) -> None:
        """Write the result with the digest of its inputs, atomically."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as unfinished:
            np.savez(unfinished, **asdict(self), fingerprint=fingerprint)


def kept(path: Path, fingerprint: str) -> Found | None:
    """Read a result if it exists and has the same inputs."""
    if not path.exists():
        return None
    with np.load(path) as file:
        same = str(file["fingerprint"]) == fingerprint
    return Found.read(path) if same else None


def fingerprint_of(system: str, period: Period, *, seconds: float, seed: int) -> str:
    """Digest everything that a result depends on, except the machine."""
    content = hashlib.sha256(Path(searches.__file__).read_bytes())
    content.update(repr((system, period.digest, seconds, seed, *_making(system, period))).encode())
    return content.hexdigest()


def _making(system: str, period: Period) -> tuple[str, ...]:
    """Packages and versions of a system; for ours, its sources and dependencies."""
    if system != OURS:
        return (*REQUIREMENTS[system], RESOLVED_ON)
    sources = sorted((Path(scoring_model.__file__).parent / "training").rglob("*.py"))
    texts = [path.read_text(encoding="utf-8") for path in (*sources, CONFIGS / period.task.configuration)]
    return (*texts, *(version(library) for library in ("lightgbm", "numpy", "optuna")))


def search(system: str, python: Path, task: Path, *, seconds: float, seed: int) -> Found:
    """Run the search of a system in its own process; the result is not checked yet."""
    # Peers import only from their own environment.
    alone = "-P" if system == OURS else "-I"
    with tempfile.TemporaryDirectory(prefix=f"{system}-") as name:
        out = Path(name) / "found.npz"
        words = [str(python), alone, searches.__file__, system, str(task), str(out)]
        done = subprocess.run(
            [*words, "--seconds", str(seconds), "--seed", str(seed)],
            cwd=name,
            env={**os.environ, "OMP_NUM_THREADS": str(searches.THREADS)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{system} failed: {done.stdout[-3000:]}")
        return Found.read(out)


def check_scores(system: str, found: Found, period: Period) -> None:
    """Exit unless each test record has one probability and two formulas of the measure agree."""
    scores, targets = found.scores, period.targets
    if scores.shape != targets.shape:
        raise SystemExit(f"{system} gave scores of shape {scores.shape} for {len(targets)} records")
    if not (np.isfinite(scores) & (scores >= 0) & (scores <= 1)).all():
        raise SystemExit(f"{system} gave scores that are not probabilities")
    precision, *_ = measures_of(Ranking.of(scores, targets))
    if abs(precision - _precision_at_each_fraud(scores, targets == 1)) > TOLERANCE:
        raise SystemExit(f"two formulas of one measure differ for {system}")


def _precision_at_each_fraud(scores: FloatArray, frauds: BoolArray) -> float:
    """Average precision by its definition: the mean over the frauds of the precision at their own score."""
    every, caught = np.sort(scores), np.sort(scores[frauds])
    alarms = len(every) - np.searchsorted(every, caught, side="left")
    right = len(caught) - np.searchsorted(caught, caught, side="left")
    return float((right / alarms).mean())


def found_by(
    system: str, python: Path, period: Period, task: Path, options: argparse.Namespace
) -> list[Found]:
    """All results of a system on a period: read if kept, computed if missing."""
    results = []
    for seed in range(1, options.seeds + 1):
        path = options.results / period.name / f"{system}-{seed}.npz"
        seconds = 60 * options.minutes
        fingerprint = fingerprint_of(system, period, seconds=seconds, seed=seed)
        found = kept(path, fingerprint)
        if found is None:
            found = search(system, python, task, seconds=seconds, seed=seed)
            found.write(path, fingerprint)
        check_scores(system, found, period)
        results.append(found)
        took = f"{found.seconds:.0f} s ({found.processors:.0f} s of CPU time)"
        print(f"{period.name}: {system}, seed {seed}, {took}", file=sys.stderr, flush=True)
    return results


def tell_measures(measured: Mapping[str, FloatArray], found: Mapping[str, Sequence[Found]]) -> None:
    """Print the medians over the seeds, the longest time, and the smallest CPU time."""
    print(f"| | seconds | CPU seconds | {' | '.join(MEASURES)} |\n|{' --- |' * (len(MEASURES) + 3)}")
    for system, drawn in measured.items():
        cells = [
            f"{statistics.median(of_seeds):.3f} ({min(of_seeds):.3f} to {max(of_seeds):.3f})"
            for of_seeds in drawn[0].T.tolist()
        ]
        longest = max(one.seconds for one in found[system])
        least = min(one.processors for one in found[system])
        print(f"| {system} | {longest:.0f} | {least:.0f} | {' | '.join(cells)} |")


def tell_differences(peer: str, measured: Mapping[str, FloatArray]) -> list[Difference]:
    """Print ours minus a peer for each seed and for all seeds; return the difference for all seeds."""
    ours, others = measured[OURS], measured[peer]
    for seed in range(ours.shape[1]):
        _tell_row(f"ours minus {peer}, seed {seed + 1}", paired(ours[:, seed], others[:, seed]))
    over_all = pooled(ours, others)
    _tell_row(f"**ours minus {peer}**", over_all)
    return over_all


def _tell_row(name: str, differences: Sequence[Difference]) -> None:
    print(f"| {name} | {' | '.join(map(str, differences))} |", flush=True)


def judge(period: Period, found: Mapping[str, Sequence[Found]], *, minutes: float) -> bool:
    """Print the results of a period; return True if ours keeps up with every peer."""
    rankings = [Ranking.of(one.scores, period.targets) for results in found.values() for one in results]
    drawn = draw_measures(rankings, period.persons)
    measured = dict(zip(found, np.split(drawn, len(found), axis=1), strict=True))
    print(f"\n{period}\n")
    tell_measures(measured, found)
    late = [
        system
        for system, results in found.items()
        if max(one.seconds for one in results) > MOST_OVERTIME * 60 * minutes
    ]
    if late:
        print(f"\nnothing is compared; these exceeded their time: {', '.join(late)}")
        return False
    if OURS not in found or len(found) == 1:
        return True
    print(f"\n| difference, 95 % interval | {' | '.join(MEASURES)} |\n|{' --- |' * (len(MEASURES) + 1)}")
    differences = [one for peer in found if peer != OURS for one in tell_differences(peer, measured)]
    return all(one.high >= 0 for one in differences)


def _systems(text: str) -> list[str]:
    names = text.split(",")
    unknown = sorted(set(names) - set(searches.SYSTEMS))
    if unknown or len(set(names)) < len(names):
        raise argparse.ArgumentTypeError(f"name each system once, out of {', '.join(searches.SYSTEMS)}")
    return names


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "scoring-model" / "peers"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=5.0, help="minutes of each search and fit")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--signup", type=Path, help="table of sign-ups, as Parquet")
    parser.add_argument("--records", type=int, default=200_000, help="invented records; 0 for none")
    parser.add_argument(
        "--systems", type=_systems, default=list(searches.SYSTEMS), help="with commas between"
    )
    parser.add_argument("--environments", type=Path, default=_cache(), help="of the peers")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the results")
    return parser.parse_args()


def main() -> None:
    """Search with each system on each period and print tables in Markdown."""
    options = _options()
    pythons = {
        system: Path(sys.executable)
        if system == OURS
        else install_environment((options.environments / system).resolve(), REQUIREMENTS[system]) / "python"
        for system in options.systems
    }
    periods = [signup_period(options.signup)] if options.signup else []
    periods += [synthetic_period(options.records)] if options.records else []
    verdicts = []
    for period in periods:
        print(period, file=sys.stderr)
        with tempfile.TemporaryDirectory(prefix="task-") as name:
            period.task.write(Path(name))
            found = {
                system: found_by(system, python, period, Path(name), options)
                for system, python in pythons.items()
            }
        verdicts.append(judge(period, found, minutes=options.minutes))
    sys.exit(not all(verdicts))


if __name__ == "__main__":
    main()
