"""Load on a service: applicants who are created, verified and sometimes erased, and a record of every answer."""

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from string import ascii_lowercase
from typing import Any, Final

from outside_client import IDENTITIES, PERSON, VERIFICATIONS, Answer, OutsideClient
from running_service import SECONDS

ACKNOWLEDGED: Final = (201, 202)
RETRY_SECONDS: Final = 0.1
"""Between two attempts, at the most."""
_DEVICES: Final = 60
"""Devices are shared, so that there is history."""
_STREETS: Final = 200
_INCOMPLETE: Final = 0.1
_DOMAINS: Final = ("mail.example", "post.example", "inbox.example")


@dataclass(eq=False)
class Entry:
    """One acknowledged resource: its request, its answer, and whether its erasure was requested."""

    credentials: Mapping[str, str] = field(repr=False)
    path: str
    key: str
    body: dict[str, object] = field(repr=False)
    answer: Answer
    erased: bool = False

    @property
    def id(self) -> str:
        """Its identifier."""
        return str(self.answer.json["id"])


@dataclass
class Ledger:
    """Resources acknowledged to several clients, in order, and every forbidden answer."""

    entries: list[Entry] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    retries: list[str] = field(default_factory=list)

    def of(self, path: str) -> list[Entry]:
        """The entries of one collection."""
        return [entry for entry in list(self.entries) if entry.path == path]


class NeverAnswered(AssertionError):
    """No attempt was answered in time, or the load was aborted."""


class Persistent:
    """A client that sends a request, under the same idempotency key, until a server has answered it.

    `ports` gives the ports of the running servers, possibly none; `rng` chooses one for each attempt.
    """

    def __init__(
        self,
        ports: Callable[[], Sequence[int]],
        credentials: Mapping[str, str],
        ledger: Ledger,
        rng: random.Random,
        aborted: threading.Event | None = None,
    ) -> None:
        self.credentials = credentials
        self._ports = ports
        self._ledger = ledger
        self._rng = rng
        self._aborted = aborted or threading.Event()

    def ask(self, method: str, path: str, body: object = None, key: str | None = None) -> Answer:
        """Retry after a lost connection, after 503, and after 409 while the request is in progress."""
        headers = {} if key is None else {"Idempotency-Key": key}
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and not self._aborted.is_set():
            answer = self._attempt(method, path, body, headers)
            if answer is not None:
                return answer
            time.sleep(self._rng.uniform(0, RETRY_SECONDS))
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
            self._ledger.retries.append(path)
            return None
        if answer.status >= 400:
            self._check_problem(answer)
        if answer.status == 503 or (
            answer.status == 409 and answer.json["code"] == "idempotency_in_progress"
        ):
            self._ledger.retries.append(path)
            return None
        return answer

    def _check_problem(self, answer: Answer) -> None:
        if answer.headers.get("content-type") != "application/problem+json":
            self._ledger.faults.append(f"{answer.status} has type {answer.headers.get('content-type')}")
        if answer.status == 503 and int(answer.headers.get("retry-after", "0")) < 1:
            self._ledger.faults.append("503 without Retry-After")


@dataclass(frozen=True, kw_only=True)
class LoadSettings:
    """Amount of load.

    Parameters
    ----------
    threads : int
        Threads per client; each waits for its answers.
    pause : float
        Mean seconds between an answer and the next request.
    erasures : float
        Share of requests that are erasures.
    """

    threads: int = 2
    pause: float = 0.02
    erasures: float = 0.03


