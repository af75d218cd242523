"""Commands on two models: compare, promote."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.bundles import (
    NOTHING_TO_EVALUATE,
    exiting_without_records,
    grouped,
    show,
    write_json,
)
from scoring_model.cli.database import settled
from scoring_model.cli.following import follow_verifications
from scoring_model.cli.past import chosen_source, read_past_records

if TYPE_CHECKING:
    from scoring_model.configuration import GateSettings
    from scoring_model.evaluation import Comparison, EvaluationOptions
    from scoring_model.scorer import Scorer

GATE_FAILED = 10
"""Exit code of a promotion whose gates hold but that improves nothing."""


def compare(
    champion: Annotated[Path, typer.Argument(help="Directory of the bundle that decides now.")],
    challenger: Annotated[Path, typer.Argument(help="Directory of the bundle that may replace it.")],
    paths: shared.OptionalFiles = None,
    database: shared.OfDatabase = None,
    since: shared.Since = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Compare verifications as they arrive until SIGTERM or Ctrl-C.")
    ] = False,
    state: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False, help="File that remembers how far --follow has come, for these two bundles."
        ),
    ] = None,
    every: Annotated[str, typer.Option(help="Time between two summaries of --follow.")] = "60s",
    master_key: shared.MasterKey = None,
    json_path: shared.JsonFile = None,
    report_path: shared.ReportFile = None,
    history: shared.History = None,
    labels: shared.Labels = None,
    by: shared.By = None,
    names: shared.Names = None,
    gate: shared.GatesFile = None,
    training: shared.Training = None,
    max_bad_share: shared.MaxBadShare = 0.01,
    as_of: shared.AsOf = None,
    label_maturity: shared.LabelMaturity = None,
    matured_only: shared.MaturedOnly = False,
    public_key: shared.PublicKey = None,
    threads: shared.Threads = 2,
) -> None:
    """Compare the decisions of two bundles about the same labelled records, or about a service's verifications.

    Differences are challenger minus champion. Verifications are decided again with links as known then, and judged by
    the labels known now; what one bundle can't decide again is left out and counted. With --follow those that arrive
    are compared in this process, flips and summaries as lines of JSON; it goes on where --state ended, else at --since,
    by default now. See docs/report.md#what-is-compared.

    Exit codes: 11 no labelled records; with --gate 10 a gate failed, 11 not enough data, 12 a promise is broken.
    """
    from scoring_model.configuration import load_gates
    from scoring_model.evaluation import EvaluationOptions, NothingToEvaluate
    from scoring_model.evaluation import compare as compare_bundles
    from scoring_model.evaluation.holdout import training_folder
    from scoring_model.scorer import Scorer

    database = chosen_source(paths, database, history=history, labels=labels, since=since)
    _check_follow(database, state, gate or json_path or report_path, follow=follow)
    key, gates = shared.key_of(public_key), None if gate is None else load_gates(gate)
    old, new = (
        Scorer.load(one, public_key=key, threads=threads).with_names(names) for one in (champion, challenger)
    )
    if database is not None and state is not None:
        follow_verifications(database, master_key, (old, new), state, since=since, every=every)
        return
    options: dict[str, Any] = {
        "by": grouped(by, () if gates is None else gates.columns(pair=True)),
        "as_of": as_of,
        "label_maturity": label_maturity,
        "matured_only": matured_only,
        "training": [*(training or ()), *map(training_folder, (champion, challenger))],
        "mute": () if gates is None else gates.findings.mute,
    }
    with exiting_without_records(NothingToEvaluate):
        if database is None:
            found = compare_bundles(
                old, new, paths, history=history, labels=labels, max_bad_share=max_bad_share, **options
            )
        else:
            chosen = EvaluationOptions.of(**options)
            found = _compare_past(
                database, master_key, (old, new), chosen, since=since, max_bad_share=max_bad_share
            )
    _present(found, gates, json_path, report_path)


def _present(
    found: "Comparison", gates: "GateSettings | None", json_path: Path | None, report_path: Path | None
) -> None:
    """Write and print a comparison; exit with the code of its gates."""
    from scoring_model.evaluation import check_gates, comparison_summary

    gated = None if gates is None else check_gates(gates, found)
    write_json(json_path, found.to_json() | {"gates": None if gated is None else gated.to_json()})
    if report_path is not None:
        found.report(report_path, gates=gated)
    show(comparison_summary(found), gated, report_path)


def _check_follow(database: str | None, state: Path | None, result: Path | None, *, follow: bool) -> None:
    """Refuse options of --follow without it, and those that it has no use for."""
    if follow != (state is not None):
        raise typer.BadParameter("--follow and --state belong together")
    if follow and (database is None or result is not None):
        raise typer.BadParameter(
            "--follow needs --database, and takes neither --gate nor --json nor --report"
        )


def _compare_past(
    database: str,
    master_key: str | None,
    scorers: tuple["Scorer", "Scorer"],
    options: "EvaluationOptions",
    *,
    since: int | None,
    max_bad_share: float,
) -> "Comparison":
    """Compare two bundles on the verifications of a service."""
    from scoring_model.evaluation import compare_rows
    from scoring_model.service.settings import masked

    before = settled()
    chosen = replace(options, as_of=options.as_of or before)
    past = read_past_records(database, master_key, scorers, since=since, before=before, by=chosen.by)
    old, new = (
        past.of(place, scorer, by=chosen.by, max_bad_share=max_bad_share)
        for place, scorer in enumerate(scorers)
    )
    return compare_rows(
        *scorers,
        (old, new),
        options=chosen,
        total=past.records.num_rows,
        files=(masked(database),),
        notes=past.describe(),
    )


def promote(
    bundle: Annotated[Path, typer.Argument(help="Directory of the registered bundle.")],
    paths: shared.Files,
    gate: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="Gates that must hold, YAML.")],
    tracking_uri: shared.Registry,
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
    json_path: shared.JsonFile = None,
    history: shared.History = None,
    labels: shared.Labels = None,
    by: shared.By = None,
    names: shared.Names = None,
    training: shared.Training = None,
    max_bad_share: shared.MaxBadShare = 0.01,
    as_of: shared.AsOf = None,
    label_maturity: shared.LabelMaturity = None,
    matured_only: shared.MaturedOnly = False,
    public_key: shared.PublicKey = None,
    threads: shared.Threads = 2,
) -> None:
    """Make a registered bundle the champion if every gate holds and some figure is significantly better.

    The champion is fetched from the registry, where `train --tracking-uri` or `tracking sync` registered the bundle.
    The evidence becomes an artifact of its run; the JSON file has it also of a refusal. See docs/gates.md. Exit codes:
    10 a gate failed or nothing is better, 11 not enough data, 12 a promise is broken; then nothing changes. With
    --looks the answer is promote, keep (10) or wait (11).
    """
    from scoring_model.configuration import load_gates
    from scoring_model.evaluation import NothingToEvaluate
    from scoring_model.evaluation.holdout import training_folder
    from scoring_model.training.promotion import promote as promote_bundle
    from scoring_model.training.registry import CHAMPION

    gates = load_gates(gate)
    with exiting_without_records(NothingToEvaluate):
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
            names=names,
            public_key=shared.key_of(public_key),
            threads=threads,
            report=console.report,
        )
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
