"""The program `scoring-model`: its commands, errors and exit codes."""

import traceback
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated

import typer

from scoring_model.cli import (
    activation,
    backtest,
    bundles,
    clients,
    comparison,
    console,
    data,
    database,
    explain,
    features,
    history,
    init,
    keys,
    labels,
    monitoring,
    policy,
    prune,
    records,
    retraining,
    serve,
    training,
    verifications,
    webhooks,
    whatif,
)

app = typer.Typer(
    name="scoring-model",
    help="Identity risk scoring: from labelled identity records to one sealed ONNX bundle, and back to decisions.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(records.synth)
app.command()(init.init)
app.command()(records.check)
app.command()(features.features)
app.command()(training.train)
app.command()(backtest.backtest)
app.command()(bundles.score)
app.command()(bundles.evaluate)
app.command()(monitoring.monitor)
app.command()(comparison.compare)
app.command()(comparison.promote)
app.command()(retraining.retrain)
app.command()(whatif.whatif)
app.command()(bundles.inspect)
app.command()(policy.policy)
app.command("upgrade")(bundles.upgrade_bundle)
app.command()(explain.explain_record)
app.command()(serve.serve)
app.command()(serve.deliver)
app.add_typer(clients.app, name="clients")
app.add_typer(activation.app, name="bundles")
app.add_typer(verifications.app, name="verifications")
app.add_typer(webhooks.app, name="webhooks")
app.add_typer(labels.app, name="labels")
app.add_typer(history.app, name="history")
app.add_typer(data.app, name="data")
database.app.command()(prune.prune)
app.add_typer(database.app, name="database")
app.add_typer(keys.app, name="keys")
app.add_typer(training.tracking_app, name="tracking")


def _show_version(value: bool) -> None:
    if value:
        from importlib import metadata

        console.say(f"scoring-model {metadata.version('scoring-model')}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option(help="Show the full traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Set the options of all commands."""
    console.state.debug = debug


@cache
def _command() -> Callable[[Sequence[str] | None], None]:
    """Build the tree of commands once: tests run many of them in one process."""
    return typer.main.get_command(app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program.

    Parameters
    ----------
    arguments : sequence of str, optional
        Arguments without the program's name; default: those of the process.

    Returns
    -------
    int
        Exit code: 0 done; 1 the input is unusable, with the reason on standard error; 2 wrong usage; 130 interrupted.
        A replay also has 3 and 4, an evaluation 10, 11 and 12.
    """
    console.state.is_process = arguments is None
    if console.state.is_process:
        warnings.showwarning = lambda message, *_, **__: console.warn(str(message))
    try:
        _command()(arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 1
    except Exception as error:
        from scoring_model.service.standard_error import is_explained, text_of

        if not is_explained(error):
            raise
        if console.state.debug:
            traceback.print_exc()
        console.fail(text_of(error))
        return 1
    return 0
