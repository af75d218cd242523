"""The command that only delivers events."""

from __future__ import annotations

from typing import Annotated

import typer

from scoring_model.cli import console
from scoring_model.cli.database import Database, MasterKey


def deliver(
    database: Database,
    master_key: MasterKey = None,
    development: Annotated[
        bool,
        typer.Option(
            envvar="SCORING_MODEL_DEVELOPMENT",
            show_envvar=False,
            help="Let webhooks be plain http and on this machine.",
        ),
    ] = False,
    egress_networks: Annotated[
        str,
        typer.Option(
            envvar="SCORING_MODEL_EGRESS_NETWORKS",
            show_envvar=False,
            help="Special ranges that webhooks may be in, with commas between.",
        ),
    ] = "",
    egress_proxy: Annotated[
        str | None,
        typer.Option(
            envvar="SCORING_MODEL_EGRESS_PROXY",
            show_envvar=False,
            help="http://host:port of a CONNECT proxy for deliveries.",
        ),
    ] = None,
    shutdown_grace: Annotated[
        str,
        typer.Option(
            envvar="SCORING_MODEL_SHUTDOWN_GRACE",
            show_envvar=False,
            help="Time that attempts under way get at the end.",
        ),
    ] = "30s",
) -> None:
    """Deliver events to webhooks until SIGTERM or Ctrl-C, beside servers that may do so too.

    The options are those of `serve`, and so are the variables of the environment.
    """
    from scoring_model.records.times import SECOND, parse_duration
    from scoring_model.service.delivering import deliver as run
    from scoring_model.service.delivery.egress import Egress
    from scoring_model.service.settings import items, master_source

    egress = Egress(
        networks=tuple(items(egress_networks)), proxy=egress_proxy or None, development=development
    )
    run(
        database,
        master_source(database, master_key or None),
        egress,
        grace_seconds=parse_duration(shutdown_grace) / SECOND,
        ready=lambda: console.report("delivering; Ctrl-C ends it"),
    )
    console.report("stopped")
