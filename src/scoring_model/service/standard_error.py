"""Standard error of a process that serves: every line is JSON, those of libraries too, and holds nothing that was sent.

Texts of errors and warnings may hold what a person sent, so types and places stand in their stead. Of what libraries
log there is the text that they wrote in their code, without what they filled in.
"""

import asyncio
import json
import logging
import sys
import threading
import warnings
from typing import Any, Final, TextIO

from scoring_model.records.times import rfc3339
from scoring_model.service.core.clock import SystemClock
from scoring_model.service.core.faults import FAULTS, chain_of, log_fault, log_warning

_LONGEST_TEXT: Final = 200
_CALLBACK: Final = "Exception in callback"


def install(stream: TextIO | None = None) -> None:
    """Write JSON in the place of all other text. To be called where the event loop runs.

    Parameters
    ----------
    stream : text stream, optional
        Standard error by default.
    """
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(_JsonFormatter())
    logging.getLogger().handlers[:] = [handler]
    asyncio.get_running_loop().set_exception_handler(_log_context)
    sys.excepthook = lambda _type, error, _traceback: log_fault("ending", error)
    sys.unraisablehook = lambda unraisable: _log_unraisable(unraisable.exc_value)
    threading.excepthook = lambda failed: _log_unraisable(failed.exc_value)
    warnings.showwarning = _show_warning


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        if record.name == FAULTS:
            return record.getMessage()
        line: dict[str, object] = {
            "time": rfc3339(SystemClock().now()),
            "level": record.levelname,
            "logger": record.name,
            "message": str(record.msg).partition("\n")[0][:_LONGEST_TEXT],
        }
        if record.exc_info is not None:
            line["errors"] = chain_of(record.exc_info[1])
        return json.dumps(line, separators=(",", ":"))


def _log_context(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what an event loop reports; the name of a callback comes with its arguments."""
    text = str(context["message"])
    doing = "calling back" if text.startswith(_CALLBACK) else text
    error = context.get("exception")
    if isinstance(error, BaseException):
        log_fault(doing, error)
    else:
        log_warning(doing)


def _log_unraisable(error: BaseException | None) -> None:
    if error is not None:
        log_fault("ending something that nobody waited for", error)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    log_warning(f"{category.__name__} at {filename}:{lineno}")
