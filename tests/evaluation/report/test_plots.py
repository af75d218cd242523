"""Each plot alone, in the axes of the caller."""

import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from report_use import evaluated
from scoring_model.evaluation import Evaluation
from scoring_model.evaluation.report import NothingToDraw


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    """Two thousand records on sixty days."""
    return evaluated(limits={"max_step_up": 0.2})


def test_curves_are_those_of_the_evaluation(evaluation: Evaluation) -> None:
    """The first line of each plot holds the values of its curve, and its band the ends."""
    curves, plot = evaluation.curves, evaluation.plot
    for draw, curve in ((plot.roc, curves.roc), (plot.precision_recall, curves.precision_recall)):
        ax = draw()
        np.testing.assert_array_equal(ax.lines[0].get_xydata(), np.column_stack([curve.x, curve.y]))
        band = ax.collections[0].get_paths()[0].vertices
        assert np.nanmax(np.asarray(band)[:, 1]) == pytest.approx(np.nanmax(curve.high))


def test_a_plot_draws_in_given_axes(evaluation: Evaluation) -> None:
    """The axes come back with the chosen pair marked, and settings of matplotlib stay as they were."""
    before = dict(mpl.rcParams)
    ax = Figure().subplots()
    assert evaluation.plot.threshold_map(ax=ax) is ax
    (chosen,) = (line for line in ax.lines if line.get_marker() == "o")
    assert chosen.get_xydata().tolist() == [[500, 900]]  # type: ignore[union-attr]
    assert dict(mpl.rcParams) == before


def test_missing_numbers_are_named() -> None:
    """Without frauds, groups or contributions the error says what is missing."""
    plot = evaluated(genuine=200, frauds=0).plot
    with pytest.raises(NothingToDraw, match="lack both classes"):
        plot.roc()
    with pytest.raises(NothingToDraw, match=r"no column 'sex'; pass it as by=\[\.\.\.\]"):
        plot.groups("sex", "step_up")
    with pytest.raises(NothingToDraw, match="explained no records"):
        plot.beeswarm()


def test_a_missing_library_names_its_extra() -> None:
    """Without matplotlib the error names the extra that brings it; the package itself loads without it."""
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from scoring_model.evaluation.report import MissingExtra, Plots\n"
        "try:\n    Plots(None)\nexcept MissingExtra as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "reports and plots need matplotlib: pip install 'scoring-model[train]'\n"


def test_markdown_needs_no_pictures() -> None:
    """A whole report is written as Markdown where neither matplotlib nor Jinja2 is installed."""
    script = (
        "import sys; sys.path.insert(0, 'tests/support')\n"
        "sys.modules['matplotlib'] = sys.modules['jinja2'] = None\n"
        "from report_use import evaluated\n"
        "from scoring_model.evaluation.report import evaluation_report, markdown\n"
        "print(markdown(evaluation_report(evaluated())).count('| '))"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=root
    )
    assert int(done.stdout) > 500
