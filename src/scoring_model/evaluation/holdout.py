"""The decisions of a bundle on labelled records."""

from dataclasses import replace

from scoring_model.arrays import FloatArray
from scoring_model.evaluation.coverage import Coverage, select
from scoring_model.evaluation.evaluated_records import EvaluatedRecords, EvaluationError
from scoring_model.evaluation.evaluation import Evaluation, evaluate_records
from scoring_model.evaluation.importance import Importance, family_names, measure_importance, sample_rows
from scoring_model.history import person_codes
from scoring_model.records import NEVER, RecordTable
from scoring_model.scorer import Scorer


class NothingToEvaluate(EvaluationError):
    """No record is known to be fraud or genuine."""

    def __init__(self, coverage: Coverage) -> None:
        reasons = "; ".join(f"{count:,}: {reason}" for reason, count in coverage.describe().items())
        super().__init__(f"nothing to evaluate: no labelled records ({reasons or 'no rows at all'})")
        self.coverage = coverage


def evaluate_table(
    scorer: Scorer,
    table: RecordTable,
    *,
    maturity: int,
    history: RecordTable | None = None,
    as_of: int | None = None,
    matured_only: bool = False,
    invalid: int = 0,
    explained: int = 0,
) -> Evaluation:
    """Score labelled records and compare the decisions with their labels.

    Parameters
    ----------
    table : RecordTable
        Its records see each other as history.
    maturity : int
        Microseconds after which an unlabelled record counts as genuine; younger ones are left out.
    history : RecordTable, optional
        Further earlier records, which are not evaluated.
    as_of : int, optional
        Instant, microseconds, before which labels count. None: just after the latest instant in the table.
    matured_only : bool
        Whether to leave out younger records even if their label is known. Fraud and genuine labels become known at
        different times, so an evaluation that mixes ages is biased.
    invalid : int
        Rows of the source that are not in the table, since they break the contract of the data.
    explained : int
        Largest number of evaluated records whose contributions are computed, for `Evaluation.importance`.

    Raises
    ------
    NothingToEvaluate
        Before scoring, with the reasons why records are left out.
    """
    selection = select(
        table,
        as_of=_latest(table) + 1 if as_of is None else as_of,
        maturity=maturity,
        matured_only=matured_only,
        invalid=invalid,
    )
    if not len(selection.rows):
        raise NothingToEvaluate(selection.coverage)
    before = 0 if history is None else len(history)
    rows = scorer.matrix.rows(table if history is None else history.append(table), before)
    decisions = scorer.decide(rows)
    chosen = table.take(selection.rows)
    evaluation = evaluate_records(
        EvaluatedRecords(
            decisions=decisions.take(selection.rows),
            labels=selection.targets,
            event_times=chosen.event_times,
            record_ids=chosen.record_ids,
            persons=person_codes(table, alone=True)[selection.rows],
        ),
        rules=scorer.contents.rules,
        coverage=selection.coverage,
    )
    if not explained:
        return evaluation
    return replace(evaluation, importance=_importance(scorer, rows[selection.rows], chosen, explained))


def _importance(scorer: Scorer, rows: FloatArray, chosen: RecordTable, explained: int) -> Importance:
    """Explain some of the evaluated records."""
    drawn = sample_rows(len(rows), limit=explained)
    return measure_importance(
        rows[drawn],
        explain=scorer.contributions,
        features=scorer.matrix.features,
        families=family_names(scorer.matrix),
        event_times=chosen.event_times[drawn],
        records=len(rows),
    )


def _latest(table: RecordTable) -> int:
    known = table.label_times[table.label_times != NEVER]
    return int(max(table.event_times.max(initial=0), known.max(initial=0)))
