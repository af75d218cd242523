"""Errors of tracking, and their texts without credentials."""

import re
from typing import Final

_USERINFO: Final = re.compile(r"(?<=://)[^/@\s]+@")
_HALF: Final = 120


class TrackingError(ValueError):
    """A run could not be logged, or a store could not be read. The bundle is not affected."""


def without_credentials(text: str) -> str:
    """Remove user and password from every URL in a text.

    Examples
    --------
    >>> without_credentials("https://risk:s3cret@mlflow.example/api")
    'https://mlflow.example/api'
    """
    return _USERINFO.sub("", text)


def summary_of(error: Exception) -> str:
    """Summarise an error in one line without credentials.

    A long text, such as a server's error page, is cut in the middle, because its cause often stands at the end.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = without_credentials(lines[0] if lines else type(error).__name__)
    return text if len(text) <= 2 * _HALF else f"{text[:_HALF]} ... {text[-_HALF:]}"
