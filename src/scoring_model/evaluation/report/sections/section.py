"""A part of a report."""

from dataclasses import dataclass

from scoring_model.evaluation.report.figures import Figure, Table


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A part of a report.

    Parameters
    ----------
    name : str
        Unique in the report: the target of links.
    texts : tuple of str
        Paragraphs before the figures.
    tables : tuple of Table
        Shown after the figures.
    """

    name: str
    title: str
    texts: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
