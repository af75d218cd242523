"""Command lines of the program, as pages and files of deployments show them."""

from typing import Any, Final

import typer

from scoring_model.cli.app import app

PROGRAM: Final[Any] = typer.main.get_command(app)


def problem(words: list[str]) -> str | None:
    """Say what a command lacks: its name, an option, or an argument that is required."""
    command, rest = PROGRAM, words
    while inner := getattr(command, "commands", None):
        if not rest or rest[0] not in inner:
            return f"no command {' '.join(words)}"
        command, rest = inner[rest[0]], rest[1:]
    context = command.make_context(None, [], resilient_parsing=True)
    context.resilient_parsing = False  # nothing is missing yet, but unknown options are errors
    try:
        given, _, _ = command.make_parser(context).parse_args(rest)
    except Exception as error:
        return str(error)
    missing = [
        one.name for one in command.params if one.required and not one.envvar and not given.get(one.name)
    ]
    return f"{words}: missing {missing}" if missing else None
