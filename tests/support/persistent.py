"""A client that sends a request, under the same idempotency key, until the service has answered it."""

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from typing import Final

from ledger import Ledger
from outside_client import Answer, OutsideClient
from running_service import SECONDS

AGAIN_SECONDS: Final = 0.1
"""Between two attempts, at the most."""
_UNDER_WAY: Final = "idempotency_in_progress"


class NeverAnswered(AssertionError):
    """No answer came, however often it was asked; or nobody wants one any more."""


class Persistent:
    """A client of several servers.

    Parameters
    ----------
    ports : callable
        Gives the ports of servers as they are now; there may be none.
    credentials : mapping of str to str
        Headers.
    ledger : Ledger
        Is told of attempts that were in vain, and of refusals that are not as they should be.
    rng : random.Random
        Chooses the server of each attempt.
    hopeless : threading.Event, optional
        Set when it shall ask no further.
    """

    def __init__(
        self,
        ports: Callable[[], Sequence[int]],
        credentials: Mapping[str, str],
        ledger: Ledger,
        rng: random.Random,
        hopeless: threading.Event | None = None,
    ) -> None:
        self.credentials = credentials
        self._ports = ports
        self._ledger = ledger
        self._rng = rng
        self._hopeless = hopeless or threading.Event()

    def ask(self, method: str, path: str, body: object = None, key: str | None = None) -> Answer:
        """Send a request until it is answered; a lost connection, 503, or 409 while it is under way is no answer.

        Raises
        ------
        NeverAnswered
        """
        headers = {} if key is None else {"Idempotency-Key": key}
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and not self._hopeless.is_set():
            answer = self._attempt(method, path, body, headers)
            if answer is not None:
                return answer
            time.sleep(self._rng.uniform(0, AGAIN_SECONDS))
        raise NeverAnswered(f"{method} {path} was never answered")

    def _attempt(self, method: str, path: str, body: object, headers: Mapping[str, str]) -> Answer | None:
        ports = self._ports()
        if not ports:
            return None
        try:
            answer = OutsideClient(self._rng.choice(ports), self.credentials).ask(method, path, body, headers)
        except ConnectionRefusedError:
            return None  # nothing was sent
        except (OSError, HTTPException):
            self._ledger.repeat()
            return None
        if answer.status >= 400:
            self._look_at(answer)
        if answer.status == 503 or (answer.status == 409 and answer.json["code"] == _UNDER_WAY):
            self._ledger.repeat()
            return None
        return answer

    def _look_at(self, answer: Answer) -> None:
        """A refusal has the form of all refusals, and says when to come back where that is of use."""
        if answer.headers.get("content-type") != "application/problem+json":
            self._ledger.blame(f"{answer.status} is no problem: {answer.headers.get('content-type')}")
        if answer.status == 503 and int(answer.headers.get("retry-after", "0")) < 1:
            self._ledger.blame("503 without Retry-After")
