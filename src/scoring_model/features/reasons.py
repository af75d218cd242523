"""Codes of the factors that features of signals and links belong to; those of the record name theirs themselves."""

import re


def signal_reason(signal: str) -> str:
    """Code of a signal, such as ``SIGNAL_EMAIL_AGE_DAYS``."""
    return f"SIGNAL_{_upper_snake(signal)}"


def link_reason(key: str) -> str:
    """Code of earlier records with the same value of a link key."""
    return f"LINKED_{_upper_snake(key)}"


def fraud_link_reason(key: str) -> str:
    """Code of earlier records with the same value that are known to be fraud."""
    return f"LINKED_FRAUD_{_upper_snake(key)}"


def _upper_snake(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).strip("_").upper()
