"""Payloads of events, and the signed headers of Standard Webhooks."""

import base64
import hmac
import json
from collections.abc import Iterable
from typing import Final

from scoring_model.contract.texts import rfc3339
from scoring_model.contract.units import SECOND
from scoring_model.service.core.rows import EventRow, WebhookRow
from scoring_model.service.events.events import numbered
from scoring_model.service.events.webhooks import associated_data
from scoring_model.service.keys.secrets import Secrets

_PREFIX: Final = "whsec_"


def payload(event: EventRow) -> bytes:
    """Return the body of a delivery, without personal data: JSON with `type`, `timestamp` (of the event) and `data`.

    It depends only on the row, so all attempts send the same bytes.
    """
    data = numbered(event.data, event.sequence)
    head = f'{{"type":{json.dumps(event.type)},"timestamp":"{rfc3339(event.created_at)}"'
    return f'{head},"data":{data}}}'.encode()


def signed_headers(message: str, body: bytes, secrets: Iterable[str], *, now: int) -> dict[str, str]:
    """Return signed headers: ``webhook-id``, ``webhook-timestamp`` (`now` in whole seconds) and ``webhook-signature``.

    Each secret, ``whsec_...``, adds a signature.

    References
    ----------
    Standard Webhooks 1.0, "Signature scheme" and "Webhook headers".
    """
    timestamp = str(now // SECOND)
    content = b".".join((message.encode(), timestamp.encode(), body))
    return {
        "webhook-id": message,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(_signature(secret, content) for secret in secrets),
    }


def secrets_of(webhook: WebhookRow, secrets: Secrets, *, now: int) -> list[str]:
    """Return the signing secrets of a webhook: the current one and, for a time after a rotation, the previous one.

    Raises
    ------
    Unreadable
        If they were sealed by another root secret.
    """
    sealed = [webhook.secret]
    if webhook.old_secret is not None and now < (webhook.old_secret_until or 0):
        sealed.append(webhook.old_secret)
    return [secrets.open(associated_data("secret", webhook.id), one).decode() for one in sealed]


def _signature(secret: str, content: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    return "v1," + base64.b64encode(hmac.digest(key, content, "sha256")).decode()
