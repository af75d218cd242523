"""Commands on a bundle: score, evaluate, inspect, upgrade."""

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scoring_model.cli import console
from scoring_model.cli.records import Dask, NamesOption, check_files, local_files, read_bytes, read_instant

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from scoring_model.arrays import FloatArray
    from scoring_model.batch import ScoredFile
    from scoring_model.batch.dataset import DatasetRun
    from scoring_model.batch.plan import Stage
    from scoring_model.bundle import SealedFiles
    from scoring_model.evaluation import GateReport
    from scoring_model.records import RecordTable
    from scoring_model.scorer import Scorer

BundlePath = Annotated[Path, typer.Argument(help="Directory of the bundle.")]
PublicKey = Annotated[
    Path | None,
    typer.Option(
        exists=True, dir_okay=False, help="Ed25519 public key, PEM: the bundle must carry its signature."
    ),
]
History = Annotated[
    list[Path] | None,
    typer.Option(exists=True, dir_okay=False, help="File of earlier records; may be given several times."),
]
MaxBadShare = Annotated[float, typer.Option(min=0, max=1, help="Largest share of bad rows.")]
GuardFormulas = Annotated[
    bool, typer.Option(help="Put an apostrophe before text in CSV that a spreadsheet would run as a formula.")
]
Threads = Annotated[int, typer.Option(min=1, help="Threads; results do not depend on them.")]

Labels = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        help="File of labels by recordId, for a scored file or for records with other labels.",
    ),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN[=VALUE]",
        help="Column to group by: a field, a signal, ageBand or another column. Each group is compared with all "
        "other records, or with the group of VALUE. Write == for an equals sign in COLUMN. May be given several times.",
    ),
]
Training = Annotated[
    list[Path] | None,
    typer.Option(
        "--training",
        exists=True,
        file_okay=False,
        help="Folder of a training, with digests of its records; that beside the bundle is found without it. May be "
        "given several times.",
    ),
]
GatesFile = Annotated[
    Path | None, typer.Option(exists=True, dir_okay=False, help="Gates to check, YAML; see docs/gates.md.")
]

