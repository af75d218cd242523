"""Commands on the rules of operators."""

from pathlib import Path
from typing import Annotated

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.groups import Group, in_group

app = in_group(Group.SERVICE)(
    typer.Typer(
        name="rules",
        help="Rules that decide after score and thresholds: check.",
        no_args_is_help=True,
    )
)

_File = Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="Rules, YAML (docs/rules.md).")]
_Bundles = Annotated[
    list[Path],
    typer.Argument(
        metavar="BUNDLE...",
        exists=True,
        file_okay=False,
        help="Directories of bundles, each of which must have all that the rules read.",
    ),
]


@app.callback()
def rules() -> None:
    """Name the group."""


@app.command()
def check(
    file: _File,
    bundles: _Bundles,
    as_json: shared.Json = False,
    public_key: shared.PublicKey = None,
) -> None:
    """Check rules against bundles. Prints their version, or ends with 1 and all problems."""
    from scoring_model.configuration.rules import load_rules
    from scoring_model.rules import Action
    from scoring_model.scorer import Scorer

    key = shared.key_of(public_key)
    for bundle in bundles:
        found = load_rules(file, Scorer.load(bundle, public_key=key).rule_names)
    acting = [rule.code for rule in found.rules if rule.then is not Action.OBSERVE]
    if as_json:
        console.say_json(
            {"version": found.version, "rules": len(found), "acting": acting, "reads": found.names}
        )
        return
    console.say(
        f"{file}: {len(found)} rules are sound, {len(acting)} of them change outcomes; version {found.version}"
    )
