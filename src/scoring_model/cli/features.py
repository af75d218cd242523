"""The command that lists the features of a configuration, or computes them for records."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.bundles import is_folder, refuse_for_file, score_folder
from scoring_model.cli.records import local_files

if TYPE_CHECKING:
    from scoring_model.batch import ExportedFeatures
    from scoring_model.batch.dataset import DatasetRun


def features(
    bundle: Annotated[
        Path | None, typer.Argument(help="Directory of the bundle whose features are computed.")
    ] = None,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE...]", help="Records, as for `score`. Several files are read as one."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="Configuration whose features are listed, without a bundle."
        ),
    ] = None,
    as_json: shared.Json = False,
    out: Annotated[
        str | None,
        typer.Option(
            help="File to write: .parquet. Or a folder or URI, which gets a Parquet dataset, as for `score`."
        ),
    ] = None,
    contributions: Annotated[
        bool,
        typer.Option(
            "--contributions",
            help="Add base and contribution.<feature>: exact Shapley values in log-odds, which sum to the margin.",
        ),
    ] = False,
    history: shared.FolderHistory = None,
    names: shared.Names = None,
    max_bad_share: shared.MaxBadShare = 0.01,
    allow_repeats: shared.AllowRepeats = False,
    public_key: shared.PublicKey = None,
    threads: shared.FolderThreads = 2,
    memory: shared.Memory = None,
    resume: shared.Resume = False,
    work: shared.WorkFolder = None,
    dask: shared.Dask = None,
) -> None:
    """List the features of a configuration, or write what a bundle's model reads of each record of a file.

    `--config CONFIG` lists features, those that are off, and reason codes. `BUNDLE FILE... --out MATRIX.parquet` writes
    recordId and a float64 column for each feature; refused rows are in MATRIX.quarantine.csv. The history is that of
    `score`; see docs/tools.md. JSON has names, meanings, fields and units, or the numbers of records. Options
    marked [folder] are for a folder as --out.
    """
    if config is not None:
        if bundle is not None:
            raise typer.BadParameter("takes no bundle and no files", param_hint="--config")
        _list(config, as_json=as_json)
        return
    if bundle is None or not paths or out is None:
        raise typer.BadParameter("give --config, or BUNDLE FILE... --out MATRIX")
    from scoring_model.scorer import Scorer

    scorer = Scorer.load(bundle, public_key=shared.key_of(public_key), threads=threads).with_names(names)
    done: DatasetRun | ExportedFeatures
    if is_folder(out):
        done = score_folder(
            bundle=bundle,
            sources=paths,
            out=out,
            histories=history or [],
            work=work,
            shard=None,
            resume=resume,
            content="contributions" if contributions else "features",
            names=names,
            max_bad_share=max_bad_share,
            allow_repeats=allow_repeats,
            memory=memory,
            processes=threads,
            dask=dask,
            public_key=public_key,
        )
    else:
        refuse_for_file(out, {"--memory": memory, "--resume": resume, "--work": work, "--dask": dask})
        from scoring_model.batch import export_features

        done = export_features(
            scorer,
            local_files(paths, out),
            Path(out),
            histories=[local_files([one], out) for one in history or []],
            contributions=contributions,
            max_bad_share=max_bad_share,
            allow_repeats=allow_repeats,
        )
    count = len(scorer.matrix.names)
    if as_json:
        quarantine = None if done.quarantine is None else str(done.quarantine)
        counts = {"records": done.records, "refused": done.refused, "features": count}
        console.say_json({"out": out, "quarantine": quarantine, **counts})
        return
    console.say(f"{count} features of {done.records} records in {out}")
    if done.quarantine is not None:
        console.say(f"{done.refused} rows were refused: {done.quarantine}")


def _list(config: Path, *, as_json: bool) -> None:
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
