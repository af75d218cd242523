"""The program `scoring-model`: its commands, errors and exit codes."""

import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

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

GROUPS: Final[Mapping[str, Sequence[Any]]] = {
    "Data": (records.synth, init.init, records.check, features.features, history.app, labels.app, data.app),
    "Models": (
        training.train,
        backtest.backtest,
        bundles.evaluate,
        comparison.compare,
        comparison.promote,
        retraining.retrain,
        bundles.inspect,
        policy.policy,
        bundles.upgrade,
        training.tracking_app,
    ),
    "Decisions": (bundles.score, explain.explain_record, whatif.whatif, verifications.app),
    "Service": (serve.serve, serve.deliver, clients.app, activation.app, webhooks.app),
    "Operations": (monitoring.monitor, database.app, keys.app),
}
"""The commands by what people do with them, in the order of `--help` and of docs/commands.md."""


class Program(TyperGroup):
    """The program, whose help lists the commands by group as plain text."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands of each group with their first sentence."""
        width = formatter.width - 6 - max(map(len, self.commands))
        rows: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
        commands: Mapping[str, Any] = self.commands
        for name, one in commands.items():
            rows[one.rich_help_panel].append((name, one.get_short_help_str(width)))
        for group, found in rows.items():
            with formatter.section(group):
                formatter.write_dl(found)


app = typer.Typer(
    name="scoring-model",
    cls=Program,
    help="Identity risk scoring: from labelled identity records to one sealed ONNX bundle, and back to decisions.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
database.app.command()(prune.prune)
for panel, members in GROUPS.items():
    for member in members:
        if isinstance(member, typer.Typer):
            app.add_typer(member, rich_help_panel=panel)
        else:
            app.command(rich_help_panel=panel)(member)


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
