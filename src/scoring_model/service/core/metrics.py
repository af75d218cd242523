"""What processes count of their work: the registry, and the memory in which they count.

A process counts into a slot of doubles. The process that shows metrics shares the slots of all its workers, and a
restarted worker goes on in the slot of the one before. Label values are fixed here: no text of a request becomes one.

Decision record: docs/adr/0029-serving-processes.md.
"""

from __future__ import annotations

import mmap
import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import product
from time import perf_counter
from typing import Final, Literal

from scoring_model.contract.outcome import OUTCOMES, DecidedBy
from scoring_model.contract.verification import VerificationStatus
from scoring_model.service.core.rows import DeliveryStatus, VerificationRow

Kind = Literal["counter", "gauge", "histogram"]

PREFIX: Final = "scoring_model_"
"""With which every name begins."""

OTHER: Final = "other"
"""Value of each label where a combination is not listed."""

OPERATIONS: Final = (
    *("createVerification", "listVerifications", "getVerification", "eraseSignals"),
    *("createIdentity", "listIdentities", "getIdentity", "eraseIdentity"),
    *("createWebhook", "listWebhooks", "getWebhook", "updateWebhook", "deleteWebhook"),
    *("listDeliveries", "rotateSecret", "testWebhook"),
    *("createLabels", "createResolution", "listResolutions"),
    *("addListEntries", "removeListEntries", "showLists"),
    OTHER,
)
"""The `operationId` of each operation of the API; `OTHER` are health checks, pages and what no operation received."""

STATUSES: Final = (
    *(0, 200, 201, 202, 304),
    *(400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429, 431, 500, 503),
)
"""Statuses of answers; 0 of a request whose client disconnected before."""

OVERLOADED: Final = "overloaded"
"""Code under which a refusal at arrival is counted; its answer has the code `unavailable`."""

CODES: Final = (
    *("unauthorized", "too_many_failures", "missing_scope", "rate_limited", "one_at_a_time"),
    *(OVERLOADED, "unavailable", "not_ready", "internal_error"),
    *(
        "malformed_request",
        "headers_too_large",
        "request_timeout",
        "body_too_large",
        "unsupported_media_type",
    ),
    *("malformed_json", "invalid_request", "batch_unsupported", "idempotency_key_reused", "not_found"),
    *("method_not_allowed", "identity_not_validated", "not_completed", "erased", "webhook_limit"),
    *("too_many_resolutions", "idempotency_in_progress"),
    OTHER,
)
"""Codes of errors, as in answers, but for `OVERLOADED`."""

_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_DELIVERY_SECONDS: Final = (0.1, 1.0, 10.0, 60.0, 600.0, 3_600.0, 21_600.0, 86_400.0, 259_200.0)
_BYTES: Final = 8


_ALWAYS: Final = 64
"""Combinations of labels of a metric that are shown at 0 too, so that a first increase is seen."""


class Metric:
    """A metric and the places of its values in a slot.

    A histogram has a place for each bound, for what is above all of them, and for the sum. Methods take the value of
    the label, or a pair of values: a request has time for no more than a look-up.

    Parameters
    ----------
    about : str
        What it says, for the page.
    bounds : sequence of float
        The inclusive upper bounds of a histogram, ascending.
    labels : sequence of str or int, by keyword
        All values of each label, at most two labels.
    """

    size = 0
    """Places of all metrics."""

    def __init__(
        self,
        kind: Kind,
        name: str,
        about: str,
        *,
        bounds: Sequence[float] = (),
        **labels: Sequence[str | int],
    ) -> None:
        self.kind = kind
        self.name = PREFIX + name
        self.about = about
        self.bounds = tuple(bounds)
        self.labels = tuple(labels)
        self.width = len(bounds) + 2 if kind == "histogram" else 1
        values = ([*map(_plain, every), OTHER] for every in labels.values())
        self.combinations = list(dict.fromkeys(product(*values)))
        self.begin, self._last = Metric.size, self.width - 1
        Metric.size += len(self.combinations) * self.width
        keys = [None if not one else one[0] if len(one) == 1 else one for one in self.combinations]
        self._places: dict[object, int] = dict(
            zip(keys, range(self.begin, Metric.size, self.width), strict=True)
        )
        self._other = Metric.size - self.width
        METRICS.append(self)

    def count(self, key: object = None, by: float = 1.0) -> None:
        """Add to a counter or a gauge."""
        _here[self._places.get(key, self._other)] += by

    def set(self, value: float) -> None:
        """Set a gauge without labels."""
        _here[self.begin] = value

    def observe(self, value: float, key: object = None) -> None:
        """Add a value to a histogram."""
        place = self._places.get(key, self._other)
        _here[place + bisect_left(self.bounds, value)] += 1.0
        _here[place + self._last] += value

    def values(self, sums: Sequence[float]) -> Iterator[tuple[tuple[str, ...], Sequence[float]]]:
        """Yield label values and sums; of many combinations only those that have any."""
        for number, labels in enumerate(self.combinations):
            begin = self.begin + number * self.width
            values = sums[begin : begin + self.width]
            if len(self.combinations) <= _ALWAYS or any(values):
                yield tuple(map(str, labels)), values


