"""The logged description of a training."""

import json
import math
import platform
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import distributions
from itertools import chain
from pathlib import Path
from typing import Final, TypeAlias

from scoring_model.bundle import Manifest, read_bundle
from scoring_model.configuration import Configuration
from scoring_model.contract.fields import EVENT_FIELDS, signal_field
from scoring_model.estimates import Estimate, Key
from scoring_model.evaluation import Evaluation
from scoring_model.figures import FIGURES, HEADLINES, MEASURED, SCORE_SHARES, bounded
from scoring_model.records import SignalType, format_duration, microseconds, rfc3339
from scoring_model.records.schema import RecordSchema
from scoring_model.training.mlflow_model import write_model
from scoring_model.training.mlflow_runs import BUNDLE, MODEL, RunRecord, files_below
from scoring_model.training.registry import SEAL_TAG
from scoring_model.training.run import Training

TRIALS: Final = "trials.json"
REQUIREMENTS: Final = "requirements.txt"

PLOTS: Final = "plots"
"""Artifact folder of pictures."""

_PLOTS: Final = ("threshold_map", "score_distribution", "roc", "precision_recall", "reliability", "features")
"""Methods of `Evaluation.plot`."""

_TABLES_TAG: Final = "mlflow.loggedArtifacts"
"""Tag by which MLflow's pages and `load_table` recognise an artifact as a table."""

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
    report: Path | None = None,
    resumed: bool = False,
) -> RunRecord:
    """Make the record of a training.

    Parameters
    ----------
    source : str
        Name of the data, for people.
    started, ended : int
        Milliseconds since 1970-01-01 UTC.
    scratch : Path
        Empty folder for artifacts, which are written here; the record refers to them.
    report : Path, optional
        The report of the training, which becomes an artifact.
    resumed : bool
        Whether a run that a kill left is completed, if it made the same bundle.
    """
    manifest, part = read_bundle(bundle).manifest, training.split.evaluated
    start, end = rfc3339(part.start), rfc3339(part.end)
    tags = _tags(manifest) | {f"{part.name}.from": start, f"{part.name}.to": end}
    write_model(scratch / MODEL)
    write_plots(training.evaluation, scratch / PLOTS)
    (scratch / REQUIREMENTS).write_text(requirements(), encoding="utf-8")
    if training.tuning is not None:
        (scratch / TRIALS).write_text(table(training.tuning.trials), encoding="utf-8")
        tags[_TABLES_TAG] = json.dumps([{"path": TRIALS, "type": "table"}])
    return RunRecord(
        key=manifest.seal if resumed else uuid.uuid4().hex,
        use=configuration.name,
        name=f"{manifest.model_version} policy {manifest.policy_version} {part.name} {start[:16]}Z to {end[:16]}Z",
        started=started,
        ended=ended,
        params={name: str(value) for name, value in _params(training, configuration).items()},
        metrics=dict(metrics(training.evaluation, prefix="" if part.name == "test" else f"{part.name}_")),
        tags=tags,
        dataset={**_dataset(manifest, source), "schema": column_schema(configuration.schema)},
        artifacts={
            **files_below(scratch),
            **files_below(bundle, f"{MODEL}/{BUNDLE}/"),
            **({} if report is None else {"report.html": report}),
        },
    )


def _params(training: Training, configuration: Configuration) -> dict[str, object]:
    policy, split = training.bundle.contents.rules.policy, configuration.training.split
    lengths = {"train": split.train, "validation": split.validation, "test": split.test}
    return {
        **training.tuned.params,
        "rounds": training.tuned.rounds,
        "seed": configuration.training.seed,
        "seeds": configuration.training.seeds,
        "step_up_from": policy.step_up_from,
        "fail_from": policy.fail_from,
        "as_of": rfc3339(training.split.boundaries.as_of),
        **{
            f"split.{name}": format_duration(length) if length and isinstance(length, int) else length
            for name, length in lengths.items()
        },
    }


def describe_bundle(bundle: Path, *, scratch: Path) -> RunRecord:
    """Make the record of a bundle whose training is not at hand, such as one with another policy.

    Its time is that of the last record it knows: no training is older, so that the challenger stays what it is.

    Parameters
    ----------
    scratch : Path
        As for `describe`.
    """
    manifest = read_bundle(bundle).manifest
    last = microseconds(str(manifest.data["to"])) // 1000
    write_model(scratch / MODEL)
    return RunRecord(
        key=manifest.seal,
        use=manifest.name,
        name=f"{manifest.model_version} policy {manifest.policy_version}",
        started=last,
        ended=last,
        params={},
        metrics={},
        tags=_tags(manifest),
        dataset=_dataset(manifest, "records of the bundle"),
        artifacts={**files_below(scratch), **files_below(bundle, f"{MODEL}/{BUNDLE}/")},
    )


