"""Standard error of a serving process is JSON, whatever writes to it, and contains no error texts."""

import asyncio
import gc
import io
import json
import logging
import os
import sys
import threading
import warnings
from types import SimpleNamespace
from typing import Any, cast

import pytest

from scoring_model.service.standard_error import install

CANARY = "canary-7f3a"


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Capture the output; restore the process afterwards."""
    gc.collect()  # what other tests left behind is not reported here
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    for module, name in (
        (sys, "excepthook"),
        (sys, "unraisablehook"),
        (threading, "excepthook"),
        (warnings, "showwarning"),
    ):
        monkeypatch.setattr(module, name, getattr(module, name))
    return io.StringIO()


def raised() -> ValueError:
    """An error with a place."""
    try:
        raise ValueError(CANARY)
    except ValueError as error:
        return error


def test_whatever_is_written_is_json_without_texts(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Libraries, warnings, lost tasks, failed callbacks, threads, finalisers and the last traceback."""
    for name in (
        "uvicorn",
        "uvicorn.error",
        "scoring_model.faults",
    ):  # other tests of the process may have set them up
        logger = logging.getLogger(name)
        monkeypatch.setattr(logger, "handlers", [])
        monkeypatch.setattr(logger, "propagate", True)
        monkeypatch.setattr(logger, "disabled", False)
        monkeypatch.setattr(logger, "level", logging.NOTSET)

    async def use() -> None:
        install(stream)
        loop = asyncio.get_running_loop()
        logging.getLogger("uvicorn.error").warning("Invalid %s\nsecond line", CANARY, exc_info=raised())
        warnings.showwarning(UserWarning(CANARY), UserWarning, "a.py", 3)
        sys.excepthook(ValueError, raised(), None)
        sys.unraisablehook(cast(Any, SimpleNamespace(exc_value=raised())))
        thread = threading.Thread(target=lambda: int(CANARY))
        thread.start()
        thread.join()
        loop.call_soon(int, CANARY)
        loop.call_exception_handler({"message": "Task was destroyed"})
        await asyncio.sleep(0)

    asyncio.run(use())
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert CANARY not in stream.getvalue()
    assert lines[0]["message"] == "Invalid %s"
    assert all(list(line)[:3] == ["time", "process", "requestId"] for line in lines)
    assert {(line["process"], line["requestId"]) for line in lines} == {(os.getpid(), None)}
    assert lines[1]["warning"] == "UserWarning at a.py:3"
    assert [line["errors"][0]["type"] for line in lines if "errors" in line] == ["ValueError"] * 5
    assert lines[-1]["errors"][0]["places"] or lines[-1]["doing"] == "calling back"
    assert "Task was destroyed" in {line.get("warning") for line in lines}
