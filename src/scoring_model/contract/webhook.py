"""A webhook: where a client wants events sent, and which ones."""

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import ConfigDict, Field, ValidationError, ValidationInfo
from pydantic_core import InitErrorDetails

from scoring_model.contract import rules
from scoring_model.contract.event import ONLY_BY_NAME, EventType
from scoring_model.contract.identity import HTTPS
from scoring_model.contract.resource import (
    Body,
    Instant,
    Resource,
    Sandbox,
    Schema,
    Uuid,
    check_items,
    missing,
    ruled,
)
from scoring_model.contract.rules import Rule, RuleError

URL_LENGTH: Final = 2048
DESCRIPTION_LENGTH: Final = 200
HOST_LENGTH: Final = 253  # RFC 1035, section 3.1, as text
EVERYTHING: Final = "*"
MOST_TYPES: Final = 50  # more than there are; a bound on what is read
PREFIXES: Final = tuple(
    dict.fromkeys(f"{name.partition('.')[0]}.*" for name in EventType if name not in ONLY_BY_NAME)
)
_SELECTORS: Final = frozenset((*EventType, *PREFIXES, EVERYTHING))
# RFC 3986, appendix B. Functions check host and port, so that errors can name the rule.
_URL: Final = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://"
    r"(?:(?P<user>[^/?#]*)@)?"
    r"(?P<host>\[[^\]/?#@]*\]|[^/?#@:\[\]]*)"
    r"(?::(?P<port>[^/?#@\[\]]*))?"
    r"(?P<rest>[/?][^#]*)?"
    r"(?P<fragment>#.*)?"
)
# RFC 3986, sections 2.1 to 2.3: all that a URL may be written with.
_CHARACTERS: Final = re.compile(r"(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*")
# As in `identity`, ECMA-262 and Python read this pattern the same.
_OCTET: Final = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4: Final = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_GROUP: Final = "[0-9A-Fa-f]{1,4}"
_LAST: Final = f"(?:{_GROUP}:{_GROUP}|{_IPV4})"
_IPV6: Final = "|".join(
    [
        f"(?:{_GROUP}:){{6}}{_LAST}",
        f"::(?:{_GROUP}:){{5}}{_LAST}",
        *(
            f"(?:(?:{_GROUP}:){{0,{4 - left}}}{_GROUP})?::(?:{_GROUP}:){{{left}}}{_LAST}"
            for left in (4, 3, 2, 1, 0)
        ),
        f"(?:(?:{_GROUP}:){{0,5}}{_GROUP})?::{_GROUP}",
        f"(?:(?:{_GROUP}:){{0,6}}{_GROUP})?::",
    ]
)
_END: Final = r"(?=[:/?]|$)"
_LABEL: Final = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
# Resolvers read these numbers as addresses: 127.1, 0x7f000001, 017700000001.
_NUMBER: Final = "(?:[0-9]+|0[Xx][0-9A-Fa-f]*)"
_NAME: Final = (
    rf"(?=[^:/?]{{1,253}}(?:[:/?]|$))(?!(?:[^:/?]*\.)?{_NUMBER}\.?{_END}){_LABEL}(?:\.{_LABEL})*\.?{_END}"
)
_PORT: Final = r"(?!0+(?:[/?]|$))(?:[0-5]?[0-9]{1,4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
DESTINATION_URL: Final = (
    rf"^{HTTPS}(?:\[(?:{_IPV6})\]|{_IPV4}|{_NAME})(?::{_PORT})?"
    r"(?:[/?](?:[A-Za-z0-9._~:/?\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)?$"
)
"""An https URL in the characters of RFC 3986, its host a name of DNS or an address, its port 1 to 65535."""


@dataclass(frozen=True, slots=True)
class WebhookContext:
    """Validation context: whether plain http is allowed."""

    development: bool


def _destination(value: object, info: ValidationInfo) -> str:
    if value is None:
        raise missing()
    if not isinstance(value, str):
        raise rules.wrong_type("text", value)
    context = info.context
    development = isinstance(context, WebhookContext) and context.development
    errors = [
        InitErrorDetails(type=error, input=None) for error in _broken_url(value, development=development)
    ]
    if errors:
        raise ValidationError.from_exception_data("destinationUrl", errors)
    return value


def _active(value: object) -> bool:
    if value is None:
        raise missing()
    if not isinstance(value, bool):
        raise rules.wrong_type("a boolean", value)
    return value


