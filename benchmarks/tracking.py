"""Time that logging to MLflow adds to a training: to the file beside the bundle, and to a server.

Run as ``python benchmarks/tracking.py``. The search has a fixed time. A training without tracking is the same one up
to the seal of its bundle, so the benchmark compares the seconds before and after that. MLflow is imported after the
seal, and its seconds count. For the server the same training is repeated from its parameters in a separate
process, and its seconds are also compared with those of the training with search. First the benchmark checks the runs:
the alias must return the bundle byte for byte, and every trial must exist.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.invented_file import invented_file

from scoring_model.configuration import Configuration, Tuned, load_configuration, read_settings, read_yaml
from scoring_model.training.mlflow_runs import BUNDLE

CONFIGURATION: Final = Path(__file__).parents[1] / "configs" / "identity.yaml"
MOST_ADDED: Final = 0.05
SECOND: Final = 1_000_000
START_SECONDS: Final = 120.0


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Times of one training.

    Parameters
    ----------
    training, logging : float
        Seconds until the bundle was sealed, and after it.
    trials : int
        Trials of the search; 0 without one.
    uri : str
        Tracking store of the run.
    """

    training: float
    logging: float
    trials: int
    uri: str

    @classmethod
    def read(cls, text: str) -> Self:
        """Read the last line that a process printed."""
        return cls(**json.loads(text.splitlines()[-1]))


def configured(minutes: float, parameters: Path | None) -> Configuration:
    """The default configuration with a time limit for the search, or with given parameters.

    It has no bound on missed frauds, which the result of a short search does not keep.
    """
    found = load_configuration(CONFIGURATION)
    tuning = replace(found.training.tuning, trials=None, budget=int(minutes * 60 * SECOND))
    tuned = None if parameters is None else read_settings(Tuned, read_yaml(parameters))
    return replace(
        found,
        training=replace(found.training, tuning=tuning, tuned=tuned),
        policy=replace(found.policy, max_missed_fraud=None),
    )


def measure(source: Path, configuration: Configuration, out: Path, uri: str | None) -> Measured:
    """Train and log in this process."""
    from scoring_model.training.job import Job, run_job

    sealed: list[float] = []

    def report(text: str) -> None:
        print(text, file=sys.stderr, flush=True)
        if text.startswith("bundle sealed"):
            sealed.append(time.perf_counter())

    start = time.perf_counter()
    done = run_job(Job(source=source, configuration=configuration, out=out, tracking_uri=uri), report=report)
    end = time.perf_counter()
    if done.tracked is None or done.tracked.not_logged is not None:
        raise SystemExit("the store does not have the run: nothing is timed")
    (seal,) = sealed
    trials = check(done.tracked.uri, done.tracked.run_id, configuration.name, done.bundle)
    return Measured(training=seal - start, logging=end - seal, trials=trials, uri=done.tracked.uri)


def check(uri: str, run_id: str, name: str, bundle: Path) -> int:
    """Fetch the logged run and exit if it differs from the training; return the number of trials."""
    from mlflow import MlflowClient
    from mlflow.artifacts import download_artifacts

    client = MlflowClient(tracking_uri=uri, registry_uri=uri)
    version = client.get_model_version_by_alias(name, "challenger")
    with tempfile.TemporaryDirectory() as folder:
        fetched = Path(download_artifacts(artifact_uri=version.source, dst_path=folder, tracking_uri=uri))
        if version.run_id != run_id or contents(fetched / BUNDLE) != contents(bundle):
            raise SystemExit("the challenger differs from the sealed bundle: nothing is timed")
        if not any(file.path == "trials.json" for file in client.list_artifacts(run_id)):
            return 0
        table = json.loads(Path(client.download_artifacts(run_id, "trials.json", folder)).read_text())
    return len(table["data"])


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Start a tracking server as the README does; yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    uri = f"http://127.0.0.1:{port}"
    program = Path(sys.executable).with_name("mlflow")
    store = ["--backend-store-uri", "sqlite:///mlflow.db", "--artifacts-destination", "./artifacts"]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [program, "server", *store, "--host", "127.0.0.1", "--port", str(port)],
            cwd=folder,
            env={**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        await_answer(f"{uri}/health")
        yield uri
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def await_answer(url: str) -> None:
    """Poll until the server answers."""
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise SystemExit("the server never answered") from None
        time.sleep(0.2)


def measured_apart(*arguments: object) -> Measured:
    """Train and log in a separate process."""
    command = [sys.executable, __file__, *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)
    return Measured.read(done.stdout)


def judged(name: str, logging: float, training: float) -> bool:
    """Print the seconds of logging and what they add to a training."""
    added = logging / training
    print(f"{name:<24} {logging:6.2f} s, ratio {1 + added:.4f} (at most {1 + MOST_ADDED})")
    return added <= MOST_ADDED


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure both stores, or one of them in the process of a measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="time of the search")
    parser.add_argument("--records", type=int, default=200_000, help="invented records")
    parser.add_argument("--out", type=Path, help="train and log in this process")
    parser.add_argument("--params", type=Path, help="with these parameters, without a search")
    parser.add_argument("--uri", help="log to this server")
    options = parser.parse_args(arguments)
    source = invented_file(options.records)
    if options.out is not None:
        configuration = configured(options.minutes, options.params)
        print(json.dumps(measure(source, configuration, options.out, options.uri).__dict__))
        return
    given = ["--minutes", options.minutes, "--records", options.records]
    with tempfile.TemporaryDirectory(prefix="tracking-") as name:
        folder = Path(name)
        local = measured_apart(*given, "--out", folder / "local")
        parameters = folder / "local.training" / "parameters.yaml"
        with server(folder) as uri:
            remote = measured_apart(*given, "--out", folder / "remote", "--params", parameters, "--uri", uri)
    if not local.trials:
        raise SystemExit("the table of trials is missing: nothing is timed")
    print(f"training of {local.training:.1f} s, {local.trials} trials; the bundles came back byte for byte")
    kept = [
        judged("file beside the bundle", local.logging, local.training),
        judged("server", remote.logging, local.training),
    ]
    sys.exit(not all(kept))


if __name__ == "__main__":
    main()
