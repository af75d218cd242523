"""The body of a webhook: where events go, which ones, and the secret that signs them."""

import base64
import ipaddress
import json
import re
import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from scoring_model.records.rules import Rule, text
from scoring_model.service.core.body import (
    Errors,
    checked,
    missing,
    note_unknown,
    pointer,
    refuse_if,
    wrong_type,
)
from scoring_model.service.core.errors import FieldError
from scoring_model.service.core.event import EventType

URL_LENGTH: Final = 2048
DESCRIPTION_LENGTH: Final = 200
HOST_LENGTH: Final = 253  # RFC 1035, section 3.1, as text
LAST_PORT: Final = 65_535
EVERYTHING: Final = "*"
SECRET_BYTES: Final = 32
NOT_A_URL: Final = "not_a_url"
USER_INFO: Final = "user_info"
FRAGMENT: Final = "fragment"
BAD_HOST: Final = "bad_host"
BAD_PORT: Final = "bad_port"
NUL_CHARACTER: Final = "nul_character"
TOO_FEW: Final = "too_few"
MOST_TYPES: Final = 50  # more than there are; a bound on what is read
PREFIXES: Final = tuple(dict.fromkeys(f"{name.partition('.')[0]}.*" for name in EventType))
_SELECTORS: Final = frozenset((*EventType, *PREFIXES, EVERYTHING))
_FIELDS: Final = ("destinationUrl", "active", "eventTypes", "description")
# RFC 3986, appendix B, with what a host and a port may be left to functions that can say what is wrong.
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
_LABEL: Final = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
# What resolvers take for a number, and so for an address: 127.1, 0x7f000001, 017700000001.
_NUMBER: Final = re.compile(r"[0-9]+|0[Xx][0-9A-Fa-f]*")
_compact: Final = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookFields:
    """What a client decides of a webhook.

    Parameters
    ----------
    destination_url : str
        As it was sent.
    active : bool
    event_types : tuple of str
        Names of events, prefixes such as ``verification.*``, or ``*``; at least one, each once.
    description : str or None
        1 to 200 characters.
    """

    destination_url: str
    active: bool
    event_types: tuple[str, ...]
    description: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookUpdate:
    """What a client changes of a webhook.

    Parameters
    ----------
    destination_url : str
    active : bool
    event_types : tuple of str or None
        None keeps what is there.
    description : str or None
        None keeps what is there, blank text takes it away.
    """

    destination_url: str
    active: bool
    event_types: tuple[str, ...] | None
    description: str | None

    def over(self, present: WebhookFields) -> WebhookFields:
        """Change what is there.

        Parameters
        ----------
        present : WebhookFields

        Returns
        -------
        WebhookFields
        """
        kept = present.description if self.description is None else self.description or None
        return WebhookFields(
            destination_url=self.destination_url,
            active=self.active,
            event_types=present.event_types if self.event_types is None else self.event_types,
            description=kept,
        )


def parse_new_webhook(body: Mapping[str, object], *, development: bool) -> WebhookFields:
    """Check the body of a new webhook.

    Parameters
    ----------
    body : mapping of str to object
        As JSON has it; null equals missing. `destinationUrl` and `active` must be there; `eventTypes` is
        everything unless given.
    development : bool
        Whether http will do.

    Returns
    -------
    WebhookFields

    Raises
    ------
    Invalid
        If any rule is broken, with all that are. Whether the destination may be dialled is not asked here: that
        is decided for the very address, whenever it is dialled.
    """
    found = parse_webhook_update(body, development=development)
    everything = WebhookFields(destination_url="", active=True, event_types=(EVERYTHING,), description=None)
    return found.over(everything)


def parse_webhook_update(body: Mapping[str, object], *, development: bool) -> WebhookUpdate:
    """Check the body that replaces a webhook: like that of a new one, but what is left out keeps its value.

    Parameters
    ----------
    body : mapping of str to object
        As JSON has it; null equals missing. `destinationUrl` and `active` must be there.
    development : bool
        Whether http will do.

    Returns
    -------
    WebhookUpdate

    Raises
    ------
    Invalid
        If any rule is broken, with all that are.
    """
    errors = Errors(missing(pointer(name)) for name in ("destinationUrl", "active") if body.get(name) is None)
    url = _destination(body.get("destinationUrl"), errors, development=development)
    active = _active(body.get("active"), errors)
    event_types = _event_types(body.get("eventTypes"), errors)
    description = _description(body.get("description"), errors)
    note_unknown(body, _FIELDS, errors)
    refuse_if(errors)
    return WebhookUpdate(
        destination_url=url,
        active=active,
        event_types=event_types,
        description=description,
    )


def _active(value: object, errors: list[FieldError]) -> bool:
    if value is not None and not isinstance(value, bool):
        errors.append(wrong_type("/active", "a boolean", value))
    return value is True


def _description(value: object, errors: list[FieldError]) -> str | None:
    """Canonical text; empty where only blanks were sent, which is not the same as nothing."""
    found = checked(value, partial(text, limit=DESCRIPTION_LENGTH), "/description", errors)
    if not isinstance(found, str):
        return None if value is None else ""
    if "\0" in found:  # no database of ours can keep it as text
        errors.append(FieldError("/description", NUL_CHARACTER, "must have no NUL character"))
    return found


