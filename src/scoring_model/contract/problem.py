"""Errors as the service reports them (RFC 9457)."""

from typing import Annotated

from pydantic import Field, WithJsonSchema

from scoring_model.contract.resource import UUID, Resource
from scoring_model.contract.violation import Violation


class Problem(Resource):
    """An error.

    Attributes
    ----------
    type, title : str
    status : int
        HTTP status.
    detail : str
        A sentence for people.
    instance : str
        ``urn:uuid:`` and the request id.
    code : str
        Stable name of the error.
    request_id : str
        What the operator of the service finds the request by.
    errors : tuple of Violation or None
        Of a 422: what is wrong with the request, at most the first 100.
    errors_omitted : int or None
        How many more there are.
    """

    type: str = "about:blank"
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    detail: str
    instance: str
    code: str
    request_id: Annotated[str, WithJsonSchema(UUID)]
    errors: tuple[Violation, ...] | None = None
    errors_omitted: int | None = None