class Applicants:
    """One thread of requests; its name has only letters. Every person is new; devices and streets are shared."""

    def __init__(
        self, name: str, client: Persistent, ledger: Ledger, rng: random.Random, settings: LoadSettings
    ) -> None:
        self._name = name
        self._client = client
        self._ledger = ledger
        self._rng = rng
        self._settings = settings
        self._number = 0
        self._known: list[tuple[Entry, list[Entry]]] = []

    def run(self, stop: threading.Event) -> None:
        """Send requests until `stop` is set; finish the last one."""
        try:
            while not stop.wait(self._rng.uniform(0, 2 * self._settings.pause)):
                self._step()
        except NeverAnswered as error:
            self._ledger.faults.append(str(error))

    def _step(self) -> None:
        if self._rng.random() < self._settings.erasures:
            self._erase()
        else:
            self._rng.choice((self._create_identity, self._verify, self._verify_signals))()

    def _create_identity(self) -> None:
        complete = self._rng.random() >= _INCOMPLETE
        entry = self._create(IDENTITIES, self._person(complete=complete))
        if entry is not None and complete:
            self._known.append((entry, []))

    def _verify(self) -> None:
        """Verify a known identity, each at most twice."""
        if not self._known:
            return
        identity, verifications = self._rng.choice(self._known)
        entry = self._create(VERIFICATIONS, {"identityId": identity.id, "signals": self._signals()})
        if entry is not None:
            verifications.append(entry)
        if len(verifications) == 2:
            self._known.remove((identity, verifications))

    def _verify_signals(self) -> None:
        body: dict[str, object] = {"subjectId": self._new_key(), "signals": self._signals()}
        entry = self._create(VERIFICATIONS, body)
        if entry is not None and entry.answer.status == 201 and self._rng.random() < self._settings.erasures:
            self._send_erasure(entry, f"{VERIFICATIONS}/{entry.id}/signals")

    def _erase(self) -> None:
        """Erase an identity without PENDING verifications: an erased one gets no verdict."""
        for known in self._known:
            identity, verifications = known
            if verifications and all(entry.answer.status == 201 for entry in verifications):
                self._known.remove(known)
                for entry in verifications:
                    entry.erased = True
                self._send_erasure(identity, f"{IDENTITIES}/{identity.id}")
                return

    def _send_erasure(self, entry: Entry, path: str) -> None:
        entry.erased = True
        answer = self._client.ask("DELETE", path)
        if answer.status != 200:
            self._ledger.faults.append(f"an erasure was answered {answer.status}")

    def _create(self, path: str, body: dict[str, object]) -> Entry | None:
        key = self._new_key()
        answer = self._client.ask("POST", path, body, key)
        if answer.status not in ACKNOWLEDGED:
            self._ledger.faults.append(f"POST {path} was answered {answer.status}: {answer.body.decode()}")
            return None
        entry = Entry(self._client.credentials, path, key, body, answer)
        self._ledger.entries.append(entry)
        return entry

    def _new_key(self) -> str:
        self._number += 1
        return f"{self._name}-{self._number}"

    def _person(self, *, complete: bool) -> dict[str, Any]:
        self._number += 1
        word = self._name + "".join(ascii_lowercase[int(digit)] for digit in str(self._number))
        street = {"line1": f"{self._rng.randrange(_STREETS)} Mill Lane", "city": "Leeds", "country": "GB"}
        body = {**PERSON, "firstName": f"Ada {word}", "lastName": word.title(), "address": street}
        if not complete:
            del body["dob"]
        return body

    def _signals(self) -> dict[str, object]:
        rng = self._rng
        return {
            "deviceId": f"device-{rng.randrange(_DEVICES)}",
            "emailAgeDays": rng.randrange(4000),
            "emailDomain": rng.choice(_DOMAINS),
            "formSeconds": round(rng.uniform(2, 300), 1),
            "ipCountry": rng.choice(("GB", "FR", "NG")),
            "vpn": rng.random() < 0.2,
        }


@contextmanager
def applying(
    ports: Callable[[], Sequence[int]],
    credentials: Sequence[Mapping[str, str]],
    *,
    seed: int,
    settings: LoadSettings | None = None,
) -> Iterator[Ledger]:
    """Send load from several concurrent clients; the ledger is complete after the context."""
    settings = settings or LoadSettings()
    ledger, stop, aborted = Ledger(), threading.Event(), threading.Event()
    threads = []
    for place, headers in enumerate(credentials):
        for number in range(settings.threads):
            name = ascii_lowercase[place] + ascii_lowercase[number]
            rng = random.Random(f"{seed} {name}")
            client = Persistent(ports, headers, ledger, rng, aborted)
            applicants = Applicants(name, client, ledger, rng, settings)
            threads.append(threading.Thread(target=applicants.run, args=(stop,), name=f"applicants {name}"))
    for thread in threads:
        thread.start()
    try:
        yield ledger
    except BaseException:
        aborted.set()
        raise
    finally:
        stop.set()
        for thread in threads:
            thread.join(2 * SECONDS)
