"""Commands on lists."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.activation import operator
from scoring_model.cli.database import masters_of, with_store
from scoring_model.cli.groups import Group, in_group

if TYPE_CHECKING:
    from scoring_model.service.operator_lists.changes import Changed
    from scoring_model.service.store import Store

app = in_group(Group.SERVICE)(
    typer.Typer(
        name="lists",
        help="Lists that decide before rules and model: add, remove, show.",
        no_args_is_help=True,
    )
)


class Action(StrEnum):
    """What becomes of who is on a list."""

    FAIL = "fail"
    STEP_UP = "step_up"
    PASS = "pass"


_Name = Annotated[str, typer.Argument(help="Name: letters, digits, hyphens and underscores.")]
_VALUES: Any = typer.Option(
    "--values",
    encoding="utf-8-sig",
    help="Values, one a line (- for standard input): text, or a JSON object of the fields of the key.",
)
_Client = Annotated[
    str | None, typer.Option("--client", help="Client in whose history scope the list is: its x-client-id.")
]
_AllScopes = Annotated[
    bool, typer.Option("--all-scopes", help="The list of every client, also of those to come.")
]
_By = Annotated[str | None, typer.Option("--by", help="Who answers for the change; by default who runs it.")]


@app.command()
def add(
    name: _Name,
    database: shared.Database,
    key: Annotated[str, typer.Option(help="Link key of the values, such as device.")],
    action: Annotated[Action, typer.Option(help="What becomes of who has one of them.")],
    values: Annotated[typer.FileText, _VALUES],
    until: Annotated[
        int | None,
        typer.Option(
            parser=shared.read_end,
            metavar="DURATION|DAY|TIME",
            help="End: from now (30d), a day, which still counts, or a time. By default none.",
        ),
    ] = None,
    client: _Client = None,
    all_scopes: _AllScopes = False,
    by: _By = None,
    master_key: shared.MasterKey = None,
) -> None:
    """Add values to a list, which is made if there is none with its name. They count at once, in every process.

    A pass list comes before a fail list, then step-up lists, then rules; key and action of a list never change. If any
    value breaks a rule, nothing is added and all problems are listed. See docs/lists.md.
    """
    from scoring_model.service.operator_lists.changes import ACTIONS, Addition, check_name
    from scoring_model.service.operator_lists.operating import OperatedList
    from scoring_model.service.operator_lists.values import hash_values, read_lines

    _check_whose(client, all_scopes=all_scopes)
    check_name(name)
    addition = Addition(key=key, outcome=ACTIONS[action.value], until=until)
    keyring = masters_of(database, master_key)

    async def work(store: Store) -> Changed:
        opened = await OperatedList.open(store, keyring, name, key=key, client_id=client, by=by or operator())
        given = hash_values(read_lines(values, values.name), values.name, opened.hasher())
        return await opened.add(addition, given, now=shared.now())

    done = with_store(database, work)
    console.say(_added(name, done))


@app.command("import")
def import_file(
    path: Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="Lists, YAML.")],
    database: shared.Database,
    client: _Client = None,
    all_scopes: _AllScopes = False,
    by: _By = None,
    master_key: shared.MasterKey = None,
) -> None:
    """Add the lists of a file. If anything in it breaks a rule, nothing is added.

    `whatif --lists` shows before what they would have done. See docs/lists.md.
    """
    from scoring_model.service.activation.links import link_keys_of
    from scoring_model.service.operator_lists.changes import Addition
    from scoring_model.service.operator_lists.files import keys_of, read_lists
    from scoring_model.service.operator_lists.operating import OperatedList, add_to_lists

    _check_whose(client, all_scopes=all_scopes)
    found, keyring = read_lists(path), masters_of(database, master_key)

    async def work(store: Store) -> list[Changed]:
        async with store.reading() as reader:
            keys_of(found, await link_keys_of(reader))
        opened = [
            await OperatedList.open(
                store, keyring, one.name, key=one.key, client_id=client, by=by or operator()
            )
            for one in found
        ]
        parts = [
            (
                of,
                Addition(key=one.key, outcome=one.outcome, until=one.until),
                one.hashed(of.hasher()),
            )
            for one, of in zip(found, opened, strict=True)
        ]
        return await add_to_lists(parts, now=shared.now())

    for one, done in zip(found, with_store(database, work), strict=True):
        console.say(_added(one.name, done))


@app.command()
def remove(
    name: _Name,
    database: shared.Database,
    values: Annotated[typer.FileText | None, _VALUES] = None,
    everything: Annotated[bool, typer.Option("--all", help="Remove all values.")] = False,
    client: _Client = None,
    all_scopes: _AllScopes = False,
    by: _By = None,
    master_key: shared.MasterKey = None,
) -> None:
    """Remove values from a list, or all of them. From now on they decide nothing; verdicts stay."""
    from scoring_model.service.operator_lists.operating import OperatedList
    from scoring_model.service.operator_lists.values import hash_values, read_lines

    _check_whose(client, all_scopes=all_scopes)
    if (values is None) != everything:
        raise ValueError("say what to remove: --values or --all")
    keyring = masters_of(database, master_key)

    async def work(store: Store) -> Changed:
        opened = await OperatedList.open(
            store, keyring, name, key=None, client_id=client, by=by or operator()
        )
        given = (
            None
            if values is None
            else hash_values(read_lines(values, values.name), values.name, opened.hasher())
        )
        return await opened.remove(given, now=shared.now())

    done = with_store(database, work)
    console.say(f"{name}: {done.changed:,} removed, {done.unchanged:,} were not on it; {done.entries:,} left")


@app.command("show")
def show(
    database: shared.Database,
    name: Annotated[str | None, typer.Argument(help="Only lists with this name.")] = None,
    client: _Client = None,
    as_json: shared.Json = False,
) -> None:
    """Show lists: how many values, changed when and by whom, and how often hit. Never which values.

    Counting hits reads the verifications of the database.
    """
    found = with_store(database, lambda store: _show(store, client, name))
    if as_json:
        console.say_json(found)
        return
    for one in found:
        console.say(
            f"{one['list']}  {one['outcome']} by {one['key']}  of {one['historyScope'] or 'all scopes'}: "
            f"{one['entries']:,} values, {one['hits']:,} hits"
        )
        for change in one["changes"]:
            console.say(f"  {change['at']}  +{change['added']:,} -{change['removed']:,}  by {change['by']}")


async def _show(store: Store, client: str | None, name: str | None) -> list[dict[str, Any]]:
    from scoring_model.service.clients.clients import find_client
    from scoring_model.service.operator_lists.changes import show_lists

    scope = None if client is None else (await find_client(store, client)).pool
    return await show_lists(store, scope, name)


def _added(name: str, done: Changed) -> str:
    return f"{name}: {done.changed:,} added or given another end, {done.unchanged:,} unchanged; {done.entries:,} in all"


def _check_whose(client: str | None, *, all_scopes: bool) -> None:
    if (client is None) != all_scopes:
        raise ValueError("say whose list it is: --client or --all-scopes")
