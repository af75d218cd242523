"""Commands on the rules of operators."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.activation import operator
from scoring_model.cli.database import with_store
from scoring_model.cli.groups import Group, in_group

if TYPE_CHECKING:
    from scoring_model.service.core.rows import RuleSetRow
    from scoring_model.service.store import Store

app = in_group(Group.SERVICE)(
    typer.Typer(
        name="rules",
        help="Rules that decide after score and thresholds: check, activate, roll back, list.",
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
_Served = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="BUNDLE...",
        exists=True,
        file_okay=False,
        help="Directories of bundles that may serve and that this machine does not have beside those of the service.",
    ),
]


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
        f"{file}: {len(found)} rules are sound, outcomes are changed by {len(acting)} of them; version {found.version}"
    )
    _say_ended(found.to_json()["rules"])


@app.command()
def activate(
    file: _File,
    database: shared.Database,
    bundles: _Served = None,
    public_key: shared.PublicKey = None,
) -> None:
    """Make rules active in every process of a service at once, without a restart.

    The rules are checked against the bundles that serve and the one that a rollback leads to. Each verdict says which
    rules decided. To turn all rules off activate a file with `rules: []`, or roll back.
    """
    from scoring_model.configuration.reading import read_yaml
    from scoring_model.scorer import Scorer
    from scoring_model.service.activation.rules import activate_rules, bundles_that_may_serve

    key = shared.key_of(public_key)
    by, document, now = operator(), read_yaml(file), shared.now()

    async def switch(store: "Store") -> "RuleSetRow":
        paths = [*(bundles or ()), *await bundles_that_may_serve(store, now)]
        scorers = [Scorer.load(path, public_key=key) for path in paths]
        return await activate_rules(store, document, scorers, by=by, now=now)

    done = with_store(database, switch)
    console.say(f"rules {done.version} are active")
    if '"then":"FAILED"' in done.document:
        console.say(
            "a rule that fails applicants can never show its own errors: let it OBSERVE first, see docs/rules.md"
        )
    _say_ended(json.loads(done.document)["rules"])


@app.command()
def rollback(database: shared.Database) -> None:
    """Make the rules active again that were active before, or none. A second rollback leads forward again."""
    from scoring_model.service.activation.rules import roll_back_rules

    by, now = operator(), shared.now()
    done = with_store(database, lambda store: roll_back_rules(store, by=by, now=now))
    console.say(f"rules {done.version} are active")
    _say_ended(json.loads(done.document)["rules"])


@app.command("list")
def list_rules(database: shared.Database, as_json: shared.Json = False) -> None:
    """Show the rules that were ever active, latest first, and how often each active one was hit."""
    from scoring_model.service.activation.rules import list_rules as find

    found = with_store(database, find)
    if as_json:
        console.say_json(found)
        return
    if not found:
        console.say("no rules were ever active")
    for one in found:
        state = "active" if one["active"] else "earlier"
        console.say(
            f"{one['version']}  {state}  since {one['at']}, by {one['by']}: {len(one['rules'])} rules"
        )
        for rule in one["rules"] if one["active"] else ():
            console.say(f"  {rule['code']}  {rule['then']}  {rule['hits']} hits  {rule['title']}")
        _say_ended(one["rules"] if one["active"] else ())


def _say_ended(rules: Iterable[Mapping[str, Any]]) -> None:
    """Name the rules whose end has passed: a year that was mistyped shows nowhere else."""
    from scoring_model.records.times import end_of

    now = shared.now()
    for rule in rules:
        if "until" in rule and end_of(rule["until"]) <= now:
            console.say(
                f"rule {rule['code']} has ended (until: {rule['until']}): it holds for nobody any more"
            )
