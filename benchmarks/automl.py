"""Search and fit beside FLAML and AutoGluon: LightGBM alone, the same matrix, the same minutes, two cores.

Run as ``python benchmarks/automl.py --signup FILE``, where FILE is the fraud e-commerce table (data/README.md says
where it comes from), whole or in part; without it invented records alone are searched on. The project's features are
made once and each system is given the same rows. What it was never given, the test period, is scored by the models
that it found, and judged here. Every result is kept as a file, so that an interrupted run goes on, and is made anew
once the system, the rows or the minutes are others.

The peers are installed into environments of their own, which needs uv and a package index. Leave the machine alone
meanwhile: what is found within a time depends on what else runs.

It ends with 1 when the pooled interval of ours minus a peer lies wholly below 0, or when a system took over a tenth
more than its time, since then nothing is compared.
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
    # FLAML imports XGBoost whatever it searches; this build of it brings no libraries of graphics cards.
    "flaml": ("flaml==2.7.0", "lightgbm==4.7.0", "xgboost-cpu==2.1.4", "scikit-learn", "pandas", "psutil"),
    "autogluon": ("autogluon.tabular[lightgbm]==1.6.3", "lightgbm==4.7.0"),
}
RESULTS: Final = Path(__file__).parents[1] / "runs" / "benchmarks" / "automl"
MOST_OVERTIME: Final = 1.1
TOLERANCE: Final = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """What a search led to.

    Parameters
    ----------
    scores : ndarray of shape (m,), float64
        Probabilities of fraud of the test.
    seconds, processors : float
        Of search and fit: by the clock, and of the processors together. Far from two processors' worth, a system
        did not use them or something else did.
    """

    scores: FloatArray
    seconds: float
    processors: float

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what `searches` or `write` wrote."""
        with np.load(path) as file:
            return cls(**{field.name: file[field.name][()] for field in fields(cls)})

    def write(self, path: Path, fingerprint: str) -> None:
        """Write it with what it was made from, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as unfinished:
            np.savez(unfinished, **asdict(self), fingerprint=fingerprint)


def kept(path: Path, fingerprint: str) -> Found | None:
    """Read a result, if it is there and of the same making."""
    if not path.exists():
        return None
    with np.load(path) as file:
        same = str(file["fingerprint"]) == fingerprint
    return Found.read(path) if same else None


def fingerprint_of(system: str, period: Period, *, seconds: float, seed: int) -> str:
    """Digest all that a result depends on, but for the machine."""
    content = hashlib.sha256(Path(searches.__file__).read_bytes())
    content.update(repr((system, period.digest, seconds, seed, *_making(system, period))).encode())
    return content.hexdigest()


def _making(system: str, period: Period) -> tuple[str, ...]:
    """What a system is made of; ours is its sources and what they call."""
    if system != OURS:
        return (*REQUIREMENTS[system], RESOLVED_ON)
    sources = sorted((Path(scoring_model.__file__).parent / "training").rglob("*.py"))
    texts = [path.read_text(encoding="utf-8") for path in (*sources, CONFIGS / period.task.configuration)]
    return (*texts, *(version(library) for library in ("lightgbm", "numpy", "optuna")))


def search(system: str, python: Path, task: Path, *, seconds: float, seed: int) -> Found:
    """Let a system search in a process of its own, and check nothing yet."""
    # Peers see nothing but their environment.
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
    """End unless there is one probability for each record of the test, and what measures them is right."""
    scores, targets = found.scores, period.targets
    if scores.shape != targets.shape:
        raise SystemExit(f"{system} gave scores of shape {scores.shape} for {len(targets)} records")
    if not (np.isfinite(scores) & (scores >= 0) & (scores <= 1)).all():
        raise SystemExit(f"{system} gave scores that are no probabilities")
    precision, *_ = measures_of(Ranking.of(scores, targets))
    if abs(precision - _precision_at_each_fraud(scores, targets == 1)) > TOLERANCE:
        raise SystemExit(f"two formulas of one measure differ for {system}")


def _precision_at_each_fraud(scores: FloatArray, frauds: BoolArray) -> float:
    """Average precision as its name says: over the frauds, the precision of an alarm at their own score."""
    every, caught = np.sort(scores), np.sort(scores[frauds])
    alarms = len(every) - np.searchsorted(every, caught, side="left")
    right = len(caught) - np.searchsorted(caught, caught, side="left")
    return float((right / alarms).mean())


def found_by(
    system: str, python: Path, period: Period, task: Path, options: argparse.Namespace
) -> list[Found]:
    """All results of a system on a period, those that are kept and those that are missing."""
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
        took = f"{found.seconds:.0f} s ({found.processors:.0f} s of the processors)"
        print(f"{period.name}: {system}, seed {seed}, {took}", file=sys.stderr, flush=True)
    return results


def tell_measures(measured: Mapping[str, FloatArray], found: Mapping[str, Sequence[Found]]) -> None:
    """Print the medians over the seeds, the longest time, and the least of the processors."""
    print(f"| | seconds | of the processors | {' | '.join(MEASURES)} |\n|{' --- |' * (len(MEASURES) + 3)}")
    for system, drawn in measured.items():
        cells = [
            f"{statistics.median(of_seeds):.3f} ({min(of_seeds):.3f} to {max(of_seeds):.3f})"
            for of_seeds in drawn[0].T.tolist()
        ]
        longest = max(one.seconds for one in found[system])
        least = min(one.processors for one in found[system])
        print(f"| {system} | {longest:.0f} | {least:.0f} | {' | '.join(cells)} |")


def tell_differences(peer: str, measured: Mapping[str, FloatArray]) -> list[Difference]:
    """Print ours minus a peer for each seed and over all, and give what is over all."""
    ours, others = measured[OURS], measured[peer]
    for seed in range(ours.shape[1]):
        _tell_row(f"ours minus {peer}, seed {seed + 1}", paired(ours[:, seed], others[:, seed]))
    over_all = pooled(ours, others)
    _tell_row(f"**ours minus {peer}**", over_all)
    return over_all


def _tell_row(name: str, differences: Sequence[Difference]) -> None:
    print(f"| {name} | {' | '.join(map(str, differences))} |", flush=True)


def judge(period: Period, found: Mapping[str, Sequence[Found]], *, minutes: float) -> bool:
    """Print what was found on a period, and whether ours keeps up with every peer."""
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
        print(f"\nnothing is compared: too late were {', '.join(late)}")
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
        raise argparse.ArgumentTypeError(f"each once, out of {', '.join(searches.SYSTEMS)}")
    return names


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "scoring-model" / "peers"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=5.0, help="of each search with its fit")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--signup", type=Path, help="the table of sign-ups, as Parquet")
    parser.add_argument("--records", type=int, default=200_000, help="invented ones; 0 for none")
    parser.add_argument(
        "--systems", type=_systems, default=list(searches.SYSTEMS), help="with commas between"
    )
    parser.add_argument("--environments", type=Path, default=_cache(), help="of the peers")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where each is kept")
    return parser.parse_args()


def main() -> None:
    """Search with each system on each period, and print tables in Markdown."""
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
