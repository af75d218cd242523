"""The contract of webhooks (contract, "Webhooks": fields and event types)."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.contract.event import EventType
from scoring_model.contract.violation import Invalid
from scoring_model.contract.webhook import WebhookContext, WebhookInput, WebhookUpdate

URL = "https://hooks.example/in"
WHOLE: dict[str, object] = {
    "destinationUrl": URL,
    "active": True,
    "eventTypes": ["verification.*", "identity.redacted"],
    "description": "Our own",
}


def parsed(body: dict[str, object], *, development: bool = False) -> WebhookInput:
    """A new webhook."""
    return WebhookInput.parse(body, WebhookContext(development))


def errors_of(body: dict[str, object], *, development: bool = False) -> list[tuple[str, str]]:
    """Pointer and code of everything that is wrong with a new webhook, which an update refuses alike."""
    with pytest.raises(Invalid) as caught:
        parsed(body, development=development)
    with pytest.raises(Invalid) as of_update:
        WebhookUpdate.parse(body, WebhookContext(development))
    assert caught.value.violations == of_update.value.violations
    return [(error.pointer, error.code) for error in caught.value.violations]


def codes_of(url: object, *, development: bool = False) -> list[str]:
    """Errors of a destination."""
    errors = errors_of({"destinationUrl": url, "active": True}, development=development)
    assert {pointer for pointer, _ in errors} == {"/destinationUrl"}
    return [code for _, code in errors]


@pytest.mark.parametrize("name", ["destinationUrl", "active"])
@pytest.mark.parametrize("gone", [True, False])
def test_webhooks_destination_and_active_must_be_there(name: str, *, gone: bool) -> None:
    """Left out or null, they are missing."""
    body = {field: value for field, value in WHOLE.items() if field != name}
    assert errors_of(body if gone else {**body, name: None}) == [(f"/{name}", "missing")]


@pytest.mark.parametrize("name", ["id", "secret", "disabledReason", "createdAt", "updatedAt", "url", "a/~"])
def test_general_unknown_and_read_only_fields_are_refused(name: str) -> None:
    """Whatever is no input field is refused, null or not."""
    pointer = "/" + name.replace("~", "~0").replace("/", "~1")
    assert errors_of({**WHOLE, name: None}) == [(pointer, "unknown_field")]


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example",
        "HTTPS://Hooks.Example./in?key=a%20b&c=(d)",
        "https://hooks.example:8443/a/b;c=1?",
        "https://xn--bcher-kva.example/",
        "https://under_score.example/",
        "https://10.1.2.3/",
        "https://[2001:db8::1]:8443/in",
        "https://[::ffff:127.0.0.1]/",
        "https://localhost/",
        "https://123.example/",
        "https://" + ".".join(["x" * 63] * 3) + "/",
        "https://hooks.example/" + "x" * 2026,
    ],
)
def test_webhooks_destinations_that_pass(url: str) -> None:
    """Names, addresses, ports and all that RFC 3986 lets a URL be are kept as they were sent."""
    assert parsed({"destinationUrl": url, "active": True}).destination_url == url


@pytest.mark.parametrize(
    ("url", "codes"),
    [
        (7, ["wrong_type"]),
        ("", ["not_a_url"]),
        ("hooks.example/in", ["not_a_url"]),
        ("//hooks.example/in", ["not_a_url"]),
        ("https:hooks.example", ["not_a_url"]),
        ("http://hooks.example/", ["not_https"]),
        ("ftp://hooks.example/", ["not_https"]),
        ("https://user@hooks.example/", ["user_info"]),
        ("https://user:pass@hooks.example/", ["user_info"]),
        ("https://@hooks.example/", ["user_info"]),
        ("https://good.example@evil.example@hooks.example/", ["user_info"]),
        ("https://hooks.example/#", ["fragment"]),
        ("https://hooks.example#part", ["fragment"]),
        ("https://hooks.example/" + "x" * 2027, ["too_long"]),
        ("https://hooks.example/a b", ["not_a_url"]),
        (" https://hooks.example/", ["not_a_url", "not_a_url"]),
        ("https://hooks.example/\r\nX-Evil: 1", ["not_a_url"]),
        ("https://hooks.example/\x00", ["not_a_url"]),
        ("https://hooks.example/\n", ["not_a_url"]),
        ("https://hooks.example/%zz", ["not_a_url"]),
        ("https://hooks.example/ü", ["not_a_url"]),
        ("https://hooks.example\\@evil.example/", ["not_a_url", "user_info"]),
        ("https://bücher.example/", ["not_a_url", "bad_host"]),
        ("https:///in", ["bad_host"]),
        ("https://?x", ["bad_host"]),
        ("https://-x.example/", ["bad_host"]),
        ("https://x..example/", ["bad_host"]),
        ("https://./", ["bad_host"]),
        ("https://%6c.example/", ["bad_host"]),
        ("https://" + "x" * 64 + ".example/", ["bad_host"]),
        ("https://" + ".".join(["x" * 60] * 5) + "/", ["bad_host"]),
        ("https://127.1/", ["bad_host"]),
        ("https://2130706433/", ["bad_host"]),
        ("https://0x7f000001/", ["bad_host"]),
        ("https://0x7f.0.0.0x1/", ["bad_host"]),
        ("https://017700000001/", ["bad_host"]),
        ("https://127.0.0.01/", ["bad_host"]),
        ("https://1.2.3.256/", ["bad_host"]),
        ("https://127.0.0.1./", ["bad_host"]),
        ("https://x.0x7f/", ["bad_host"]),
        ("https://[127.0.0.1]/", ["bad_host"]),
        ("https://[::1%25eth0]/", ["bad_host"]),
        ("https://[fe80::1%eth0]/", ["not_a_url", "bad_host"]),
        ("https://[]/", ["bad_host"]),
        ("https://[::1/", ["not_a_url"]),
        ("https://[::1]x/", ["not_a_url"]),
        ("https://::1/", ["bad_host", "bad_port"]),
        ("https://hooks.example:/", ["bad_port"]),
        ("https://hooks.example:0/", ["bad_port"]),
        ("https://hooks.example:65536/", ["bad_port"]),
        ("https://hooks.example:8x/", ["bad_port"]),
        ("https://hooks.example:-1/", ["bad_port"]),
        ("http://u:p@-x:0/#f", ["not_https", "user_info", "fragment", "bad_host", "bad_port"]),
    ],
)
def test_webhooks_destinations_that_are_refused(url: object, codes: list[str]) -> None:
    """Each rule has its code, and several that are broken are reported at once."""
    assert codes_of(url) == codes


def test_webhooks_http_needs_the_development_setting() -> None:
    """With it http passes, to whatever host, and nothing else that did not."""
    for url in ("http://hooks.example/", "http://localhost:9000/in", "http://127.0.0.1:9000/"):
        assert codes_of(url) == ["not_https"]
        body: dict[str, object] = {"destinationUrl": url, "active": True}
        assert parsed(body, development=True).destination_url == url
    assert codes_of("ftp://hooks.example/", development=True) == ["not_https"]
    assert codes_of("http://user@localhost/", development=True) == ["user_info"]


@pytest.mark.parametrize("active", ["true", 1, 0, [], {}])
def test_webhooks_active_is_a_boolean(active: object) -> None:
    """Neither text nor numbers will do."""
    assert errors_of({**WHOLE, "active": active}) == [("/active", "wrong_type")]


@pytest.mark.parametrize(
    ("event_types", "expected"),
    [
        ("*", [("/eventTypes", "wrong_type")]),
        ({}, [("/eventTypes", "wrong_type")]),
        ([], [("/eventTypes", "too_few")]),
        (["*"] * 51, [("/eventTypes", "too_many")]),
        (["*", None, 5], [("/eventTypes/1", "wrong_type"), ("/eventTypes/2", "wrong_type")]),
        ([["*"]], [("/eventTypes/0", "wrong_type")]),
        (
            ["identity.created", "identity", "verif*", "payment.*", "*.created", "", "identity.created.*"],
            [(f"/eventTypes/{place}", "not_listed") for place in range(1, 7)],
        ),
    ],
)
def test_webhooks_event_types_are_names_or_prefixes(
    event_types: object, expected: list[tuple[str, str]]
) -> None:
    """A list of at least one and at most 50; what names no event is pointed at."""
    assert errors_of({**WHOLE, "eventTypes": event_types}) == expected


def test_webhooks_null_event_types_are_none() -> None:
    """Null means that no event types are given."""
    assert parsed({**WHOLE, "eventTypes": None}).event_types is None


def test_webhooks_every_event_can_be_named() -> None:
    """All names, prefixes and the star pass; what is said twice is kept once, in the order of the body."""
    every = [*EventType, "identity.*", "verification.*", "webhook.*", "*"]
    sent: dict[str, object] = {**WHOLE, "eventTypes": [*map(str, every), "*", "identity.created"]}
    assert parsed(sent).event_types == tuple(every)


@pytest.mark.parametrize(
    ("description", "code"),
    [
        ("x" * 201, "too_long"),
        (5, "wrong_type"),
        ("a\x00b", "nul_character"),
        ("\ud800", "lone_surrogate"),
    ],
)
def test_webhooks_a_description_has_at_most_200_characters(description: object, code: str) -> None:
    """It is text, which may have lines, without a NUL."""
    assert errors_of({**WHOLE, "description": description}) == [("/description", code)]
    longest = parsed({**WHOLE, "description": "x" * 200})
    assert longest.description == "x" * 200


BROKEN: dict[str, object] = {
    "destinationUrl": "http://hooks.example/",
    "active": 1,
    "eventTypes": ["x"],
    "description": [],
    "secret": "whsec_",
}
BROKEN_AT = {name: f"/{name}" for name in BROKEN} | {"eventTypes": "/eventTypes/0"}


@given(st.sets(st.sampled_from(sorted(BROKEN)), min_size=1))
def test_errors_all_problems_are_reported_at_once(names: set[str]) -> None:
    """Whichever fields are broken, exactly they are pointed at."""
    found = errors_of({**WHOLE, **{name: BROKEN[name] for name in names}})
    assert sorted(pointer for pointer, _ in found) == sorted(BROKEN_AT[name] for name in names)


@given(st.text())
def test_webhooks_no_text_breaks_the_check_of_a_destination(text: str) -> None:
    """Whatever is sent is refused or is an https URL without blanks, user and fragment."""
    for url in (text, f"https://{text}", f"https://hooks.example/{text}"):
        with contextlib.suppress(Invalid):
            found = parsed({"destinationUrl": url, "active": True})
            assert found.destination_url.isascii()
            assert not set(" \t\r\n#") & set(found.destination_url)
            assert "@" not in found.destination_url.split("/")[2]
