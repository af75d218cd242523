"""The page of metrics: what processes have counted, and gauges of the database, in Prometheus' text format.

References
----------
https://prometheus.io/docs/instrumenting/exposition_formats
"""

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from itertools import accumulate
from socketserver import TCPServer
from threading import Thread
from typing import Any, Final

from prometheus_client import CollectorRegistry, MetricsHandler
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from scoring_model.contract.units import SECOND
from scoring_model.service.activation.activations import living
from scoring_model.service.core.clock import SKEW, Clock
from scoring_model.service.core.metrics import METRICS, PREFIX, Metric, Slots
from scoring_model.service.core.rows import ActivationState
from scoring_model.service.store import TRUNCATION_FACT, Store, attempt

GAUGE_SECONDS: Final = 15.0
"""Seconds between readings of the database, however often metrics are asked for."""

_TIMEOUT: Final = 5.0
"""Seconds that one connection waits for its peer: connections are answered one at a time."""


GAUGES: Final[Mapping[str, str]] = {
    "database_up": "1 if the database answered when the gauges were last read; otherwise no other is shown.",
    "clock_seconds": "The clock of the machine when the gauges were read, seconds since 1970-01-01 UTC.",
    "clock_behind_seconds": "Seconds by which the newest event is ahead of the clock; 0 up to 5.",
    "pending": "PENDING verifications, up to 10,000.",
    "unresolved_step_ups": "Of the latest 100 step-ups of each client, those without a resolution.",
    "last_label_seconds": "When the last label was reported, seconds since 1970-01-01 UTC; 0 for never.",
    "erasures_under_way": "Erasures that have steps left, up to 10,000.",
    "erasure_incomplete_seconds": "Seconds for which an erasure has waited for the write-ahead log (SQLite).",
    "deliveries_waiting": "Deliveries that wait for an attempt, up to 10,000.",
    "deliveries_overdue_seconds": "Seconds for which the oldest delivery that is due has waited.",
    "dead_letters": "Deliveries that were given up and are kept, up to 10,000.",
    "serving_processes": "Processes that serve a bundle, on all machines.",
    "bundle_problems": "Processes that can't serve the active bundle.",
    "bundle_refused": "1 if the latest request to activate a bundle was refused.",
    "active_rules": "Number of the active rules; 0 without rules.",
}
"""The gauges of the database and what they say."""

GAUGE_LABELS: Final[Mapping[str, tuple[str, ...]]] = {
    "serving_processes": ("model_version", "policy_version"),
    "active_rules": ("version",),
}
"""The labels of those that have some."""


class Exposition(Collector):
    """Collects the metrics of all processes.

    Parameters
    ----------
    slots : Slots
    clock : Clock
    """

    def __init__(self, slots: Slots, clock: Clock) -> None:
        self._slots = slots
        self._clock = clock
        self._gauges: Sequence[Family] = ()

    def collect(self) -> Iterator[Family]:
        """Yield every metric, the sums of all processes, then the gauges as they were last read."""
        sums = self._slots.sums()
        for metric in METRICS:
            yield _family(metric, sums)
        yield from self._gauges

    @asynccontextmanager
    async def following(self, store: Store) -> AsyncIterator[None]:
        """Read the gauges of a database while the context is open."""
        task = asyncio.create_task(self._follow(store))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _follow(self, store: Store) -> None:
        while True:
            read = await attempt("reading gauges", partial(_read, store, self._clock))
            self._gauges = [_gauge("database_up", {(): 0})] if read is None else read
            await asyncio.sleep(GAUGE_SECONDS)

    @contextmanager
    def answering(self, listener: socket.socket) -> Iterator[None]:
        """Answer on a socket in a thread while the context is open, one connection after the other."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        server = _Server(listener.getsockname(), MetricsHandler.factory(registry), bind_and_activate=False)
        server.socket.close()
        server.socket = listener
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()


class _Server(TCPServer):
    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        connection.settimeout(_TIMEOUT)
        return connection, address

    def handle_error(self, _request: object, _address: object) -> None:
        """Write nothing: peers come and go."""


def _family(metric: Metric, sums: Sequence[float]) -> Family:
    if metric.kind == "histogram":
        histogram = HistogramMetricFamily(metric.name, metric.about, labels=metric.labels)
        bounds = [*(str(float(bound)) for bound in metric.bounds), "+Inf"]
        for labels, (*counts, total) in metric.values(sums):
            histogram.add_metric(labels, list(zip(bounds, accumulate(counts), strict=True)), total)
        return histogram
    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    family = kind(metric.name, metric.about, labels=metric.labels)
    for labels, (value,) in metric.values(sums):
        family.add_metric(labels, value)
    return family


async def _read(store: Store, clock: Clock) -> list[Family]:
    now = clock.now()
    async with store.reading() as reader:
        measures = await reader.measures()
        newest = await reader.newest_event(now + SKEW)
        incomplete = await reader.fact(TRUNCATION_FACT)
        processes = await living(reader, now)
        latest = await reader.latest_activation()
        rules = await reader.rule_set((await reader.latest_overrides())[0])
    values = {
        "database_up": 1,
        "clock_seconds": now / SECOND,
        "clock_behind_seconds": 0 if newest is None else (newest - now) / SECOND,
        "pending": measures.pending,
        "unresolved_step_ups": measures.unresolved,
        "last_label_seconds": measures.labelled_at / SECOND,
        "erasure_incomplete_seconds": 0 if incomplete is None else (now - int(incomplete)) / SECOND,
        "deliveries_waiting": measures.waiting,
        "deliveries_overdue_seconds": max(0, now - measures.due_at) / SECOND if measures.due_at else 0,
        "dead_letters": measures.dead,
        "erasures_under_way": measures.erasures,
        "bundle_problems": sum(one.problem is not None for one in processes),
        "bundle_refused": latest is not None and latest.state == ActivationState.REFUSED,
    }
    serving = Counter((one.model_version, one.policy_version) for one in processes)
    return [
        *(_gauge(name, {(): value}) for name, value in values.items()),
        _gauge("serving_processes", serving),
        _gauge("active_rules", {("",): 0} if rules is None else {(rules.version,): rules.number}),
    ]


def _gauge(name: str, values: Mapping[Any, float]) -> Family:
    family = GaugeMetricFamily(PREFIX + name, GAUGES[name], labels=GAUGE_LABELS.get(name, ()))
    for key, value in values.items():
        family.add_metric(key, value)
    return family
