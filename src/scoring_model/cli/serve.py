"""The commands `serve` and `deliver`."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from scoring_model.cli import console, shared
from scoring_model.worker_process import show_faults

_DEVELOPMENT: Final = "Allow webhooks with plain http and on this machine."
_NETWORKS: Final = "Special networks that webhooks may use, separated by commas."
_PROXY: Final = "http://host:port of a CONNECT proxy for deliveries."
_GRACE: Final = (
    "Time for requests under way to end at shutdown, and then the same for delivery attempts; 30s by default."
)


def _variable(name: str, text: str) -> Any:
    return typer.Option(envvar=f"SCORING_MODEL_{name}", show_envvar=False, help=text)


def serve(
    config: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="YAML file of settings.")
    ] = None,
    bundle: Annotated[Path | None, typer.Option(help="Directory of the bundle to serve.")] = None,
    bundles: Annotated[
        Path | None,
        typer.Option(help="Directory with every bundle ever served; by default the bundle's."),
    ] = None,
    database: shared.ServedDatabase = None,
    master_key: shared.ServedMasterKey = None,
    host: Annotated[str | None, typer.Option(help="Name or address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 for a free one.")] = None,
    workers: Annotated[
        int | None, typer.Option(help="Serving processes; above 1 with PostgreSQL only.")
    ] = None,
    deliver: Annotated[bool | None, typer.Option(help="Deliver events to webhooks.")] = None,
    development: Annotated[bool | None, typer.Option(help=_DEVELOPMENT)] = None,
    egress_networks: Annotated[str | None, typer.Option(help=_NETWORKS)] = None,
    egress_proxy: Annotated[str | None, typer.Option(help=_PROXY)] = None,
    trusted_proxies: Annotated[
        str | None, typer.Option(help="Networks whose forwarding headers are trusted, separated by commas.")
    ] = None,
    public_key: shared.ServedPublicKey = None,
    request_log: Annotated[
        bool | None, typer.Option(help="Log each request as a line of JSON on standard error.")
    ] = None,
    scoring_timeout: Annotated[
        str | None, typer.Option(help="Time after which a verification is PENDING.")
    ] = None,
    commit_timeout: Annotated[str | None, typer.Option(help="Time after which a change is refused.")] = None,
    queue_wait: Annotated[
        str | None, typer.Option(help="Estimated wait above which a change is refused at arrival.")
    ] = None,
    queue_limit: Annotated[int | None, typer.Option(help="Most changes in the queue.")] = None,
    max_batch: Annotated[int | None, typer.Option(help="Changes that share a transaction.")] = None,
    max_connections: Annotated[int | None, typer.Option(help="Connections that one process holds.")] = None,
    max_connections_per_address: Annotated[
        int | None, typer.Option(help="Most unauthenticated ones from one address.")
    ] = None,
    head_timeout: Annotated[str | None, typer.Option(help="Time within which headers must arrive.")] = None,
    body_timeout: Annotated[str | None, typer.Option(help="Time within which a body must arrive.")] = None,
    write_timeout: Annotated[
        str | None, typer.Option(help="Time within which a client must read its answer.")
    ] = None,
    links_kept_for: Annotated[
        str | None,
        typer.Option(help="Time for which link records are kept; at least the bundle's longest window."),
    ] = None,
    shutdown_notice: Annotated[
        str | None, typer.Option(help="Time for load balancers to notice the shutdown.")
    ] = None,
    shutdown_grace: Annotated[str | None, typer.Option(help=_GRACE)] = None,
) -> None:
    """Answer requests over HTTP until SIGTERM or Ctrl-C.

    Every option can also be set in --config or in the environment (SCORING_MODEL_PORT=8000). Options override the
    environment, which overrides the file. Prints the base URL once it accepts requests. Exit code 0 after both
    signals. docs/service.md#settings has the defaults and explains the settings.
    """
    given = {name: value for name, value in locals().items() if name != "config"}
    gc.disable()  # until the service answers: see `freeze_gc`
    try:
        _serve(given, config)
    finally:
        gc.enable()


def _serve(given: dict[str, object], config: Path | None) -> None:
    from scoring_model.service.run import run
    from scoring_model.service.settings import items, load_settings

    show_faults()
    for name in ("trusted_proxies", "egress_networks"):
        if isinstance(text := given[name], str):
            given[name] = items(text)
    run(
        load_settings(flags=given, environment=os.environ, file=config),
        say=console.say,
        report=console.report,
    )


def deliver(
    database: shared.Database,
    master_key: shared.MasterKey = None,
    development: Annotated[bool, _variable("DEVELOPMENT", _DEVELOPMENT)] = False,
    egress_networks: Annotated[str, _variable("EGRESS_NETWORKS", _NETWORKS)] = "",
    egress_proxy: Annotated[str | None, _variable("EGRESS_PROXY", _PROXY)] = None,
    shutdown_grace: Annotated[str, _variable("SHUTDOWN_GRACE", _GRACE)] = "30s",
) -> None:
    """Deliver events to webhooks until SIGTERM or Ctrl-C, both with exit code 0. Servers may deliver too.

    Any number may run. Options and environment variables are those of `serve`. See docs/service.md#webhooks.
    """
    from scoring_model.records.times import SECOND, parse_duration
    from scoring_model.service.delivering import deliver as run
    from scoring_model.service.delivery.egress import Egress
    from scoring_model.service.settings import items, master_source

    show_faults()
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
