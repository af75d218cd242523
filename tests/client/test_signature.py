"""Deliveries against the public library of Standard Webhooks, which signs them and judges them as well."""

import base64
import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from scoring_model.client import Event, EventData, InvalidWebhook, verify_webhook

NOW = 1_767_323_045
BODY = {
    "type": "verification.passed",
    "timestamp": "2026-01-02T03:04:05.678901Z",
    "data": {
        "id": "v-1",
        "identityId": None,
        "status": "COMPLETED",
        "scoringOutcome": "PASSED",
        "scoringScore": 112,
        "modelVersion": "m1",
        "sequence": 7,
    },
}
RAW = json.dumps(BODY).encode()


def secret(key: bytes) -> str:
    """A secret as the service shows it."""
    return f"whsec_{base64.b64encode(key).decode()}"


OLD, NEW, OTHER = (secret(bytes([number]) * 32) for number in (1, 2, 3))


def signed(body: bytes, *secrets: str, event: str = "msg_1", at: int = NOW) -> dict[str, str]:
    """The headers of a delivery, signed by the public library."""
    moment = datetime.fromtimestamp(at, UTC)
    signatures = [Webhook(one).sign(event, moment, body.decode()) for one in secrets]
    return {"webhook-id": event, "webhook-timestamp": str(at), "webhook-signature": " ".join(signatures)}


def accepted(body: bytes, headers: Mapping[str, str], key: str) -> bool:
    """Whether we take a delivery now."""
    try:
        verify_webhook(body, headers, key)
    except InvalidWebhook:
        return False
    return True


def accepted_by_the_library(body: bytes, headers: Mapping[str, str], key: str) -> bool:
    """Whether the public library does."""
    try:
        Webhook(key).verify(body, dict(headers))
    except (WebhookVerificationError, ValueError):
        return False
    return True


def test_a_signed_delivery_is_an_event() -> None:
    """All that the payload says, typed."""
    event = verify_webhook(RAW, signed(RAW, NEW), NEW, now=NOW)
    assert event == Event(
        id="msg_1",
        type="verification.passed",
        timestamp=datetime(2026, 1, 2, 3, 4, 5, 678901, UTC),
        data=EventData(
            id="v-1",
            status="COMPLETED",
            scoring_outcome="PASSED",
            scoring_score=112,
            model_version="m1",
            sequence=7,
        ),
    )


def test_the_vector_of_the_specification() -> None:
    """The published example: its secret, id, time and body give its signature."""
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    with pytest.raises(InvalidWebhook, match="type: Field required"):
        verify_webhook(
            b'{"test": 2432232314}', headers, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", now=1614265330
        )


@pytest.mark.parametrize("keys", [(OLD,), (NEW,), (OLD, NEW), (NEW, OTHER), (OTHER, OLD)])
@pytest.mark.parametrize("signers", [(OLD,), (NEW,), (OLD, NEW), (NEW, OLD)])
def test_any_secret_may_fit_any_signature(keys: tuple[str, ...], signers: tuple[str, ...]) -> None:
    """During a rotation both sides may have two: one pair is enough, and none is too few."""
    headers = signed(RAW, *signers)
    if set(keys) & set(signers):
        assert verify_webhook(RAW, headers, keys, now=NOW).type == "verification.passed"
        assert verify_webhook(RAW, headers, iter(keys), now=NOW).id == "msg_1"
    else:
        with pytest.raises(InvalidWebhook, match="no signature fits"):
            verify_webhook(RAW, headers, keys, now=NOW)


@pytest.mark.parametrize("shift", [-301, -300, 0, 300, 301])
def test_a_delivery_must_be_of_now(shift: int) -> None:
    """Five minutes either way, unless said otherwise."""
    headers = signed(RAW, NEW, at=NOW + shift)
    assert verify_webhook(RAW, headers, NEW, now=NOW, tolerance=1000).id == "msg_1"
    if abs(shift) <= 300:
        assert verify_webhook(RAW, headers, NEW, now=NOW).id == "msg_1"
    else:
        with pytest.raises(InvalidWebhook, match="tolerance"):
            verify_webhook(RAW, headers, NEW, now=NOW)


