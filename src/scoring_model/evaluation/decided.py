"""What an export of the service says of decisions besides score and thresholds, in sentences."""

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from scoring_model.contract.outcome import DecidedBy, Outcome
from scoring_model.contract.resolution import Result
from scoring_model.evaluation.bounds import exact_share
from scoring_model.evaluation.column_reading import Source, values
from scoring_model.records.cells import text
from scoring_model.records.file_format import PLAIN
from scoring_model.records.reading import Reading

COLUMNS: Final = ("scoringOutcome", "decidedBy", "resolution", "resolutionMethod", "label")
"""Columns of an export that say what decided, how it ended, and what is known."""
_FRAUD: Final = "fraud"


class _Kind(NamedTuple):
    """Records with the same cells in `COLUMNS`."""

    outcome: str
    decided_by: str
    result: str | None
    method: str | None
    label: str | None
    records: int


def decided_in(reading: Reading, source: object) -> tuple[str, ...]:
    """Say of records what `decided_sentences` says of their source, where they were read of an export."""
    exported = {"decidedBy", "resolutionMethod"} & {*reading.unused_columns}  # no other source is read again
    return tuple(decided_sentences(source)) if exported else ()


def decided_sentences(source: object) -> Iterator[str]:
    """Say how many applicants lists and rules stopped, and how step-ups ended; nothing where there were none.

    Parameters
    ----------
    source : path, list of paths, DataFrame or Arrow stream
        An export. Of a source without all `COLUMNS` there is nothing to say.
    """
    opened = Source.open(source, PLAIN)
    if not all(map(opened.holds, COLUMNS)):
        return
    parsed = opened.read(dict.fromkeys(COLUMNS, values(text)), required=(), filled=())
    columns = [parsed[name].column for name in COLUMNS]
    codes, counts = np.unique([one.codes for one in columns], axis=1, return_counts=True)
    cells = (
        [(*one.values, None)[code] for code in own.tolist()] for one, own in zip(columns, codes, strict=True)
    )
    kinds = list(map(_Kind, *cells, counts.tolist()))
    stopped: Counter[str] = Counter()
    for one in kinds:
        stopped[one.decided_by] += one.records if one.outcome != Outcome.PASSED else 0
    if stopped[DecidedBy.LIST] or stopped[DecidedBy.RULE]:
        yield (
            f"Applicants stopped by lists: {stopped[DecidedBy.LIST]:,}, by rules: {stopped[DecidedBy.RULE]:,}; nobody "
            "stands for them"
        )
    step_ups = [one for one in kinds if one.outcome == Outcome.STEPPED_UP]
    if any(one.result for one in step_ups):
        yield _step_ups(step_ups)


def _step_ups(kinds: list[_Kind]) -> str:
    """Say how step-ups ended, by method, and how many of the approved are known frauds."""
    ends = []
    for result in Result:
        methods: Counter[str | None] = Counter()
        for one in kinds:
            methods[one.method] += one.records if one.result == result else 0
        by_method = ", ".join(f"{method} {count:,}" for method, count in sorted((+methods).items(), key=str))
        ends.append(f"{methods.total():,} {result.lower()}{by_method and f' ({by_method})'}")
    unresolved = sum(one.records for one in kinds if one.result is None)
    approved = [one for one in kinds if one.result == Result.APPROVED]
    frauds = exact_share(
        sum(one.records for one in approved if one.label == _FRAUD), sum(one.records for one in approved)
    )
    told = ""
    if frauds.low is not None and frauds.high is not None:
        told = (
            f". Of the approved {frauds.count:,} are known frauds so far "
            f"({frauds.value or 0:.1%}, 95 %: {frauds.low:.1%} to {frauds.high:.1%})"
        )
    total = sum(one.records for one in kinds)
    return f"Step-ups: {total:,}, of them {', '.join(ends)}, {unresolved:,} without a resolution{told}"
