"""Load on a service: applicants who are made known, verified and sometimes erased, all of it written down."""

import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any, Final

from ledger import ACKNOWLEDGED, Entry, Ledger
from outside_client import IDENTITIES, PERSON, VERIFICATIONS, Answer
from persistent import NeverAnswered, Persistent
from running_service import SECONDS

_DEVICES: Final = 60
"""Devices are shared, so that there is history."""
_STREETS: Final = 200
_INCOMPLETE: Final = 0.1
_DOMAINS: Final = ("mail.example", "post.example", "inbox.example")


@dataclass(frozen=True, kw_only=True)
class RateController:
    """How much is asked for.

    Parameters
    ----------
    threads : int
        For each client; each waits for its answers.
    pause : float
        Seconds between an answer and the next request, on average.
    erasures : float
        Share of requests that are erasures.
    """

    threads: int = 2
    pause: float = 0.02
    erasures: float = 0.03


class Applicants:
    """One thread of requests; every person is somebody else, and everything that they share is a device or a street.

    Parameters
    ----------
    name : str
        Of letters; that of no other thread.
    client : Persistent
    ledger : Ledger
    rng : random.Random
    pace : Pace
    """

    def __init__(
        self, name: str, client: Persistent, ledger: Ledger, rng: random.Random, pace: RateController
    ) -> None:
        self._name = name
        self._client = client
        self._ledger = ledger
        self._rng = rng
        self._pace = pace
        self._number = 0
        self._known: list[tuple[Entry, list[Entry]]] = []

    def run(self, stop: threading.Event) -> None:
        """Ask until told to stop; what was begun is finished."""
        try:
            while not stop.wait(self._rng.uniform(0, 2 * self._pace.pause)):
                self._step()
        except NeverAnswered as error:
            self._ledger.blame(str(error))

    def _step(self) -> None:
        if self._rng.random() < self._pace.erasures:
            self._erase()
        else:
            self._rng.choice((self._introduce, self._verify, self._verify_signals))()

    def _introduce(self) -> None:
        whole = self._rng.random() >= _INCOMPLETE
        entry = self._make(IDENTITIES, self._person(whole=whole))
        if entry is not None and whole:
            self._known.append((entry, []))

    def _verify(self) -> None:
        """Verify somebody who is known; an identity is verified twice at most."""
        if not self._known:
            return
        identity, made = self._rng.choice(self._known)
        entry = self._make(VERIFICATIONS, {"identityId": identity.id, "signals": self._signals()})
        if entry is not None:
            made.append(entry)
        if len(made) == 2:
            self._known.remove((identity, made))

    def _verify_signals(self) -> None:
        entry = self._make(VERIFICATIONS, {"subjectId": self._new_key(), "signals": self._signals()})
        if entry is not None and entry.answer.status == 201 and self._rng.random() < self._pace.erasures:
            self._erase_entry(entry, f"{VERIFICATIONS}/{entry.id}/signals")

    def _erase(self) -> None:
        """Erase somebody of whom nothing is to be finished any more: what is then is no verdict."""
        for known in self._known:
            identity, made = known
            if made and all(entry.answer.status == 201 for entry in made):
                self._known.remove(known)
                for entry in made:
                    entry.erased = True
                self._erase_entry(identity, f"{IDENTITIES}/{identity.id}")
                return

    def _erase_entry(self, entry: Entry, path: str) -> None:
        entry.erased = True
        answer = self._client.ask("DELETE", path)
        if answer.status != 200:
            self._ledger.blame(f"an erasure was answered {answer.status}")

    def _make(self, path: str, body: dict[str, object]) -> Entry | None:
        key = self._new_key()
        answer: Answer = self._client.ask("POST", path, body, key)
        if answer.status not in ACKNOWLEDGED:
            self._ledger.blame(f"POST {path} was answered {answer.status}: {answer.body.decode()}")
            return None
        entry = Entry(self._client.credentials, path, key, body, answer)
        self._ledger.note(entry)
        return entry

    def _new_key(self) -> str:
        self._number += 1
        return f"{self._name}-{self._number}"

    def _person(self, *, whole: bool) -> dict[str, Any]:
        self._number += 1
        word = self._name + "".join(ascii_lowercase[int(digit)] for digit in str(self._number))
        street = {"line1": f"{self._rng.randrange(_STREETS)} Mill Lane", "city": "Leeds", "country": "GB"}
        body = {**PERSON, "firstName": f"Ada {word}", "lastName": word.title(), "address": street}
        if not whole:
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
    pace: RateController | None = None,
) -> Iterator[Ledger]:
    """Several clients that ask at the same time as long as the context; then what they were told is complete.

    Parameters
    ----------
    ports : callable
        See `Persistent`.
    credentials : sequence of mapping
        Headers of each client.
    seed : int
    pace : Pace, optional
    """
    pace = pace or RateController()
    ledger, stop, hopeless = Ledger(), threading.Event(), threading.Event()
    threads = []
    for place, headers in enumerate(credentials):
        for number in range(pace.threads):
            name = ascii_lowercase[place] + ascii_lowercase[number]
            rng = random.Random(f"{seed} {name}")
            client = Persistent(ports, headers, ledger, rng, hopeless)
            applicants = Applicants(name, client, ledger, rng, pace)
            threads.append(threading.Thread(target=applicants.run, args=(stop,), name=f"applicants {name}"))
    for thread in threads:
        thread.start()
    try:
        yield ledger
    except BaseException:
        hopeless.set()
        raise
    finally:
        stop.set()
        for thread in threads:
            thread.join(2 * SECONDS)
