"""Evaluated records that a model was trained on: by time, and by keyed digests beside the bundle."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.configuration import SplitSettings
from scoring_model.evaluation.result import EvaluationResult
from scoring_model.evaluation.training_digests import DigestsUnusable, TrainingDigests
from scoring_model.findings import CHECKS, Code, Finding, checked, not_applicable
from scoring_model.records import RecordTable, microseconds, rfc3339
from scoring_model.scorer import Scorer


def trained_until(scorer: Scorer) -> int | None:
    """Return the end of the validation period of a bundle: its model and thresholds may have seen earlier records.

    Returns
    -------
    int or None
        Microseconds since 1970-01-01 UTC; None if the bundle does not hold its split.
    """
    split: Mapping[str, Any] | None = scorer.settings.get("training", {}).get("split")
    data = scorer.manifest.data
    if split is None or "as_of" not in data:
        return None
    gap = (
        split["label_maturity"] if split["gap"] is None else split["gap"]
    )  # None in bundles of former versions
    return SplitSettings(**{**split, "gap": gap}).validation_end(
        microseconds(str(data["from"])), microseconds(str(data["as_of"]))
    )


def trained_records(scorer: Scorer, evaluation: EvaluationResult) -> int | None:
    """Count the evaluated records from before the end of the bundle's validation period; None: it does not say."""
    until = trained_until(scorer)
    return None if until is None else int(np.count_nonzero(evaluation.records.event_times < until))


def check_period(scorer: Scorer, event_times: IntArray) -> Finding:
    """Count the evaluated records from before the end of the bundle's validation period.

    Parameters
    ----------
    event_times : ndarray of shape (n,), int64
        Of the evaluated records, microseconds since 1970-01-01 UTC.
    """
    code, until, total = Code.TRAINING_PERIOD, trained_until(scorer), len(event_times)
    if until is None:
        reason = f"{scorer.manifest.model_version} does not hold its split, so records of its training are not found"
        return not_applicable(code, reason, records=total)
    count = int(np.count_nonzero(event_times < until))
    end = f"{rfc3339(until)[:19]}Z, the end of the validation period of {scorer.manifest.model_version}"
    return checked(
        code,
        f"{count:,} of {total:,} evaluated records are from before {end}: it may have been trained on them"
        if count
        else f"all {total:,} evaluated records are from {end}, or later",
        count=count,
        records=total,
    )


def check_digests(
    scorer: Scorer, table: RecordTable, rows: IntArray, folders: Sequence[Path], *, with_values: bool = True
) -> Finding:
    """Count the evaluated records whose digests are among those of the bundle's training.

    Parameters
    ----------
    table : RecordTable
        Records as the schema of the bundle reads them.
    rows : ndarray of shape (m,), int64
        Places of the evaluated records.
    folders : sequence of Path
        Folders of trainings, beside bundles or named by the caller; absent ones are passed over.
    with_values : bool
        Whether the table holds the values of the records. That of a file that was scored earlier does not.
    """
    code, version = Code.TRAINING_RECORDS, scorer.manifest.model_version
    try:
        digests = TrainingDigests.find(folders, version)
    except DigestsUnusable as error:
        return not_applicable(code, str(error), records=len(rows))
    found = digests.among(table.take(rows), scorer.contents.schema.fields if with_values else None)
    count, total = found.records, len(rows)
    if not found.compared:
        reason = "a scored file holds no values, and its records or those of the training have no recordId"
        return not_applicable(code, reason, records=total)
    return checked(
        code,
        f"{count:,} of {total:,} evaluated records were used by the training of {version}: {found.by_id:,} by "
        f"their recordId, {found.by_content:,} by time and all values"
        if count
        else f"none of {found.compared:,} evaluated records is among the {digests.records:,} that fitted {version} or "
        f"chose its thresholds{'' if with_values else ', by recordId alone'}",
        count=count,
        records=total,
        figures={"by_id": found.by_id, "by_content": found.by_content},
    )


def training_findings(scorer: Scorer) -> Iterator[Finding]:
    """Return the findings of the training of a bundle; not applicable where the bundle holds none."""
    held = {plain["code"]: plain for plain in scorer.findings}
    for code in (code for code, check in CHECKS.items() if check.of_training):
        if code in held:
            yield Finding.of(held[code])
        else:
            yield not_applicable(
                code, f"{scorer.manifest.model_version} does not hold this finding of its training"
            )
