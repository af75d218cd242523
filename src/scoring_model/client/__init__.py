"""A typed client of the scoring service, blocking (`Client`) and asynchronous (`AsyncClient`).

It depends on httpx, pydantic and tenacity, not on the model or the service.
"""

from scoring_model.client.asynchronous import (
    AsyncClient,
    AsyncHealth,
    AsyncIdentities,
    AsyncLabels,
    AsyncResolutions,
    AsyncVerifications,
    AsyncWebhooks,
)
from scoring_model.client.blocking import (
    Client,
    Health,
    Identities,
    Labels,
    Resolutions,
    Verifications,
    Webhooks,
)
from scoring_model.client.errors import (
    ApiError,
    Conflict,
    Forbidden,
    Invalid,
    InvalidWebhook,
    NotFound,
    RateLimited,
    ScoringError,
    StillPending,
    TransportError,
    Unauthorized,
    Unavailable,
    UnreadableAnswer,
)
from scoring_model.client.operations.labels import Label
from scoring_model.client.retry import RetryPolicy
from scoring_model.client.signature import Event, verify_webhook
from scoring_model.contract.delivery import Delivery
from scoring_model.contract.event import EventData
from scoring_model.contract.identity import Address, DocumentType, Identity, IdentityStatus, ValidationError
from scoring_model.contract.label import LabelReport, LabelResult, LabelStatus
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.resolution import Resolution
from scoring_model.contract.verification import ReasonCode, Verification, VerificationStatus
from scoring_model.contract.violation import Violation
from scoring_model.contract.webhook import Webhook

__all__ = [
    "Address",
    "ApiError",
    "AsyncClient",
    "AsyncHealth",
    "AsyncIdentities",
    "AsyncLabels",
    "AsyncResolutions",
    "AsyncVerifications",
    "AsyncWebhooks",
    "Client",
    "Conflict",
    "Delivery",
    "DocumentType",
    "Event",
    "EventData",
    "Forbidden",
    "Health",
    "Identities",
    "Identity",
    "IdentityStatus",
    "Invalid",
    "InvalidWebhook",
    "Label",
    "LabelReport",
    "LabelResult",
    "LabelStatus",
    "Labels",
    "NotFound",
    "Outcome",
    "RateLimited",
    "ReasonCode",
    "Resolution",
    "Resolutions",
    "RetryPolicy",
    "ScoringError",
    "StillPending",
    "TransportError",
    "Unauthorized",
    "Unavailable",
    "UnreadableAnswer",
    "ValidationError",
    "Verification",
    "VerificationStatus",
    "Verifications",
    "Violation",
    "Webhook",
    "Webhooks",
    "verify_webhook",
]
