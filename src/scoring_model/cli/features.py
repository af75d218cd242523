"""The command that lists the features of a configuration."""

from pathlib import Path
from typing import Annotated

import typer

from scoring_model.cli import console


def features(
    config: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="Configuration of the use.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the features that a configuration makes, those that are off, and the reason codes."""
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
