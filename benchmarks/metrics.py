"""What metrics cost a service: the time of one request's counts, and its rate with and without them.

Two services on a store take the same load in turns, on one core: one with a page of metrics that is asked for every
second, one whose counts do nothing and that has no page. CPU time of a request does not depend on who else uses the
machine as much as the rate does: both ratios are printed for each pair, and the medians are judged.
"""

import re
import statistics
import threading
import timeit
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final, NamedTuple

import pytest
from shared.bundles import served_bundle
from shared.database import site
from shared.load import Visitors
from shared.processes import cpu_seconds, serving
from shared.script import Stores, Verdict, at_least, at_most, in_turns, run

from running_service import free_port
from scoring_model.bundle import Bundle
from scoring_model.service.core import metrics
from scoring_model.service.core.metrics import REQUEST_SECONDS, REQUESTS, SCORES, STEP_SECONDS, VERIFICATIONS

WARM_SECONDS: Final = 4
PER_REQUEST: Final = 2.0
"""Most microseconds of the counts of one request."""

CALLS: Final = 500
"""Of one timing: few, so that some are not interrupted."""

OF_RATE: Final = 0.98
UNCOUNTED: Final = """\
from scoring_model.service.core.metrics import Metric
Metric.count = Metric.observe = Metric.set = lambda *_, **__: None
"""


def count_request() -> None:
    """Count what a verification counts by itself."""
    for step in ("authentication", "queue"):
        STEP_SECONDS.observe(0.0007, step)
    VERIFICATIONS.count(("PASSED", "policy"))
    SCORES.observe(321)
    REQUESTS.count(("createVerification", 201))
    REQUEST_SECONDS.observe(0.004, "createVerification")


def count_batch() -> None:
    """Count what a batch of verifications counts once."""
    for step in ("read", "score", "write", "commit"):
        STEP_SECONDS.observe(0.0007, step)


def microseconds(function: Callable[[], None]) -> float:
    """Return the time of a function, with counts in memory as processes share it."""
    metrics.enter_slot(metrics.Slots(1).descriptor, 0)
    return min(timeit.repeat(function, number=CALLS, repeat=300)) / CALLS * 1e6


class Service(NamedTuple):
    """A running service, its own client, and its page of metrics."""

    url: str
    pid: int
    visitors: Visitors
    page: str | None

    def load(self, seconds: int) -> tuple[float, float]:
        """Send load, and ask for the page every second; return verdicts a second and CPU seconds of each."""
        stop, before = threading.Event(), cpu_seconds(self.pid)

        def scrape() -> None:
            while self.page is not None and not stop.wait(1):
                read(self.page)

        scraper = threading.Thread(target=scrape)
        scraper.start()
        found = self.visitors.drive(self.url, seconds)
        stop.set()
        scraper.join()
        return found.goodput, (cpu_seconds(self.pid) - before) / found.count(201)

    def batch(self) -> float:
        """Return the mean number of verifications in a batch so far."""
        counts = re.findall(r'step_seconds_count{step="(queue|commit)"} (\S+)', read(str(self.page)))
        steps = {step: float(count) for step, count in counts}
        return steps["queue"] / steps["commit"]


def read(url: str) -> str:
    """Return a page."""
    with urllib.request.urlopen(url) as answer:
        return str(answer.read().decode())


@contextmanager
def service(store: str, bundle: Bundle, rows: int, customers: int, *, counts: bool) -> Iterator[Service]:
    """Serve with metrics, or without the page and with counts that do nothing."""
    with site(store, bundle, rows=rows, customers=customers) as here, pytest.MonkeyPatch.context() as patch:
        if not counts:
            (here.folder / "sitecustomize.py").write_text(UNCOUNTED, encoding="utf-8")
            patch.setenv("PYTHONPATH", str(here.folder))
        words = ["--metrics-port", port := free_port()] if counts else []
        with serving(
            here.folder, *words, bundle=bundle.save(here.folder / "bundle"), **here.served
        ) as running:
            patch.undo()
            page = f"http://127.0.0.1:{port}/metrics" if counts else None
            visitors = Visitors(here.bodies, here.credentials, keys=True)
            yield Service(running.url, running.process.pid, visitors, page)


def measure(
    store: str, bundle: Bundle, seconds: int, rows: int, customers: int, repeats: int
) -> Iterator[Verdict]:
    """Measure one kind of store."""
    alone, shared = microseconds(count_request), microseconds(count_batch)
    print(f"counts of a request that is alone in its batch: {alone + shared:.2f} us")
    rates, costs = [], []
    with ExitStack() as held:
        both = {
            counts: held.enter_context(service(store, bundle, rows, customers, counts=counts))
            for counts in (True, False)
        }
        for one in both.values():
            one.load(WARM_SECONDS)
        batch = both[True].batch()
        for counted, uncounted in in_turns(repeats, lambda counts: both[counts].load(seconds)):
            rates.append(counted[0] / uncounted[0])
            costs.append(counted[1] / uncounted[1])
            print(
                f"pair {len(rates)}: {rates[-1]:.3f} of the rate, {costs[-1]:.3f} of the CPU time of "
                f"{1e6 * uncounted[1]:.0f} us a request"
            )
    name = f"microseconds of the counts of a request, in batches of {batch:.1f} under load"
    yield at_most(name, alone + shared / batch, PER_REQUEST)
    yield at_least("median share of the rate without metrics", statistics.median(rates), OF_RATE)
    yield at_most("median ratio of CPU time of a request", statistics.median(costs), 1 / OF_RATE)


def main(
    *, store: Stores, seconds: int = 12, rows: int = 100_000, customers: int = 10_000, repeats: int = 6
) -> Iterator[Verdict]:
    """Measure the chosen stores; the medians of pairs count."""
    bundle = served_bundle()
    for kind in store:
        yield from measure(kind, bundle, seconds, rows, customers, repeats)


if __name__ == "__main__":
    run(main)
