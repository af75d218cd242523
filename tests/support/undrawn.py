"""Trainings without the page of their evaluation, whose drawings take a third of the time of a small one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scoring_model.evaluation import Evaluation


@contextmanager
def pages_undrawn() -> Iterator[None]:
    """Leave the pages of evaluations empty: tests of pages draw them."""

    def write_nothing(_: Evaluation, path: Path, **__: object) -> None:
        path.touch()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Evaluation, "report", write_nothing)
        yield