def _plain(value: str | int) -> str | int:
    """Return a value whose hash is not computed in Python, as that of a member of an enumeration is."""
    return value if isinstance(value, int) else str(value)


METRICS: Final[list[Metric]] = []
"""What processes count, in the order of their places."""

REQUESTS: Final = Metric(
    "counter", "requests_total", "Requests that ended.", operation=OPERATIONS, status=STATUSES
)
ERRORS: Final = Metric("counter", "errors_total", "Answers with an error, by its code.", code=CODES)
REQUEST_SECONDS: Final = Metric(
    "histogram", "request_seconds", "Seconds of requests.", bounds=_SECONDS, operation=OPERATIONS
)
STEP_SECONDS: Final = Metric(
    "histogram",
    "step_seconds",
    "Seconds of steps: authentication of a request, its wait in the queue; of a batch: what is read, scored, written "
    "for its verifications, and the commit.",
    bounds=_SECONDS,
    step=("authentication", "queue", "read", "score", "write", "commit"),
)
QUEUE: Final = Metric("gauge", "queue_waiting", "Changes that wait for a transaction.")
VERIFICATIONS: Final = Metric(
    "counter",
    "verifications_total",
    "Completed verifications that were committed.",
    outcome=OUTCOMES,
    decided_by=tuple(DecidedBy),
)
UNSCORED: Final = Metric(
    "counter",
    "unscored_total",
    "Verifications that were committed without a score: PENDING for now, ERROR for good.",
    status=(VerificationStatus.PENDING, VerificationStatus.ERROR),
)
SCORES: Final = Metric(
    "histogram", "score", "Scores of completed verifications.", bounds=range(100, 1000, 100)
)
ATTEMPTS: Final = Metric(
    "counter",
    "delivery_attempts_total",
    "Attempts to deliver an event: delivered, to be repeated (WAITING), or given up (DEAD).",
    status=(DeliveryStatus.DELIVERED, DeliveryStatus.WAITING, DeliveryStatus.DEAD),
)
DELIVERY_SECONDS: Final = Metric(
    "histogram", "delivery_seconds", "Seconds from an event to its delivery.", bounds=_DELIVERY_SECONDS
)
_here = memoryview(bytearray(Metric.size * _BYTES)).cast("d")
"""The slot of this process; memory of its own until `enter_slot`."""


class Slots:
    """The slots of all processes that one process shows, in anonymous memory that its workers inherit.

    Parameters
    ----------
    count : int
        Number of processes.
    """

    def __init__(self, count: int) -> None:
        self.descriptor = os.memfd_create("metrics")
        os.ftruncate(self.descriptor, count * Metric.size * _BYTES)
        self._slots = _slots(self.descriptor)

    def sums(self) -> list[float]:
        """Return the sum over all processes at each place of a slot."""
        return [sum(values) for values in zip(*self._slots, strict=True)]


def enter_slot(descriptor: int, number: int) -> None:
    """Count in a slot from now on, from what the process before counted there; gauges start at 0."""
    global _here
    _here = _slots(descriptor)[number]
    for metric in METRICS:
        if metric.kind == "gauge":
            metric.set(0.0)


def _slots(descriptor: int) -> list[memoryview[float]]:
    whole = memoryview(mmap.mmap(descriptor, 0)).cast("d")
    return [whole[begin : begin + Metric.size] for begin in range(0, len(whole), Metric.size)]


class Steps:
    """Measures the steps of a batch, one after the other."""

    __slots__ = ("_at",)

    def __init__(self) -> None:
        self._at = perf_counter()

    def end(self, step: str) -> None:
        """Observe a step; the next one begins."""
        now = perf_counter()
        STEP_SECONDS.observe(now - self._at, step)
        self._at = now


def count_verifications(rows: Sequence[VerificationRow]) -> None:
    """Count rows of verifications that were committed."""
    for row in rows:
        if row.score is None:
            UNSCORED.count(row.status)
        else:
            VERIFICATIONS.count((row.outcome, row.decided_by or "policy"))
            SCORES.observe(row.score)
