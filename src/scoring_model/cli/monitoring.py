"""The command `monitor`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scoring_model.cli import console, option_groups, shared
from scoring_model.cli.bundles import exiting_without_records, present
from scoring_model.cli.database import settled, with_store
from scoring_model.cli.groups import Group, in_group
from scoring_model.cli.past import chosen_source, read_past_records

if TYPE_CHECKING:
    from scoring_model.bundle import SealedFiles
    from scoring_model.monitoring import Monitoring


def _check_window(paths: list[Path] | None) -> list[Path] | None:
    """Refuse paths that name neither a file nor one directory."""
    return paths if paths and len(paths) == 1 and paths[0].is_dir() else shared.check_files(paths)


_Bundle = Annotated[
    Path | None,
    typer.Argument(help="Directory of the bundle; with --database by default the active one."),
]
_Window = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[WINDOW...]",
        callback=_check_window,
        help="Records since the bundle began to decide, or files that score wrote: files, a pattern in quotes, or "
        "one directory.",
    ),
]
_PrevalenceCap = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=0.99,
        help="Largest share of frauds that is assumed; by default twice the upper end of its interval in the "
        "reference period.",
    ),
]
_LabelMaturity = Annotated[
    str | None,
    typer.Option(help="Age from which labels are complete, such as 60d; by default the bundle's."),
]


@in_group(Group.OPERATIONS)
def monitor(
    past: option_groups.Past,
    output: option_groups.Output,
    records: option_groups.Records,
    loading: option_groups.Loading,
    bundle: _Bundle = None,
    window: _Window = None,
    prevalence_cap: _PrevalenceCap = None,
    label_maturity: _LabelMaturity = None,
) -> None:
    """Monitor a bundle on new records: drift, promises before labels mature, estimates, matured labels.

    With --database the records are a service's verifications, with links as known then and labels as known now; what
    can't be decided again is left out and counted. See docs/monitor.md.

    Exit codes: 11 no records; with --gate 10 a gate failed, 11 not enough data, 12 a promise is broken.
    """
    from scoring_model.monitoring import NothingToMonitor, check_window_gates, monitoring_summary
    from scoring_model.monitoring import monitor as monitor_bundle
    from scoring_model.records.times import later_than_now

    past, gates = chosen_source(window, past, records), output.gates()
    sealed = _sealed(bundle, past, loading)
    options: dict[str, Any] = {
        "prevalence_cap": prevalence_cap,
        "by": () if gates is None else gates.columns(pair=False),
        "label_maturity": label_maturity,
    }
    with exiting_without_records(NothingToMonitor):
        if past.database is None:
            source = window[0] if window and len(window) == 1 and window[0].is_dir() else window
            found = monitor_bundle(sealed, source, threads=loading.threads, **vars(records), **options)
        else:
            found = _monitor_past(sealed, past, records, loading, **options)
    if future := later_than_now(found.maturity.as_of):
        console.warn(future)
    gated = None if gates is None else check_window_gates(gates, found)
    present(found, monitoring_summary(found), gated, output)


def _sealed(bundle: Path | None, past: option_groups.Past, loading: option_groups.Loading) -> "SealedFiles":
    """Read a bundle, by default the one that served a database last."""
    from scoring_model.bundle import read_bundle
    from scoring_model.service.activation.activations import serving_bundle

    if bundle is None and past.database is not None:
        bundle = with_store(past.database, serving_bundle)
    if bundle is None:
        raise typer.BadParameter("name a bundle")
    return read_bundle(bundle, public_key=loading.key)


def _monitor_past(
    sealed: "SealedFiles",
    past: option_groups.Past,
    records: option_groups.Records,
    loading: option_groups.Loading,
    *,
    by: Sequence[str],
    **options: Any,
) -> "Monitoring":
    """Monitor a bundle on the verifications of a service."""
    from scoring_model.monitoring import monitor_rows
    from scoring_model.scorer import Scorer

    scorer, before = Scorer.of(sealed, threads=loading.threads), settled()
    read = read_past_records(past, [scorer], before=before, by=by)
    rows = read.of(0, scorer, by=by, max_bad_share=records.max_bad_share)
    return monitor_rows(
        sealed,
        scorer,
        rows,
        refused=read.records.num_rows - len(rows.table),
        files=(past.shown,),
        notes=read.describe(),
        as_of=records.as_of or before,
        by=by,
        **options,
    )
