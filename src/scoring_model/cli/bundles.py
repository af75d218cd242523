"""Commands on a bundle: score, evaluate, inspect, upgrade."""

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scoring_model.cli import console, option_groups, shared
from scoring_model.cli.groups import Group, in_group
from scoring_model.cli.records import local_files

if TYPE_CHECKING:
    from scoring_model.arrays import FloatArray
    from scoring_model.batch import ScoredFile
    from scoring_model.batch.dataset_run import DatasetRun
    from scoring_model.batch.plan import Stage
    from scoring_model.bundle import SealedFiles
    from scoring_model.configuration import GateSettings
    from scoring_model.evaluation import Evaluation, GateReport
    from scoring_model.monitoring import Monitoring
    from scoring_model.records import RecordTable
    from scoring_model.scorer import Scorer

NOTHING_TO_EVALUATE = 11
"""Exit code of an evaluation without a single labelled record."""

LOST_WORKER, STAGE_INCOMPLETE = 14, 15
"""Exit codes of `score`: run again with --resume; run the stage before."""


_Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE...",
        help="Records: Parquet, CSV or JSON Lines; files, folders or a pattern in quotes, read as one. For a "
        "folder as --out also URIs and folders named column=value.",
    ),
]
_Out = Annotated[
    str,
    typer.Option(
        help="File to write, whole or not at all: .parquet, .csv or .jsonl. Or a folder (no extension) or URI, for "
        "a Parquet dataset: then records of any number are scored within --memory."
    ),
]
_Reasons = Annotated[
    bool,
    typer.Option("--reasons", help="Add reasons to STEPPED_UP and FAILED; about 2 ms for each such record."),
]
_AsOf = Annotated[
    int | None,
    typer.Option(
        parser=shared.read_instant,
        metavar="INSTANT",
        help="Instant from which on labels do not count; their number is reported. Records of any time are scored. "
        "By default every label counts from when it was known.",
    ),
]
_GuardFormulas = Annotated[
    bool,
    typer.Option(help="Put an apostrophe before text in CSV that a spreadsheet would run as a formula."),
]


@dataclass(frozen=True, kw_only=True)
class _StagedRun(option_groups.FolderRun):
    """The same in stages and shards."""

    stage: Annotated[str | None, typer.Option(help="Run one stage: partition, links or score. [folder]")] = (
        None
    )
    shard: Annotated[
        str | None,
        typer.Option(metavar="I/N", help="Run a share of the tasks of the stage, like 3/16. [folder]"),
    ] = None


@in_group(Group.DECISIONS)
def score(
    bundle: shared.BundlePath,
    paths: _Paths,
    out: _Out,
    read: option_groups.ReadRecords,
    run: _StagedRun,
    reasons: _Reasons = False,
    history: shared.FolderHistory = None,
    as_of: _AsOf = None,
    guard_formulas: _GuardFormulas = True,
    rules: shared.RulesFile = None,
    as_json: shared.Json = False,
    public_key: shared.PublicKey = None,
    threads: shared.FolderThreads = 2,
) -> None:
    """Score every record of the sources. Its history consists of their own records and those of --history.

    By event time the records are each other's history. The output has a row for each valid record: recordId,
    scoringScore, scoringOutcome, probability, margin, reasonCodes, modelVersion, policyVersion and eventTime (RFC 3339,
    for an evaluation once labels are known); where the records say what was decided also observedUntil (empty: not
    stopped; the event time: stopped; else the end of the account), and their propensity. For --out scored.parquet,
    refused rows are in scored.quarantine.csv. With --rules also policyOutcome, decidedBy, decidedByCode and
    ruleHits (docs/rules.md).
    Options marked [folder] are for a folder as --out, see docs/files.md. docs/service-bundles.md#reasons says how
    reasons are chosen. Exit codes: 14 a process or the Dask cluster was lost, run again with --resume; 15 an earlier
    stage is not complete.
    """
    options: dict[str, Any] = {**vars(read), "as_of": as_of, "reasons": reasons}
    if rules is not None:
        from scoring_model.configuration.reading import read_yaml

        options["rules"] = read_yaml(rules)
    scored: ScoredFile | DatasetRun
    if is_folder(out):
        if not guard_formulas:
            raise typer.BadParameter("--no-guard-formulas is for CSV files")
        options |= {"public_key": public_key, "processes": threads, **vars(run)}
        scored = _score_dataset(bundle, paths, out, history or [], **options)
    else:
        refuse_for_file(out, run)
        loading = option_groups.Loading(public_key=public_key, threads=threads)
        scored = _score_file(
            bundle, paths, out, history or [], loading, guard_formulas=guard_formulas, **options
        )
    _say_scored(scored, out, as_of, as_json=as_json)


