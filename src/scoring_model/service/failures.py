"""Which errors are reported by their text, and which are faults of the program."""

from __future__ import annotations

from typing import Final

from scoring_model.service.settings import masked

_OURS: Final = "scoring_model."


def is_told(error: BaseException) -> bool:
    """Whether an error's text says all that its reader needs: those of this package, bad values, the system's."""
    return isinstance(error, ValueError | OSError) or type(error).__module__.startswith(_OURS)


def text_of(error: BaseException) -> str:
    """The text of an error without the passwords of database URLs, or its name where it has none."""
    return masked(str(error)) or type(error).__name__
