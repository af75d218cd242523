"""Output on standard error: error messages before a process serves, lines of JSON while it does.

Messages of errors and warnings may contain personal data, so a serving process logs types and code locations instead.
A library's log message is written without its arguments.
"""

import asyncio
import logging
import sys
import threading
import warnings
from typing import Any, Final, TextIO

from scoring_model.escaping import visible
from scoring_model.service.core.faults import FAULTS, chain_of, line_of, log_fault, log_warning
from scoring_model.service.settings import masked

_PACKAGE: Final = "scoring_model."
_LONGEST_TEXT: Final = 200
_CALLBACK: Final = "Exception in callback"


def is_explained(error: BaseException) -> bool:
    """Return True if an error needs no traceback: errors of this package, `ValueError` and `OSError`."""
    return isinstance(error, ValueError | OSError) or type(error).__module__.startswith(_PACKAGE)


def text_of(error: BaseException) -> str:
    """Return the message of an error without passwords of database URLs, or its name if it has no message."""
    return visible(masked(str(error))) or type(error).__name__


def install(stream: TextIO | None = None) -> None:
    """Write lines of JSON from now on. Call it in a running event loop.

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
        message = str(record.msg).partition("\n")[0][:_LONGEST_TEXT]
        errors: dict[str, Any] = {} if record.exc_info is None else {"errors": chain_of(record.exc_info[1])}
        return line_of(level=record.levelname, logger=record.name, message=message, **errors)


def _log_context(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what an event loop reports, without the name of a callback, which contains its arguments."""
    text = str(context["message"])
    doing = "calling back" if text.startswith(_CALLBACK) else text
    error = context.get("exception")
    if isinstance(error, BaseException):
        log_fault(doing, error)
    else:
        log_warning(doing)


def _log_unraisable(error: BaseException | None) -> None:
    if error is not None:
        log_fault("ending a thread or finalizing an object", error)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    log_warning(f"{category.__name__} at {filename}:{lineno}")
