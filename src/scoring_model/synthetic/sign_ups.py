"""Invented people who sign up at a service."""

from collections.abc import Mapping
from typing import Any

from scoring_model.client import Address, Client, Verification


def sign_up(client: Client, row: Mapping[str, Any]) -> Verification:
    """Verify a person of an invented history as a client does: an identity, then a verification with signals."""
    identity = client.identities.create(
        first_name=row["firstName"],
        last_name=row["lastName"],
        dob=row["dob"],
        citizenship=row["citizenship"],
        document_type=row["documentType"],
        image_urls=row["imageUrls"],
        address=_address(row),
    )
    signals = {
        name.removeprefix("signals."): value for name, value in row.items() if name.startswith("signals.")
    }
    known = {name: value for name, value in signals.items() if value is not None}
    identity_id = identity.id if identity.validated else None
    return client.verifications.create(identity_id=identity_id, signals=known)


def _address(row: Mapping[str, Any]) -> Address | None:
    """Return the address of a row; None if a part that every address has is missing."""
    parts = {name.removeprefix("address."): row[name] for name in row if name.startswith("address.")}
    return Address.model_validate(parts) if parts["line1"] and parts["city"] and parts["country"] else None
