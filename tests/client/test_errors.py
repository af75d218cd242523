"""Every error answer becomes an exception of one hierarchy, whatever its content."""

import json
import logging
import pickle
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import Response

from either_client import Either
from scoring_model import client as package
from scoring_model.client import (
    ApiError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    RateLimited,
    RetryPolicy,
    ScoringError,
    StillPending,
    TransportError,
    Unauthorized,
    Unavailable,
    UnreadableAnswer,
    Verification,
    Violation,
)
from scoring_model.client.errors import problem as problem_of
from scoring_peer import API_KEY, NOW, Peer, problem

KINDS: dict[int, type[ApiError]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: ApiError,
    409: Conflict,
    413: Invalid,
    415: Invalid,
    418: ApiError,
    422: Invalid,
    429: RateLimited,
    500: ApiError,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}
CANARY = "Canaria"


def refusal(client: Either, peer: Peer, answer: Response) -> ApiError:
    """Result of creating an identity with a given answer."""
    peer.faults.append(answer)
    with pytest.raises(ApiError) as caught:
        client.do(lambda c: c.identities.create(first_name=CANARY))
    return caught.value


@pytest.mark.parametrize(("status", "kind"), KINDS.items())
def test_errors_every_status_has_its_class(
    status: int, kind: type[ApiError], opened: Any, peer: Peer
) -> None:
    """Status, code, detail and request id are reported, and the class follows from the status alone."""
    client = opened(retry=RetryPolicy(attempts=1))
    error = refusal(client, peer, problem(status, "some_code"))
    assert type(error) is kind
    assert (error.status, error.code, error.detail) == (status, "some_code", "The reason.")
    assert str(error) == f"{status} some_code: The reason. (request 0190-ab)"
    assert "some_code" in repr(error)


def test_errors_all_rules_are_listed(client: Either, peer: Peer) -> None:
    """A 422 lists every rule that is broken, in its order."""
    errors = [
        {"pointer": "/dob", "code": "date", "detail": "must be a date"},
        {"pointer": "", "code": "empty", "detail": "must not be empty", "new": 1},
    ]
    error = refusal(client, peer, problem(422, "invalid_request", errors=errors))
    assert error.errors == (
        Violation("/dob", "date", "must be a date"),
        Violation("", "empty", "must not be empty"),
    )
    assert "/dob: must be a date; body: must not be empty (" in str(error)
    assert error.errors_omitted == 0


def test_errors_say_what_an_identity_lacks(client: Either, peer: Peer) -> None:
    """A 409 carries the missing fields, and its text names them."""
    lacks = ["/dob", "/address/country"]
    error = refusal(client, peer, problem(409, "identity_not_validated", missingFields=lacks))
    assert error.missing_fields == tuple(lacks)
    assert "The reason. missing: /dob, /address/country (" in str(error)
    assert refusal(client, peer, problem(409, "webhook_limit")).missing_fields == ()


@pytest.mark.parametrize(("sent", "omitted"), [(7, 7), (0, 0), (-1, 0), (None, 0), ("7", 0), (True, 0)])
def test_errors_beyond_the_listed_ones_are_counted(
    sent: object, omitted: int, client: Either, peer: Peer
) -> None:
    """The number of further errors is taken where it is one, and the text names it."""
    errors = [{"pointer": "/dob", "code": "date", "detail": "must be a date"}]
    error = refusal(client, peer, problem(422, "invalid_request", errors=errors, errorsOmitted=sent))
    assert error.errors_omitted == omitted
    assert ("must be a date; and 7 more (" in str(error)) == (omitted == 7)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"code": 7, "detail": ["Canaria"], "errors": {"a": 1}}',
        b'{"errors": [7]}',
        b'{"errors": [{"pointer": null}]}',
        b"[" * 100_000,
        b'{"status": ' + b"9" * 5000 + b"}",
    ],
)
def test_errors_that_are_malformed_keep_their_status(body: bytes, client: Either, peer: Peer) -> None:
    """Unreadable members are left out."""
    error = refusal(client, peer, Response(body, 422, media_type="application/problem+json"))
    assert type(error) is Invalid
    assert (str(error), error.code, error.errors) == ("422", None, ())


