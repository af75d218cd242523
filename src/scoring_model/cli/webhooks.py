"""Commands on webhooks and their deliveries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.database import time_of, with_store
from scoring_model.cli.groups import Group, in_group

if TYPE_CHECKING:
    from scoring_model.service.events.events import Delivery

Webhook = Annotated[str | None, typer.Option(help="Only those to this webhook: its UUID.")]
After = Annotated[str | None, typer.Option(help="Start after this delivery.")]

app = in_group(Group.SERVICE)(
    typer.Typer(name="webhooks", help="Webhooks of the service and their deliveries.", no_args_is_help=True)
)


@app.command()
def deliveries(
    database: shared.Database,
    status: Annotated[str | None, typer.Option(help="Only WAITING, DELIVERED, DEAD or DROPPED ones.")] = None,
    client: shared.OfClient = None,
    webhook: Webhook = None,
    after: After = None,
    limit: shared.Limit = 100,
    as_json: shared.Json = False,
) -> None:
    """Show deliveries, oldest first, without contents and addresses."""
    from scoring_model.service.core.rows import DeliveryStatus
    from scoring_model.service.events.events import list_deliveries

    known = [one.value for one in DeliveryStatus]
    if status is not None and status not in known:
        raise ValueError(f"status must be one of {', '.join(known)}")
    wanted = None if status is None else DeliveryStatus(status)
    webhook_id = None if webhook is None else _id_of(webhook)
    start = None if after is None else _id_of(after)
    found = with_store(
        database,
        lambda store: list_deliveries(
            store, status=wanted, client_id=client, webhook=webhook_id, after=start, limit=limit
        ),
    )
    lines = [_plain(delivery) for delivery in found]
    if as_json:
        console.say_json(lines)
        return
    for line in lines:
        console.say(_line(line))
    if len(lines) == limit:
        console.report(f"there may be more: --after {lines[-1]['id']}")


@app.command("dead-letters")
def dead_letters(
    database: shared.Database,
    client: shared.OfClient = None,
    webhook: Webhook = None,
    after: After = None,
    limit: shared.Limit = 100,
    as_json: shared.Json = False,
) -> None:
    """Show deliveries that have no attempts left, oldest first. `webhooks replay` sends one again."""
    deliveries(database, "DEAD", client, webhook, after, limit, as_json)


@app.command()
def replay(
    resource: Annotated[
        str, typer.Argument(metavar="ID", help="msg_... of a delivery, or the UUID of an event.")
    ],
    database: shared.Database,
    as_json: shared.Json = False,
) -> None:
    """Send a delivery, or all deliveries of an event, again with the same webhook-id. A deliverer must be running."""
    from scoring_model.service.events.events import message_id
    from scoring_model.service.events.events import replay as send_again

    wanted, at = _id_of(resource), shared.now()
    done = with_store(database, lambda store: send_again(store, wanted, now=at))
    again = [message_id(delivery) for delivery in done.again]
    refused = {message_id(delivery): why for delivery, why in done.refused}
    if as_json:
        console.say_json({"again": again, "refused": refused})
        return
    for text in again:
        console.say(f"{text} waits again")
    for text, why in refused.items():
        console.say(f"{text} does not: {why}")


def _plain(delivery: Delivery) -> dict[str, object]:
    from scoring_model.contract.texts import to_text
    from scoring_model.service.events.events import message_id

    row, event = delivery.row, delivery.event
    return {
        "id": message_id(row.id),
        "event": to_text(row.event),
        "eventType": event.type,
        "resource": to_text(event.resource),
        "sequence": event.sequence,
        "webhook": to_text(row.webhook),
        "clientId": delivery.client_id,
        "status": row.status,
        "attempts": row.attempts,
        "createdAt": time_of(row.created_at),
        "dueAt": time_of(row.due_at if row.finished_at is None else None),
        "finishedAt": time_of(row.finished_at),
        "answered": row.answered,
        "excerpt": row.excerpt,
    }


def _line(plain: dict[str, object]) -> str:
    """One delivery for people."""
    words = [plain[name] for name in ("id", "eventType", "webhook", "clientId", "status")]
    said = [*words, f"{plain['attempts']} attempts", f"since {plain['createdAt']}"]
    if plain["dueAt"] is not None:
        said.append(f"due {plain['dueAt']}")
    if plain["answered"] is not None:
        said.append(f"answered {plain['answered']}")
    if plain["excerpt"] is not None:
        said.append(f"({plain['excerpt']})")
    return "  ".join(map(str, said))


def _id_of(text: str) -> bytes:
    from scoring_model.contract.texts import from_text

    digits = text.removeprefix("msg_")
    if digits != text and len(digits) == 32:
        # The form of a UUID, so that both forms are parsed in one way.
        digits = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    found = from_text(digits)
    if found is None:
        raise ValueError("an id must be a UUID, or msg_ and 32 hexadecimal digits")
    return found
