"""Other model servers, each in its own environment: installation, start, request and answer.

Each serves one LightGBM model, one row per request, with one worker, as its documentation says. None of them parses
records, computes features, explains or stores: they take a feature row and return the margin.
"""

import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.cores import on_core
from benchmarks.environments import install_environment

LIGHTGBM: Final = "lightgbm==4.7.0"
START_SECONDS: Final = 120.0

_MLSERVER_MODEL: Final = """\
{"name": "standard", "implementation": "mlserver_lightgbm.LightGBMModel", "parameters": {"uri": "./model.txt"}}
"""
_MLSERVER: Final = """\
{"host": "127.0.0.1", "http_port": PORT, "grpc_port": SECOND, "parallel_workers": 0, "debug": false,
 "metrics_endpoint": null, "use_structured_logging": false}
"""
_LITSERVE: Final = """\
import lightgbm
import litserve
import numpy


class Standard(litserve.LitAPI):
    def setup(self, device):
        self.booster = lightgbm.Booster(model_file="model.txt")

    def decode_request(self, request):
        return numpy.array([request["row"]])

    def predict(self, rows):
        return self.booster.predict(rows, raw_score=True, num_threads=1)

    def encode_response(self, margins):
        return {"margin": float(margins[0])}


if __name__ == "__main__":
    server = litserve.LitServer(Standard(), accelerator="cpu", workers_per_device=1)
    server.run(host="127.0.0.1", port=PORT, num_api_servers=1, log_level="warning", generate_client_file=False)
"""
_KSERVE: Final = """\
import kserve
import lightgbm
import numpy


class Standard(kserve.Model):
    def load(self):
        self.booster = lightgbm.Booster(model_file="model.txt")
        self.ready = True
        return self.ready

    def predict(self, payload, headers=None, response_headers=None):
        margins = self.booster.predict(numpy.array(payload["instances"]), raw_score=True, num_threads=1)
        return {"predictions": margins.tolist()}


if __name__ == "__main__":
    model = Standard("standard")
    model.load()
    kserve.ModelServer(http_port=PORT, workers=1, enable_grpc=False, enable_latency_logging=False).start([model])
"""


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A model server.

    Parameters
    ----------
    name : str
    requirements : tuple of str
        Exact versions, the server first.
    files : mapping of str to str
        Files beside ``model.txt``, with PORT and SECOND for free ports.
    command : tuple of str
        Program of the environment and its arguments; runs in the folder of the files.
    path : str
        Of the URL.
    body : callable
        Makes the body of a request from a row.
    margin : callable
        Reads the margin from the answer.
    """

    name: str
    requirements: tuple[str, ...]
    files: Mapping[str, str]
    command: tuple[str, ...]
    path: str
    body: Callable[[Sequence[float]], dict[str, Any]]
    margin: Callable[[Any], float]

    @property
    def title(self) -> str:
        """Its name and version."""
        return f"{self.name} {self.requirements[0].partition('==')[2]}"


def _tensor(row: Sequence[float]) -> dict[str, Any]:
    tensor = {"name": "row", "shape": [1, len(row)], "datatype": "FP64", "data": list(row)}
    return {"inputs": [tensor], "parameters": {"content_type": "np"}}


def _logit(answer: Any) -> float:
    """Its LightGBM runtime returns only probabilities."""
    probability = answer["outputs"][0]["data"][0]
    return math.log(probability) - math.log1p(-probability)


PEERS: Final = (
    Peer(
        name="MLServer",
        requirements=("mlserver==1.7.1", "mlserver-lightgbm==1.7.1", LIGHTGBM),
        files={"settings.json": _MLSERVER, "model-settings.json": _MLSERVER_MODEL},
        command=("mlserver", "start", "."),
        path="/v2/models/standard/infer",
        body=_tensor,
        margin=_logit,
    ),
    Peer(
        name="LitServe",
        requirements=("litserve==0.2.19", LIGHTGBM),
        files={"server.py": _LITSERVE},
        command=("python", "server.py"),
        path="/predict",
        body=lambda row: {"row": list(row)},
        margin=lambda answer: float(answer["margin"]),
    ),
    Peer(
        name="KServe",
        requirements=("kserve==0.21.0", LIGHTGBM),
        files={"server.py": _KSERVE},
        command=("python", "server.py"),
        path="/v1/models/standard:predict",
        body=lambda row: {"instances": [list(row)]},
        margin=lambda answer: float(answer["predictions"][0]),
    ),
)


def install(peer: Peer, folder: Path) -> Path:
    """Create the environment of a peer, or complete an existing one.

    Parameters
    ----------
    peer : Peer
    folder : Path
        Folder of all environments.

    Returns
    -------
    Path
        Its folder of programs.
    """
    return install_environment(folder / peer.title.replace(" ", "-").lower(), peer.requirements)


@contextmanager
def serving_peer(
    peer: Peer, programs: Path, folder: Path, *, core: int, model: str, row: Sequence[float]
) -> Iterator[str]:
    """Start a peer and wait until it answers; stop it when the context ends.

    Parameters
    ----------
    peer : Peer
    programs : Path
        Programs of its environment.
    folder : Path
        Empty folder.
    core : int
        Core that it runs on.
    model : str
        Model in LightGBM's text format.
    row : sequence of float
        Sent until it is answered.

    Yields
    ------
    str
        The URL for requests.
    """
    port, second = _free_ports()
    (folder / "model.txt").write_text(model, encoding="utf-8")
    for name, text in peer.files.items():
        filled = text.replace("PORT", str(port)).replace("SECOND", str(second))
        (folder / name).write_text(filled, encoding="utf-8")
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    with (folder / "log").open("wb") as log, on_core(core):
        process = subprocess.Popen(
            [str(programs / peer.command[0]), *peer.command[1:]],
            cwd=folder,
            env={**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        url = f"http://127.0.0.1:{port}{peer.path}"
        _await(peer, process, url, row, folder / "log")
        yield url
    finally:
        _end(process)


def ask(peer: Peer, url: str, row: Sequence[float]) -> float:
    """The margin of one row."""
    body = json.dumps(peer.body(row)).encode()
    request = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return peer.margin(json.load(answer))


def _await(peer: Peer, process: "subprocess.Popen[bytes]", url: str, row: Sequence[float], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            ask(peer, url, row)
            return
        except (OSError, urllib.error.HTTPError):
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"{peer.title} does not answer: {log.read_text()[-3000:]}") from None
            time.sleep(0.2)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a peer with all processes of its group."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def _free_ports() -> tuple[int, int]:
    with socket.create_server(("127.0.0.1", 0)) as first, socket.create_server(("127.0.0.1", 0)) as second:
        return first.getsockname()[1], second.getsockname()[1]
