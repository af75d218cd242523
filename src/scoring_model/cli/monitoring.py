"""The command `monitor`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scoring_model.cli import shared
from scoring_model.cli.bundles import exiting_without_records, show, write_json
from scoring_model.cli.database import settled, with_store
from scoring_model.cli.past import chosen_source, read_past_records

if TYPE_CHECKING:
    from scoring_model.bundle import SealedFiles
    from scoring_model.monitoring import Monitoring


def _check_window(paths: list[Path] | None) -> list[Path] | None:
    """Refuse paths that name neither a file nor one directory."""
    return paths if paths and len(paths) == 1 and paths[0].is_dir() else shared.check_files(paths)


def monitor(
    bundle: Annotated[
        Path | None,
        typer.Argument(help="Directory of the bundle; with --database by default the one that served last."),
    ] = None,
    window: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[WINDOW...]",
            callback=_check_window,
            help="Records since the bundle began to decide, or files that score wrote: files, a pattern in quotes, or "
            "one directory.",
        ),
    ] = None,
    database: shared.OfDatabase = None,
    since: shared.Since = None,
    master_key: shared.MasterKey = None,
    json_path: shared.JsonFile = None,
    report_path: shared.ReportFile = None,
    history: shared.History = None,
    labels: shared.Labels = None,
    prevalence_cap: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=0.99,
            help="Largest share of frauds that is assumed; by default twice the upper end of its interval in the "
            "reference period.",
        ),
    ] = None,
    names: shared.Names = None,
    gate: shared.GatesFile = None,
    max_bad_share: shared.MaxBadShare = 0.01,
    as_of: shared.AsOf = None,
    label_maturity: Annotated[
        str | None,
        typer.Option(help="Age from which labels are complete, such as 60d; by default the bundle's."),
    ] = None,
    public_key: shared.PublicKey = None,
    threads: shared.Threads = 2,
) -> None:
    """Monitor a bundle on new records: drift, promises before labels mature, estimates, matured labels.

    With --database the records are a service's verifications, with links as known then and labels as known now; what
    can't be decided again is left out and counted. See docs/monitor.md.

    Exit codes: 11 no records; with --gate 10 a gate failed, 11 not enough data, 12 a promise is broken.
    """
    from scoring_model.configuration import load_gates
    from scoring_model.monitoring import NothingToMonitor, check_window_gates, monitoring_summary
    from scoring_model.monitoring import monitor as monitor_bundle

    database = chosen_source(window, database, history=history, labels=labels, since=since)
    gates = None if gate is None else load_gates(gate)
    sealed = _sealed(bundle, database, public_key)
    options: dict[str, Any] = {
        "prevalence_cap": prevalence_cap,
        "by": () if gates is None else gates.columns(pair=False),
        "label_maturity": label_maturity,
    }
    reading: dict[str, Any] = {"max_bad_share": max_bad_share, "threads": threads}
    with exiting_without_records(NothingToMonitor):
        if database is None:
            source = window[0] if window and len(window) == 1 and window[0].is_dir() else window
            found = monitor_bundle(
                sealed,
                source,
                history=history,
                labels=labels,
                as_of=as_of,
                names=names,
                **options,
                **reading,
            )
        else:
            found = _monitor_past(
                sealed, database, master_key, since=since, as_of=as_of, options=options, **reading
            )
    gated = None if gates is None else check_window_gates(gates, found)
    write_json(json_path, found.to_json() | ({} if gated is None else {"gates": gated.to_json()}))
    if report_path is not None:
        found.report(report_path)
    show(monitoring_summary(found), gated, report_path)


def _sealed(bundle: Path | None, database: str | None, public_key: Path | None) -> "SealedFiles":
    """Read a bundle, by default the one that served a database last."""
    from scoring_model.bundle import read_bundle
    from scoring_model.service.bundles import latest_bundle

    if bundle is None and database is not None:
        bundle = with_store(database, latest_bundle)
    if bundle is None:
        raise typer.BadParameter("name a bundle")
    return read_bundle(bundle, public_key=shared.key_of(public_key))


def _monitor_past(
    sealed: "SealedFiles",
    database: str,
    master_key: str | None,
    *,
    since: int | None,
    as_of: int | None,
    options: Mapping[str, Any],
    max_bad_share: float,
    threads: int,
) -> "Monitoring":
    """Monitor a bundle on the verifications of a service."""
    from scoring_model.monitoring import monitor_rows
    from scoring_model.scorer import Scorer
    from scoring_model.service.settings import masked

    scorer, before = Scorer.of(sealed, threads=threads), settled()
    by = options["by"]
    past = read_past_records(database, master_key, [scorer], since=since, before=before, by=by)
    records = past.of(0, scorer, by=by, max_bad_share=max_bad_share)
    return monitor_rows(
        sealed,
        scorer,
        records,
        refused=past.records.num_rows - len(records.table),
        files=(masked(database),),
        notes=tuple(f"{sentence}." for sentence in past.describe()),
        as_of=as_of or before,
        **options,
    )