def _tags(manifest: Manifest) -> dict[str, str]:
    return {
        "model_version": manifest.model_version,
        "policy_version": manifest.policy_version,
        SEAL_TAG: manifest.seal,
        "data.digest": str(manifest.data["sha256"]),
        **{f"library.{name}": version for name, version in manifest.libraries.items()},
    }


def _dataset(manifest: Manifest, source: str) -> dict[str, str]:
    return {
        "name": source,
        "digest": str(manifest.data["sha256"])[:36],  # MLflow's limit; a tag has all of it
        "source_type": "table",
        "source": "{}",
        "profile": json.dumps({"num_rows": manifest.data["records"], **manifest.data}),
    }


def write_plots(evaluation: Evaluation, folder: Path) -> None:
    """Write pictures of an evaluation for MLflow's pages, without those that its records are too few for."""
    from matplotlib.figure import Figure

    from scoring_model.evaluation.report.style import NothingToDraw, styled

    folder.mkdir()
    for name in _PLOTS:
        with styled(), suppress(NothingToDraw):
            figure = Figure(layout="constrained")
            getattr(evaluation.plot, name)(ax=figure.subplots())
            figure.savefig(folder / f"{name}.png", dpi=120)


def requirements() -> str:
    """List all installed distributions as a requirements file; its first line names Python and platform."""
    # Each property of a distribution would read its file again.
    files = [found.metadata for found in distributions()]
    versions = {str(file["Name"]): str(file["Version"]) for file in files}
    pins = [f"{name}=={version}" for name, version in sorted(versions.items())]
    return "\n".join([f"# Python {platform.python_version()}, {platform.platform()}", *pins, ""])


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """Format rows as a table of MLflow: the union of their columns, null where a value is absent or not finite.

    `MlflowClient.log_table` would round numbers to ten decimal places.
    """
    columns = list(dict.fromkeys(name for row in rows for name in row))
    data = [[_plain(row.get(name)) for name in columns] for row in rows]
    return json.dumps({"columns": columns, "data": data})


def _plain(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def metrics(evaluation: Evaluation, *, prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield each number of an evaluation by name: overall, interval ends, and stability over time.

    A name is a path, such as `false_reject_low`. Absent numbers have no metric.

    Parameters
    ----------
    prefix : str
        Begins each name, to separate metrics of the validation part from those of test parts.
    """
    for name, value in chain(_overall(evaluation), _ends(evaluation), _moved(evaluation)):
        if value is not None:
            yield f"{prefix}{name}", float(value)


_Named: TypeAlias = Iterator[tuple[str, float | None]]


def _overall(evaluation: Evaluation) -> _Named:
    overall = evaluation.overall
    for count in ("records", "genuine", "frauds"):
        yield count, getattr(overall, count)
    for name, one in overall.figures.items():
        if one.count is None:
            yield MEASURED[name].metric, one.value
        else:
            yield from _share(MEASURED[name].metric, one)


def _ends(evaluation: Evaluation) -> _Named:
    for figure in (FIGURES[name] for name in HEADLINES):
        yield f"{figure.metric}_low", evaluation.figures[figure.key].low
        yield f"{figure.metric}_high", evaluation.figures[figure.key].high
    for figure in SCORE_SHARES.values():
        yield from _share(figure.metric, evaluation.table[Key(figure=figure)], counts=False)


def _moved(evaluation: Evaluation) -> _Named:
    for error in evaluation.stability:
        name = bounded(error.bound).key
        yield f"{name}_independent", error.share.independent
        if error.worst is not None:
            yield from _share(f"{name}_worst_window", error.worst.share)


def _share(name: str, share: Estimate, *, counts: bool = True) -> _Named:
    if counts:
        yield f"{name}_count", share.count
        yield f"{name}_total", share.records
    yield f"{name}_share", share.value
    yield f"{name}_low", share.low
    yield f"{name}_high", share.high


def column_schema(schema: RecordSchema) -> str:
    """Describe the columns that are read, in MLflow's JSON format."""
    kinds: dict[str, dict[str, object]] = {
        **{signal_field(name): {"type": _TYPES.get(kind, "string")} for name, kind in schema.signals.items()},
        **{name: {"type": "datetime"} for name in ("eventTime", "labelKnownAt", "labelReportedAt")},
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
    columns += [
        {"name": clock, "type": "string", "required": name == "eventTime"}
        for name, clock in schema.clocks.items()
    ]
    return json.dumps({"mlflow_colspec": columns})
