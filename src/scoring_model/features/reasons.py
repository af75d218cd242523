"""Names that follow from the configuration: of features of signals, and of the factors of signals and links."""

import re


def snake(name: str) -> str:
    """The name of a signal in the name of a feature: ``emailAgeDays`` as ``email_age_days``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


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
