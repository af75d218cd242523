"""Reports of evaluations and comparisons: one HTML file, and its plots one by one.

Drawing needs matplotlib and Jinja2 of the extra ``[train]``; nothing here is imported before a report is asked for.
"""

from scoring_model.evaluation.report.comparison_page import render_comparison, write_comparison
from scoring_model.evaluation.report.comparison_plot import ComparisonPlots
from scoring_model.evaluation.report.figures import Table
from scoring_model.evaluation.report.page import render_report, write_report
from scoring_model.evaluation.report.plot import NothingToDraw, Plots
from scoring_model.evaluation.report.sections.section import Section
from scoring_model.evaluation.report.style import MissingExtra

__all__ = [
    "ComparisonPlots",
    "MissingExtra",
    "NothingToDraw",
    "Plots",
    "Section",
    "Table",
    "render_comparison",
    "render_report",
    "write_comparison",
    "write_report",
]
