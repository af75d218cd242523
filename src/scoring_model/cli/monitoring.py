"""The command `monitor`."""

from pathlib import Path
from typing import Annotated

import typer

from scoring_model.cli import console
from scoring_model.cli.bundles import (
    NOTHING_TO_EVALUATE,
    BundlePath,
    GatesFile,
    History,
    Labels,
    MaxBadShare,
    PublicKey,
    Threads,
    key_of,
    write_json,
)
from scoring_model.cli.records import check_files, read_instant


def _check_window(paths: list[Path] | None) -> list[Path] | None:
    """Refuse paths that name neither a file nor one directory."""
    return paths if paths and len(paths) == 1 and paths[0].is_dir() else check_files(paths)


def monitor(
    bundle: BundlePath,
    window: Annotated[
        list[Path],
        typer.Argument(
            metavar="WINDOW...",
            callback=_check_window,
            help="Records since the bundle began to decide, or files that score wrote: files, a pattern in quotes, or "
            "one directory.",
        ),
    ],
    json_path: Annotated[
        Path | None, typer.Option("--json", help="File for the whole result as JSON.")
    ] = None,
    report_path: Annotated[
        Path | None, typer.Option("--report", help="File for the report: HTML, for people.")
    ] = None,
    history: History = None,
    labels: Labels = None,
    prevalence_cap: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=0.99,
            help="Largest share of frauds that is assumed; by default twice the upper end of its interval in the "
            "reference period.",
        ),
    ] = None,
    gate: GatesFile = None,
    max_bad_share: MaxBadShare = 0.01,
    as_of: Annotated[
        int | None,
        typer.Option(
            parser=read_instant,
            metavar="INSTANT",
            help="Instant before which labels count; by default just after the last one known.",
        ),
    ] = None,
    label_maturity: Annotated[
        str | None,
        typer.Option(help="Age from which labels are complete, such as 60d; by default the bundle's."),
    ] = None,
    public_key: PublicKey = None,
    threads: Threads = 2,
) -> None:
    """Monitor a bundle on new records: drift, promises before labels mature, estimates, matured labels.

    Exit codes: 11 no records; with --gate 10 a gate failed, 11 not enough data, 12 a promise is broken.
    """
    from scoring_model.bundle import read_bundle
    from scoring_model.configuration import load_gates
    from scoring_model.evaluation.report.style import require_libraries
    from scoring_model.monitoring import NothingToMonitor, check_window_gates, monitoring_summary
    from scoring_model.monitoring import monitor as monitor_bundle

    if report_path is not None:
        require_libraries()
    gates = None if gate is None else load_gates(gate)
    source = window[0] if len(window) == 1 and window[0].is_dir() else window
    try:
        found = monitor_bundle(
            read_bundle(bundle, public_key=key_of(public_key)),
            source,
            history=history,
            labels=labels,
            prevalence_cap=prevalence_cap,
            by=() if gates is None else gates.columns(pair=False),
            as_of=as_of,
            label_maturity=label_maturity,
            max_bad_share=max_bad_share,
            threads=threads,
        )
    except NothingToMonitor as error:
        console.fail(str(error))
        raise typer.Exit(NOTHING_TO_EVALUATE) from None
    gated = None if gates is None else check_window_gates(gates, found)
    write_json(json_path, found.to_json() | ({} if gated is None else {"gates": gated.to_json()}))
    if report_path is not None:
        found.report(report_path)
        console.report(f"report: {report_path}")
    console.say_markdown(monitoring_summary(found))
    if gated is not None:
        console.say_markdown(gated.to_markdown())
        raise typer.Exit(gated.exit_code)