def is_folder(out: str) -> bool:
    """Whether an output is a folder: a URI, an existing folder, or a path without extension."""
    return "://" in out or out.endswith("/") or Path(out).is_dir() or not Path(out).suffix


def refuse_for_file(out: str, run: option_groups.FolderRun) -> None:
    """Refuse options that are for a folder as output."""
    if wrong := [f"--{name}" for name, value in vars(run).items() if value]:
        raise typer.BadParameter(f"{', '.join(wrong)}: for a folder as --out, such as {Path(out).stem}/")


def _stage(name: str | None) -> "Stage | None":
    from scoring_model.batch.plan import STAGES

    for stage in STAGES:
        if stage == name:
            return stage
    if name is not None:
        raise typer.BadParameter(f"--stage must be one of {', '.join(STAGES)}, got {name!r}")
    return None


def score_folder(
    bundle: Path,
    sources: list[str],
    out: str,
    histories: list[str],
    *,
    shard: str | None = None,
    public_key: Path | None,
    **options: Any,
) -> "DatasetRun":
    """Score a dataset."""
    from scoring_model.batch.dataset import score_dataset
    from scoring_model.batch.dataset_run import Shard

    with _exiting_when_lost():
        return score_dataset(
            bundle,
            sources,
            out,
            histories=histories,
            shard=None if shard is None else Shard.parse(shard),
            public_key=shared.key_of(public_key),
            report=console.report,
            **options,
        )


@contextmanager
def _exiting_when_lost() -> Iterator[None]:
    """Exit with codes of their own for losses and for stages out of turn."""
    from scoring_model.batch.dataset_run import StageIncomplete
    from scoring_model.parallel import LostWorker

    try:
        yield
    except (LostWorker, StageIncomplete) as error:
        console.fail(str(error))
        raise typer.Exit(LOST_WORKER if isinstance(error, LostWorker) else STAGE_INCOMPLETE) from None


def _score_dataset(*places: Any, stage: str | None, **options: Any) -> "DatasetRun":
    """Score a dataset, or a stage or shard of it, after which the program ends."""
    with console.resumable("score"):
        run = score_folder(*places, stage=_stage(stage), **options)
    if not run.complete:
        console.say("the stage or shard is done; others are missing")
        raise typer.Exit
    return run


def _score_file(
    bundle: Path,
    paths: list[str],
    out: str,
    histories: list[str],
    loading: option_groups.Loading,
    *,
    names: shared.Names,
    **options: Any,
) -> "ScoredFile":
    from scoring_model.batch import process_settings, score_file

    if console.state.is_process:
        process_settings.configure()
    files, earlier = local_files(paths, out), [local_files([one], out) for one in histories]
    scorer = loading.scorer(bundle, names)
    console.report(f"bundle {scorer.manifest.model_version} is sound")
    return score_file(scorer, files, Path(out), histories=earlier, **options)


def _say_scored(scored: "ScoredFile | DatasetRun", out: str, as_of: int | None, *, as_json: bool) -> None:
    from scoring_model.records import rfc3339

    if as_json:
        done = {"out": out, "quarantine": None if scored.quarantine is None else str(scored.quarantine)}
        counts = {"records": scored.records, "refused": scored.refused, "outcomes": dict(scored.outcomes)}
        limits = {} if as_of is None else {"laterLabels": scored.later_labels}
        console.say_json({**done, **counts, **limits})
        return
    outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in scored.outcomes.items())
    console.say(f"{scored.records:,} records in {out}: {outcomes}")
    if as_of is not None:
        console.say(f"as of {rfc3339(as_of)}: {scored.later_labels} labels known then or later did not count")
    if scored.quarantine is not None:
        console.say(f"{scored.refused} rows were refused: {scored.quarantine}")


