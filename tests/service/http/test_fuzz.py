"""Whatever is sent, the answer is one that the contract knows, and never 500."""

import json
from typing import Any
from urllib.parse import quote

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fake_service import HOOK, PERSON, Client
from scoring_model.service.http.errors import STATUSES

KNOWN = {200, 201, 202, 304, *STATUSES.values()}
JSON = {"content-type": "application/json"}

_scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
_values = st.recursive(
    _scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)
_names = st.sampled_from(
    [*PERSON, *HOOK, "identityId", "signals", "subjectId", "previousVerificationId", "eventTypes"]
)
_bodies = st.dictionaries(_names | st.text(), _values, max_size=6).map(lambda body: {**body}) | _values
_paths = st.sampled_from(
    [
        "identities",
        "verifications",
        "webhooks",
        "webhooks/{id}",
        "webhooks/{id}/test",
        "verifications/{id}/signals",
    ]
)
_ids = st.sampled_from(["00000000-0000-0000-0000-000000000001", "x"]) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="."), min_size=1
)
_headers = st.lists(
    st.tuples(
        st.sampled_from(
            ["idempotency-key", "if-none-match", "content-type", "content-encoding", "accept", "range"]
        ),
        st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=300),
    ),
    max_size=4,
)
_queries = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="#"), max_size=40)
slow = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _check(answer: Any) -> None:
    assert answer.status_code in KNOWN, answer.text
    assert answer.headers["x-request-id"]
    assert answer.headers["cache-control"]
    if answer.status_code >= 400 and answer.content:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == answer.status_code


@slow
@given(
    st.sampled_from(["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"]),
    _paths,
    _ids,
    _queries,
    _headers,
    _bodies,
)
def test_any_request(
    method: str, path: str, named: str, query: str, headers: list[tuple[str, str]], body: object
) -> None:
    """Any method, path, id, query, headers and JSON are answered."""
    whole = f"/scoring/v1/{path.replace('{id}', quote(named, safe=''))}?{query}"
    content = json.dumps(body).encode()
    _check(Client().ask(method, whole, headers=[*JSON.items(), *headers], content=content))


@slow
@given(st.sampled_from(["identities", "verifications", "webhooks"]), _bodies, st.data())
def test_any_damage_to_a_body(path: str, body: object, data: st.DataObject) -> None:
    """JSON with bytes changed, inserted or cut off is answered."""
    raw = bytearray(json.dumps(body, ensure_ascii=False).encode(errors="replace"))
    place = data.draw(st.integers(0, len(raw)))
    raw[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    _check(Client().ask("POST", f"/scoring/v1/{path}", headers=JSON, content=bytes(raw)))
