"""Whether the service runs, and whether it should get requests."""

from typing import Annotated, Literal

from pydantic import Field

from scoring_model.contract.resource import Instant, Resource


class Health(Resource):
    """The process is alive."""

    status: Literal["live"] = "live"


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
