"""Reports of results: sections as data, rendered as one HTML file or as Markdown, and plots one by one.

Drawing needs matplotlib and Jinja2 of the extra ``[train]``; neither is imported before HTML or a plot is asked for.
"""

from scoring_model.evaluation.report.comparison_page import comparison_report
from scoring_model.evaluation.report.comparison_plot import ComparisonPlots
from scoring_model.evaluation.report.evaluation_page import evaluation_report
from scoring_model.evaluation.report.html import html, write_html
from scoring_model.evaluation.report.markdown import markdown, overview
from scoring_model.evaluation.report.plot import Plots
from scoring_model.evaluation.report.section import Card, Cell, Drawing, Grid, Report, Section, Text
from scoring_model.evaluation.report.style import MissingExtra, NothingToDraw

__all__ = [
    "Card",
    "Cell",
    "ComparisonPlots",
    "Drawing",
    "Grid",
    "MissingExtra",
    "NothingToDraw",
    "Plots",
    "Report",
    "Section",
    "Text",
    "comparison_report",
    "evaluation_report",
    "html",
    "markdown",
    "overview",
    "write_html",
]
