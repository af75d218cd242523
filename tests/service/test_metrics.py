"""What is counted, and the page that shows it."""

from collections.abc import Iterator
from typing import Final

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from scoring_model.contract.outcome import OUTCOMES, DecidedBy
from scoring_model.service.core import metrics
from scoring_model.service.core.clock import SystemClock
from scoring_model.service.core.errors import RequestError
from scoring_model.service.core.metrics import (
    CODES,
    ERRORS,
    METRICS,
    OPERATIONS,
    OTHER,
    OVERLOADED,
    QUEUE,
    REQUESTS,
    SCORES,
    STATUSES,
    Metric,
    Slots,
    count_verifications,
    enter_slot,
)
from scoring_model.service.core.rows import BundleActivationRow, LabelRow, RuleSetRow, ServingProcessRow
from scoring_model.service.exposition import GAUGES, Exposition
from scoring_model.service.http import errors as http_errors
from scoring_model.service.http import operations
from scoring_model.service.store import Store, StoreUnavailable
from scraping import Samples, page_of, parsed, value
from stored_rows import client_row, delivery_row, pending_row, verification_row

MOST_SAMPLES: Final = 1_500
"""Samples of a page at most, whatever is requested."""


@pytest.fixture
def slots() -> Iterator[Slots]:
    """Two slots, the first one of this process."""
    before, slots = metrics._here, Slots(2)
    enter_slot(slots.descriptor, 0)
    yield slots
    metrics._here = before


def shown(slots: Slots) -> Samples:
    """A page without gauges of a database."""
    registry = CollectorRegistry()
    registry.register(Exposition(slots, SystemClock()))
    return parsed(generate_latest(registry).decode())


def test_a_restarted_process_goes_on_and_the_page_sums_all(slots: Slots) -> None:
    """Counters and histograms of a slot continue, its gauges start at 0; the page has the sum of the slots."""
    ERRORS.count("unauthorized")
    QUEUE.set(7)
    SCORES.observe(100)
    enter_slot(slots.descriptor, 1)
    ERRORS.count("unauthorized", by=2)
    QUEUE.set(2)
    SCORES.observe(101)
    assert value(shown(slots), "queue_waiting") == 9
    enter_slot(slots.descriptor, 0)
    page = shown(slots)
    assert value(page, "errors_total", code="unauthorized") == 3
    assert value(page, "queue_waiting") == 2
    assert [value(page, "score_bucket", le=bound) for bound in ("100.0", "200.0", "900.0", "+Inf")] == [
        1,
        2,
        2,
        2,
    ]
    assert (value(page, "score_sum"), value(page, "score_count")) == (201, 2)


def test_verifications_are_counted_as_they_were_committed(slots: Slots) -> None:
    """A row without a score counts by its status, others by outcome and by what decided, the policy by default.

    Those of sandbox clients count nowhere.
    """
    count_verifications(
        [
            verification_row(),
            verification_row(outcome="FAILED", score=900, decided_by="rule"),
            verification_row(score=900, decided_by="sandbox"),
            pending_row(),
        ]
    )
    page = shown(slots)
    assert value(page, "verifications_total", outcome="PASSED", decided_by="policy") == 1
    assert value(page, "verifications_total", outcome="FAILED", decided_by="rule") == 1
    assert value(page, "verifications_total") == 2
    assert value(page, "unscored_total", status="PENDING") == 1
    assert len(page["verifications_total"]) == (len(OUTCOMES) + 1) * (len(DecidedBy) + 1)


def test_no_text_becomes_a_label(slots: Slots) -> None:
    """Values that are not listed count as other ones, so that nothing that clients send adds a sample."""
    for text in ("a", "b"):
        REQUESTS.count((text, 299))
        ERRORS.count(text)
    page = shown(slots)
    assert value(page, "requests_total", operation=OTHER, status=OTHER) == 2
    assert value(page, "errors_total", code=OTHER) == 2
    for place in range(Metric.size):
        metrics._here[place] = 1.0
    assert sum(map(len, shown(slots).values())) < MOST_SAMPLES


def codes(kind: type[RequestError]) -> set[str]:
    """Codes of a class of errors and its subclasses."""
    own = {kind.code} if hasattr(kind, "code") else set()
    return own.union(*map(codes, kind.__subclasses__()))


def test_whatever_the_service_answers_is_listed() -> None:
    """Every operation, status and code of an error has a label value of its own."""
    assert {one.name for one in operations.OPERATIONS} | {OTHER} == set(OPERATIONS)
    assert codes(RequestError) | {"internal_error", OVERLOADED, OTHER} == set(CODES)
    answered = {status for one in operations.OPERATIONS for status in one.statuses}
    assert answered | set(http_errors.STATUSES.values()) | {0, 304, 500} == set(STATUSES)
    assert all(one.name.endswith("_total") == (one.kind == "counter") for one in METRICS)


async def filled(store: Store, now: int) -> None:
    """Write what the gauges measure."""
    async with store.writing(["*"]) as transaction:
        client = await transaction.new_client(client_row())
        await transaction.set_fact("erasing.00", b"[]")
        await transaction.set_fact("truncation_required", str(now - 9_000_000).encode())
        await transaction.insert([pending_row(client=client)])
        rows = [verification_row(client=client, outcome="STEPPED_UP") for _ in range(102)]
        await transaction.insert(rows)
        await transaction.insert([LabelRow(client, rows[0].id, "fraud", 1, now - 5_000_000)])
        await transaction.insert(
            [delivery_row(due_at=now - 7_000_000), delivery_row(due_at=now), delivery_row(status="DEAD")]
        )
        await transaction.insert(
            [ServingProcessRow(b"p" * 16, "h", 1, "m1", "p1", 1, 0, "it is missing", now)]
        )
        await transaction.insert([BundleActivationRow(1, now, "m2", "p2", 0, "REFUSED", "ops")])
        await transaction.insert([RuleSetRow(1, now, "r1", "{}", "ops")])


class Stopped:
    """A clock that stands still."""

    def now(self) -> int:
        """An instant of 2033."""
        return 2_000_000_000_000_000

    def event(self, reference: str | None) -> int:
        """The same."""
        return self.now()


@pytest.mark.anyio
async def test_gauges_are_read_from_the_database(store: Store) -> None:
    """Each gauge has the value of the rows; unresolved step-ups are looked for among the latest 100 of a client."""
    await filled(store, Stopped().now())
    page = await page_of(store, Slots(1), Stopped())
    found = {name: [one.value for one in page[name]] for name in GAUGES}
    assert found == {
        "database_up": [1],
        "clock_seconds": [2_000_000_000],
        "clock_behind_seconds": [0],
        "pending": [1],
        "unresolved_step_ups": [100],
        "last_label_seconds": [1_999_999_995],
        "erasures_under_way": [1],
        "erasure_incomplete_seconds": [9],
        "deliveries_waiting": [2],
        "deliveries_overdue_seconds": [7],
        "dead_letters": [1],
        "serving_processes": [1],
        "bundle_problems": [1],
        "bundle_refused": [1],
        "active_rules": [1],
    }
    assert page["serving_processes"][0].labels == {"model_version": "m1", "policy_version": "p1"}


@pytest.mark.anyio
async def test_without_the_database_no_old_gauge_is_shown(
    postgres_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read before is not shown as if it were true."""

    def away() -> None:
        raise StoreUnavailable

    monkeypatch.setattr(postgres_store, "reading", away)
    page = await page_of(postgres_store, Slots(1), Stopped())
    assert [name for name in GAUGES if name in page] == ["database_up"]
    assert value(page, "database_up") == 0
