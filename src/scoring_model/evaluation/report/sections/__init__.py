"""The parts of a report: each module turns a part of an evaluation into figures, tables and sentences."""

from scoring_model.evaluation.report.sections.section import Section

__all__ = ["Section"]
