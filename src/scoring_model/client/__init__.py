"""A client of the scoring service: typed, for programs that wait (`Client`) and that do not (`AsyncClient`).

It needs httpx and nothing else: neither the model nor the service.
"""

from scoring_model.client.asynchronous import (
    AsyncClient,
    AsyncHealth,
    AsyncIdentities,
    AsyncVerifications,
    AsyncWebhooks,
)
from scoring_model.client.blocking import Client, Health, Identities, Verifications, Webhooks
from scoring_model.client.errors import (
    ApiError,
    Conflict,
    FieldError,
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
    Unreadable,
)
from scoring_model.client.event import Event, EventData
from scoring_model.client.identity import Address, DocumentType, Identity, IdentityStatus, ValidationError
from scoring_model.client.retry import RetryPolicy
from scoring_model.client.signature import verify_webhook
from scoring_model.client.verification import Outcome, ReasonCode, Verification, VerificationStatus
from scoring_model.client.webhook import Webhook

__all__ = [
    "Address",
    "ApiError",
    "AsyncClient",
    "AsyncHealth",
    "AsyncIdentities",
    "AsyncVerifications",
    "AsyncWebhooks",
    "Client",
    "Conflict",
    "DocumentType",
    "Event",
    "EventData",
    "FieldError",
    "Forbidden",
    "Health",
    "Identities",
    "Identity",
    "IdentityStatus",
    "Invalid",
    "InvalidWebhook",
    "NotFound",
    "Outcome",
    "RateLimited",
    "ReasonCode",
    "RetryPolicy",
    "ScoringError",
    "StillPending",
    "TransportError",
    "Unauthorized",
    "Unavailable",
    "Unreadable",
    "ValidationError",
    "Verification",
    "VerificationStatus",
    "Verifications",
    "Webhook",
    "Webhooks",
    "verify_webhook",
]
