"""Output of commands: results on standard output, progress and errors on standard error."""

import json
import time
from dataclasses import dataclass, field

from rich.console import Console


@dataclass
class State:
    """Global options, the start time of the program, and whether it is the whole process."""

    debug: bool = False
    is_process: bool = False
    started: float = field(default_factory=time.monotonic)


state = State()
_errors = Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)
_results = Console(highlight=False, emoji=False, soft_wrap=True)


def errors() -> Console:
    """Return the console of standard error, for progress bars."""
    return _errors


def report(text: str) -> None:
    """Report a step, with the seconds since the start."""
    _errors.print(f"[{time.monotonic() - state.started:7.1f} s] {text}", markup=False)


def fail(text: str) -> None:
    """Report an error."""
    _errors.print(f"error: {text}", markup=False, style="red")


def say(text: str) -> None:
    """Print a result for people."""
    _results.print(text, markup=False)


def say_markdown(text: str) -> None:
    """Print Markdown: rendered on a terminal, plain elsewhere."""
    if _results.is_terminal:
        from rich.markdown import Markdown

        _results.print(Markdown(text))
    else:
        print(text)


def say_json(value: object) -> None:
    """Print a result for programs."""
    print(json.dumps(value, indent=2, ensure_ascii=False))
