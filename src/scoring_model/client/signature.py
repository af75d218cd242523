"""Deliveries to a webhook: the event, and the signature of Standard Webhooks.

References
----------
Standard Webhooks, "Verifying webhook authenticity": https://www.standardwebhooks.com
"""

import hmac
import re
import time
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from typing import Final

from scoring_model.client.errors import InvalidWebhook
from scoring_model.client.request import broken_rules
from scoring_model.contract import event as events

_SECRET: Final = re.compile(r"whsec_([A-Za-z0-9+/]+={0,2})", re.ASCII)
_TIMESTAMP: Final = re.compile(r"\d{1,12}", re.ASCII)
_HEADERS: Final = ("webhook-id", "webhook-timestamp", "webhook-signature")


class Event(events.Event):
    """A delivered event.

    Attributes
    ----------
    id : str
        The same in repeated deliveries: store it, to handle an event once.
    type : str
        Such as ``verification.passed``.
    timestamp : datetime
        When it happened. Aware.
    """

    id: str


def verify_webhook(
    body: bytes,
    headers: Mapping[str, str],
    secret: str | Iterable[str],
    *,
    tolerance: float = 300.0,
    now: float | None = None,
) -> Event:
    """Check the signature and the time of a delivery, and read its event.

    Parameters
    ----------
    body : bytes
        The raw body of the request: JSON that was parsed and serialised again has another signature.
    headers : mapping of str to str
        The headers of the request, in upper or lower case.
    secret : str or iterable of str
        ``whsec_...``, from creation or rotation. During a rotation several: any may match.
    tolerance : float
        Maximum clock difference, in seconds.
    now : float or None
        Seconds since 1970-01-01 UTC; None for the clock of the machine.

    Raises
    ------
    InvalidWebhook
        If a header is missing or malformed, the delivery is older or newer than the tolerance allows, no
        signature fits, or what was signed is no event.
    ValueError
        If no secret is given, or one is malformed.
    """
    keys = [_key(text) for text in ([secret] if isinstance(secret, str) else secret)]
    if not keys:
        raise ValueError("secret must be at least one secret, got none")
    event, timestamp, signatures = _signed(headers)
    # Written so that NaN is rejected as well.
    if not abs((time.time() if now is None else now) - int(timestamp)) <= tolerance:
        raise InvalidWebhook("webhook-timestamp is outside the tolerance")
    content = b".".join((event.encode(), timestamp.encode(), body))
    if not _fits(keys, content, signatures):
        raise InvalidWebhook("no signature fits")
    try:
        found = events.Event.model_validate_json(body)
    except ValueError as error:
        raise InvalidWebhook(broken_rules(error)) from None
    return Event(id=event, type=found.type, timestamp=found.timestamp, data=found.data)


def _key(secret: str) -> bytes:
    found = _SECRET.fullmatch(secret)
    if found is None:
        raise ValueError("secret must be whsec_ and base64")
    try:
        return b64decode(found[1], validate=True)
    except ValueError:
        raise ValueError("secret must be whsec_ and base64") from None


def _signed(headers: Mapping[str, str]) -> tuple[str, str, str]:
    lower = {name.lower(): value for name, value in headers.items()}
    missing = [name for name in _HEADERS if not lower.get(name)]
    if missing:
        raise InvalidWebhook(f"missing {', '.join(missing)}")
    event, timestamp, signatures = (lower[name] for name in _HEADERS)
    if not _TIMESTAMP.fullmatch(timestamp):
        raise InvalidWebhook("webhook-timestamp must be whole seconds")
    if not (event.isascii() and event.isprintable()):
        raise InvalidWebhook("webhook-id must be printable ASCII")
    return event, timestamp, signatures


def _fits(keys: list[bytes], content: bytes, signatures: str) -> bool:
    expected = [b"v1," + b64encode(hmac.digest(key, content, "sha256")) for key in keys]
    given = [signature.encode("utf-8", "replace") for signature in signatures.split(" ")]
    # Compare all, so that timing does not reveal which key or signature matches.
    return any([hmac.compare_digest(one, other) for one in expected for other in given])  # noqa: C419
