"""The pages of made results, each rendered once in a process and read back."""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import made_results as made
from page_text import PageText
from scoring_model.evaluation.report import render_comparison, render_report
from scoring_model.monitoring.report import render_monitoring
from scoring_model.service.whatif import WhatIf
from scoring_model.service.whatif_report import render_whatif
from scoring_model.training.backtest.report import render_backtest


def whatif_page(found: WhatIf) -> str:
    """The page of a what-if."""
    return render_whatif(found, name="identity", sentences=made.SENTENCES, before=made.BEFORE)


PAGES: Final[dict[str, Callable[[], str]]] = {
    "whatif": lambda: whatif_page(made.made_whatif()),
    "whatif-bare": lambda: whatif_page(made.bare_whatif()),
    "whatif-empty": lambda: whatif_page(made.empty_whatif()),
    "evaluation-empty": lambda: render_report(made.empty_evaluation()),
    "monitoring-bare": lambda: render_monitoring(made.bare_monitoring()),
    "comparison-bare": lambda: render_comparison(made.bare_comparison()),
    "comparison-unproved": lambda: render_comparison(made.bare_comparison(), gates=made.unproved_gates()),
    "comparison-small": lambda: render_comparison(made.small_comparison(), gates=made.passing_gates()),
    "comparison": lambda: render_comparison(made.made_comparison(), gates=made.comparison_gates()),
    "monitoring": lambda: render_monitoring(made.made_monitoring()),
    "backtest-bare": lambda: render_backtest(made.bare_backtest()),
    "backtest": lambda: render_backtest(made.made_backtest()),
    "evaluation-bare": lambda: render_report(made.bare_evaluation()),
    "evaluation": lambda: render_report(made.made_evaluation()),
}


FRAMES: Final[dict[str, Callable[[], Any]]] = {
    "evaluation": lambda: made.made_evaluation().to_frame(),
    "comparison": lambda: made.made_comparison().to_frame(),
    "monitoring": lambda: made.made_monitoring().to_frame(),
    "backtest": lambda: made.made_backtest().to_frame(),
}


@cache
def page(name: str) -> PageText:
    """A page that is read back."""
    return PageText.of(PAGES[name]())