def test_no_time_at_all_fits_nothing() -> None:
    """If the clock returns no number, nothing is accepted."""
    with pytest.raises(InvalidWebhook, match="tolerance"):
        verify_webhook(RAW, signed(RAW, NEW), NEW, now=float("nan"))


def test_the_clock_of_the_machine_is_the_usual_one() -> None:
    """What was signed just now is taken, what was signed at another time is not."""
    assert accepted(RAW, signed(RAW, NEW, at=int(time.time())), NEW)
    assert not accepted(RAW, signed(RAW, NEW), NEW)


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
@pytest.mark.parametrize("value", [None, "", "x", "v2,abc", " ", "é", "v1,", "1e9", "-1", "٣", "\x00"])
def test_headers_that_are_missing_or_wrong_are_refused(name: str, value: str | None) -> None:
    """Every header counts."""
    headers = signed(RAW, NEW)
    if value is None:
        del headers[name]
    else:
        headers[name] = value
    with pytest.raises(InvalidWebhook):
        verify_webhook(RAW, headers, NEW, now=NOW)


def test_headers_may_be_of_any_case_and_any_mapping() -> None:
    """As frameworks give them."""
    headers = {name.title(): value for name, value in signed(RAW, NEW).items()}
    assert verify_webhook(RAW, headers, NEW, now=NOW) == verify_webhook(
        RAW, httpx.Headers(headers), NEW, now=NOW
    )


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'"a"', b"{}", b'{"type": 1}', b'{"type": "a"}', b'{"type": "a", "timestamp": "b"}'],
)
def test_what_was_signed_must_be_an_event(body: bytes) -> None:
    """A good signature under something else."""
    with pytest.raises(InvalidWebhook, match=r"Invalid JSON|Field required|Input should be"):
        verify_webhook(body, signed(body, NEW), NEW, now=NOW)


def test_an_event_without_data_is_an_event() -> None:
    """What does not apply is None."""
    body = b'{"type": "new.kind", "timestamp": "2026-01-02T03:04:05Z", "more": 1}'
    assert verify_webhook(body, signed(body, NEW), NEW, now=NOW).data == EventData()


@pytest.mark.parametrize(
    "wrong", ["", "whsec_", "canary", "whsec_can ary", "whsec_canar", "whsec_é", [], [NEW, "x"]]
)
def test_a_secret_that_cannot_be_one_is_the_callers_fault(wrong: str | list[str]) -> None:
    """ValueError, so that it is not taken for a forged delivery; the text does not repeat it."""
    with pytest.raises(ValueError, match="secret must be") as caught:
        verify_webhook(RAW, signed(RAW, NEW), wrong, now=NOW)
    assert "canar" not in str(caught.value)


@given(
    key=st.binary(min_size=1, max_size=64),
    event=st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=60),
    data=st.dictionaries(st.text(), st.integers() | st.text() | st.none(), max_size=4),
)
def test_whatever_the_library_signs_is_taken(key: bytes, event: str, data: dict[str, object]) -> None:
    """Any key, any id, any body."""
    body = json.dumps(BODY | {"more": data}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    now = int(time.time())
    headers = signed(body, secret(key), event=event, at=now)
    assert accepted_by_the_library(body, headers, secret(key))
    assert verify_webhook(body, headers, secret(key)).id == event


@given(
    where=st.sampled_from(["body", "webhook-id", "webhook-timestamp", "webhook-signature", "key"]),
    data=st.data(),
)
def test_one_changed_character_is_refused_by_both(where: str, data: st.DataObject) -> None:
    """A single bit of anything that is signed, or of the signature or key: neither takes it."""
    key = bytes(range(32))
    headers = signed(RAW, secret(key), at=int(time.time()))
    parts: dict[str, bytes] = {"body": RAW, "key": key} | {
        name: text.encode() for name, text in headers.items()
    }
    text = parts[where]
    place = data.draw(st.integers(0, len(text) - 1))
    parts[where] = text[:place] + bytes([text[place] ^ 1]) + text[place + 1 :]
    changed = {name: parts[name].decode("latin-1") for name in headers}
    assert not accepted(parts["body"], changed, secret(parts["key"]))
    if where != "webhook-signature":  # of whose base64 the library does not read every bit
        assert not accepted_by_the_library(parts["body"], changed, secret(parts["key"]))
