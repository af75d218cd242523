"""Rows to store, with a default for every value, so that a test states only the relevant ones."""

import os
import struct
from collections.abc import Sequence
from itertools import count
from typing import Any

from scoring_model.service.core.rows import (
    ApiKeyRow,
    ClientRow,
    DeliveryRow,
    EventRow,
    IdempotencyRow,
    IdentityRow,
    PersonKeyRow,
    VerificationRow,
    WebhookRow,
)
from scoring_model.service.store import Transaction

_numbers = count(1)


def new_id() -> bytes:
    """16 increasing bytes."""
    return next(_numbers).to_bytes(8, "big") + os.urandom(8)


def broken(value: bytes | None) -> bytes:
    """The same bytes with one bit flipped: a replaced byte could be equal by chance."""
    assert value
    return value[:-1] + bytes([value[-1] ^ 1])


def packed(*labels: tuple[int, int]) -> bytes:
    """Labels of a link: instants and values."""
    return b"".join(struct.pack("<qb", *label) for label in labels)


async def link_labels(transaction: Transaction, hashes: Sequence[bytes], time: int, labels: bytes) -> None:
    """Append packed labels, if there are any, to the events at one instant under some hashes."""
    if labels:
        await transaction.append_labels({(value, time, 0): labels for value in hashes})


def client_row(**changes: Any) -> ClientRow:
    """A client without a number."""
    row = ClientRow(0, f"cl_{new_id().hex()}", "a client", "", "identities", 6000, 60, 0, 1, None)
    return row._replace(**changes)


def api_key_row(client: int, **changes: Any) -> ApiKeyRow:
    """An API key."""
    return ApiKeyRow(os.urandom(32), client, 1, None, None)._replace(**changes)


def person_key_row(**changes: Any) -> PersonKeyRow:
    """The key of a person."""
    return PersonKeyRow(new_id(), 1, os.urandom(16), b"master-a", b"wrapped")._replace(**changes)


def identity_row(**changes: Any) -> IdentityRow:
    """A validated identity."""
    row = IdentityRow(new_id(), 1, new_id(), "VALIDATED", b"sealed", 10, 10)
    return row._replace(**changes)


def verification_row(**changes: Any) -> VerificationRow:
    """A completed verification."""
    row = VerificationRow(
        id=new_id(),
        client=1,
        identity_id=None,
        previous_id=None,
        key_id=new_id(),
        status="COMPLETED",
        outcome="PASSED",
        score=112,
        reasons="A,B",
        model_version="m1",
        policy_version="p1",
        created_at=10,
        completed_at=20,
        row_digest=b"digest",
        payload=b"sealed",
        links=b"h" * 16,
        attempts=0,
        leased_until=None,
        reference=None,
    )
    return row._replace(**changes)


def pending_row(**changes: Any) -> VerificationRow:
    """A verification that has not been scored yet."""
    row = verification_row(
        status="PENDING",
        outcome=None,
        score=None,
        reasons=None,
        model_version=None,
        policy_version=None,
        completed_at=None,
        row_digest=None,
        reference="a key",
    )
    return row._replace(**changes)


def event_row(**changes: Any) -> EventRow:
    """An event waiting for its webhooks."""
    row = EventRow(new_id(), 1, next(_numbers), "identity.created", new_id(), 10, "{}", 1)
    return row._replace(**changes)


def webhook_row(**changes: Any) -> WebhookRow:
    """An active webhook."""
    row = WebhookRow(
        new_id(),
        1,
        "https://example.com/",
        1,
        '["*"]',
        None,
        None,
        b"sealed",
        None,
        None,
        10,
        10,
        10,
        None,
        0,
    )
    return row._replace(**changes)


def delivery_row(**changes: Any) -> DeliveryRow:
    """A waiting delivery without an attempt."""
    row = DeliveryRow(new_id(), new_id(), new_id(), 1, "WAITING", 0, 10, None, 10, None, None, None)
    return row._replace(**changes)


def idempotency_row(**changes: Any) -> IdempotencyRow:
    """The stored answer of a POST."""
    row = IdempotencyRow(os.urandom(32), 1, 201, new_id(), os.urandom(32), None, 10)
    return row._replace(**changes)
