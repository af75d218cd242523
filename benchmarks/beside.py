"""Labels and lists in use beside the load: a label for a hundred verifications, and pages of the latest ones."""

import http.client
import itertools
import json
import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

_LABELS: Final = "/scoring/v1/labels"
_LISTS: Final = (
    "/scoring/v1/verifications?limit=100",
    "/scoring/v1/verifications?limit=100&outcome=FAILED",
    "/scoring/v1/verifications?limit=100&outcome=STEPPED_UP",
)
_EVERY: Final = 0.5
"""Seconds between two turns."""
_AT_ONCE: Final = 10
"""Labels in a request: 20 a second are one for each hundred of 2,000 verifications."""


class Beside:
    """Reports labels of verifications and reads pages of lists, twice a second each, until it is left.

    Parameters
    ----------
    url : str
    headers : mapping of str to str
        Credentials.
    verifications : sequence of str
        Identifiers that are labelled in turn, now as fraud and now as genuine.

    Raises
    ------
    SystemExit
        On leaving, if an answer was not a 200, a label was refused, or nothing was asked.
    """

    def __init__(self, url: str, headers: Mapping[str, str], verifications: Sequence[str]) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port
        self._headers = {**headers, "Content-Type": "application/json"}
        self._ids = itertools.cycle(verifications)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._problem = ""
        self.turns = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        if error is None and (self._problem or not self.turns):
            raise SystemExit(f"labels and lists: {self._problem or 'none was asked for'}")

    def _run(self) -> None:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=20)
        try:
            while not self._stop.wait(_EVERY):
                report = self._ask(connection, "POST", _LABELS, self._labels())
                if report["refused"]:
                    raise ValueError(f"{report['refused']} labels were refused")
                self._ask(connection, "GET", _LISTS[self.turns % len(_LISTS)], None)
                self.turns += 1
        except (OSError, ValueError, http.client.HTTPException) as problem:
            self._problem = str(problem) or type(problem).__name__
        finally:
            connection.close()

    def _labels(self) -> str:
        known_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 1))
        word = ("fraud", "genuine")[self.turns % 2]
        rows = [
            {"verificationId": next(self._ids), "label": word, "knownAt": known_at} for _ in range(_AT_ONCE)
        ]
        return json.dumps({"labels": rows})

    def _ask(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: str | None
    ) -> Mapping[str, int]:
        connection.request(method, path, body, self._headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise ValueError(f"{method} {path} got {answer.status}: {content[:200]!r}")
        found: Mapping[str, int] = json.loads(content) if body else {}
        return found
