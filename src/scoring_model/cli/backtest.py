"""The command that backtests a configuration."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.groups import Group, in_group

if TYPE_CHECKING:
    from scoring_model.training.backtest import Backtest


class WindowOption(StrEnum):
    """How the train part moves from fold to fold."""

    EXPANDING = "expanding"
    ROLLING = "rolling"


_Report = Annotated[Path, typer.Option(help="HTML file to write. Its folder must exist.")]
_Cadence = Annotated[
    str, typer.Option(help="How often a model is trained: months or weeks, such as 1m,3m or 2w.")
]
_Window = Annotated[
    WindowOption | None,
    typer.Option(
        help="Whether the train part grows or keeps its length. Default: as the parts of the split are set."
    ),
]
_Folds = Annotated[int | None, typer.Option(min=1, help="Number of latest periods to judge.")]
_Processes = Annotated[
    int,
    typer.Option(
        min=1,
        help="Folds that are trained at once; they share the threads, and results do not depend on it.",
    ),
]


@in_group(Group.MODELS)
def backtest(
    paths: shared.Files,
    config: shared.Config,
    report: _Report,
    cadence: _Cadence = "1m",
    window: _Window = None,
    folds: _Folds = None,
    as_of: shared.EarlierThan = None,
    names: shared.Names = None,
    processes: _Processes = 1,
    threads: shared.Threads = 2,
    dask: shared.Dask = None,
    resume: shared.ResumeWork = False,
    as_json: shared.Json = False,
) -> None:
    """Train models at past instants with what was known then, and judge them on the periods that followed.

    Names the possible folds, and why others are not, before it trains any. Until it is done, the folder `REPORT.work`
    keeps finished folds for --resume, with which the report has the same bytes. See docs/backtest.md.
    """
    from scoring_model.configuration import load_configuration
    from scoring_model.evaluation.report.style import require_libraries
    from scoring_model.training.backtest import backtest as run

    if not report.parent.is_dir():
        raise typer.BadParameter(f"{report.parent}: there is no such folder")
    console.prepare_training()
    require_libraries()
    with console.resumable("backtest"):
        found = run(
            paths,
            load_configuration(config).with_names(names),
            cadence=cadence,
            window=None if window is None else window.value,
            folds=folds,
            as_of=as_of,
            processes=processes,
            threads=threads,
            dask=dask,
            work=report.with_name(f"{report.name}.work"),
            resume=resume,
            report=console.report,
        )
    found.report(report)
    _say_found(found, report, as_json=as_json)


def _say_found(found: "Backtest", report: Path, *, as_json: bool) -> None:
    from scoring_model.training.backtest.report import backtest_summary

    if as_json:
        console.say_json(found.to_json())
        return
    console.say_markdown(backtest_summary(found))
    console.say(f"report: {report}")