def test_errors_a_malformed_member_spoils_no_other(client: Either, peer: Peer) -> None:
    """A code is kept although the detail can't be."""
    answer = Response(b'{"code": "a", "detail": 7}', 422, media_type="application/problem+json")
    error = refusal(client, peer, answer)
    assert (error.code, error.detail) == ("a", None)


@pytest.mark.parametrize("media", ["text/html", "application/json", None])
def test_errors_of_a_proxy_are_not_repeated(media: str | None, client: Either, peer: Peer) -> None:
    """What somebody else writes may hold what was sent: only its status is kept."""
    page = f'{{"detail": "<html>{CANARY}</html>", "code": "{CANARY}"}}'
    error = refusal(
        client, peer, Response(page, 403, media_type=media, headers={"X-Request-Id": f"<{CANARY}>"})
    )
    assert type(error) is Forbidden
    assert str(error) == "403"
    assert CANARY not in repr(error)


@pytest.mark.parametrize("media", ["text/html", "application/json"])
@pytest.mark.parametrize("status", [200, 204])
def test_a_page_that_says_success_is_an_error(status: int, media: str, client: Either, peer: Peer) -> None:
    """A proxy that answers 200 with a page of its own has created nothing that we know of."""
    page = f"<html>{CANARY}" if status == 200 else None
    error = refusal(client, peer, Response(page, status, media_type=media))
    assert type(error) is UnreadableAnswer
    assert (error.status, error.code) == (status, "unreadable_answer")
    assert CANARY not in f"{error} {error!r} {error.__cause__!r}"


def test_an_answer_in_a_broken_encoding_is_no_answer(opened: Any, peer: Peer) -> None:
    """A body that is not what Content-Encoding says can't be read; whether the thing was done is unknown."""
    peer.faults.append(Response(b"no gzip", 200, {"Content-Encoding": "gzip"}))
    client = opened(retry=RetryPolicy(attempts=1))
    with pytest.raises(TransportError, match="DecodingError"):
        client.do(lambda c: c.identities.get("x"))


def test_nothing_of_a_person_is_logged(client: Either, peer: Peer, caplog: pytest.LogCaptureFixture) -> None:
    """Neither values nor credentials, at any level."""
    caplog.set_level(logging.DEBUG)
    refusal(client, peer, problem(422, "invalid_request"))
    client.do(lambda c: c.verifications.create(signals={"a": CANARY}, subject_id=CANARY))
    ours = "\n".join(record.getMessage() for record in caplog.records if "httpcore" not in record.name)
    assert "/scoring/v1/verifications" in ours
    assert CANARY not in caplog.text
    assert API_KEY not in ours


PENDING = Verification.model_validate_json(f'{{"id": "v", "status": "PENDING", "createdAt": "{NOW}"}}')


@pytest.mark.parametrize(
    "error",
    [
        Invalid(422, "code", "Detail.", "r-1", (Violation("/a", "b", "c"),), 2.0, 7),
        UnreadableAnswer(200),
        TransportError("ConnectError", sent=False),
        StillPending(PENDING),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_survive_pickling(error: ScoringError) -> None:
    """Processes hand them to each other whole."""
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (str(copy), repr(copy), vars(copy)) == (str(error), repr(error), vars(error))


def test_all_errors_have_one_base() -> None:
    """One `except` catches every error of a request."""
    errors = [
        thing for thing in vars(package).values() if isinstance(thing, type) and issubclass(thing, Exception)
    ]
    assert len(errors) == 13
    assert all(issubclass(error, ScoringError) for error in errors)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["code", "detail", "errors", "errorsOmitted", "missingFields", "pointer"]),
            inner,
            max_size=4,
        )
    ),
)


@given(
    status=st.integers(300, 599),
    body=st.binary() | VALUES.map(lambda value: json.dumps(value).encode()),
    after=st.text(st.characters(max_codepoint=255)),
)
def test_any_answer_becomes_an_error(status: int, body: bytes, after: str) -> None:
    """Whatever bytes stand in an answer: an error with its status, whose text can be made."""
    headers = [("content-type", "application/problem+json"), ("retry-after", after)]
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    error = problem_of(httpx.Response(status, headers=raw, content=body))
    assert error.status == status
    assert str(error).startswith(str(status))
    assert error.retry_after is None or error.retry_after >= 0
