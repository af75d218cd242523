"""Requests about webhooks."""

from collections.abc import Sequence

from scoring_model.client.operations.pages import Page, first_page, reader
from scoring_model.client.request import Request, path_of, resource
from scoring_model.contract.delivery import Delivery
from scoring_model.contract.webhook import Webhook

_PATH = "/scoring/v1/webhooks"
_read = resource(Webhook)
_read_page = reader(Webhook)
_read_deliveries = reader(Delivery)


def create(
    *,
    destination_url: str,
    active: bool = True,
    event_types: Sequence[str] | None = None,
    description: str | None = None,
    idempotency_key: str | None = None,
) -> Request[Webhook]:
    """Create a webhook: the service sends events to its address.

    Parameters
    ----------
    destination_url : str
        https.
    event_types : sequence of str or None
        Names of events, or prefixes such as ``verification.*``; None is all. `verification.completed` is sent
        only to webhooks that name it exactly.
    description : str or None
        At most 200 characters.
    idempotency_key : str or None
        As for `identities.create`.

    Returns
    -------
    Webhook
        With its `secret`, which is not shown again.

    Raises
    ------
    Conflict
        If the client has as many webhooks as it may have.
    Invalid
        If a value is malformed; `errors` lists all of them.
    """
    body = _body(destination_url, active, event_types, description)
    return Request(method="POST", path=_PATH, read=_read, body=body, idempotency_key=idempotency_key)


def get(webhook_id: str) -> Request[Webhook]:
    """Read a webhook. A cached answer may be up to a minute old.

    Raises
    ------
    NotFound
        If it does not exist, or belongs to another client.
    """
    return Request(method="GET", path=path_of(_PATH, webhook_id), read=_read, cached=True)


def update(
    webhook_id: str,
    *,
    destination_url: str,
    active: bool,
    event_types: Sequence[str] | None = None,
    description: str | None = None,
) -> Request[Webhook]:
    """Change a webhook. `active=True` enables one again that the service disabled.

    Parameters
    ----------
    destination_url : str
        https.
    event_types : sequence of str or None
        None leaves them unchanged.
    description : str or None
        None leaves it unchanged.

    Raises
    ------
    NotFound
        If it does not exist, or belongs to another client.
    Invalid
        If a value is malformed; `errors` lists all of them.
    """
    body = _body(destination_url, active, event_types, description)
    return Request(method="PUT", path=path_of(_PATH, webhook_id), read=_read, body=body, clears=True)


def delete(webhook_id: str) -> Request[Webhook]:
    """Delete a webhook and return its last state. Its pending deliveries are dropped.

    Raises
    ------
    NotFound
        If it does not exist, or belongs to another client.
    """
    return Request(method="DELETE", path=path_of(_PATH, webhook_id), read=_read, clears=True)


def send_test(webhook_id: str, *, idempotency_key: str | None = None) -> Request[Webhook]:
    """Send a `webhook.test` event only to this webhook, even if it is inactive.

    Parameters
    ----------
    idempotency_key : str or None
        As for `identities.create`.

    Raises
    ------
    NotFound
        If it does not exist, or belongs to another client.
    """
    return Request(
        method="POST", path=f"{path_of(_PATH, webhook_id)}/test", read=_read, idempotency_key=idempotency_key
    )


def rotate_secret(webhook_id: str, *, idempotency_key: str | None = None) -> Request[Webhook]:
    """Replace the secret. The new one is shown only once; for 24 hours deliveries are signed with both.

    Parameters
    ----------
    idempotency_key : str or None
        As for `identities.create`.

    Raises
    ------
    NotFound
        If it does not exist, or belongs to another client.
    """
    path = f"{path_of(_PATH, webhook_id)}/rotate-secret"
    return Request(method="POST", path=path, read=_read, idempotency_key=idempotency_key, clears=True)


def list_all(*, page_size: int = 100) -> Request[Page[Webhook]]:
    """Iterate over all webhooks of the client, read lazily in pages of 1 to 100."""
    return first_page(_PATH, _read_page, page_size)


def deliveries(
    webhook_id: str, *, status: str | None = None, page_size: int = 100
) -> Request[Page[Delivery]]:
    """Iterate over the deliveries of a webhook, latest first, read lazily in pages of 1 to 100.

    Parameters
    ----------
    status : str or None
        Only deliveries that are WAITING, DELIVERED, DEAD or DROPPED.

    Raises
    ------
    NotFound
        If the webhook does not exist, or belongs to another client.
    """
    return first_page(f"{path_of(_PATH, webhook_id)}/deliveries", _read_deliveries, page_size, status=status)


def _body(
    destination_url: str, active: bool, event_types: Sequence[str] | None, description: str | None
) -> dict[str, object]:
    return {
        "destinationUrl": destination_url,
        "active": active,
        "eventTypes": None if event_types is None else list(event_types),
        "description": description,
    }
