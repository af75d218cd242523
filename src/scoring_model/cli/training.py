"""The command that trains, and commands on MLflow runs."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.groups import Group, in_group
from scoring_model.cli.records import check_sources

if TYPE_CHECKING:
    from scoring_model.configuration import Configuration
    from scoring_model.training.job import JobDone

tracking_app = in_group(Group.MODELS)(
    typer.Typer(name="tracking", help="Tracking: runs of trainings in MLflow.", no_args_is_help=True)
)


_Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE...",
        callback=check_sources,
        help="Labelled records: Parquet, CSV or JSON Lines; files, patterns in quotes or folders, read as one. "
        "With training.thinning also URIs.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class _Search:
    """How parameters are searched, instead of what the configuration says."""

    trials: Annotated[int | None, typer.Option(min=1, help="Number of trials of the search.")] = None
    budget: Annotated[
        str | None, typer.Option(help="Time for the search instead of --trials, such as 10m.")
    ] = None
    params: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="Parameters of an earlier search (parameters.yaml) instead of a search: the same data give the same "
            "bundle.",
        ),
    ] = None


_KeptFor = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        help="Rules of operators, YAML: the bundle keeps what they read (docs/rules.md).",
    ),
]


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """Fields of `training.job.Job`."""

    resume: shared.ResumeWork = False
    replace: shared.Replace = False
    signing_key: shared.SigningKey = None
    tracking_uri: Annotated[
        str | None,
        typer.Option(
            envvar="MLFLOW_TRACKING_URI",
            help="MLflow server or database; by default tracking beside the bundle, which also keeps what "
            "the server does not accept, for `tracking sync`.",
        ),
    ] = None
    track: Annotated[bool, typer.Option(help="Log the training to MLflow.")] = True
    threads: shared.Threads = 2
    processes: Annotated[
        int, typer.Option(min=1, help="Trials of the search that run at once; they share the threads.")
    ] = 1
    dask: shared.Dask = None
    memory: Annotated[
        int | None,
        typer.Option(
            parser=shared.read_bytes,
            metavar="SIZE",
            help="With training.thinning: limit for all processes together, by default 4GB.",
        ),
    ] = None


@in_group(Group.MODELS)
def train(
    paths: _Paths,
    config: shared.Config,
    out: shared.NewBundle,
    search: _Search,
    given: JobOptions,
    as_of: shared.EarlierThan = None,
    names: shared.Names = None,
    rules: _KeptFor = None,
) -> None:
    """Train on labelled records; write one sealed bundle and its evaluation.

    Without --trials, --budget or --params, which exclude each other, the configuration says how to search. The folder
    `BUNDLE.training` holds the journal of the search, parameters, refused rows, split, findings, digests of records,
    the results of other thresholds (also when no policy can be kept) and the evaluation of the test period (of the
    validation period without a test part) with its report. docs/configuration.md#the-search has the search, its time
    and memory, docs/tools.md#runs-of-trainings what MLflow gets, docs/files.md#training-past-memory larger histories.
    """
    from scoring_model.configuration.reading import read_yaml
    from scoring_model.configuration.rules import keep_features
    from scoring_model.training.job import Job, run_job

    configuration = _configuration(config, names, as_of, search)
    if rules is not None:
        configuration = keep_features(configuration, read_yaml(rules))
    if given.memory is not None and configuration.training.thinning is None:
        raise typer.BadParameter("--memory is for a configuration with training.thinning")
    console.prepare_training()
    job = Job(source=paths, configuration=configuration, out=out, **vars(given))
    with console.resumable("train"):
        done = run_job(job, report=console.report)
    _say_trained(done)


def _say_trained(done: "JobDone") -> None:
    console.say(f"bundle: {done.bundle}")
    console.say(f"parameters: {done.parameters}")
    console.say(f"evaluation of the {done.evaluated_part} period: {done.summary}")
    if done.tracked is not None:
        console.say(f"tracking: {done.tracked.uri}, run {done.tracked.run_id}")
    console.say(f"report: {done.report}")


def _configuration(path: Path, names: shared.Names, as_of: int | None, search: _Search) -> "Configuration":
    """Read a configuration under the options of the command."""
    from scoring_model.configuration import (
        ConfigurationError,
        Tuned,
        load_configuration,
        read_settings,
        read_yaml,
    )
    from scoring_model.records import parse_duration

    configuration = load_configuration(path)
    named = [f"--{name}" for name, value in vars(search).items() if value is not None]
    if len(named) > 1:
        raise ConfigurationError((f"{' and '.join(named)} exclude each other",))
    training = configuration.training
    if search.params is not None:
        training = replace(training, tuned=read_settings(Tuned, read_yaml(search.params)))
    elif named:
        limit = None if search.budget is None else parse_duration(search.budget)
        training = replace(
            training, tuning=replace(training.tuning, trials=search.trials, budget=limit), tuned=None
        )
    configuration = replace(configuration, training=training).with_names(names)
    return configuration if as_of is None else configuration.trained_as_of(as_of)


@tracking_app.command()
def sync(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", exists=True, file_okay=False, help="The folder `tracking` beside the bundles."
        ),
    ],
    tracking_uri: Annotated[
        str | None,
        typer.Option(
            envvar="MLFLOW_TRACKING_URI",
            help="MLflow server or database for all runs; by default each goes to the server that did not accept it.",
        ),
    ] = None,
    as_json: shared.Json = False,
) -> None:
    """Copy the runs of a folder that the server lacks. Running it again changes nothing.

    The folder is not changed. Exit code 1: a server did not accept a run; those for all others are copied first. See
    docs/tools.md#copies-of-runs.
    """
    from scoring_model.training.tracking import sync as copy

    done = copy(folder, uri=tracking_uri, report=console.report)
    if as_json:
        copied = [
            {"uri": run.uri, "run_id": run.run_id, "model_version": run.model_version} for run in done.copied
        ]
        counts = {"present": done.present, "unaddressed": done.unaddressed, "incomplete": done.incomplete}
        console.say_json({"copied": copied, **counts})
        return
    console.say(f"{len(done.copied)} runs copied, {done.present} were there already")
    if done.unaddressed:
        console.say(f"{done.unaddressed} runs have no server: name one with --tracking-uri")
    if done.incomplete:
        console.say(f"{done.incomplete} runs are incomplete and were not copied")