def _event_types(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise rules.wrong_type("an array of text", value)
    if not value:
        raise RuleError("too_few", "must hold at least one name")
    return tuple(dict.fromkeys(check_items(value, _selector, MOST_TYPES, "names")))


def _selector(item: object) -> str:
    if not isinstance(item, str):
        raise rules.wrong_type("text", item)
    if item not in _SELECTORS:
        detail = f"must be the name of an event, {EVERYTHING}, or one of {', '.join(PREFIXES)}"
        raise RuleError(Rule.NOT_LISTED, detail)
    return item


def _description(value: object) -> str | None:
    """Check a description. Blank text becomes empty text, which differs from null."""
    found = rules.text(value, limit=DESCRIPTION_LENGTH)
    if found is not None and "\0" in found:  # PostgreSQL keeps no NUL character in text
        raise RuleError("nul_character", "must have no NUL character")
    return "" if found is None and value is not None else found


def _broken_url(url: str, *, development: bool) -> Iterator[RuleError]:
    """Find all violations of a destination."""
    if len(url) > URL_LENGTH:
        yield RuleError(Rule.TOO_LONG, f"must have at most {URL_LENGTH} characters, got {len(url)}")
        return
    if not _CHARACTERS.fullmatch(url):
        yield RuleError(
            "not_a_url", "must be written in the characters of RFC 3986, all others percent-encoded"
        )
    parts = _URL.fullmatch(url)
    if parts is None:
        yield RuleError("not_a_url", "must be an absolute URL with a host")
        return
    schemes = ("https", "http") if development else ("https",)
    if parts["scheme"].lower() not in schemes:
        yield RuleError(Rule.NOT_HTTPS, f"must be a URL of {' or '.join(schemes)}")
    if parts["user"] is not None:
        yield RuleError("user_info", "must hold no user name or password")
    if parts["fragment"] is not None:
        yield RuleError("fragment", "must have no fragment")
    if not _is_host(parts["host"]):
        yield RuleError(
            "bad_host", "must have a host: a name of DNS (in ASCII), an IPv4 address, or IPv6 in brackets"
        )
    if parts["port"] is not None and not _is_port(parts["port"]):
        yield RuleError("bad_port", "must have a port of 1 to 65535, or none")


def _is_port(port: str) -> bool:
    return port.isascii() and port.isdecimal() and len(port) <= 5 and 1 <= int(port) <= 65_535


def _is_host(host: str) -> bool:
    if host.startswith("["):
        return "%" not in host and _is_address(host[1:-1], ipaddress.IPv6Address)
    labels = host.removesuffix(".").split(".")
    if re.fullmatch(_NUMBER, labels[-1]):
        # Resolvers read abbreviated, octal and hexadecimal forms of addresses; only the plain one is clear.
        return _is_address(host, ipaddress.IPv4Address)
    return len(host) <= HOST_LENGTH and all(re.fullmatch(_LABEL, label) for label in labels)


def _is_address(host: str, kind: type[ipaddress.IPv4Address | ipaddress.IPv6Address]) -> bool:
    try:
        kind(host)
    except ValueError:
        return False
    return True


_URL_SCHEMA: Final[Schema] = {
    "type": "string",
    "maxLength": URL_LENGTH,
    "pattern": DESTINATION_URL,
    "description": "https, without user info and fragment. A service in development takes http too.",
}
_TYPES: Final[Schema] = {
    "type": "array",
    "minItems": 1,
    "maxItems": MOST_TYPES,
    "items": {"enum": [EVERYTHING, *PREFIXES, *(name.value for name in EventType)]},
    "description": (
        "Names of events, prefixes, or `*`. `verification.completed` goes only to webhooks that name it exactly."
    ),
}
_DESCRIPTION: Final[Schema] = {
    "type": "string",
    "maxLength": DESCRIPTION_LENGTH,
    "pattern": r"^[^\x00]*$",
}
_SENT: Final[Schema] = {
    "destinationUrl": "https://hooks.example/scoring",
    "active": True,
    "eventTypes": ["verification.*"],
    "description": "Back office",
}


class WebhookUpdate(Body):
    """Fields that are left out keep their value; blank text clears `description`."""

    model_config = ConfigDict(json_schema_extra={"examples": [_SENT]})

    destination_url: Annotated[str, *ruled(_destination, _URL_SCHEMA)]
    active: Annotated[bool, *ruled(_active, {"type": "boolean"})]
    event_types: Annotated[tuple[str, ...], *ruled(_event_types, _TYPES)] | None = None
    description: Annotated[str, *ruled(_description, _DESCRIPTION)] | None = None


class WebhookInput(WebhookUpdate):
    """Where events go. Without `eventTypes` all events do, but `verification.completed`."""


class Webhook(Resource):
    """A webhook. `repr` shows neither its address, which often holds a password, nor its secret."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "0197b0a8-5e6f-7a1b-8c2d-0e1f2a3b4c5d",
                    **_SENT,
                    "secret": None,
                    "disabledReason": None,
                    "createdAt": "2026-01-31T09:27:10.250000Z",
                    "updatedAt": "2026-01-31T09:27:10.250000Z",
                }
            ]
        }
    )

    id: Uuid
    destination_url: Annotated[str, Field(repr=False)]
    active: bool
    event_types: tuple[str, ...]
    description: Annotated[str | None, Field(repr=False)] = None
    secret: Annotated[
        str | None,
        Field(
            repr=False,
            pattern="^whsec_[A-Za-z0-9+/]+=*$",
            description="Signs deliveries. Shown by create and rotate-secret only.",
        ),
    ] = None
    disabled_reason: Annotated[str | None, Field(description="Why the service disabled it.")] = None
    created_at: Instant
    updated_at: Instant
    sandbox: Sandbox = None
