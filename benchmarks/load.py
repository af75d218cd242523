"""Load on a server from another core, by wrk: counts, latency, and a sample of the answers."""

import json
import shutil
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

CONNECTIONS: Final = 32
KEPT: Final = 200
"""Approximate number of answers that a run keeps."""

_SCRIPT: Final = Path(__file__).with_suffix(".lua")
_SAMPLE_EVERY: Final = 11


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    """Result of a run.

    Parameters
    ----------
    requests : int
        Answered requests.
    seconds : float
    p50, p99, longest : float
        Latency in milliseconds.
    answers : tuple of str
        Bodies of some answers, evenly over the run.
    """

    requests: int
    seconds: float
    p50: float
    p99: float
    longest: float
    answers: tuple[str, ...]

    @property
    def rate(self) -> float:
        """Requests per second."""
        return self.requests / self.seconds

    def __str__(self) -> str:
        return (
            f"{self.rate:8,.0f} requests/s, p50 {self.p50:.1f} ms, p99 {self.p99:.1f} ms, "
            f"longest {self.longest:.0f} ms"
        )


def require_wrk() -> str:
    """Find wrk; exit with installation advice if it is missing."""
    found = shutil.which("wrk")
    if found is None:
        raise SystemExit("this benchmark needs wrk on the path: apt-get install wrk")
    return found


def drive(
    url: str,
    bodies: Iterable[Mapping[str, Any]],
    *,
    headers: Mapping[str, str],
    status: int,
    seconds: int,
    connections: int = CONNECTIONS,
    keys: bool = False,
    kept: int = KEPT,
) -> Load:
    """Send the bodies in a cycle; each connection sends the next one as soon as it is answered.

    Parameters
    ----------
    url : str
    bodies : iterable of mapping
    headers : mapping of str to str
    status : int
        Required of every answer.
    seconds : int
    connections : int
    keys : bool
        True to give each request its own idempotency key.
    kept : int
        Approximate number of answers to return, at most one in eleven.

    Raises
    ------
    SystemExit
        If an answer has another status, or none arrived.
    """
    with tempfile.TemporaryDirectory(prefix="load-") as name:
        folder = Path(name)
        result, samples = folder / "result.json", folder / "samples"
        (folder / "bodies").write_text("".join(json.dumps(body) + "\n" for body in bodies), encoding="utf-8")
        words = [require_wrk(), "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "20s"]
        words += ["-s", str(_SCRIPT), *_header_words({**headers, "Content-Type": "application/json"}), url]
        words += ["--", str(folder / "bodies"), str(samples), str(_SAMPLE_EVERY), "keys" if keys else ""]
        done = subprocess.run([*words, str(result)], capture_output=True, text=True, check=False)
        if done.returncode or not result.exists():
            raise SystemExit(f"wrk failed: {done.stdout}{done.stderr}")
        found = json.loads(result.read_text(encoding="utf-8"))
        answers = samples.read_text(encoding="utf-8").splitlines()
    if found["errors"] or set(found["statuses"]) != {str(status)}:
        shown = [answer for answer in answers if f'"status":{status}' not in answer][:1]
        raise SystemExit(
            f"answers other than {status}: {found['statuses']}, {found['errors']} errors of sockets {shown}"
        )
    return Load(
        requests=found["requests"],
        seconds=found["seconds"],
        p50=found["p50"] / 1e3,
        p99=found["p99"] / 1e3,
        longest=found["longest"] / 1e3,
        answers=tuple(answers[:: max(1, len(answers) // kept)]),
    )


class Visits:
    """Loads that each continue where the last one ended, so that visitors return as late as possible.

    Parameters
    ----------
    bodies : iterable of mapping
    headers : mapping of str to str
    keys : bool
        True to give each request its own idempotency key.
    """

    def __init__(
        self, bodies: Iterable[Mapping[str, Any]], *, headers: Mapping[str, str], keys: bool
    ) -> None:
        self._bodies = deque(bodies)
        self._headers = headers
        self._keys = keys

    def drive(self, url: str, *, seconds: int, connections: int = CONNECTIONS, kept: int = KEPT) -> Load:
        """Send load for some seconds; see `drive`. Every answer must be a 201."""
        load = drive(
            url,
            self._bodies,
            headers=self._headers,
            status=201,
            seconds=seconds,
            connections=connections,
            keys=self._keys,
            kept=kept,
        )
        self._bodies.rotate(-load.requests)
        return load


def _header_words(headers: Mapping[str, str]) -> list[str]:
    return [word for name, value in headers.items() for word in ("-H", f"{name}: {value}")]
