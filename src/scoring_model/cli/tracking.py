"""Commands on runs that were logged to MLflow."""

from pathlib import Path
from typing import Annotated

import typer

from scoring_model.cli import console

app = typer.Typer(help="Tracking: runs of trainings in MLflow.", no_args_is_help=True)


@app.callback()
def tracking() -> None:
    """Group the commands on tracking."""


@app.command()
def sync(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", exists=True, file_okay=False, help="The folder `tracking` beside the bundles."
        ),
    ],
    tracking_uri: Annotated[
        str | None,
        typer.Option(
            envvar="MLFLOW_TRACKING_URI",
            help="MLflow server or database for all runs; by default each goes to the server that did not accept it.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Copy the runs of a folder to the server, unless it has them. Repeating changes nothing."""
    from scoring_model.training.tracking import sync as copy

    done = copy(folder, uri=tracking_uri, report=console.report)
    if as_json:
        copied = [
            {"uri": run.uri, "run_id": run.run_id, "model_version": run.model_version} for run in done.copied
        ]
        counts = {"present": done.present, "unaddressed": done.unaddressed, "incomplete": done.incomplete}
        console.say_json({"copied": copied, **counts})
        return
    console.say(f"{len(done.copied)} runs copied, {done.present} were there already")
    if done.unaddressed:
        console.say(f"{done.unaddressed} runs have no server: name one with --tracking-uri")
    if done.incomplete:
        console.say(f"{done.incomplete} runs are incomplete and were not copied")