AllowRepeats = Annotated[
    bool,
    typer.Option(
        "--allow-repeats",
        help="Leave records out of --history that are scored too, by recordId; without it they are an error.",
    ),
]
Memory = Annotated[
    int | None,
    typer.Option(
        parser=read_bytes,
        metavar="SIZE",
        help="Limit for all processes together, by default 4GB, with --dask 2GB for each. [folder]",
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue an interrupted run. [folder]")]
WorkFolder = Annotated[
    Path | None,
    typer.Option(
        file_okay=False, help="Folder for spilled rows, by default in the folder of --out. [folder]"
    ),
]
JsonFile = Annotated[Path | None, typer.Option("--json", help="File for the whole result as JSON.")]
ReportFile = Annotated[Path | None, typer.Option("--report", help="File for the report: HTML, for people.")]
AsOf = Annotated[
    int | None,
    typer.Option(
        parser=read_instant,
        metavar="INSTANT",
        help="Instant before which labels count; by default just after the last one known.",
    ),
]

_BY = re.compile(r"(?P<column>(?:[^=]|==)*)(?:=(?P<value>.*))?", re.DOTALL)

NOTHING_TO_EVALUATE = 11
"""Exit code of an evaluation without a single labelled record."""

LOST_WORKER, STAGE_INCOMPLETE = 14, 15
"""Exit codes of `score`: run again with --resume; run the stage before."""


def score(
    bundle: BundlePath,
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="Records: Parquet, CSV or JSON Lines; files, folders or a pattern in quotes, read as one. For a "
            "folder as --out also URIs and folders named column=value.",
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            help="File to write: .parquet, .csv or .jsonl. Or a folder or URI, which gets a Parquet dataset: then "
            "records of any number are scored within --memory."
        ),
    ],
    reasons: Annotated[bool, typer.Option("--reasons", help="Add reasons to STEPPED_UP and FAILED.")] = False,
    history: Annotated[
        list[str] | None,
        typer.Option(
            help="File of earlier records; may be given several times. For a folder as --out also a pattern, folder "
            "or URI."
        ),
    ] = None,
    as_of: Annotated[
        int | None,
        typer.Option(
            parser=read_instant,
            metavar="INSTANT",
            help="Instant before which labels count; by default every label counts from when it was known.",
        ),
    ] = None,
    names: NamesOption = None,
    max_bad_share: MaxBadShare = 0.01,
    allow_repeats: AllowRepeats = False,
    guard_formulas: GuardFormulas = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    public_key: PublicKey = None,
    threads: Annotated[
        int,
        typer.Option(min=1, help="Threads, or processes for a folder; results do not depend on them."),
    ] = 2,
    memory: Memory = None,
    resume: Resume = False,
    stage: Annotated[
        str | None, typer.Option(help="Run one stage: partition, links or score. [folder]")
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(metavar="I/N", help="Run a share of the tasks of the stage, like 3/16. [folder]"),
    ] = None,
    work: WorkFolder = None,
    dask: Dask = None,
) -> None:
    """Score every record of the sources. Its history consists of their own records and those of --history.

    Options marked [folder] are for a folder as --out. Exit codes: 14 a process was lost, run again with --resume;
    15 an earlier stage is not complete.
    """
    scored: ScoredFile | DatasetRun
    if is_folder(out):
        if not guard_formulas:
            raise typer.BadParameter("--no-guard-formulas is for CSV files")
        run = score_folder(
            bundle=bundle,
            sources=paths,
            out=out,
            histories=history or [],
            work=work,
            stage=_stage(stage),
            shard=shard,
            resume=resume,
            as_of=as_of,
            reasons=reasons,
            names=names,
            max_bad_share=max_bad_share,
            allow_repeats=allow_repeats,
            memory=memory,
            processes=threads,
            dask=dask,
            public_key=public_key,
        )
        if not run.complete:
            console.say("the stage or shard is done; others are missing")
            return
        scored = run
    else:
        given = {
            "--memory": memory,
            "--resume": resume,
            "--stage": stage,
            "--shard": shard,
            "--work": work,
            "--dask": dask,
        }
        refuse_for_file(out, given)
        if console.state.is_process:
            from scoring_model.batch import process_settings

            process_settings.configure()
        scored = _score_file(
            bundle=bundle,
            paths=local_files(paths, out),
            out=Path(out),
            histories=[local_files([one], out) for one in history or []],
            as_of=as_of,
            reasons=reasons,
            max_bad_share=max_bad_share,
            allow_repeats=allow_repeats,
            guard_formulas=guard_formulas,
            names=names,
            public_key=public_key,
            threads=threads,
        )
    _say_scored(scored, out, as_of, as_json=as_json)


def is_folder(out: str) -> bool:
    """Whether an output is a folder: a URI, an existing folder, or a path without extension."""
    return "://" in out or out.endswith("/") or Path(out).is_dir() or not Path(out).suffix


def refuse_for_file(out: str, given: Mapping[str, object]) -> None:
    """Refuse options that are for a folder as output."""
    if wrong := [name for name, value in given.items() if value]:
        raise typer.BadParameter(f"{', '.join(wrong)}: for a folder as --out, such as {Path(out).stem}/")


def _stage(name: str | None) -> "Stage | None":
    from scoring_model.batch.plan import STAGES

    for stage in STAGES:
        if stage == name:
            return stage
    if name is not None:
        raise typer.BadParameter(f"--stage must be one of {', '.join(STAGES)}, got {name!r}")
    return None


def score_folder(*, shard: str | None, public_key: Path | None, **options: Any) -> "DatasetRun":
    """Score a dataset."""
    from scoring_model.batch.dataset import Shard, score_dataset

    with _exiting_when_lost():
        return score_dataset(
            **options,
            shard=None if shard is None else Shard.parse(shard),
            public_key=key_of(public_key),
            report=console.report,
        )


