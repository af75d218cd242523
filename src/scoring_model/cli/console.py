"""Output of commands: results on standard output, progress and errors on standard error."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console


@dataclass
class State:
    """Global options, the start time of the program, and whether it is the whole process."""

    debug: bool = False
    is_process: bool = False
    started: float = field(default_factory=time.monotonic)


state = State()


@cache
def errors() -> Console:
    """Return the console of standard error, for progress bars."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)


@cache
def _results() -> Console:
    from rich.console import Console

    return Console(highlight=False, emoji=False, soft_wrap=True)


def _print(text: str, stream: TextIO, console: Callable[[], Console]) -> None:
    """Print a line; most programs start without the library of terminals."""
    if stream.isatty():
        console().print(text, markup=False)
    else:
        print(text, file=stream, flush=True)


def report(text: str) -> None:
    """Report a step, with the seconds since the start."""
    _print(f"[{time.monotonic() - state.started:7.1f} s] {text}", sys.stderr, errors)


def fail(text: str) -> None:
    """Report an error."""
    errors().print(f"error: {text}", markup=False, style="red")


def warn(text: str) -> None:
    """Report a warning."""
    errors().print(f"warning: {text}", markup=False)


def say(text: str) -> None:
    """Print a result for people."""
    _print(text, sys.stdout, _results)


def say_markdown(text: str) -> None:
    """Print Markdown: rendered on a terminal, plain elsewhere."""
    if sys.stdout.isatty():
        from rich.markdown import Markdown

        _results().print(Markdown(text))
    else:
        print(text)


def say_json(value: object) -> None:
    """Print a result for programs."""
    print(json.dumps(value, indent=2, ensure_ascii=False))
