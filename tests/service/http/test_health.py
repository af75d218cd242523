"""Health pages."""

from fake_service import Client
from scoring_model.service.core.rows import BundleActivationRow
from scoring_model.service.readiness import ProcessState, ServedSince
from scoring_model.service.store import StoreUnavailable
from service_use import START


def test_general_health_needs_no_credentials() -> None:
    """Live is always 200; ready is 503 without a model or a database. Queries are ignored."""
    client = Client()
    ready = {
        "status": "ready",
        "erasureIncompleteSince": None,
        "clockBehindSeconds": 0,
        "modelVersion": "m1",
        "policyVersion": "p1",
        "servingSince": "2026-05-28T20:26:40.000001Z",
        "bundleProblem": None,
        "lastRefusedBundle": None,
    }
    for path, status in (("/health/live", {"status": "live"}), ("/health/ready", ready)):
        answer = client.ask("GET", path + "?t=1", credentials=None)
        assert (answer.status_code, answer.json()) == (200, status)
    client.service.ready = None
    answer = client.ask("GET", "/health/ready", credentials=None)
    assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
    assert answer.headers["retry-after"] == "1"
    client.service.fault = StoreUnavailable()
    assert client.ask("GET", "/health/ready", credentials=None).status_code == 503
    assert client.ask("GET", "/health/live", credentials=None).status_code == 200


def test_ready_says_what_operators_should_know() -> None:
    """Since when an erasure is incomplete, how far the clock is behind, what serves, and what does not and why."""
    client = Client()
    refused = BundleActivationRow(3, START, "m2", "p2", 0, "REFUSED", "ops", 2, "a margin is not finite")
    client.service.ready = ProcessState(
        erasure_incomplete_since=START,
        clock_behind=172_800_999_999,
        serves=ServedSince(
            model_version="m1", policy_version="p1", since=START, problem="it is missing", refused=refused
        ),
    )
    assert client.ask("GET", "/health/ready", credentials=None).json() == {
        "status": "ready",
        "erasureIncompleteSince": "2026-06-01T12:00:00.000000Z",
        "clockBehindSeconds": 172_800,
        "modelVersion": "m1",
        "policyVersion": "p1",
        "servingSince": "2026-06-01T12:00:00.000000Z",
        "bundleProblem": "it is missing",
        "lastRefusedBundle": {
            "modelVersion": "m2",
            "policyVersion": "p2",
            "refusedAt": "2026-06-01T12:00:00.000000Z",
            "reason": "a margin is not finite",
        },
    }