@contextmanager
def _exiting_when_lost() -> Iterator[None]:
    """Exit with codes of their own for losses and for stages out of turn."""
    from scoring_model.batch.dataset import StageIncomplete
    from scoring_model.batch.engine import LostWorker

    try:
        yield
    except (LostWorker, StageIncomplete) as error:
        console.fail(str(error))
        raise typer.Exit(LOST_WORKER if isinstance(error, LostWorker) else STAGE_INCOMPLETE) from None


def _score_file(
    *,
    bundle: Path,
    paths: list[Path],
    out: Path,
    names: NamesOption,
    public_key: Path | None,
    threads: int,
    **options: Any,
) -> "ScoredFile":
    from scoring_model.batch import score_file
    from scoring_model.scorer import Scorer

    scorer = Scorer.load(bundle, public_key=key_of(public_key), threads=threads).with_names(names)
    console.report(f"bundle {scorer.manifest.model_version} is sound")
    return score_file(scorer, paths, out, **options)


def _say_scored(scored: "ScoredFile | DatasetRun", out: str, as_of: int | None, *, as_json: bool) -> None:
    from scoring_model.records import rfc3339

    if as_json:
        done = {"out": out, "quarantine": None if scored.quarantine is None else str(scored.quarantine)}
        counts = {"records": scored.records, "refused": scored.refused, "outcomes": dict(scored.outcomes)}
        limits = {} if as_of is None else {"laterLabels": scored.later_labels}
        console.say_json({**done, **counts, **limits})
        return
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in scored.outcomes.items())
    console.say(f"{scored.records} records in {out}: {outcomes}")
    if as_of is not None:
        console.say(f"as of {rfc3339(as_of)}: {scored.later_labels} labels known then or later did not count")
    if scored.quarantine is not None:
        console.say(f"{scored.refused} rows were refused: {scored.quarantine}")


def check_scored(paths: list[Path]) -> list[Path]:
    """Refuse paths that name neither a file nor a folder."""
    check_files([path for path in paths if not path.is_dir()])
    return paths


def evaluate(
    bundle: BundlePath,
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            callback=check_scored,
            help="File of records or of scores; several files, or a pattern in quotes, are read as one. Or a folder "
            "that `score` wrote.",
        ),
    ],
    json_path: JsonFile = None,
    report_path: ReportFile = None,
    history: History = None,
    labels: Labels = None,
    by: By = None,
    names: NamesOption = None,
    gate: GatesFile = None,
    training: Training = None,
    max_bad_share: MaxBadShare = 0.01,
    as_of: AsOf = None,
    matured_only: Annotated[
        bool,
        typer.Option("--matured-only", help="Leave out records younger than the bundle's label maturity."),
    ] = False,
    public_key: PublicKey = None,
    threads: Threads = 2,
    dask: Dask = None,
    work: Annotated[
        Path | None,
        typer.Option(
            file_okay=False,
            exists=True,
            help="With --dask: folder for temporary files that all workers reach.",
        ),
    ] = None,
) -> None:
    """Evaluate the decisions of a bundle on labelled records, or on a scored file and labels that came later.

    Exit codes: 11 nothing to evaluate; with --gate 10 a gate failed, 11 not enough data, 12 a promise is broken.
    """
    from scoring_model.bundle import read_bundle
    from scoring_model.configuration import load_gates
    from scoring_model.evaluation import LeftOut, NothingToEvaluate, check_gates, summary, trained_records
    from scoring_model.evaluation import evaluate as evaluate_bundle
    from scoring_model.evaluation.holdout import training_folder
    from scoring_model.evaluation.report.style import require_libraries
    from scoring_model.scorer import Scorer

    if work is not None and dask is None:
        raise typer.BadParameter("for --dask alone", param_hint="--work")
    if report_path is not None:
        require_libraries()
    scorer = Scorer.of(read_bundle(bundle, public_key=key_of(public_key)), threads=threads).with_names(names)
    gates = None if gate is None else load_gates(gate)
    with exiting_without_records(NothingToEvaluate), ExitStack() as stack:
        features = None
        if dask is not None:
            features = partial(
                _features_on_workers,
                scorer,
                bundle=bundle,
                sources=[str(path) for path in paths],
                histories=[str(path) for path in history or []],
                work=stack.enter_context(TemporaryDirectory(dir=work)),
                names=names,
                max_bad_share=max_bad_share,
                dask=dask,
                public_key=key_of(public_key),
            )
        found = evaluate_bundle(
            scorer,
            scored_parts(paths),
            features=features,
            history=history,
            labels=labels,
            by=grouped(by, () if gates is None else gates.columns(pair=False)),
            as_of=as_of,
            matured_only=matured_only,
            training=[*(training or ()), training_folder(bundle)],
            mute=() if gates is None else gates.findings.mute,
            max_bad_share=max_bad_share,
        )
    if found.coverage is not None:
        refused = found.coverage.left_out[LeftOut.INVALID]
        console.report(f"{found.coverage.rows - refused} records read, {refused} rows refused")
    gated = None if gates is None else check_gates(gates, found, trained=trained_records(scorer, found))
    write_json(json_path, found.to_json() | ({} if gated is None else {"gates": gated.to_json()}))
    if report_path is not None:
        found.report(report_path)
    show(summary(found), gated, report_path)


