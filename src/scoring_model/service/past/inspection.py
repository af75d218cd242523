"""What operators see of verifications: lists across clients, and one with all that belongs to it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from scoring_model.contract.outcome import Outcome
from scoring_model.contract.texts import rfc3339, to_text
from scoring_model.history.windows import says_fraud
from scoring_model.service.activation.links import link_keys_of
from scoring_model.service.core.rows import ClientRow, VerificationRow
from scoring_model.service.events.events import message_id
from scoring_model.service.identities.persons import Persons
from scoring_model.service.keys.data_keys import Vault
from scoring_model.service.keys.keyring import Keyring
from scoring_model.service.keys.link_hashes import Linker, split_hashes
from scoring_model.service.keys.secrets import load_or_create
from scoring_model.service.requests.lists import merged, read_page
from scoring_model.service.resolutions.rows import resolutions_of
from scoring_model.service.scoring.sandbox import OWN_SENTENCES
from scoring_model.service.store import FIRST, Index, Page, Reader, Store

SHARING: Final = 10
"""Latest records that are listed for each link key."""


async def list_verifications(
    store: Store, *, client_id: str | None, filters: Mapping[str, str], before: int | None, limit: int
) -> list[dict[str, Any]]:
    """List the latest verifications of one client, or of all that are no sandboxes, without personal data.

    Parameters
    ----------
    filters : mapping of str to str
        Values of columns: `outcome`, `status`, `model_version`, and `resolution`.
    before : int or None
        Only verifications created before this instant, microseconds.
    limit : int
        Of a rare value fewer are found: each client's latest 1,000 verifications before the instant are searched.

    Raises
    ------
    ValueError
        If there is no such client.
    """
    async with store.reading() as reader:
        every = await reader.clients()
        clients = [
            row for row in every if row.client_id == client_id or (not row.sandbox and client_id is None)
        ]
        if not clients and (client_id is not None or not every):
            raise ValueError("there is no such client")
        after = FIRST if before is None else FIRST._replace(created_at=before)
        index = Index.STEPPED_UP if filters.get("outcome") == Outcome.STEPPED_UP else Index.VERIFICATIONS
        checked = {
            name: text for name, text in filters.items() if name != "outcome" or index is Index.VERIFICATIONS
        }
        pages = [
            Page(index=index, key=one.client, after=after, filters=checked, limit=limit) for one in clients
        ]
    found = [(rows, None) for rows, _ in [await read_page(store, page) for page in pages]]
    rows, _ = merged(found, limit)
    names = {row.client: row for row in clients}
    return [_verdict(row, names[row.client]) for row in rows]


async def inspect(store: Store, keyring: Keyring, resource: bytes) -> dict[str, Any]:
    """Return all that belongs to a verification: verdict, labels, events with deliveries, and who shares which key.

    Raises
    ------
    ValueError
        If there is no such verification.
    """
    linker = await _linker(store, keyring)
    persons = Persons(Vault(keyring))
    async with store.reading() as reader:
        row = await reader.verification_by_id(resource)
        if row is None:
            raise ValueError("there is no such verification")
        clients = {one.client: one for one in await reader.clients()}
        client = clients[row.client]
        labels = (await reader.labels([resource])).get(resource, [])
        names = await _names(reader, persons, linker, row, client)
        sharing = [one for one in clients.values() if one.pool == client.pool]
        return {
            **_verdict(row, client),
            "identityId": None if row.identity_id is None else to_text(row.identity_id),
            "reasons": await _reasons(reader, row),
            "erased": row.payload is None,
            "labels": [
                {"label": label, "knownAt": rfc3339(known_at), "reportedAt": rfc3339(told_at)}
                for label, known_at, told_at in labels
            ],
            "resolutions": [
                {"result": one.result, "method": one.method, "resolvedAt": rfc3339(one.resolved_at)}
                for one in (await resolutions_of(reader, [resource]))[resource]
            ],
            "events": await _events(reader, row),
            "links": [await _sharing(reader, name, value, row, sharing) for name, value in names],
        }


def _verdict(row: VerificationRow, client: ClientRow) -> dict[str, Any]:
    return {
        "id": to_text(row.id),
        "clientId": client.client_id,
        **({"sandbox": True} if client.sandbox else {}),
        "status": row.status,
        "scoringOutcome": row.outcome,
        "scoringScore": row.score,
        **(
            {}
            if row.decided_by is None
            else {"decidedBy": row.decided_by, "policyOutcome": row.policy_outcome}
        ),
        **({} if row.decided_by_code is None else {"decidedByCode": row.decided_by_code}),
        **(
            {}
            if row.rules is None
            else {"ruleHits": (row.rule_hits or "").split(",") if row.rule_hits else []}
        ),
        **({} if row.lists is None else {"listHits": row.list_hits.split(",") if row.list_hits else []}),
        "modelVersion": row.model_version,
        "policyVersion": row.policy_version,
        "createdAt": rfc3339(row.created_at),
        "completedAt": None if row.completed_at is None else rfc3339(row.completed_at),
    }


async def _linker(store: Store, keyring: Keyring) -> Linker:
    secrets = await load_or_create(store, keyring)
    async with store.reading() as reader:
        return Linker(secrets, await link_keys_of(reader))


async def _names(
    reader: Reader,
    persons: Persons,
    linker: Linker,
    row: VerificationRow,
    client: ClientRow,
) -> list[tuple[str, bytes]]:
    """Name the hashes of a verification; one that its stored values do not explain is called unknown."""
    hashes = split_hashes(row.links)
    key = None if row.payload is None else await persons.key_of(reader, row.key_id)
    if key is None:
        return [("unknown", value) for value in hashes]
    values = await persons.record_values(reader, row, key)
    known = {value: name for name, value in linker.link(client.pool, client.client, values).hashes}
    return [(known.get(value, "unknown"), value) for value in hashes]


async def _reasons(reader: Reader, row: VerificationRow) -> list[dict[str, str]]:
    if not row.reasons:
        return []
    bundles = {(one.model_version, one.policy_version): one.reasons for one in await reader.bundles()}
    sentences = dict(OWN_SENTENCES) | json.loads(
        bundles.get((row.model_version or "", row.policy_version or ""), "{}")
    )
    return [{"code": code, "description": sentences.get(code, "")} for code in row.reasons.split(",")]


async def _events(reader: Reader, row: VerificationRow) -> list[dict[str, Any]]:
    """Return the events of a verification that are still kept, with the deliveries of each."""
    return [
        {
            "type": event.type,
            "sequence": event.sequence,
            "deliveries": [
                {
                    "id": message_id(one.id),
                    "webhookId": to_text(one.webhook),
                    "status": one.status,
                    "attempts": one.attempts,
                }
                for one in await reader.deliveries_of(event.id)
            ],
        }
        for event in await reader.events_of(row.client, row.id)
    ]


async def _sharing(
    reader: Reader, name: str, value: bytes, row: VerificationRow, clients: Sequence[ClientRow]
) -> dict[str, Any]:
    """Return the latest records under a link key, with the verifications that they are of."""
    found = await reader.links_of(value, SHARING)
    records = []
    for time, _, labels, _ in found:
        same = [one for client in clients for one in await reader.completed_at(client.client, time)]
        owners = [one for one in same if value in split_hashes(one.links)]
        records.append(
            {
                "verificationId": to_text(owners[0].id) if owners else None,
                "at": rfc3339(time),
                "fraud": bool(labels) and says_fraud(labels, before=2**63 - 1),
                "this": bool(owners) and owners[0].id == row.id,
            }
        )
    return {"key": name, "records": found[0][3] if found else 0, "latest": records}
