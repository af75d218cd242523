"""Commands on the clients of a service and their API keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.activation import operator
from scoring_model.cli.database import masters_of, time_of, with_store
from scoring_model.cli.groups import Group, in_group

if TYPE_CHECKING:
    from scoring_model.service.clients.clients import NewClient
    from scoring_model.service.core.rows import ApiKeyRow, ClientRow
    from scoring_model.service.store import Store

ONCE = "the API key is shown only once and not stored: save it now"

_Quota = Annotated[
    str, typer.Option(help="Requests and seconds: so many in any such time are never refused.")
]
_Scope = Annotated[
    str | None, typer.Option(help="Share history with the clients of this scope; by default with none.")
]
_Strict = Annotated[
    bool,
    typer.Option("--strict-signals", help="Refuse requests with a signal that the model does not know."),
]
_Sandbox = Annotated[
    bool,
    typer.Option(
        "--sandbox",
        help="For tests of an integration: its signal sandboxOutcome decides, and nothing of it is exported, "
        "counted or learnt from.",
    ),
]

app = in_group(Group.SERVICE)(
    typer.Typer(name="clients", help="Clients of the service and their API keys.", no_args_is_help=True)
)


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Name of the client, for people.")],
    database: shared.Database,
    scopes: Annotated[
        str, typer.Option(help="Permissions of its keys.")
    ] = "identities,verifications,webhooks,labels,resolutions",
    quota: _Quota = "6000/60",
    history_scope: _Scope = None,
    strict_signals: _Strict = False,
    master_key: shared.MasterKey = None,
    sandbox: _Sandbox = False,
    as_json: shared.Json = False,
) -> None:
    """Create a client and its first API key, which is shown only once.

    It gets the lists of all scopes. Where there are some, the master key is needed.
    """
    from scoring_model.service.clients.clients import create_client, parse_permissions, parse_quota
    from scoring_model.service.operator_lists.operating import copy_lists, has_shared_lists

    permissions = parse_permissions(scopes)
    requests, seconds = parse_quota(quota)

    async def work(store: Store) -> NewClient:
        if await has_shared_lists(store):
            masters_of(database, master_key)  # without them nothing is created
        made = await create_client(
            store,
            name=name,
            permissions=permissions,
            quota=requests,
            quota_seconds=seconds,
            history_scope=history_scope,
            strict_signals=strict_signals,
            sandbox=sandbox,
            now=shared.now(),
        )
        if await has_shared_lists(store):  # perhaps only since then
            keyring = masters_of(database, master_key)
            await copy_lists(store, keyring, made.client_id, by=operator(), now=shared.now())
        return made

    made = with_store(database, work)
    _show(made.client_id, made.api_key, as_json=as_json)


@app.command()
def rotate(
    client_id: shared.ClientId,
    database: shared.Database,
    grace: Annotated[str, typer.Option(help="How long the previous key stays valid.")] = "24h",
    as_json: shared.Json = False,
) -> None:
    """Issue a new API key for a client. The previous key stays valid for a while; older ones are revoked at once."""
    from scoring_model.records.times import SECOND, parse_duration
    from scoring_model.service.clients.clients import rotate_key

    seconds = parse_duration(grace) // SECOND
    api_key = with_store(
        database, lambda store: rotate_key(store, client_id, grace_seconds=seconds, now=shared.now())
    )
    _show(client_id, api_key, as_json=as_json)


@app.command()
def grant(
    client_id: shared.ClientId,
    scopes: Annotated[str, typer.Argument(help="All permissions of its keys, separated by commas.")],
    database: shared.Database,
) -> None:
    """Change the scopes of a client. Every running process knows them within five seconds."""
    from scoring_model.service.clients.clients import grant as grant_scopes
    from scoring_model.service.clients.clients import parse_permissions

    permissions = parse_permissions(scopes)
    with_store(database, lambda store: grant_scopes(store, client_id, permissions=permissions))
    console.say(f"{client_id} has the scopes {','.join(sorted(permissions))}")


@app.command()
def revoke(client_id: shared.ClientId, database: shared.Database) -> None:
    """Revoke all keys of a client for good. Every running process refuses them within five seconds."""
    from scoring_model.service.clients.clients import revoke as revoke_client

    with_store(database, lambda store: revoke_client(store, client_id, now=shared.now()))
    console.say(f"{client_id} is revoked")


@app.command("list")
def list_all(database: shared.Database, as_json: shared.Json = False) -> None:
    """Show all clients and the state of their keys, never the keys."""
    from scoring_model.service.clients.clients import is_live, list_clients

    found = with_store(database, list_clients)
    if as_json:
        console.say_json([_plain(client, keys) for client, keys in found])
        return
    for client, keys in found:
        live = sum(is_live(key, shared.now()) for key in keys)
        state = "revoked" if client.revoked_at is not None else f"{live} keys"
        quota = f"{client.quota}/{client.quota_seconds}"
        scopes = ",".join(_scopes(client))
        strict = "  strict signals" if client.strict_signals else ""
        strict += "  sandbox" if client.sandbox else ""
        console.say(
            f"{client.client_id}  {client.name}  {scopes}  {quota}  history scope {client.pool}  {state}{strict}"
        )


@app.command("unknown-signals")
def unknown_signals(
    database: shared.Database,
    delete: Annotated[bool, typer.Option("--delete", help="Delete the counts.")] = False,
    as_json: shared.Json = False,
) -> None:
    """Show the signals that clients sent and the model did not know, with the nearest that it knows.

    Names that are near to none may be personal data: they are one number for each client. Servers add their counts
    once a minute. See docs/service-clients.md#clients.
    """
    from scoring_model.service.clients.unknown_signals import list_unknown_signals
    from scoring_model.service.core.rows import OTHER_SIGNALS

    found = with_store(database, lambda store: list_unknown_signals(store, delete=delete))
    if as_json:
        console.say_json(
            [
                {
                    "clientId": client_id,
                    "signal": row.name or None,
                    "nearest": row.nearest or None,
                    "requests": row.requests,
                    "lastSeen": time_of(row.last_seen),
                }
                for client_id, row in found
            ]
        )
        return
    for client_id, row in found:
        last = f"{row.requests} times, last at {time_of(row.last_seen)}"
        if row.name == OTHER_SIGNALS:
            console.say(f"{client_id}  other signals: {last}")
        else:
            console.say(f"{client_id}  {row.name}: did you mean {row.nearest}? {last}")
    console.say(f"{len(found)} counts{' deleted' if delete else ''}")


def _show(client_id: str, api_key: str, *, as_json: bool) -> None:
    console.report(ONCE)
    if as_json:
        console.say_json({"clientId": client_id, "apiKey": api_key})
    else:
        console.say(f"x-client-id: {client_id}")
        console.say(f"x-api-key: {api_key}")


def _scopes(client: ClientRow) -> list[str]:
    return sorted(client.scopes.split(","))


def _plain(client: ClientRow, keys: list[ApiKeyRow]) -> dict[str, object]:
    return {
        "clientId": client.client_id,
        "name": client.name,
        "scopes": _scopes(client),
        "quota": f"{client.quota}/{client.quota_seconds}",
        "pool": client.pool,
        "strictSignals": bool(client.strict_signals),
        "sandbox": bool(client.sandbox),
        "createdAt": time_of(client.created_at),
        "revokedAt": time_of(client.revoked_at),
        "keys": [
            {
                "createdAt": time_of(key.created_at),
                "expiresAt": time_of(key.expires_at),
                "revokedAt": time_of(key.revoked_at),
            }
            for key in keys
        ],
    }