def show(text: str, gated: "GateReport | None", report: Path | None) -> None:
    """Print a summary in Markdown, the gates, and last where the report is; exit with the code of the gates."""
    console.say_markdown(text)
    if gated is not None:
        console.say_markdown(gated.to_markdown())
    if report is not None:
        console.say(f"report: {report}")
    if gated is not None:
        raise typer.Exit(gated.exit_code)


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


def grouped(by: list[str] | None, columns: Iterable[str]) -> dict[str, str | None]:
    """Split each `COLUMN=VALUE` into the column and the value that others are compared with; add further columns."""
    parts = [_BY.fullmatch(text) for text in by or []]
    named = {match["column"].replace("==", "="): match["value"] or None for match in parts if match}
    return dict.fromkeys(columns) | named


def write_json(path: Path | None, document: Mapping[str, object]) -> None:
    """Write a JSON document for its owner alone, if a path is given."""
    from scoring_model.records.atomic import atomic_file

    if path is not None:
        with atomic_file(path, private=True) as partial:
            partial.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def inspect(
    bundle: BundlePath,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifest as JSON.")] = False,
    public_key: PublicKey = None,
) -> None:
    """Check the seal and golden rows of a bundle; show its contents and whether it can score new records."""
    from scoring_model.bundle import CARD, read_bundle
    from scoring_model.scorer.decider import Decider

    sealed = read_bundle(bundle, public_key=key_of(public_key))
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
            console.say(f"{field.name}: {getattr(sealed.manifest, field.name)}")
    console.say_markdown(sealed.files[CARD].decode())


def upgrade_bundle(
    bundle: BundlePath,
    out: Annotated[Path, typer.Option(help="Directory of the bundle to write.")],
    replace: Annotated[bool, typer.Option(help="Replace an existing bundle at --out.")] = False,
    signing_key: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Ed25519 private key, PEM.")
    ] = None,
    public_key: PublicKey = None,
) -> None:
    """Reseal a bundle of an earlier protocol: the same model, which then scores new records."""
    from scoring_model.bundle import read_bundle, upgrade
    from scoring_model.bundle.seal import load_private_key
    from scoring_model.scorer import Scorer
    from scoring_model.scorer.decider import Decider

    sealed = read_bundle(bundle, public_key=key_of(public_key))
    Decider.of(sealed)
    upgrade(
        sealed,
        out,
        signing_key=None if signing_key is None else load_private_key(signing_key),
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


def key_of(path: Path | None) -> "Ed25519PublicKey | None":
    """Read the public key that verifies the signature of a bundle, if a path is given."""
    from scoring_model.bundle.seal import load_public_key

    return None if path is None else load_public_key(path)
