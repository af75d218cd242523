"""The command `retrain` as processes that kill themselves at a step: one that has imported everything forks them.

Arguments: the instant of the clock in microseconds, and those of the command. Each line of standard input is a step, or
empty; each line of standard output the status of the process that ran to it (see `os.waitpid`).
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from mlflow import MlflowClient

import scoring_model.retraining.run  # noqa: F401  # for all processes, before they are forked
from scoring_model.cli import console, main
from service_use import SetClock
from undrawn import pages_undrawn


def end(step: str) -> Callable[..., None]:
    """What kills this process where it comes to the step: a line, a file that is about to appear, a call of MLflow."""

    def reached(words: object) -> None:
        if step and step in str(words):
            os.kill(os.getpid(), signal.SIGKILL)

    def rename(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "os.rename":
            reached(f"{os.fsdecode(arguments[1])} appears")

    sys.addaudithook(rename)
    for name in ("create_model_version", "set_registered_model_alias"):
        call = getattr(MlflowClient, name)

        def first(*given: Any, _call: Any = call, _name: str = name, **named: Any) -> Any:
            reached(f"{_name} {given[2:]}")
            return _call(*given, **named)

        setattr(MlflowClient, name, first)
    return reached


def retrain(now: int, arguments: list[str], step: str) -> int:
    """Run the command in this process."""
    console.report = end(step)
    with pages_undrawn(), patch("scoring_model.service.core.clock.SystemClock", lambda: SetClock(now)):
        return main(arguments)


if __name__ == "__main__":
    for line in sys.stdin:
        child = os.fork()
        if not child:
            os.dup2(2, 1)  # only the statuses go to standard output
            os._exit(retrain(int(sys.argv[1]), sys.argv[2:], line.strip()))
        print(os.waitpid(child, 0)[1], flush=True)
