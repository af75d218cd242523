"""The contract's section Idempotency and caching: entity tags and `Cache-Control`."""

import pytest

from fake_service import PERSON, Client

UNKNOWN = "00000000-0000-0000-0000-000000000001"


def _paths(client: Client) -> dict[str, str]:
    return {
        f"/scoring/v1/identities/{client.new_identity()['id']}": "private, max-age=60",
        f"/scoring/v1/webhooks/{client.new_webhook()['id']}": "private, max-age=60",
        f"/scoring/v1/verifications/{client.new_verification()['id']}": "private, max-age=300",
    }


def test_caching_of_single_resources() -> None:
    """GET of one identity, webhook or completed verification may be cached and revalidated."""
    client = Client()
    for path, kept in _paths(client).items():
        answer = client.ask("GET", path)
        assert answer.headers["cache-control"] == kept
        assert answer.headers["vary"] == "authorization, x-api-key, x-client-id"
        tag = answer.headers["etag"]
        for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            for method in ("GET", "HEAD"):
                again = client.ask(method, path, headers={"if-none-match": known})
                assert (again.status_code, again.content) == (304, b"")
                assert again.headers["etag"] == tag
                assert again.headers["cache-control"] == kept
        several = [("if-none-match", '"other"'), ("if-none-match", tag)]
        assert client.ask("GET", path, headers=several).status_code == 304
        for unknown in ("", '"other"', tag.strip('"'), "W/"):
            assert client.ask("GET", path, headers={"if-none-match": unknown}).status_code == 200


def test_caching_ends_with_a_change() -> None:
    """A changed resource has another tag."""
    client = Client()
    path = f"/scoring/v1/identities/{client.new_identity()['id']}"
    before = client.ask("GET", path).headers["etag"]
    client.ask("DELETE", path)
    answer = client.ask("GET", path, headers={"if-none-match": before})
    assert answer.status_code == 200
    assert answer.headers["etag"] != before


@pytest.mark.parametrize("known", ["", "*"])
def test_caching_of_everything_else(known: str) -> None:
    """Lists, changes, pending verifications, errors and public pages are `no-store`, without a tag."""
    client = Client()
    identity = client.new_identity()["id"]
    webhook = client.new_webhook()["id"]
    client.service.pending = True
    pending = client.new_verification()["id"]
    headers = {"if-none-match": known}
    answers = [
        client.ask("GET", "/scoring/v1/webhooks", headers=headers),
        client.ask("GET", f"/scoring/v1/verifications/{pending}", headers=headers),
        client.ask("DELETE", f"/scoring/v1/identities/{identity}", headers=headers),
        client.ask("POST", "/scoring/v1/identities", headers=headers, json=PERSON),
        client.ask("POST", f"/scoring/v1/webhooks/{webhook}/test", headers=headers),
        client.ask("GET", "/scoring/v1/nothing", headers=headers),
        client.ask("GET", f"/scoring/v1/identities/{UNKNOWN}", headers=headers),
        client.ask("GET", "/health/live", headers=headers),
        client.ask("GET", "/docs", headers=headers),
        client.ask("GET", "/openapi.json", headers=headers),
    ]
    for answer in answers:
        assert answer.status_code != 304
        assert answer.headers["cache-control"] == "no-store"
        assert "etag" not in answer.headers
