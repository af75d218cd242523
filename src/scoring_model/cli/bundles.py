"""Commands on a bundle: score, evaluate, inspect, upgrade."""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scoring_model.cli import batch_process, console
from scoring_model.cli.records import Files, read_instant

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from scoring_model.bundle import SealedFiles

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
        "other records, or with the group of VALUE. May be given several times.",
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

NOTHING_TO_EVALUATE = 11
"""Exit code of an evaluation without a single labelled record."""


def score(
    bundle: BundlePath,
    paths: Files,
    out: Annotated[Path, typer.Option(help="File to write: .parquet, .csv or .jsonl.")],
    reasons: Annotated[bool, typer.Option("--reasons", help="Add reasons to STEPPED_UP and FAILED.")] = False,
    history: History = None,
    as_of: Annotated[
        int | None,
        typer.Option(
            parser=read_instant,
            metavar="INSTANT",
            help="Instant before which labels count; by default every label counts from when it was known.",
        ),
    ] = None,
    max_bad_share: MaxBadShare = 0.01,
    guard_formulas: GuardFormulas = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    public_key: PublicKey = None,
    threads: Threads = 2,
) -> None:
    """Score every record of a file. Its history consists of its own records and those of --history."""
    if console.state.is_process:
        batch_process.configure()
    from scoring_model.batch import score_file
    from scoring_model.records import rfc3339
    from scoring_model.scorer import Scorer

    scorer = Scorer.load(bundle, public_key=key_of(public_key), threads=threads)
    console.report(f"bundle {scorer.manifest.model_version} is sound")
    scored = score_file(
        scorer,
        paths,
        out,
        histories=history or [],
        as_of=as_of,
        reasons=reasons,
        max_bad_share=max_bad_share,
        guard_formulas=guard_formulas,
    )
    if as_json:
        done = {"out": str(out), "quarantine": None if scored.quarantine is None else str(scored.quarantine)}
        counts = {"records": scored.records, "refused": scored.refused, "outcomes": scored.outcomes}
        limits = {} if as_of is None else {"laterLabels": scored.later_labels}
        console.say_json({**done, **counts, **limits})
        return
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in scored.outcomes.items())
    console.say(f"{scored.records} records in {out}: {outcomes}")
    if as_of is not None:
        console.say(f"as of {rfc3339(as_of)}: {scored.later_labels} labels known then or later did not count")
    if scored.quarantine is not None:
        console.say(f"{scored.refused} rows were refused: {scored.quarantine}")


def evaluate(
    bundle: BundlePath,
    paths: Files,
    json_path: Annotated[
        Path | None, typer.Option("--json", help="File for the whole evaluation as JSON.")
    ] = None,
    report_path: Annotated[
        Path | None, typer.Option("--report", help="File for the report: HTML, for people.")
    ] = None,
    history: History = None,
    labels: Labels = None,
    by: By = None,
    gate: GatesFile = None,
    training: Training = None,
    max_bad_share: MaxBadShare = 0.01,
    as_of: Annotated[
        int | None,
        typer.Option(
            parser=read_instant,
            metavar="INSTANT",
            help="Instant before which labels count; by default just after the last one known.",
        ),
    ] = None,
    matured_only: Annotated[
        bool,
        typer.Option("--matured-only", help="Leave out records younger than the bundle's label maturity."),
    ] = False,
    public_key: PublicKey = None,
    threads: Threads = 2,
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

    if report_path is not None:
        require_libraries()
    scorer = Scorer.of(read_bundle(bundle, public_key=key_of(public_key)), threads=threads)
    gates = None if gate is None else load_gates(gate)
    try:
        found = evaluate_bundle(
            scorer,
            paths,
            history=history,
            labels=labels,
            by=grouped(by, () if gates is None else gates.columns(pair=False)),
            as_of=as_of,
            matured_only=matured_only,
            training=[*(training or ()), training_folder(bundle)],
            mute=() if gates is None else gates.findings.mute,
            max_bad_share=max_bad_share,
        )
    except NothingToEvaluate as error:
        console.fail(str(error))
        raise typer.Exit(NOTHING_TO_EVALUATE) from None
    if found.coverage is not None:
        refused = found.coverage.left_out[LeftOut.INVALID]
        console.report(f"{found.coverage.rows - refused} records read, {refused} rows refused")
    gated = None if gates is None else check_gates(gates, found, trained=trained_records(scorer, found))
    write_json(json_path, found.to_json() | ({} if gated is None else {"gates": gated.to_json()}))
    if report_path is not None:
        found.report(report_path)
        console.report(f"report: {report_path}")
    console.say_markdown(summary(found))
    if gated is not None:
        console.say_markdown(gated.to_markdown())
        raise typer.Exit(gated.exit_code)


def grouped(by: list[str] | None, columns: Iterable[str]) -> dict[str, str | None]:
    """Split each `COLUMN=VALUE` into the column and the value that others are compared with; add further columns."""
    parts = [text.partition("=") for text in by or []]
    return dict.fromkeys(columns) | {column: reference or None for column, _, reference in parts}


def write_json(path: Path | None, document: Mapping[str, object]) -> None:
    """Write a JSON document, if a path is given."""
    from scoring_model.records.atomic import atomic_file

    if path is not None:
        with atomic_file(path) as partial:
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
    event: Annotated[str, typer.Option(help="The word for a record in reasons.")] = "application",
    reason_share: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Least share of all positive contributions, for reasons after the first."
        ),
    ] = 0.1,
    replace: Annotated[bool, typer.Option(help="Replace an existing bundle at --out.")] = False,
    signing_key: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Ed25519 private key, PEM.")
    ] = None,
    public_key: PublicKey = None,
) -> None:
    """Reseal a bundle of an earlier protocol: same model, scores and outcomes, but reasons that state facts."""
    from scoring_model.bundle import Use, read_bundle, upgrade
    from scoring_model.bundle.seal import load_private_key
    from scoring_model.scorer import Scorer
    from scoring_model.scorer.decider import Decider

    sealed = read_bundle(bundle, public_key=key_of(public_key))
    Decider.of(sealed)
    upgrade(
        sealed,
        out,
        use=Use(event=event),
        share=reason_share,
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
