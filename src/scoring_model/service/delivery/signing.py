"""How receivers know that a delivery is ours: the headers of Standard Webhooks."""

import base64
import hmac
from collections.abc import Iterable
from typing import Final

from scoring_model.service.core.rows import WebhookRow
from scoring_model.service.keys.secrets import Secrets

_PREFIX: Final = "whsec_"
_SECOND: Final = 1_000_000


def message_id(delivery: bytes) -> str:
    """Name a delivery to its receiver: the same at every attempt, and of no other delivery.

    Parameters
    ----------
    delivery : bytes
        16 bytes.

    Examples
    --------
    >>> message_id(bytes(range(16)))
    'msg_000102030405060708090a0b0c0d0e0f'
    """
    return f"msg_{delivery.hex()}"


def signed_headers(message: str, body: bytes, secrets: Iterable[str], *, now: int) -> dict[str, str]:
    """Sign an attempt.

    Parameters
    ----------
    message : str
        Printable ASCII without a dot.
    body : bytes
        As it is sent.
    secrets : iterable of str
        ``whsec_...``, at least one; each gives a signature.
    now : int
        The start of the attempt, microseconds since 1970-01-01 UTC. Signed in whole seconds.

    Returns
    -------
    dict of str to str
        ``webhook-id``, ``webhook-timestamp`` and ``webhook-signature``.

    References
    ----------
    Standard Webhooks 1.0, "Signature scheme" and "Webhook headers".
    """
    timestamp = str(now // _SECOND)
    content = b".".join((message.encode(), timestamp.encode(), body))
    return {
        "webhook-id": message,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(_signature(secret, content) for secret in secrets),
    }


def secrets_of(webhook: WebhookRow, secrets: Secrets, *, now: int) -> list[str]:
    """Open the secrets that sign for a webhook.

    Parameters
    ----------
    secrets : Secrets
        That sealed them.
    now : int
        Microseconds since 1970-01-01 UTC.

    Returns
    -------
    list of str
        The present one, and after a rotation the one before until its time is over.

    Raises
    ------
    Unreadable
        If they were sealed by others.
    """
    place = secret_place(webhook.id)
    sealed = [webhook.secret]
    if webhook.old_secret is not None and now < (webhook.old_secret_until or 0):
        sealed.append(webhook.old_secret)
    return [secrets.open(place, one).decode() for one in sealed]


def _signature(secret: str, content: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    return "v1," + base64.b64encode(hmac.digest(key, content, "sha256")).decode()
