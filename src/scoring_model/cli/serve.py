"""The commands `serve` and `deliver`."""

from __future__ import annotations

import gc
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.groups import Group, in_group
from scoring_model.service.settings import DEFAULT_GRACE, SETTINGS, items
from scoring_model.worker_process import show_faults


def _with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each setting of the service, unset by default, in place of its `**given`."""
    signature = inspect.signature(command, eval_str=True)
    own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    options = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[setting.kind | None, typer.Option(help=setting.help)],
        )
        for name, setting in SETTINGS.items()
    ]
    vars(command)["__signature__"] = signature.replace(parameters=[*own, *options])
    return command


@in_group(Group.SERVICE)
@_with_settings
def serve(
    config: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="YAML file of settings.")
    ] = None,
    **given: Any,
) -> None:
    """Answer requests over HTTP until SIGTERM or Ctrl-C.

    Every option can also be set in --config or in the environment (SCORING_MODEL_PORT=8000). Options override the
    environment, which overrides the file. Prints the base URL once it accepts requests. Exit code 0 after both
    signals. docs/service-settings.md#settings has the defaults and explains the settings.
    """
    gc.disable()  # until the service answers: see `freeze_gc`
    try:
        _serve(given, config)
    finally:
        gc.enable()


def _serve(given: dict[str, Any], config: Path | None) -> None:
    from scoring_model.service.run import run
    from scoring_model.service.settings import load_settings

    show_faults()
    lists = {name: items(text) for name, text in given.items() if SETTINGS[name].is_list and text is not None}
    run(
        load_settings(flags={**given, **lists}, environment=os.environ, file=config),
        say=console.say,
        report=console.report,
    )


@in_group(Group.SERVICE)
def deliver(
    database: shared.Database,
    master_key: shared.MasterKey = None,
    development: Annotated[bool, shared.setting("development")] = False,
    egress_networks: Annotated[str, shared.setting("egress_networks")] = "",
    egress_proxy: Annotated[str | None, shared.setting("egress_proxy")] = None,
    shutdown_grace: Annotated[str, shared.setting("shutdown_grace")] = f"{DEFAULT_GRACE}s",
    host: Annotated[str, shared.setting("host", "Name or address on which /metrics listens.")] = "127.0.0.1",
    metrics_port: Annotated[int | None, shared.setting("metrics_port", min=0, max=65535)] = None,
) -> None:
    """Deliver events to webhooks until SIGTERM or Ctrl-C, both with exit code 0. Servers may deliver too.

    Any number may run. Options and environment variables are those of `serve`. See docs/service-clients.md#webhooks.
    """
    from scoring_model.records.times import SECOND, parse_duration
    from scoring_model.service.core.metrics import Slots, enter_slot
    from scoring_model.service.delivery.delivering import deliver as run
    from scoring_model.service.delivery.egress import Egress
    from scoring_model.service.process import alone
    from scoring_model.service.run import exposing
    from scoring_model.service.settings import master_source

    show_faults()
    egress = Egress(
        networks=tuple(items(egress_networks)), proxy=egress_proxy or None, development=development
    )
    slots = Slots(1)
    enter_slot(slots.descriptor, 0)
    with exposing(host, metrics_port, slots, report=console.report) as beside:
        run(
            database,
            master_source(database, master_key or None),
            egress,
            grace_seconds=parse_duration(shutdown_grace) / SECOND,
            ready=lambda: console.report("delivering; Ctrl-C ends it"),
            beside=beside or alone,
        )
    console.report("stopped")
