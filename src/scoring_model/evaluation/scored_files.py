"""Decisions that were written by `score`, read back."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.contract.fields import PROPENSITY
from scoring_model.contract.rules import reference
from scoring_model.decision.rules import DecisionRules, Decisions
from scoring_model.evaluation.column_reading import (
    Source,
    distinct_ids,
    floats,
    instants,
    numbers,
    propensities,
    texts,
    values,
)
from scoring_model.evaluation.evaluated_records import EvaluationError
from scoring_model.evaluation.labels import Labels, read_labels
from scoring_model.records import NEVER, Column, RecordSchema, RecordTable
from scoring_model.records.cells import plain, text
from scoring_model.records.columns import Parsed
from scoring_model.records.labels import UNLABELLED
from scoring_model.records.layout import half_decided
from scoring_model.records.observation import OBSERVED_COLUMN, STOPPED, sampled
from scoring_model.scorer import Scorer

SCORE: Final = "scoringScore"

_DECIDED: Final = (OBSERVED_COLUMN, PROPENSITY)
"""Columns of what the records say of decisions, which some files of a folder may lack."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ScoredFile:
    """Decisions by record.

    Parameters
    ----------
    record_ids : tuple of str
    event_times : ndarray of shape (n,), int64
        Microseconds since 1970-01-01 UTC; `NEVER` if the file has none.
    decisions : Decisions
    observed_until : ndarray of shape (n,), int64, or None
        As `RecordTable` has it; None where the file does not say what was decided.
    propensities : ndarray of shape (n,), float64, or None
        As `RecordTable` has them.
    undecided : str
        Which files do not say what was decided, though others do.
    exported : Labels or None
        What an export of a service has besides the decisions: it is a scored file with labels.
    columns : mapping of str to Column
        The columns that were asked for.
    files : tuple of str
    notes : tuple of str
        Sentences on what was derived.
    """

    record_ids: tuple[str, ...]
    event_times: IntArray
    decisions: Decisions
    observed_until: IntArray | None
    propensities: FloatArray | None
    undecided: str
    exported: Labels | None
    columns: dict[str, Column]
    files: tuple[str, ...]
    notes: tuple[str, ...]

    def labelled(self, labels: Labels | None, schema: RecordSchema, name: str) -> RecordTable:
        """Return the records with their labels, if there are some, which may also have the event times.

        Parameters
        ----------
        name : str
            What errors call the file.

        Raises
        ------
        EvaluationError
            If a record has no event time, or if only some files say what was decided, and the labels do not.
        """
        if self.undecided and (labels is None or labels.observed_until is None):
            raise EvaluationError(f"{name}: {self.undecided}")
        labels, count = self.exported if labels is None else labels, len(self.record_ids)
        found, times = np.full(count, UNLABELLED, dtype=np.int8), np.full(count, NEVER, dtype=np.int64)
        events, until, drawn = self.event_times, self.observed_until, self.propensities
        if labels is not None:
            rows = labels.rows_of(self.record_ids)
            until, drawn = labels.observed(rows, until), labels.drawn(rows, drawn)
            events = np.where(events == NEVER, labels.events_of(rows), events)
            found, times = labels.joined(rows, events, schema.labels.delay)
        if untimed := int(np.count_nonzero(events == NEVER)):
            raise EvaluationError(
                f"{name}: eventTime: {untimed:,} rows have none; score the records again, or add the column eventTime "
                "to the labels"
            )
        return sampled(
            RecordTable(
                record_ids=self.record_ids,
                event_times=events,
                columns=self.columns,
                labels=found,
                label_times=times,
                source_rows=np.arange(count),
                propensities=drawn,
                observed_until=until,
            )
        )


def is_scored(source: Source) -> bool:
    """Whether a source holds scores."""
    return source.holds(SCORE)


