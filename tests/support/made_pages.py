"""The pages of made results, each rendered once in a process and read back."""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import made_results as made
from page_text import PageText
from scoring_model.evaluation.report import Report, comparison_report, evaluation_report, html
from scoring_model.evaluation.report.sections.glossary import with_glossary
from scoring_model.monitoring.report import monitoring_report
from scoring_model.service.past.whatif import WhatIf
from scoring_model.service.past.whatif_report import whatif_report
from scoring_model.training.backtest.report import backtest_report


def whatif_made(found: WhatIf) -> Report:
    """The report of a what-if."""
    return whatif_report(found, name="identity", sentences=made.SENTENCES, before=made.BEFORE)


REPORTS: Final[dict[str, Callable[[], Report]]] = {
    "whatif": lambda: whatif_made(made.made_whatif()),
    "whatif-bare": lambda: whatif_made(made.bare_whatif()),
    "whatif-tried": lambda: whatif_made(made.tried_whatif()),
    "whatif-empty": lambda: whatif_made(made.empty_whatif()),
    "evaluation-empty": lambda: evaluation_report(made.empty_evaluation()),
    "monitoring-bare": lambda: monitoring_report(made.bare_monitoring()),
    "comparison-bare": lambda: comparison_report(made.bare_comparison()),
    "comparison-unproved": lambda: comparison_report(made.bare_comparison(), gates=made.unproved_gates()),
    "comparison-stopped": lambda: comparison_report(made.stopped_comparison(), gates=made.stopped_gates()),
    "comparison-small": lambda: comparison_report(made.small_comparison(), gates=made.passing_gates()),
    "comparison": lambda: comparison_report(made.made_comparison(), gates=made.comparison_gates()),
    "monitoring": lambda: monitoring_report(made.made_monitoring()),
    "backtest-bare": lambda: backtest_report(made.bare_backtest()),
    "backtest": lambda: backtest_report(made.made_backtest()),
    "evaluation-stopped": lambda: evaluation_report(made.stopped_evaluation()),
    "evaluation-bare": lambda: evaluation_report(made.bare_evaluation()),
    "evaluation": lambda: evaluation_report(made.made_evaluation()),
}


FRAMES: Final[dict[str, Callable[[], Any]]] = {
    "evaluation": lambda: made.made_evaluation().to_frame(),
    "comparison": lambda: made.made_comparison().to_frame(),
    "monitoring": lambda: made.made_monitoring().to_frame(),
    "backtest": lambda: made.made_backtest().to_frame(),
}


@cache
def report(name: str) -> Report:
    """A report, made once, as a page shows it: with what its figures say."""
    return with_glossary(REPORTS[name]())


@cache
def page_html(name: str) -> str:
    """A page, drawn once."""
    return html(report(name))


@cache
def page(name: str) -> PageText:
    """A page that is read back."""
    return PageText.of(page_html(name))
