"""Commands on verifications."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.database import masters_of, with_store
from scoring_model.cli.groups import Group, in_group

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scoring_model.service.keys.keyring import Keyring
    from scoring_model.service.scoring.replaying import Replay
    from scoring_model.service.store import Store

CODES = {"same": 0, "different": 3, "erased": 4}
"""Exit codes by the result of a replay."""

app = in_group(Group.DECISIONS)(
    typer.Typer(name="verifications", help="Verifications of the service.", no_args_is_help=True)
)


@app.command()
def replay(
    verification: shared.VerificationId,
    database: shared.Database,
    bundles: Annotated[
        Path | None,
        shared.setting(
            "bundles", "Directory with every bundle ever served; by default where `serve` keeps them."
        ),
    ] = None,
    master_key: shared.MasterKey = None,
    as_json: shared.Json = False,
) -> None:
    """Repeat a decision from its stored feature row with its original bundle, and compare.

    Exit codes: 0 the same; 3 different; 4 erased.
    """
    from scoring_model.contract.texts import from_text

    resource = from_text(verification)
    if resource is None:
        raise ValueError("the id of a verification must be a UUID")
    keyring = masters_of(database, master_key)
    outcome = str(with_store(database, lambda store: _replay(store, keyring, resource, bundles)))
    if as_json:
        console.say_json({"verificationId": verification, "replay": outcome})
    else:
        console.say(outcome)
    raise typer.Exit(CODES[outcome])


@app.command("list")
def list_all(
    database: shared.Database,
    client: shared.OfClient = None,
    outcome: Annotated[str | None, typer.Option(help="Only PASSED, STEPPED_UP or FAILED ones.")] = None,
    status: Annotated[str | None, typer.Option(help="Only PENDING, COMPLETED or ERROR ones.")] = None,
    model_version: Annotated[str | None, typer.Option(help="Only those by this model.")] = None,
    resolution: Annotated[
        str | None, typer.Option(help="Only approved, declined or abandoned ones, or those with none.")
    ] = None,
    unresolved: Annotated[
        bool, typer.Option("--unresolved", help="Only stepped-up ones without a resolution.")
    ] = False,
    before: Annotated[
        str | None, typer.Option(help="Only those created before this time (RFC 3339).")
    ] = None,
    limit: shared.Limit = 100,
    as_json: shared.Json = False,
) -> None:
    """Show the latest verifications, without personal data.

    With --outcome, --status, --model-version, --resolution or --unresolved the latest 1,000 verifications of each
    client are searched (stepped-up ones where only those are wanted); --before goes further back.
    """
    from scoring_model.contract.texts import from_rfc3339
    from scoring_model.service.past.inspection import list_verifications

    filters = _filters(outcome, status, model_version, resolution, unresolved=unresolved)
    until = None if before is None else from_rfc3339(before)
    if before is not None and until is None:
        raise ValueError("--before must be a time of RFC 3339 with a zone")
    found = with_store(
        database,
        lambda store: list_verifications(store, client_id=client, filters=filters, before=until, limit=limit),
    )
    if as_json:
        console.say_json(found)
        return
    for one in found:
        words = (one["id"], one["createdAt"], one["clientId"], one["status"])
        console.say(
            "  ".join([*words, f"{one['scoringOutcome'] or '-'} {one['scoringScore'] or ''}".rstrip()])
        )


def _filters(
    outcome: str | None,
    status: str | None,
    model_version: str | None,
    resolution: str | None,
    *,
    unresolved: bool,
) -> dict[str, str]:
    """Check the words of filters; returns those that are given."""
    from scoring_model.contract.outcome import Outcome
    from scoring_model.contract.resolution import Result
    from scoring_model.contract.verification import VerificationStatus

    if unresolved:
        outcome, resolution = outcome or Outcome.STEPPED_UP.value, resolution or "none"
    results = [*(one.value.lower() for one in Result), "none"]
    for text, known in ((outcome, [*Outcome]), (status, [*VerificationStatus]), (resolution, results)):
        if text is not None and text not in known:
            raise ValueError(f"must be one of {', '.join(known)}")
    result = None if resolution is None else resolution.upper()
    named = {"outcome": outcome, "status": status, "model_version": model_version, "resolution": result}
    return {name: text for name, text in named.items() if text is not None}


@app.command()
def show(
    verification: shared.VerificationId,
    database: shared.Database,
    master_key: shared.MasterKey = None,
    as_json: shared.Json = False,
) -> None:
    """Show a verification: verdict, reasons, labels, deliveries, and which records share a link key with it.

    For each link key the latest records; one without an id was erased or imported. No personal data are shown.
    """
    from scoring_model.contract.texts import from_text
    from scoring_model.service.past.inspection import inspect

    resource = from_text(verification)
    if resource is None:
        raise ValueError("the id of a verification must be a UUID")
    keyring = masters_of(database, master_key)
    found = with_store(database, lambda store: inspect(store, keyring, resource))
    if as_json:
        console.say_json(found)
    else:
        _say_found(found)


def _say_found(found: Mapping[str, Any]) -> None:
    for name in (
        "id",
        "clientId",
        "identityId",
        "createdAt",
        "completedAt",
        "status",
        "scoringOutcome",
        "scoringScore",
        "decidedBy",
        "policyOutcome",
        "decidedByCode",
        "ruleHits",
        "listHits",
        "modelVersion",
        "policyVersion",
        "erased",
    ):
        if name in found:
            console.say(
                f"{name}: {', '.join(value) if isinstance(value := found[name], list) else value}".rstrip()
            )
    for reason in found["reasons"]:
        console.say(f"reason: {reason['code']}  {reason['description']}")
    for label in found["labels"]:
        console.say(f"label: {label['label']}  known {label['knownAt']}  reported {label['reportedAt']}")
    for one in found["resolutions"]:
        console.say(f"resolution: {one['result']} by {one['method']}  at {one['resolvedAt']}")
    for event in found["events"]:
        sent = [f"{one['id']} {one['status']} after {one['attempts']}" for one in event["deliveries"]]
        console.say(f"event: {event['type']}  {'; '.join(sent) or 'no delivery'}")
    for link in found["links"]:
        console.say(f"link key {link['key']}: {link['records']} records")
        for one in link["latest"]:
            mark = "this one" if one["this"] else "fraud" if one["fraud"] else ""
            console.say(f"  {one['at']}  {one['verificationId'] or 'no verification'}  {mark}".rstrip())


async def _replay(store: Store, keyring: Keyring, resource: bytes, bundles: Path | None) -> Replay:
    from scoring_model.scorer.decider import Decider
    from scoring_model.service.activation.shelf import BundleShelf, BundlesMissing, read_bundle_directory
    from scoring_model.service.scoring.replaying import replay as decide_again

    directory = bundles or await read_bundle_directory(store) or Path("bundles")

    def find(model_version: str, policy_version: str | None) -> Decider:
        path = BundleShelf(directory).find(model_version, policy_version)
        if path is None:
            raise BundlesMissing(directory, ((model_version, policy_version or ""),))
        return Decider.load(path)

    return await decide_again(store, keyring, resource, find=find)
