"""Commands on two models: compare, promote."""

from pathlib import Path
from typing import Annotated

import typer

from scoring_model.cli import console
from scoring_model.cli.bundles import (
    NOTHING_TO_EVALUATE,
    By,
    GatesFile,
    History,
    Labels,
    MaxBadShare,
    PublicKey,
    Threads,
    Training,
    grouped,
    key_of,
    write_json,
)
from scoring_model.cli.records import Files

GATE_FAILED = 10
"""Exit code of a promotion whose gates hold but that improves nothing."""

Champion = Annotated[Path, typer.Argument(help="Directory of the bundle that decides now.")]
Challenger = Annotated[Path, typer.Argument(help="Directory of the bundle that may replace it.")]
Json = Annotated[Path | None, typer.Option("--json", help="File for the whole comparison as JSON.")]
AsOf = Annotated[
    str | None,
    typer.Option(help="Instant before which labels count; by default just after the last one known."),
]
LabelMaturity = Annotated[
    str | None,
    typer.Option(
        help="Age after which an unlabelled record counts as genuine, such as 60d; by default the bundles'."
    ),
]
MaturedOnly = Annotated[
    bool, typer.Option("--matured-only", help="Leave out records younger than the label maturity.")
]


def compare(
    champion: Champion,
    challenger: Challenger,
    paths: Files,
    json_path: Json = None,
    report_path: Annotated[
        Path | None, typer.Option("--report", help="File for the report: HTML, for people.")
    ] = None,
    history: History = None,
    labels: Labels = None,
    by: By = None,
    gate: GatesFile = None,
    training: Training = None,
    max_bad_share: MaxBadShare = 0.01,
    as_of: AsOf = None,
    label_maturity: LabelMaturity = None,
    matured_only: MaturedOnly = False,
    public_key: PublicKey = None,
    threads: Threads = 2,
) -> None:
    """Compare the decisions of two bundles about the same labelled records.

    Exit codes: 11 no labelled records; with --gate 10 a gate failed, 11 not enough data, 12 a promise is broken.
    """
    from scoring_model.configuration import load_gates
    from scoring_model.evaluation import NothingToEvaluate, check_gates, comparison_summary
    from scoring_model.evaluation import compare as compare_bundles
    from scoring_model.evaluation.holdout import training_folder
    from scoring_model.evaluation.report.style import require_libraries
    from scoring_model.scorer import Scorer

    if report_path is not None:
        require_libraries()
    key, gates = key_of(public_key), None if gate is None else load_gates(gate)
    try:
        found = compare_bundles(
            Scorer.load(champion, public_key=key, threads=threads),
            Scorer.load(challenger, public_key=key, threads=threads),
            paths,
            history=history,
            labels=labels,
            by=grouped(by, () if gates is None else gates.columns(pair=True)),
            as_of=as_of,
            label_maturity=label_maturity,
            matured_only=matured_only,
            training=[*(training or ()), *map(training_folder, (champion, challenger))],
            mute=() if gates is None else gates.findings.mute,
            max_bad_share=max_bad_share,
        )
    except NothingToEvaluate as error:
        console.fail(str(error))
        raise typer.Exit(NOTHING_TO_EVALUATE) from None
    gated = None if gates is None else check_gates(gates, found)
    write_json(json_path, found.to_json() | {"gates": None if gated is None else gated.to_json()})
    if report_path is not None:
        found.report(report_path, gates=gated)
        console.report(f"report: {report_path}")
    console.say_markdown(comparison_summary(found))
    if gated is not None:
        console.say_markdown(gated.to_markdown())
        raise typer.Exit(gated.exit_code)


def promote(
    bundle: Annotated[Path, typer.Argument(help="Directory of the registered bundle.")],
    paths: Files,
    gate: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="Gates that must hold, YAML.")],
    tracking_uri: Annotated[
        str, typer.Option(envvar="MLFLOW_TRACKING_URI", help="MLflow server or database with the registry.")
    ],
    first: Annotated[
        bool, typer.Option("--first", help="Accept that there is no champion: gates about one model decide.")
    ] = False,
    looks: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            help="Look again and again while labels mature, at a fixed error: file of the looks at this challenger.",
        ),
    ] = None,
    json_path: Json = None,
    history: History = None,
    labels: Labels = None,
    by: By = None,
    training: Training = None,
    max_bad_share: MaxBadShare = 0.01,
    as_of: AsOf = None,
    label_maturity: LabelMaturity = None,
    matured_only: MaturedOnly = False,
    public_key: PublicKey = None,
    threads: Threads = 2,
) -> None:
    """Make a registered bundle the champion if every gate holds and some figure is significantly better.

    The champion is fetched from the registry. Exit codes: 10 a gate failed or nothing is better, 11 not enough data,
    12 a promise is broken; then nothing changes. With --looks the answer is promote, keep (10) or wait (11).
    """
    from scoring_model.configuration import load_gates
    from scoring_model.evaluation import NothingToEvaluate
    from scoring_model.evaluation.holdout import training_folder
    from scoring_model.training.promotion import CHAMPION
    from scoring_model.training.promotion import promote as promote_bundle

    gates = load_gates(gate)
    try:
        done = promote_bundle(
            bundle,
            paths,
            gates=gates,
            uri=tracking_uri,
            first=first,
            looks=looks,
            options={
                "history": history,
                "labels": labels,
                "by": grouped(by, gates.columns(pair=not first)),
                "as_of": as_of,
                "label_maturity": label_maturity,
                "matured_only": matured_only,
                "training": [*(training or ()), training_folder(bundle)],
                "mute": gates.findings.mute,
                "max_bad_share": max_bad_share,
            },
            public_key=key_of(public_key),
            threads=threads,
            report=console.report,
        )
    except NothingToEvaluate as error:
        console.fail(str(error))
        raise typer.Exit(NOTHING_TO_EVALUATE) from None
    write_json(json_path, done.evidence)
    console.say_markdown(done.report.to_markdown())
    if done.look is not None:
        console.say(str(done.look))
    if not done.promoted:
        console.say(f"version {done.version} of {done.name} is not promoted")
        if done.look is not None:
            raise typer.Exit(NOTHING_TO_EVALUATE if done.look.answer == "wait" else GATE_FAILED)
        raise typer.Exit(done.report.exit_code or GATE_FAILED)
    console.say(f"version {done.version} of {done.name} is the {CHAMPION}; evidence: {done.artifact}")
