"""Reads rules of operators from YAML."""

from pathlib import Path

from scoring_model.configuration.reading import read_yaml
from scoring_model.rules import RuleNames, Rules, parse_rules


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