def read_scored(source: Source, scorer: Scorer, by: Iterable[str]) -> ScoredFile:
    """Read a scored file.

    The decisions are those of the bundle's rules on the margins of the file, or, in a file without margins, on the
    least margin of each score: such records rank as their scores do.

    Raises
    ------
    EvaluationError
        If a column is missing or broken, if a `recordId` repeats, if another model scored the file, or if its scores
        are not those of the bundle's scale.
    """
    parsers = {
        "recordId": texts(lambda cell: reference(text(cell))),
        SCORE: numbers,
        "margin": numbers,
        "eventTime": instants(RecordSchema()),
        OBSERVED_COLUMN: instants(RecordSchema()),
        PROPENSITY: propensities(),
        "modelVersion": values(plain),
        "policyVersion": values(plain),
        **{name: values(_text) for name in by},
    }
    optional = {name for name in ("margin", "eventTime", "policyVersion") if not source.holds(name)}
    required = {*parsers} - optional - {*_DECIDED, *by}
    parsed = source.read(parsers, required=required, filled=required, partly=_DECIDED)
    absent = [name for name in by if name not in parsed]
    if absent:
        raise EvaluationError(f"{source.name}: by: has no column {', '.join(absent)}")
    record_ids = distinct_ids(parsed["recordId"].column, source.name)
    _check_model(parsed["modelVersion"].column, scorer, source.name)
    dated, ended, drawn = (
        parsed[name].column if name in parsed else Column.missing(len(record_ids))
        for name in ("eventTime", *_DECIDED)
    )
    events, until, sampled_by = dated.gather(NEVER), ended.gather(NEVER), floats(drawn)
    exported = read_labels(source, scorer.contents.schema) if source.is_export else None
    decided = OBSERVED_COLUMN in parsed
    if exported is not None and exported.observed_until is not None:
        decided, until = True, exported.observed_until
    lacking = source.lacking(OBSERVED_COLUMN)
    return ScoredFile(
        record_ids=record_ids,
        event_times=events,
        decisions=_decisions(parsed, scorer, source.name),
        observed_until=np.where(until <= events, STOPPED, until) if decided else None,
        propensities=None if np.isnan(sampled_by).all() else sampled_by,
        exported=exported,
        undecided=half_decided(OBSERVED_COLUMN, lacking) if lacking else "",
        columns={name: parsed[name].column for name in by},
        files=source.files,
        notes=tuple(_notes(parsed, scorer)),
    )


def _decisions(parsed: Mapping[str, Parsed], scorer: Scorer, name: str) -> Decisions:
    """Decide by the margins of a file, which must give its scores."""
    scores, own = floats(parsed[SCORE].column), parsed.get("margin")
    margins = _least_margins(scores, scorer.rules, name) if own is None else floats(own.column)
    decisions = scorer.rules.decide(margins)
    if differing := int(np.count_nonzero(decisions.scores != scores)):
        raise EvaluationError(
            f"{name}: {SCORE}: {differing:,} rows differ from the score of their margin under this bundle"
        )
    return decisions


def _text(cell: object) -> object | None:
    value = plain(cell)
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _check_model(versions: Column, scorer: Scorer, name: str) -> None:
    other = sorted({str(value) for value in versions.values} - {scorer.manifest.model_version})
    if other:
        raise EvaluationError(
            f"{name}: was scored by the model {', '.join(other)}, the bundle is {scorer.manifest.model_version}"
        )


def _least_margins(scores: FloatArray, rules: DecisionRules, name: str) -> FloatArray:
    """Return the least margin of each score; below the first cut for 0."""
    if not np.all((scores >= 0) & (scores <= len(rules.scale.cuts)) & (scores == np.rint(scores))):
        raise EvaluationError(f"{name}: {SCORE}: must be whole numbers from 0 to {len(rules.scale.cuts)}")
    cuts = rules.scale.cuts
    return np.concatenate([[np.nextafter(cuts[0], -np.inf)], cuts])[scores.astype(np.int64)]


def _notes(parsed: dict[str, Parsed], scorer: Scorer) -> Iterable[str]:
    if "margin" not in parsed:
        yield (
            "the scored file has no margins: records rank by their scores, and probabilities are those of the least "
            "margin of each score"
        )
    policies = (
        {str(value) for value in parsed["policyVersion"].column.values}
        if "policyVersion" in parsed
        else set()
    )
    if policies - {scorer.manifest.policy_version}:
        yield (
            f"the file was scored under the policy {', '.join(sorted(policies))}; outcomes are those of the bundle's "
            f"policy {scorer.manifest.policy_version}"
        )
