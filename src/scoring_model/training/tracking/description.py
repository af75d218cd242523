"""What a training has to tell."""

import json
import math
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from scoring_model.bundle import read_bundle
from scoring_model.configuration import Configuration
from scoring_model.contract.fields import EVENT_FIELDS, signal_field
from scoring_model.evaluation import Evaluation
from scoring_model.records import SignalType
from scoring_model.records.schema import RecordSchema
from scoring_model.training.run import Training
from scoring_model.training.tracking.environment import requirements
from scoring_model.training.tracking.telling import (
    BUNDLE,
    REQUIREMENTS,
    TRIALS,
    Measured,
    Telling,
    TrackedData,
    files_below,
)

_TABLES_TAG: Final = "mlflow.loggedArtifacts"
"""Tag by which MLflow's pages and `load_table` know that an artifact is a table."""

_TYPES: Final = {SignalType.NUMBER: "double", SignalType.BOOLEAN: "boolean"}


def describe(
    training: Training,
    configuration: Configuration,
    *,
    bundle: Path,
    source: str,
    started: int,
    ended: int,
    scratch: Path,
) -> Telling:
    """Put together what is told of a training.

    Parameters
    ----------
    training : Training
    configuration : Configuration
    bundle : Path
        Folder of the sealed bundle.
    source : str
        Name of the data, for people.
    started, ended : int
        Milliseconds since 1970-01-01 UTC.
    scratch : Path
        Empty folder for the artifacts that are made here; it is needed until the telling is written.

    Returns
    -------
    Telling
    """
    policy, manifest = training.bundle.contents.rules.policy, read_bundle(bundle).manifest
    versions = {
        "model_version": manifest.model_version,
        "policy_version": manifest.policy_version,
        "bundle.seal": manifest.seal,
        "data.digest": str(manifest.data["sha256"]),
    }
    libraries = {f"library.{name}": version for name, version in manifest.libraries.items()}
    tables = json.dumps([{"path": TRIALS, "type": "table"}] if training.tuning else [])
    params = {
        **training.tuned.params,
        "rounds": training.tuned.rounds,
        "seed": configuration.training.seed,
        "seeds": configuration.training.seeds,
        "step_up_from": policy.step_up_from,
        "fail_from": policy.fail_from,
    }
    (scratch / REQUIREMENTS).write_text(requirements(), encoding="utf-8")
    if training.tuning is not None:
        (scratch / TRIALS).write_text(table(training.tuning.trials), encoding="utf-8")
    return Telling(
        key=uuid.uuid4().hex,
        experiment=configuration.name,
        name=manifest.model_version,
        model_name=configuration.name,
        started=started,
        ended=ended,
        params={name: str(value) for name, value in params.items()},
        metrics=tuple(
            Measured(name=name, value=value, time=ended) for name, value in metrics(training.evaluation)
        ),
        tags={**versions, **libraries, _TABLES_TAG: tables},
        version_tags=versions,
        data=TrackedData(
            name=source,
            digest=versions["data.digest"],
            schema=column_schema(configuration.schema),
            profile=json.dumps({"num_rows": manifest.data["records"], **manifest.data}),
        ),
        files={**files_below(scratch), **files_below(bundle, f"{BUNDLE}/")},
    )


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """Write rows as MLflow writes a table, numbers in full: the union of their columns, null where absent."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    data = [[_plain(row.get(name)) for name in columns] for row in rows]
    return json.dumps({"columns": columns, "data": data})


def _plain(value: object) -> object:
    """JSON knows no NaN and no infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def metrics(evaluation: Evaluation) -> Iterator[tuple[str, float]]:
    """Name every number of an evaluation: in all, the ends of its intervals, and how errors moved over time.

    Yields
    ------
    tuple of str and float
        Names are paths, such as `false_reject_low`. What is absent has no metric.
    """
    document = evaluation.to_json()
    yield from _numbers(document["overall"])
    yield from _numbers(document["uncertainty"])
    for share in document["score_shares"]:
        yield from _numbers(
            {f"score_{share['score']}": {end: share[end] for end in ("share", "low", "high")}}
        )
    for error in document["stability"]:
        moved = {"days": error["day_blocks"], "worst_window": error["worst_window"] or {}}
        yield from _numbers({error["bound"].removeprefix("max_"): moved})


def _numbers(document: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{prefix}{key}_")
        elif isinstance(value, int | float):
            yield f"{prefix}{key}", float(value)


def column_schema(schema: RecordSchema) -> str:
    """Describe the columns that are read, as MLflow describes columns."""
    kinds: dict[str, dict[str, object]] = {
        **{signal_field(name): {"type": _TYPES.get(kind, "string")} for name, kind in schema.signals.items()},
        **{name: {"type": "datetime"} for name in ("eventTime", "labelKnownAt", "labelToldAt")},
        "imageUrls": {"type": "array", "items": {"type": "string"}},
    }
    columns = [
        {
            "name": schema.column_of(name),
            **kinds.get(name, {"type": "string"}),
            "required": name == "eventTime",
        }
        for name in (*EVENT_FIELDS, *schema.fields)
    ]
    return json.dumps({"mlflow_colspec": columns})
