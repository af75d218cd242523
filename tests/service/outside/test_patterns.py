"""The patterns of the description take what the rules take: neither more nor less."""

import random
import re
from collections.abc import Callable, Sequence

import pytest

from scoring_model.contract import violation
from scoring_model.contract.identity import IMAGE_URL, NOT_BLANK
from scoring_model.contract.rules import RuleError, image_url
from scoring_model.contract.webhook import DESTINATION_URL, WebhookContext, WebhookInput
from scoring_model.service.core.errors import Invalid
from scoring_model.service.http.webhooks import CURSOR, cursor_of, list_webhooks

DESTINATIONS = [
    *("a", "1", "0x1", ".", "-", "_", "1.2.3.4", "01.2.3.4", "[::1]", "[1:2:3:4:5:6:7:8]", "[::1.2.3.4]"),
    *("[1:2:3:4:5:6:7::]", "[::]", "::", ":", "443", "0", "65535", "65536", "00065535", "/", "?", "@", "#"),
    *("%41", "%4", "[", "]", "é", " ", "a" * 63, "a" * 64),
]
PORTS = ["0", "1", "5", "6", "9", "553", "655", "65535", "65536", "/", "?"]
GROUPS = ["1", "ab", "::", ":", "1.2.3.4", "256.1.1.1", "12345", "g", "0000"]
IMAGES = [
    *("a", "@", ":", "443", "123456", "/", "?", "#", "[", "]", "[::1]", " ", "\x1c", "\x85", "é", "\u200b"),
    *("\ufeff", "\u3000", "\n", "\x00", "\x7f"),
]


def is_destination(url: str) -> bool:
    """Whether events may be sent there."""
    body = {"destinationUrl": url, "active": True}
    return _is_taken(lambda: WebhookInput.parse(body, WebhookContext(development=False)))


def is_image(url: str) -> bool:
    """Whether it may be the reference of an image."""
    return _is_taken(lambda: image_url(url))


def _is_taken(use: Callable[[], object]) -> bool:
    try:
        use()
    except (Invalid, violation.Invalid, RuleError):
        return False
    return True


def texts(starts: Sequence[str], parts: Sequence[str], most: int, end: str) -> list[str]:
    """Random compositions, always the same ones."""
    chance = random.Random(1)
    return [
        chance.choice(starts) + "".join(chance.choices(parts, k=chance.randint(0, most))) + end
        for _ in range(20_000)
    ]


@pytest.mark.parametrize(
    ("pattern", "is_taken", "composed"),
    [
        (DESTINATION_URL, is_destination, (["https://"] * 9 + ["HttpS://", "http://"], DESTINATIONS, 6, "")),
        (DESTINATION_URL, is_destination, (["https://["], GROUPS, 16, "]")),
        (DESTINATION_URL, is_destination, (["https://a:", "https://[::]:"], PORTS, 5, "")),
        (IMAGE_URL, is_image, (["https://", " httpS://", "\x1chttps://", "http://"], IMAGES, 6, "")),
    ],
    ids=["destinations", "addresses", "ports", "images"],
)
def test_urls(
    pattern: str,
    is_taken: Callable[[str], bool],
    composed: tuple[Sequence[str], Sequence[str], int, str],
) -> None:
    """A URL fits its pattern exactly when it is taken."""
    compiled = re.compile(pattern)
    found = {url: is_taken(url) for url in texts(*composed)}
    assert {True, False} == set(found.values())
    assert [url for url, taken in found.items() if taken != bool(compiled.search(url))] == []


def test_blanks() -> None:
    """What is blank for a pattern is what trimming takes away, in all of Unicode."""
    compiled = re.compile(NOT_BLANK)
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    assert [one for one in characters if bool(one.strip()) != bool(compiled.search(one))] == []


def test_cursors() -> None:
    """Every cursor of ours fits, and no text that fits is refused."""
    compiled, parse = re.compile(CURSOR), list_webhooks.parameters["cursor"].parse
    chance = random.Random(1)
    for _ in range(1_000):
        cursor = cursor_of(chance.randbytes(16))
        assert compiled.search(cursor)
        other = cursor[:-1] + chance.choice("AQgwBCDxyz-_09=")
        assert bool(compiled.search(other)) == _is_taken(lambda text=other: parse(text))  # type: ignore[misc]
