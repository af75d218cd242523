"""The model card (Mitchell et al. 2019, doi 10.1145/3287560.3287596): a bundle in words and tables."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Cell = str | int | float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitRow:
    """One part of the data: its first and last event time and how many records it holds."""

    part: str
    since: str
    until: str
    records: int
    genuine: int
    frauds: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LeakageRow:
    """One search for leaks in the data, how it ended, and on how many records."""

    check: str
    verdict: str
    records: int
    detail: str


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricRow:
    """One measured number on the test part, with its 95 % interval where there is one."""

    metric: str
    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PromiseRow:
    """One bound that the policy keeps: limit, confidence, and what was observed on how many records."""

    bound: str
    limit: float
    confidence: float
    observed: float
    records: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ScaleRow:
    """A score, the 95 % interval of the score that the whole population would give instead, and its basis."""

    score: int
    low: float | None
    high: float | None
    extrapolated: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class FeatureRow:
    """A feature: its meaning, whether a larger value may only raise or lower the risk, its reason code."""

    name: str
    sentence: str
    direction: str
    reason: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelCard:
    """The contents of a card. Dates are those of the data: nothing shows when or where the model was trained.

    Parameters
    ----------
    name, model_version, policy_version : str
        As in the manifest.
    purpose : str
        What the decisions are for, and what they are not for.
    subject : str
        Whom a record is of, such as ``applicant``.
    data_from, data_to : str
        Event times of the first and last record.
    step_up_from, fail_from : int, 1 to 1001
        The thresholds; 1001 is never reached.
    extrapolated_from : int
        First score that the sample can not show, 0 to 1001.
    choice : str
        How the thresholds were chosen, and whom the promises are about.
    calibration : str
        How a margin becomes a probability, and why so.
    splits, leakage, metrics, promises, scale, features : sequences of rows
        One table each.
    protected : sequence of str
        Protected attributes that the model reads, if any.
    limits : sequence of str
        What is known not to hold.
    """

    name: str
    model_version: str
    policy_version: str
    purpose: str
    data_sha256: str
    data_records: int
    data_from: str
    data_to: str
    step_up_from: int
    fail_from: int
    extrapolated_from: int
    subject: str = "applicant"
    choice: str = ""
    calibration: str = ""
    splits: Sequence[SplitRow] = ()
    leakage: Sequence[LeakageRow] = ()
    metrics: Sequence[MetricRow] = ()
    promises: Sequence[PromiseRow] = ()
    scale: Sequence[ScaleRow] = ()
    features: Sequence[FeatureRow] = ()
    protected: Sequence[str] = ()
    limits: Sequence[str] = ()

    def to_markdown(self) -> str:
        """Return the card as Markdown, the same text for the same values."""
        title = f"# {_text(self.name)}\n\nModel `{self.model_version}`, policy `{self.policy_version}`."
        sections = [_purpose(self), _data(self), _quality(self), _policy(self), _scale(self), _inputs(self)]
        return "\n\n".join([title, *sections, _list("Limits", self.limits)]) + "\n"


def _purpose(card: ModelCard) -> str:
    return f"## Purpose\n\n{_text(card.purpose)}"


def _data(card: ModelCard) -> str:
    span = (
        f"{card.data_records} records from {card.data_from} to {card.data_to}, SHA-256 `{card.data_sha256}`."
    )
    rows = [(row.part, row.since, row.until, row.records, row.genuine, row.frauds) for row in card.splits]
    table = _table(("Part", "From", "To", "Records", "Genuine", "Frauds"), rows)
    return f"## Data\n\n{span}\n\n{table}\n\n{_leaks(card)}"


def _leaks(card: ModelCard) -> str:
    if not card.leakage:
        return "## Leaks\n\nThe configuration turned the search for leaks off."
    rows = [(row.check, row.verdict, row.records, row.detail) for row in card.leakage]
    table = _table(("Check", "Verdict", "Records", "Found"), rows)
    return (
        f"## Leaks\n\n{table}\n\nColumns that users supply were looked at one by one: whether their values "
        "were there before the decision can't be seen from the records."
    )


def _quality(card: ModelCard) -> str:
    rows = [(row.metric, row.value, row.low, row.high) for row in card.metrics]
    table = _table(("Metric", "Value", "95 % from", "to"), rows)
    return "\n\n".join(filter(None, ("## Metrics on the test part", table, _text(card.calibration))))


def _policy(card: ModelCard) -> str:
    thresholds = (
        f"`PASSED` below a score of {card.step_up_from}, `STEPPED_UP` from there, "
        f"`FAILED` {'never' if card.fail_from > 1000 else f'from {card.fail_from}'}."
    )
    rows = [(row.bound, row.limit, row.confidence, row.observed, row.records) for row in card.promises]
    table = _table(("Promise", "At most", "With confidence", "Observed", "On records"), rows)
    return "\n\n".join(filter(None, ("## Policy", thresholds, _text(card.choice), table)))


def _scale(card: ModelCard) -> str:
    meaning = f"A genuine {_text(card.subject)} scores s or more with a chance of 10^(-s/250)."
    if card.extrapolated_from <= 1000:
        meaning += f" From {card.extrapolated_from} on the scale is extrapolated."
    rows = [(row.score, row.low, row.high, "yes" if row.extrapolated else "no") for row in card.scale]
    return f"## Score\n\n{meaning}\n\n{_table(('Score', '95 % from', 'to', 'Extrapolated'), rows)}"


def _inputs(card: ModelCard) -> str:
    rows = [(row.name, row.sentence, row.direction, row.reason) for row in card.features]
    table = _table(("Feature", "Meaning", "Direction", "Reason"), rows)
    return f"## Features\n\n{table}\n\n{_list('Protected attributes read', card.protected)}"


def _table(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    lines = [header, ["---"] * len(header), *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) if len(lines) > 2 else "None."


def _list(title: str, items: Sequence[str]) -> str:
    body = "\n".join(f"- {_text(item)}" for item in items) or "None."
    return f"## {title}\n\n{body}"


def _cell(cell: Cell) -> str:
    if cell is None:
        return "-"
    return f"{cell:.4g}" if isinstance(cell, float) else _text(str(cell))


def _text(text: str) -> str:
    """Return the text on one line and without markup that would end a table's cell or start a tag."""
    return html.escape(" ".join(text.split()), quote=False).replace("|", "\\|")
