"""Logging of unexpected errors, without their messages, which may contain personal data."""

import json
import logging
import os
import traceback
from typing import Final

from scoring_model.contract.texts import rfc3339
from scoring_model.service.core.clock import SystemClock

FAULTS: Final = "scoring_model.faults"
"""Name of the logger; errors of requests use it too, at ERROR."""

_faults: Final = logging.getLogger(FAULTS)


def log_fault(doing: str, error: BaseException) -> None:
    """Log an error with types and code locations. `doing` must be a constant text without values of requests."""
    _faults.error(line_of(doing=doing, errors=chain_of(error)))


def log_warning(text: str) -> None:
    """Log a constant text for operators."""
    _faults.warning(line_of(warning=text))


def log_notice(text: str) -> None:
    """Log a step that operators may be waiting for.

    At WARNING, so that a process without its own handlers, such as a supervisor, writes it too.
    """
    _faults.warning(line_of(notice=text))


def line_of(*, request_id: str | None = None, **fields: object) -> str:
    """Return a line of JSON with the instant, the process, and the request, or null where it concerns none alone."""
    begin = {"time": rfc3339(SystemClock().now()), "process": os.getpid(), "requestId": request_id}
    return json.dumps(begin | fields, separators=(",", ":"))


def chain_of(error: BaseException | None) -> list[dict[str, object]]:
    """Return the types of an error and its causes, with their locations from the outermost call to the innermost."""
    chain: list[dict[str, object]] = []
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        frames = traceback.extract_tb(error.__traceback__)
        places = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        chain.append({"type": type(error).__name__, "places": places})
        error = error.__cause__ or error.__context__
    return chain
