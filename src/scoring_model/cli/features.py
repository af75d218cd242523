"""The command that lists the features of a configuration, or computes them for records."""

from pathlib import Path
from typing import Annotated

import typer

from scoring_model.cli import console
from scoring_model.cli.bundles import History, MaxBadShare, PublicKey, Threads, key_of
from scoring_model.cli.records import check_files


def features(
    bundle: Annotated[
        Path | None, typer.Argument(help="Directory of the bundle whose features are computed.")
    ] = None,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE...]", help="File of records, as for `score`. Several are read as one."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="Configuration whose features are listed, without a bundle."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    out: Annotated[Path | None, typer.Option(help="File to write: .parquet.")] = None,
    contributions: Annotated[
        bool, typer.Option("--contributions", help="Add what each feature adds to the margin.")
    ] = False,
    history: History = None,
    max_bad_share: MaxBadShare = 0.01,
    public_key: PublicKey = None,
    threads: Threads = 2,
) -> None:
    """List the features of a configuration, or write what a bundle's model reads of each record of a file."""
    if config is not None:
        if bundle is not None:
            raise typer.BadParameter("takes no bundle and no files", param_hint="--config")
        _list(config, as_json=as_json)
        return
    if bundle is None or not paths or out is None:
        raise typer.BadParameter("give --config, or BUNDLE FILE... --out MATRIX")
    from scoring_model.batch import export_features
    from scoring_model.scorer import Scorer

    check_files(paths)
    scorer = Scorer.load(bundle, public_key=key_of(public_key), threads=threads)
    done = export_features(
        scorer,
        paths,
        out,
        histories=history or [],
        contributions=contributions,
        max_bad_share=max_bad_share,
    )
    if as_json:
        quarantine = None if done.quarantine is None else str(done.quarantine)
        counts = {"records": done.records, "refused": done.refused, "features": done.features}
        console.say_json({"out": str(out), "quarantine": quarantine, **counts})
        return
    console.say(f"{done.features} features of {done.records} records in {out}")
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
