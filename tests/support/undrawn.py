"""Trainings and promotions without their pages and plots, which take a third of the time of small ones."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scoring_model.evaluation import Evaluation
from scoring_model.training import promotion, run_description


@contextmanager
def pages_undrawn() -> Iterator[None]:
    """Leave pages empty, and folders of plots for MLflow: tests of pages, jobs and promotions draw them."""

    def write_nothing(_: Evaluation, path: Path, **__: object) -> None:
        path.touch()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Evaluation, "report", write_nothing)
        patched.setattr(promotion, "html", lambda _: "")
        patched.setattr(run_description, "write_plots", lambda _, folder: folder.mkdir())
        yield
