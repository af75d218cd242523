"""The command that lists the features of a configuration, or computes them for records."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scoring_model.cli import console, option_groups, shared
from scoring_model.cli.bundles import is_folder, refuse_for_file, score_folder
from scoring_model.cli.groups import Group, in_group
from scoring_model.cli.records import local_files

if TYPE_CHECKING:
    from scoring_model.batch import ExportedFeatures
    from scoring_model.batch.dataset_run import DatasetRun
    from scoring_model.scorer import Scorer


_Bundle = Annotated[Path | None, typer.Argument(help="Directory of the bundle whose features are computed.")]
_Paths = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FILE...]", help="Records, as for `score`. Several files are read as one."),
]
_Config = Annotated[
    Path | None,
    typer.Option(
        exists=True, dir_okay=False, help="Configuration whose features are listed, without a bundle."
    ),
]
_Out = Annotated[
    str | None,
    typer.Option(
        help="File to write: .parquet. Or a folder or URI, which gets a Parquet dataset, as for `score`."
    ),
]
_Contributions = Annotated[
    bool,
    typer.Option(
        "--contributions",
        help="Add base and contribution.<feature>: exact Shapley values in log-odds, which sum to the margin.",
    ),
]


@in_group(Group.DATA)
def features(
    read: option_groups.ReadRecords,
    run: option_groups.FolderRun,
    bundle: _Bundle = None,
    paths: _Paths = None,
    config: _Config = None,
    as_json: shared.Json = False,
    out: _Out = None,
    contributions: _Contributions = False,
    history: shared.FolderHistory = None,
    public_key: shared.PublicKey = None,
    threads: shared.FolderThreads = 2,
) -> None:
    """List the features of a configuration, or write what a bundle's model reads of each record of a file.

    `--config CONFIG` lists features, those that are off, and reason codes. `BUNDLE FILE... --out MATRIX.parquet` writes
    recordId and a float64 column for each feature; refused rows are in MATRIX.quarantine.csv. The history is that of
    `score`; see docs/tools.md. JSON has names, meanings, fields and units, or the numbers of records. Options
    marked [folder] are for a folder as --out.
    """
    if config is not None:
        _list(config, bundle, as_json=as_json)
        return
    if bundle is None or not paths or out is None:
        raise typer.BadParameter("give --config, or BUNDLE FILE... --out MATRIX")
    scorer = option_groups.Loading(public_key=public_key, threads=threads).scorer(bundle, read.names)
    done: DatasetRun | ExportedFeatures
    if is_folder(out):
        content = "contributions" if contributions else "features"
        options: dict[str, Any] = {"public_key": public_key, "processes": threads, "content": content}
        done = score_folder(bundle, paths, out, history or [], **options, **vars(read), **vars(run))
    else:
        refuse_for_file(out, run)
        done = _write_file(scorer, paths, out, history or [], read, contributions=contributions)
    _say_done(done, out, len(scorer.matrix.names), as_json=as_json)


def _write_file(
    scorer: "Scorer",
    paths: list[str],
    out: str,
    histories: list[str],
    read: option_groups.ReadRecords,
    *,
    contributions: bool,
) -> "ExportedFeatures":
    from scoring_model.batch import export_features

    return export_features(
        scorer,
        local_files(paths, out),
        Path(out),
        histories=[local_files([one], out) for one in histories],
        contributions=contributions,
        max_bad_share=read.max_bad_share,
        allow_repeats=read.allow_repeats,
    )


def _say_done(done: "DatasetRun | ExportedFeatures", out: str, count: int, *, as_json: bool) -> None:
    if as_json:
        quarantine = None if done.quarantine is None else str(done.quarantine)
        counts = {"records": done.records, "refused": done.refused, "features": count}
        console.say_json({"out": out, "quarantine": quarantine, **counts})
        return
    console.say(f"{count} features of {done.records:,} records in {out}")
    if done.quarantine is not None:
        console.say(f"{done.refused} rows were refused: {done.quarantine}")


def _list(config: Path, bundle: Path | None, *, as_json: bool) -> None:
    if bundle is not None:
        raise typer.BadParameter("takes no bundle and no files", param_hint="--config")
    from scoring_model.bundle import reason_factors
    from scoring_model.configuration import load_configuration
    from scoring_model.features import FeatureMatrix, FittedState
    from scoring_model.features.reference import reference

    configuration = load_configuration(config)
    matrix = FeatureMatrix(configuration.feature_settings, FittedState())
    if as_json:
        console.say_json(
            [
                {
                    "name": feature.name,
                    "meaning": feature.sentence,
                    "reads": feature.inputs,
                    "unit": feature.unit,
                }
                for feature in matrix.features
            ]
        )
        return
    factors = reason_factors(matrix, use=configuration.use, share=configuration.policy.reason_share)
    console.say_markdown(reference(matrix, factors.sentences))