def check_scored(paths: list[Path]) -> list[Path]:
    """Refuse paths that name neither a file nor a folder."""
    shared.check_files([path for path in paths if not path.is_dir()])
    return paths


_Scored = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        callback=check_scored,
        help="File of records or of scores; several files, or a pattern in quotes, are read as one. Or a folder "
        "that `score` wrote.",
    ),
]
_Work = Annotated[
    Path | None,
    typer.Option(
        file_okay=False,
        exists=True,
        help="With --dask: folder for temporary files that all workers reach; by default of this machine.",
    ),
]


@in_group(Group.MODELS)
def evaluate(
    bundle: shared.BundlePath,
    paths: _Scored,
    output: option_groups.Output,
    records: option_groups.Records,
    judging: option_groups.Judging,
    loading: option_groups.Loading,
    dask: shared.Dask = None,
    work: _Work = None,
) -> None:
    """Evaluate the decisions of a bundle on labelled records, or on a scored file and labels that came later.

    Prints Markdown, with every finding (docs/findings.md); the JSON file has more: every figure with its interval from
    1,000 draws of days and rings. docs/report.md#what-is-evaluated says which records and labels count, and how groups
    are compared. Exit codes: 11 nothing to evaluate; with --gate 10 a gate failed, 11 not enough data, 12 a promise is
    broken.
    """
    from scoring_model.evaluation import NothingToEvaluate
    from scoring_model.evaluation import evaluate as evaluate_bundle

    if work is not None and dask is None:
        raise typer.BadParameter("for --dask alone", param_hint="--work")
    scorer, gates = loading.scorer(bundle, records.names), output.gates()
    workers = _on_workers(
        scorer,
        dask,
        work,
        bundle=bundle,
        sources=[str(path) for path in paths],
        histories=[str(path) for path in records.history or []],
        names=records.names,
        max_bad_share=records.max_bad_share,
        public_key=loading.key,
    )
    with exiting_without_records(NothingToEvaluate), workers as features:
        found = evaluate_bundle(
            scorer,
            scored_parts(paths),
            features=features,
            **records.arguments(),
            **judging.arguments(gates, [bundle], pair=False),
        )
    _present_evaluation(found, scorer, gates, output)


def _present_evaluation(
    found: "Evaluation", scorer: "Scorer", gates: "GateSettings | None", output: option_groups.Output
) -> None:
    """Write and print an evaluation; exit with the code of its gates."""
    from scoring_model.evaluation import LeftOut, check_gates, summary, trained_records
    from scoring_model.records.times import later_than_now

    if found.coverage is not None:
        refused = found.coverage.left_out[LeftOut.INVALID]
        console.report(f"{found.coverage.rows - refused:,} records read, {refused:,} rows refused")
        if future := later_than_now(found.coverage.as_of):
            console.warn(future)
    gated = None if gates is None else check_gates(gates, found, trained=trained_records(scorer, found))
    present(found, summary(found), gated, output)


def present(
    found: "Evaluation | Monitoring", text: str, gated: "GateReport | None", output: option_groups.Output
) -> None:
    """Write a result and its report, where paths are given, and show it; see `show`."""
    write_json(output.json_path, found.to_json() | ({} if gated is None else {"gates": gated.to_json()}))
    if output.report_path is not None:
        found.report(output.report_path)
    from scoring_model.evaluation import gates_summary

    show(text if gated is None else f"{text}\n{gates_summary(gated)}", gated, output.report_path)


def show(text: str, gated: "GateReport | None", report: Path | None) -> None:
    """Print a summary in Markdown, and last where the report is; exit with the code of the gates."""
    console.say_markdown(text)
    if report is not None:
        console.say(f"report: {report}")
    if gated is not None:
        raise typer.Exit(gated.exit_code)


@contextmanager
def _on_workers(
    scorer: "Scorer", dask: str | None, work: Path | None, **options: Any
) -> "Iterator[Callable[[RecordTable], FloatArray] | None]":
    """Compute features on the workers of a Dask cluster, if one is given, in a temporary folder."""
    if dask is None:
        yield None
        return
    with TemporaryDirectory(dir=work) as folder:
        yield partial(_features_on_workers, scorer, work=folder, dask=dask, **options)


