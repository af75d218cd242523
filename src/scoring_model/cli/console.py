"""Output of commands: results on standard output, progress and errors on standard error."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, TextIO

from scoring_model.escaping import singular, visible, visible_json, visible_line

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


def prepare_training() -> None:
    """Import LightGBM without what it looks for and no command needs, if this process is the program's own."""
    if state.is_process:
        from scoring_model.training.fitting import import_lightgbm_alone

        import_lightgbm_alone()


def _print(text: str, stream: TextIO, console: Callable[[], Console]) -> None:
    """Print a line; most programs start without the library of terminals."""
    text = visible_line(singular(text))
    if stream.isatty():
        console().print(text, markup=False)
    else:
        print(text, file=stream, flush=True)


def report(text: str) -> None:
    """Report a step, with the seconds since the start."""
    _print(f"[{time.monotonic() - state.started:7.1f} s] {text}", sys.stderr, errors)


def fail(text: str) -> None:
    """Report an error; its further lines are indented, so that no name in it looks like a line of ours."""
    lines = re.sub(r"\n(?=.)", "\n  ", visible(singular(text)))
    errors().print(f"error: {lines}", markup=False, style="red")


def warn(text: str) -> None:
    """Report a warning."""
    errors().print(f"warning: {singular(text)}", markup=False)


@contextmanager
def progress(text: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """Show a bar on standard error; yields the function that sets how much is done, and of how much."""
    from rich.progress import Progress

    with Progress(console=errors(), transient=True) as bar:
        task = bar.add_task(text, total=total)
        yield lambda done, total=None: bar.update(task, completed=done, total=total)


@contextmanager
def resumable(command: str) -> Iterator[None]:
    """Say how to go on when a command is interrupted: begun anew, it may drop what is finished."""
    try:
        yield
    except KeyboardInterrupt:
        warn(f"interrupted: the same {command} with --resume goes on from what is finished")
        raise


def say(text: str) -> None:
    """Print a result for people."""
    _print(text, sys.stdout, _results)


def in_words(value: object) -> str:
    """Write a value of JSON for people.

    Examples
    --------
    >>> in_words({"records": 187624, "names": ["a", "b"]})
    'records 187,624, names a; b'
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {in_words(part)}" for name, part in value.items()) or "none"
    if isinstance(value, list):
        return "; ".join(map(in_words, value)) or "none"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def say_markdown(text: str) -> None:
    """Print Markdown: rendered on a terminal, plain elsewhere."""
    text = visible(text)
    if sys.stdout.isatty():
        from rich.markdown import Markdown

        _results().print(Markdown(text))
    else:
        print(text)


def say_json(value: object, *, indent: int | None = 2) -> None:
    """Print a result for programs, at once."""
    print(visible_json(json.dumps(value, indent=indent, ensure_ascii=False)), flush=True)
