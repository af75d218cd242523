"""The decisions of a bundle on labelled records."""

import numpy as np

from scoring_model.evaluation.evaluation import Evaluation, EvaluationError, evaluate
from scoring_model.evaluation.targets import known_targets
from scoring_model.records import NEVER, RecordTable
from scoring_model.scorer import Scorer
from scoring_model.scorer.frames import score_table


def evaluate_table(
    scorer: Scorer,
    table: RecordTable,
    *,
    maturity: int,
    history: RecordTable | None = None,
    as_of: int | None = None,
) -> Evaluation:
    """Score labelled records and compare with what is known of them.

    Parameters
    ----------
    scorer : Scorer
    table : RecordTable
        Its records see each other as history.
    maturity : int
        Microseconds after which a record that nobody called fraud counts as genuine; younger ones are left
        out.
    history : RecordTable, optional
        Further earlier records, which are not evaluated.
    as_of : int, optional
        Instant, microseconds, from which labels are seen. None: just after the latest instant in the table.

    Returns
    -------
    Evaluation

    Raises
    ------
    EvaluationError
        When nothing is known of any record.
    """
    instant = _latest(table) + 1 if as_of is None else as_of
    targets = known_targets(table.event_times, table.labels, table.label_times, instant, maturity)
    known = np.flatnonzero((targets >= 0) & (table.event_times < instant))
    if not len(known):
        raise EvaluationError("of no record it is known whether it is fraud or genuine")
    decisions = score_table(scorer, table, history=history, reasons=False).decisions
    return evaluate(
        decisions.take(known),
        labels=targets[known],
        event_times=table.event_times[known],
        rules=scorer.contents.rules,
    )


def _latest(table: RecordTable) -> int:
    told = table.label_times[table.label_times != NEVER]
    return int(max(table.event_times.max(initial=0), told.max(initial=0)))
