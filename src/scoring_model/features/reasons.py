"""The public catalogue of reason codes.

A code names what pushed a score up in words that may be told to the person; it never carries a value. Codes
of the record's own fields are fixed here. Codes of signals and link keys follow from their names in the
configuration, and travel in the bundle with their sentences.
"""

import re
from collections.abc import Mapping

RECORD_REASONS: Mapping[str, str] = {
    "NAME_UNUSUAL": "The name is written in an unusual form.",
    "NAME_IMPROBABLE": "The name differs from the names that are commonly seen.",
    "NAME_NOT_OF_A_PERSON": "The name holds a word that is not of a person's name.",
    "BIRTH_DATE_PATTERN": "The date of birth follows a pattern that is often made up.",
    "AGE": "The age is unusual for genuine applicants.",
    "TIME_OF_DAY": "The application came at an unusual time.",
    "DOCUMENT_TYPE": "The type of document is unusual for genuine applicants.",
    "CITIZENSHIP": "The citizenship is unusual for genuine applicants.",
    "COUNTRY_MISMATCH": "Countries in the application differ from each other.",
    "ADDRESS_INCOMPLETE": "The address is incomplete.",
    "ADDRESS_FORM": "The address is written in an unusual form.",
    "ADDRESS_IMPROBABLE": "The address differs from the addresses that are commonly seen.",
    "ADDRESS_NOT_A_HOME": "The address is of a kind where nobody lives.",
    "POSTAL_CODE_MISMATCH": "The postal code does not have the form of the country's.",
    "ADDRESS_COUNTRY": "The country of the address is unusual for genuine applicants.",
    "DOCUMENT_IMAGES": "The references to document images are unusual.",
}


def signal_reason(signal: str) -> str:
    """Code of a signal, such as ``SIGNAL_EMAIL_AGE_DAYS``."""
    return f"SIGNAL_{_upper_snake(signal)}"


def link_reason(key: str) -> str:
    """Code of earlier applications with the same value of a link key."""
    return f"LINKED_{_upper_snake(key)}"


def fraud_link_reason(key: str) -> str:
    """Code of earlier applications with the same value that are known to be fraud."""
    return f"LINKED_FRAUD_{_upper_snake(key)}"


def describe_signal(signal: str) -> str:
    """Sentence of a signal's code."""
    return f"The signal {signal} is unusual for genuine applicants."


def describe_link(key: str) -> str:
    """Sentence of a link key's code."""
    return f"Other applications were made with the same {key}."


def describe_fraud_link(key: str) -> str:
    """Sentence of the code of known frauds under a link key."""
    return f"Earlier applications with the same {key} are known to be fraud."


def _upper_snake(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).strip("_").upper()
