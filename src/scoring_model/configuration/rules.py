"""Reads rules of operators from YAML, and makes a training keep what they read."""

from dataclasses import replace
from pathlib import Path

from scoring_model.configuration.configuration import Configuration
from scoring_model.configuration.reading import read_yaml
from scoring_model.features import FeatureMatrix, FittedState
from scoring_model.rules import RuleNames, Rules, names_of, parse_rules


def load_rules(path: Path, names: RuleNames) -> Rules:
    """Read rules from YAML.

    Parameters
    ----------
    names : mapping of str to Kind
        What conditions may read: `Scorer.rule_names` of the bundle.

    Raises
    ------
    ConfigurationError
        If the file is not YAML.
    InvalidRules
        With all problems at once.
    """
    return parse_rules(read_yaml(path), names)


def keep_features(configuration: Configuration, document: object) -> Configuration:
    """Return the configuration whose training keeps each feature that rules read, even one that teaches nothing.

    Parameters
    ----------
    document : object
        The content of a file of rules.

    Raises
    ------
    InvalidRules
        If they break their form, or read what no training of the configuration has; with all problems at once.
    """
    in_use = FeatureMatrix(configuration.feature_settings, FittedState()).features
    read = parse_rules(document, names_of(configuration.schema.signals, in_use)).features
    kept = tuple(dict.fromkeys((*configuration.features.keep, *read)))
    return replace(configuration, features=replace(configuration.features, keep=kept))
