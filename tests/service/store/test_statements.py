import asyncio
import re
import sqlite3
from collections.abc import Iterator

import asyncpg
import pytest

from scoring_model.service.core.rows import DeliveryStatus
from scoring_model.service.store import delivery_statements, expiry_statements, statements
from scoring_model.service.store.postgres import store as on_postgres
from scoring_model.service.store.sqlite import store as on_sqlite
from scoring_model.service.store.sqlite.connection import native
from scoring_model.service.store.statements import Each

FOR_OPERATORS = {"BUNDLES", "CLIENTS", "OTHER_MASTERS"}
SORTED = {
    "API_KEYS",
    "IDENTITIES_OF",
    "VERIFICATIONS_OF_IDENTITY",
    "LABELS",
    "DELIVERY OF_EVENT",
    "DELIVERY LIST WAITING -- webhook",
    "DELIVERY LIST WAITING client webhook",
    "DELIVERY SOME_DUE",
}
"""These sort what one client, person, verification, event or webhook has of its own, and what a limit bounds."""

QUEUES = ("verifications_pending", "events_waiting", "deliveries_due", "deliveries_webhook")
"""What waits is few: these indexes hold nothing else and are read from their beginning."""

DELIVERIES = {
    f"DELIVERY {name}": value
    for name, value in vars(delivery_statements).items()
    if name.isupper() and not name.startswith("_")
} | {
    f"DELIVERY LIST {status} {'client' if client else '--'} {'webhook' if webhook else '--'}": (
        delivery_statements.deliveries(status, client=client, webhook=webhook)
    )
    for status in (None, *DeliveryStatus)
    for client in (False, True)
    for webhook in (False, True)
}

EXPIRY = {
    f"EXPIRY {name} {kind.name}": getattr(spec, name)
    for kind, spec in expiry_statements.EXPIRY.items()
    for name in ("end", "count", "drop")
} | {"EXPIRY VERIFICATIONS": expiry_statements.VERIFICATIONS, "EXPIRY RESEAL": expiry_statements.RESEAL}


def shared() -> Iterator[tuple[str, str, str]]:
    """Every shared statement that runs for requests: its name, as SQLite runs it, and as a server does."""
    for name, value in (vars(statements) | DELIVERIES | EXPIRY).items():
        if name.startswith("_") or name in FOR_OPERATORS:
            continue
        if isinstance(value, Each):
            yield name, value.one, value.many
        elif name == "ERASE":
            for place, (statement, _) in enumerate(value):
                yield f"{name} {place}", statement, statement
        elif isinstance(value, str) and re.match("SELECT|UPDATE|INSERT|DELETE|WITH", value):
            yield name, value, value


OF_NO_TABLE = (
    "CONSTANT ROW",
    "SCAN waiting",
    "SCAN found",
    "SCAN due",
    "SCAN json_each VIRTUAL TABLE INDEX 1:",
)
FOR_SERVERS = "_IN_ORDER$"
ON_SQLITE = {name: native(one) for name, one, _ in shared() if not re.search(FOR_SERVERS, name)} | {
    **{f"histories {place}": text for place, text in enumerate(on_sqlite._HISTORIES[2])},
    "labels": on_sqlite._LABELS,
    "set labels": on_sqlite._SET_LABELS,
}
ON_POSTGRES = {name: many for name, _, many in shared()} | {
    **{f"histories {place}": text for place, text in enumerate(on_postgres._HISTORIES[2])},
    "labels": on_postgres._APPEND,
}


@pytest.mark.parametrize("name", ON_SQLITE)
def test_no_request_reads_a_whole_table_of_sqlite(name: str, sqlite_url: str) -> None:
    """Every statement finds its rows by a key or an index, which its plan says."""
    statement = ON_SQLITE[name]
    connection = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))
    arguments = [None] * max(map(int, re.findall(r"\?(\d+)", statement)), default=0)
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", arguments)]
    connection.close()
    scans = [step for step in plan if step.startswith("SCAN") and not step.endswith(OF_NO_TABLE)]
    assert all(step.endswith(QUEUES) for step in scans), plan
    # Sorting reads every row that is asked for before it gives the first.
    assert name in SORTED or not any("TEMP B-TREE" in step for step in plan), plan


def test_no_request_reads_a_whole_table_of_a_server(postgres_url: str) -> None:
    """The same on a server, whose plan is asked for as it will be made: whatever the arguments."""

    async def run() -> dict[str, str]:
        connection = await asyncpg.connect(
            postgres_url, server_settings={"enable_seqscan": "off", "plan_cache_mode": "force_generic_plan"}
        )
        plans = {}
        for name, statement in ON_POSTGRES.items():
            await connection.execute(f"PREPARE asked AS {statement}")
            nulls = ", ".join(["NULL"] * max(map(int, re.findall(r"\$(\d+)", statement)), default=0))
            rows = await connection.fetch(f"EXPLAIN EXECUTE asked{f'({nulls})' if nulls else ''}")
            await connection.execute("DEALLOCATE asked")
            plans[name] = "\n".join(row[0] for row in rows)
        await connection.close()
        return plans

    for name, plan in asyncio.run(run()).items():
        assert "Seq Scan" not in plan, (name, plan)