def _event_types(value: object, errors: list[FieldError]) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        errors.append(wrong_type("/eventTypes", "an array of text", value))
        return None
    if not value:
        errors.append(FieldError("/eventTypes", TOO_FEW, "must hold at least one name"))
    if len(value) > MOST_TYPES:
        detail = f"must hold at most {MOST_TYPES} names, got {len(value)}"
        errors.append(FieldError("/eventTypes", Rule.TOO_MANY.value, detail))
    for place, item in enumerate(value[:MOST_TYPES]):
        errors += _broken_selector(item, pointer("eventTypes", place))
    return tuple(dict.fromkeys(value)) if not errors else ()


def _broken_selector(item: object, where: str) -> tuple[FieldError, ...]:
    if not isinstance(item, str):
        return (wrong_type(where, "text", item),)
    if item in _SELECTORS:
        return ()
    detail = f"must be the name of an event, {EVERYTHING}, or one of {', '.join(PREFIXES)}"
    return (FieldError(where, Rule.NOT_LISTED.value, detail),)


def _destination(value: object, errors: list[FieldError], *, development: bool) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        errors.append(wrong_type("/destinationUrl", "text", value))
        return ""
    found = _broken_url(value, development=development)
    errors += [FieldError("/destinationUrl", code, detail) for code, detail in found]
    return value


def _broken_url(url: str, *, development: bool) -> Iterator[tuple[str, str]]:
    """All that is wrong with a destination: code and detail of each rule."""
    if len(url) > URL_LENGTH:
        yield Rule.TOO_LONG.value, f"must have at most {URL_LENGTH} characters, got {len(url)}"
        return
    if not _CHARACTERS.fullmatch(url):
        yield NOT_A_URL, "must be written in the characters of RFC 3986, all others percent-encoded"
    parts = _URL.fullmatch(url)
    if parts is None:
        yield NOT_A_URL, "must be an absolute URL with a host"
        return
    schemes = ("https", "http") if development else ("https",)
    if parts["scheme"].lower() not in schemes:
        yield Rule.NOT_HTTPS.value, f"must be a URL of {' or '.join(schemes)}"
    if parts["user"] is not None:
        yield USER_INFO, "must hold no user name or password"
    if parts["fragment"] is not None:
        yield FRAGMENT, "must have no fragment"
    if not _is_host(parts["host"]):
        yield BAD_HOST, "must have a host: a name of DNS (in ASCII), an IPv4 address, or IPv6 in brackets"
    if parts["port"] is not None and not _is_port(parts["port"]):
        yield BAD_PORT, f"must have a port of 1 to {LAST_PORT}, or none"


def _is_port(port: str) -> bool:
    return port.isascii() and port.isdecimal() and len(port) <= 5 and 1 <= int(port) <= LAST_PORT


def _is_host(host: str) -> bool:
    if host.startswith("["):
        return "%" not in host and _is_address(host[1:-1], ipaddress.IPv6Address)
    labels = host.removesuffix(".").split(".")
    if _NUMBER.fullmatch(labels[-1]):
        # Resolvers read abbreviated, octal and hexadecimal forms of addresses; only the plain one is clear.
        return _is_address(host, ipaddress.IPv4Address)
    return len(host) <= HOST_LENGTH and all(map(_LABEL.fullmatch, labels))


def _is_address(host: str, kind: type[ipaddress.IPv4Address | ipaddress.IPv6Address]) -> bool:
    try:
        kind(host)
    except ValueError:
        return False
    return True


def pack_event_types(event_types: Collection[str]) -> str:
    """Write the event types of a webhook as they are kept: a JSON list."""
    return _compact(list(event_types))


def unpack_event_types(packed: str) -> tuple[str, ...]:
    """Read what `pack_event_types` wrote."""
    return tuple(json.loads(packed))


def new_secret() -> str:
    """Make the secret of a webhook.

    Returns
    -------
    str
        ``whsec_`` and base64 of 32 random bytes.

    References
    ----------
    Standard Webhooks 1.0, "Signature scheme".
    """
    return "whsec_" + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def secret_place(webhook: bytes) -> bytes:
    """Name the place where a secret of a webhook is sealed; see `sealed_place`."""
    return sealed_place("secret", webhook)


def sealed_place(column: str, webhook: bytes) -> bytes:
    """Name the place where something of a webhook is sealed: it opens in no other column and for no other webhook.

    Parameters
    ----------
    column : str
    webhook : bytes
        Its id.
    """
    return f"webhooks.{column}.".encode() + webhook


def wants(event_types: Collection[str], event_type: str) -> bool:
    """Tell whether a webhook gets events of a type.

    ``verification.completed`` says again what the event of the outcome says, so it goes only to those that
    name it.

    Parameters
    ----------
    event_types : collection of str
        Of the webhook.
    event_type : str

    Examples
    --------
    >>> wants(["verification.*"], "verification.failed"), wants(["*"], "verification.completed")
    (True, False)
    """
    if event_type in event_types:
        return True
    if event_type == EventType.VERIFICATION_COMPLETED:
        return False
    return EVERYTHING in event_types or f"{event_type.partition('.')[0]}.*" in event_types
