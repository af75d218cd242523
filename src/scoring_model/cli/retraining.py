"""The command that retrains the model of a service."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.activation import WAIT_SECONDS
from scoring_model.cli.bundles import NOTHING_TO_EVALUATE
from scoring_model.cli.comparison import GATE_FAILED
from scoring_model.cli.database import masters_of
from scoring_model.cli.groups import Group, in_group
from scoring_model.cli.past import first_of

if TYPE_CHECKING:
    from scoring_model.retraining import Retraining

_Config = Annotated[Path, typer.Option(exists=True, dir_okay=False, help="Configuration of the challenger.")]
_Gate = Annotated[
    Path, typer.Option(exists=True, dir_okay=False, help="What the challenger must show: docs/gates.md.")
]
_Work = Annotated[
    Path,
    typer.Option(file_okay=False, help="Folder of challengers and their looks, for this service alone."),
]


@dataclass(frozen=True, kw_only=True)
class RetrainingOptions:
    """Fields of `retraining.Retraining`."""

    past: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="File of records from before the service: Parquet, CSV or JSON Lines; may be given several times.",
        ),
    ] = None
    names: shared.Names = None
    client: shared.HistoryOf = None
    training: shared.Training = None
    anew: Annotated[
        bool, typer.Option("--anew", help="Give up a challenger that waits, and train another.")
    ] = False
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the exported records in --work. They are personal data.")
    ] = False
    wait: shared.Wait = WAIT_SECONDS
    signing_key: shared.SigningKey = None
    threads: shared.Threads = 2


@in_group(Group.MODELS)
def retrain(
    database: shared.Database,
    config: _Config,
    gate: _Gate,
    tracking_uri: shared.Registry,
    work: _Work,
    options: RetrainingOptions,
    since: shared.Since = None,
    master_key: shared.MasterKey = None,
    public_key: shared.PublicKey = None,
) -> None:
    """Retrain the model of a service: export its records, train, compare with the champion, and promote or wait.

    After a promotion every process serves the new bundle, without a restart. The last line of standard output is the
    answer as JSON. A run can be killed and started again; see docs/retraining.md. Exit codes: 0 promote; 10 keep the
    champion; 11 wait, and look again with the next run.
    """
    from scoring_model.retraining import Retraining

    given = Retraining(
        database=database,
        keyring=masters_of(database, master_key),
        configuration=config,
        gates=gate,
        uri=tracking_uri,
        work=work,
        since=first_of(since),
        public_key=shared.key_of(public_key),
        **{name: value for name, value in vars(options).items() if value is not None},
    )
    _run(given)


def _run(given: "Retraining") -> None:
    """Retrain, say the answer, and exit with its code."""
    from scoring_model.evaluation.sequential import Answer
    from scoring_model.retraining import retrain as run
    from scoring_model.service.core.clock import SystemClock

    console.prepare_training()
    done = run(given, clock=SystemClock(), report=console.report)
    console.say(done.text)
    console.say(json.dumps(done.to_json()))
    codes = {Answer.PROMOTE: 0, Answer.KEEP: GATE_FAILED, Answer.WAIT: NOTHING_TO_EVALUATE}
    raise typer.Exit(codes[done.answer])
