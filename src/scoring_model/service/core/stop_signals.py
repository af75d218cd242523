"""Signals that stop a process."""

import asyncio
import contextlib
import signal
from collections.abc import Iterator
from typing import Final

STOPS: Final = (signal.SIGTERM, signal.SIGINT)


@contextlib.contextmanager
def cancelled_by_signals() -> Iterator[None]:
    """Cancel the running task on SIGTERM or SIGINT. Enter it in the main thread."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None  # a coroutine runs in one
    for number in STOPS:
        loop.add_signal_handler(number, task.cancel)
    try:
        yield
    finally:
        for number in STOPS:
            loop.remove_signal_handler(number)
