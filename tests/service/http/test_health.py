"""Health pages."""

from fake_service import Client
from scoring_model.service.core.store import StoreUnavailable


def test_general_health_needs_no_credentials() -> None:
    """Live is always 200; ready is 503 without a model or a database. Queries are ignored."""
    client = Client()
    for path, status in (("/health/live", "live"), ("/health/ready", "ready")):
        answer = client.ask("GET", path + "?t=1", credentials=None)
        assert (answer.status_code, answer.json()) == (200, {"status": status})
    client.service.is_ready = False
    answer = client.ask("GET", "/health/ready", credentials=None)
    assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
    assert answer.headers["retry-after"] == "1"
    client.service.fault = StoreUnavailable()
    assert client.ask("GET", "/health/ready", credentials=None).status_code == 503
    assert client.ask("GET", "/health/live", credentials=None).status_code == 200
