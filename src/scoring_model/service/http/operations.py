"""Everything that the service answers: operations with credentials, and public pages."""

from typing import Annotated, Final, Literal

from pydantic import Field

from scoring_model.contract.resource import Instant, Resource
from scoring_model.service.http import (
    identities,
    labels,
    operator_lists,
    resolutions,
    verifications,
    webhooks,
)

OPERATIONS: Final = (
    *verifications.OPERATIONS,
    *identities.OPERATIONS,
    *webhooks.OPERATIONS,
    *labels.OPERATIONS,
    *resolutions.OPERATIONS,
    *operator_lists.OPERATIONS,
)
"""Every operation that needs credentials."""

DESCRIPTION: Final = "/openapi.json"
DOCS: Final = "/docs"
LIVE: Final = "/health/live"
READY: Final = "/health/ready"


class Health(Resource):
    """The process is alive."""

    status: Literal["live"] = "live"


class RefusedBundle(Resource):
    """A bundle that was to be activated and was refused."""

    model_version: str
    policy_version: str
    refused_at: Instant
    reason: str


class Readiness(Resource):
    """The process accepts requests; with warnings for its operator."""

    status: Literal["ready"] = "ready"
    erasure_incomplete_since: Annotated[
        Instant | None,
        Field(description="Since when an erasure waits for the truncation of the write-ahead log (SQLite)."),
    ]
    clock_behind_seconds: Annotated[
        int,
        Field(
            ge=0,
            description="How far the newest event is ahead of this process's clock; 0 up to the tolerance of 5 s.",
        ),
    ]
    model_version: Annotated[str, Field(description="Model that this process serves.")]
    policy_version: Annotated[str, Field(description="Policy that this process serves.")]
    serving_since: Annotated[Instant, Field(description="Since when this process serves both.")]
    bundle_problem: Annotated[
        str | None, Field(description="Why this process does not serve the active bundle.")
    ]
    last_refused_bundle: Annotated[
        RefusedBundle | None, Field(description="The last bundle that was to be activated and was refused.")
    ]
