"""How telling MLflow fails."""

import re
from typing import Final

_USERINFO: Final = re.compile(r"(?<=://)[^/@\s]+@")
_HALF: Final = 120


class TrackingError(ValueError):
    """MLflow could not be told, or a store could not be read; no bundle is touched by it."""


def masked(uri: str) -> str:
    """Leave user and password out of every URL of a text.

    Examples
    --------
    >>> masked("https://risk:s3cret@mlflow.example/api")
    'https://mlflow.example/api'
    """
    return _USERINFO.sub("", uri)


def reason(error: Exception) -> str:
    """Say in a line what went wrong: servers answer with whole pages.

    Parameters
    ----------
    error : Exception
        Whatever MLflow, the network or a database raised.

    Returns
    -------
    str
        Without users and passwords. Of a long text its beginning, and its end, where the cause stands.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = masked(lines[0] if lines else type(error).__name__)
    return text if len(text) <= 2 * _HALF else f"{text[:_HALF]} ... {text[-_HALF:]}"
