"""How far a delivery has come."""

from enum import StrEnum


class DeliveryStatus(StrEnum):
    """How far an event has come on its way to a webhook. Only operators take one back to WAITING."""

    WAITING = "WAITING"
    DELIVERED = "DELIVERED"
    DEAD = "DEAD"  # its attempts are used up
    DROPPED = "DROPPED"  # its webhook was made inactive, disabled or deleted
