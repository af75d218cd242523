import asyncio
import re
import sqlite3
from collections.abc import Iterator

import asyncpg

from scoring_model.service.core.rows import DeliveryStatus
from scoring_model.service.store import Reader, Transaction, lists, statements
from scoring_model.service.store.expiry import EXPIRY
from scoring_model.service.store.queries import Query
from scoring_model.service.store.sqlite_file import native
from scoring_model.service.store.statements import Each

FOR_OPERATORS = {
    "bundles",
    "clients",
    "keys_under_other_masters",
    "set_importing",
    "OUTCOMES",
    "RULE_HITS",
    "LIST_HITS",
    "MEASURES",  # at most every 15 s, in one process
    "SEALING_KEYS",
    "LACKS_KEYS",  # at a start, and stops at the first key
}
SORTED = {
    "api_keys",
    "LABELS",
    "deliveries_of",
    *(f"LIST {status} {client} webhook" for status in (None, *DeliveryStatus) for client in ("--", "client")),
    "SOME_DUE",
    "LABELLED",
}
"""These sort what one client, person, verification, event or webhook has of its own, and what a limit bounds."""

OF_ACTIVATIONS = {"activations", "rule_sets", "latest_activation", "serving_processes", "forget_processes"}
"""No request runs these, and their tables have a row for each activation and process."""

QUEUES = ("verifications_pending", "events_waiting", "deliveries_due", "deliveries_webhook")
"""What waits is few: these indexes hold nothing else and are read from their beginning."""

LISTS = {
    f"LIST {status} {'client' if client else '--'} {'webhook' if webhook else '--'}": (
        statements.deliveries(status, client=client, webhook=webhook)
    )
    for status in (None, *DeliveryStatus)
    for client in (False, True)
    for webhook in (False, True)
}
SWEEPS = {
    f"EXPIRY {name} {kind.name}": getattr(spec, name)
    for kind, spec in EXPIRY.items()
    for name in ("end", "count", "drop")
}
BY_IDS = {f"BY_IDS {kind.__name__}": each for kind, each in lists.BY_IDS.items()}
OF_LISTS = {
    f"{name} {index.name}": statement
    for index in lists.Index
    for name, statement in (
        ("PAGE", lists.rows(index)),
        ("CHECKED", lists.checked(index, ("status",))),
    )
}
QUERIES = {
    name: query.statement
    for kind in (Reader, Transaction)
    for name, query in vars(kind).items()
    if isinstance(query, Query)
}
HISTORIES = {
    f"HISTORIES{' between' if between else ''}": statements.histories(2, between=between)
    for between in (False, True)
}


def shared() -> Iterator[tuple[str, str, str]]:
    """Every shared statement that runs for requests: its name, as SQLite runs it, and as a server does."""
    for name, value in (
        vars(statements) | vars(lists) | QUERIES | BY_IDS | LISTS | OF_LISTS | SWEEPS | HISTORIES
    ).items():
        if name.startswith("_") or name in FOR_OPERATORS | OF_ACTIVATIONS:
            continue
        if isinstance(value, Each):
            yield name, value.one, value.many
        elif isinstance(value, str) and re.match("SELECT|UPDATE|INSERT|DELETE|WITH", value):
            yield name, value, value


OF_NO_TABLE = (
    "CONSTANT ROW",
    "SCAN waiting",
    "SCAN found",
    "SCAN checked",
    "SCAN due",
    "SCAN json_each VIRTUAL TABLE INDEX 1:",
)
FOR_SERVERS = "_IN_ORDER$"
ON_SQLITE = {name: native(one) for name, one, _ in shared() if not re.search(FOR_SERVERS, name)}
ON_POSTGRES = {name: many for name, _, many in shared()}


def test_no_request_reads_a_whole_table_of_sqlite(sqlite_url: str) -> None:
    """Every statement finds its rows by a key or an index, which its plan says."""
    connection = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))
    for name, statement in ON_SQLITE.items():
        arguments = [None] * max(map(int, re.findall(r"\?(\d+)", statement)), default=0)
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", arguments)]
        scans = [step for step in plan if step.startswith("SCAN") and not step.endswith(OF_NO_TABLE)]
        assert all(step.endswith(QUEUES) for step in scans), (name, plan)
        # Sorting reads every row that is asked for before it gives the first.
        assert name in SORTED or not any("TEMP B-TREE" in step for step in plan), (name, plan)
    connection.close()


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