def _features_on_workers(scorer: "Scorer", table: "RecordTable", **options: Any) -> "FloatArray":
    """Compute the features of records on the workers of a Dask cluster."""
    from scoring_model.batch.dataset import dataset_features

    with _exiting_when_lost():
        return dataset_features(scorer, table, report=console.report, **options)


@contextmanager
def exiting_without_records(kind: type[Exception]) -> Iterator[None]:
    """Report that there are no records to judge by, and exit with the code for that."""
    try:
        yield
    except kind as error:
        console.fail(str(error))
        raise typer.Exit(NOTHING_TO_EVALUATE) from None


def scored_parts(paths: list[Path]) -> list[Path]:
    """List files, and for a folder that `score` wrote its parts."""
    from scoring_model.batch.dataset import dataset_parts

    return [part for path in paths for part in (dataset_parts(path) if path.is_dir() else [path])]


def write_json(path: Path | None, document: Mapping[str, object]) -> None:
    """Write a JSON document for its owner alone, if a path is given."""
    from scoring_model.records import atomic

    if path is not None:
        atomic.write_json(path, document)


@in_group(Group.MODELS)
def inspect(
    bundle: shared.BundlePath,
    as_json: shared.Json = False,
    public_key: shared.PublicKey = None,
) -> None:
    """Check the seal and golden rows of a bundle; show its contents and whether it can score new records.

    The bundle may have any protocol. Prints the manifest, as JSON with --json, and the card.
    """
    from scoring_model.bundle import CARD, read_bundle
    from scoring_model.scorer.decider import Decider

    sealed = read_bundle(bundle, public_key=shared.key_of(public_key))
    Decider.of(sealed)
    obstacle = _obstacle(sealed)
    if as_json:
        found = {"signed": sealed.signed, "scores_new_records": obstacle is None}
        console.say_json({**json.loads(sealed.manifest.to_bytes()), **found})
        return
    console.say(f"{bundle}: seal, {len(sealed.files)} files and golden rows are sound")
    console.say(f"scores new records: {'yes' if obstacle is None else f'no; {obstacle}'}")
    console.say(f"signed: {'yes' if sealed.signed else 'no'}")
    for field in dataclasses.fields(sealed.manifest):
        if field.name != "files":
            console.say(f"{field.name}: {console.in_words(getattr(sealed.manifest, field.name))}")
    console.say_markdown(sealed.files[CARD].decode())


@in_group(Group.MODELS)
def upgrade(
    bundle: shared.BundlePath,
    out: shared.NewBundle,
    replace: shared.Replace = False,
    signing_key: shared.SigningKey = None,
    public_key: shared.PublicKey = None,
) -> None:
    """Reseal a bundle of an earlier protocol: the same model, which then scores new records.

    The model, its version and the scores do not change by a bit; the policy gets a new version if it decides or says
    something else. A bundle whose features this version no longer computes is refused: its verdicts can be replayed,
    but new records need a new model. Bundles of the protocols 1 to 5 were made before the first release: train anew.
    """
    from scoring_model.bundle import read_bundle
    from scoring_model.bundle import upgrade as upgrade_bundle
    from scoring_model.scorer import Scorer
    from scoring_model.scorer.decider import Decider

    sealed = read_bundle(bundle, public_key=shared.key_of(public_key))
    Decider.of(sealed)
    upgrade_bundle(
        sealed,
        out,
        signing_key=shared.signing_key_of(signing_key),
        replace=replace,
    )
    manifest = Scorer.load(out).manifest
    console.say(f"{out}: model {manifest.model_version}, policy {manifest.policy_version}")


def _obstacle(sealed: "SealedFiles") -> str | None:
    """Return the reason why a bundle cannot score new records, or None."""
    from scoring_model.bundle.errors import FeaturesUnknown, OlderProtocol
    from scoring_model.scorer import Scorer

    try:
        Scorer.of(sealed)
    except (FeaturesUnknown, OlderProtocol) as error:
        return str(error)
    return None
