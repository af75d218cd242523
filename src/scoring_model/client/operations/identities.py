"""Requests about identities."""

from collections.abc import Sequence
from datetime import date, datetime

from scoring_model.client.operations.pages import Page, first_page, reader
from scoring_model.client.request import Request, path_of, resource
from scoring_model.contract.identity import Address, Identity

_PATH = "/scoring/v1/identities"
_read = resource(Identity)
_read_page = reader(Identity)


def create(
    *,
    first_name: str | None = None,
    last_name: str | None = None,
    dob: date | str | None = None,
    citizenship: str | None = None,
    document_type: str | None = None,
    image_urls: Sequence[str] | None = None,
    address: Address | None = None,
    external_id: str | None = None,
    idempotency_key: str | None = None,
) -> Request[Identity]:
    """Create an identity. Identities are immutable except for erasure: to complete one, create another.

    Parameters
    ----------
    first_name, last_name : str or None
        1 to 100 characters.
    dob : date, str or None
        Date of birth, ``YYYY-MM-DD``.
    citizenship : str or None
        ISO 3166-1 alpha-2.
    document_type : str or None
        One of `DocumentType`.
    image_urls : sequence of str or None
        At most 10 https addresses. They are never fetched.
    external_id : str or None
        Your own reference, at most 128 characters.
    idempotency_key : str or None
        1 to 255 characters. Requests with the same key within 24 hours get the first answer. None generates a key for
        this call and its retries.

    Returns
    -------
    Identity
        `validated` says whether it can be verified, `missing_fields` what it lacks.

    Raises
    ------
    Invalid
        If a value is malformed; `errors` lists all of them.
    """
    body = {
        "firstName": first_name,
        "lastName": last_name,
        "dob": dob.isoformat() if isinstance(dob, date) else dob,
        "citizenship": citizenship,
        "documentType": document_type,
        "imageUrls": None if image_urls is None else list(image_urls),
        "address": None if address is None else address.model_dump(by_alias=True),
        "externalId": external_id,
    }
    return Request(method="POST", path=_PATH, read=_read, body=body, idempotency_key=idempotency_key)


def get(identity_id: str) -> Request[Identity]:
    """Read an identity. A cached answer may be up to a minute old.

    Raises
    ------
    NotFound
        If it does not exist, or belongs to another client.
    """
    return Request(method="GET", path=path_of(_PATH, identity_id), read=_read, cached=True)


def list_all(
    *,
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    status: str | None = None,
    external_id: str | None = None,
    page_size: int = 100,
) -> Request[Page[Identity]]:
    """Iterate over identities, latest first, read lazily in pages of 1 to 100. Filters are combined.

    Parameters
    ----------
    created_after, created_before : datetime or None
        Both exclusive, with a time zone.
    status : str or None
        One of `IdentityStatus`.
    external_id : str or None
        Your own reference. After erasure there is none.

    Raises
    ------
    Invalid
        If a filter is malformed; `errors` lists all of them.
    """
    return first_page(
        _PATH,
        _read_page,
        page_size,
        createdAfter=created_after,
        createdBefore=created_before,
        status=status,
        externalId=external_id,
    )


def erase(identity_id: str) -> Request[Identity]:
    """Erase a person permanently: the identity is REDACTED. Repeating it changes nothing.

    Raises
    ------
    NotFound
        If it does not exist, or belongs to another client.
    """
    return Request(
        method="DELETE", path=path_of(_PATH, identity_id), read=_read, repeatable=True, clears=True
    )
