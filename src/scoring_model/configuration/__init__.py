"""Configuration: one YAML file per use, parsed once into frozen types."""

from scoring_model.configuration.configuration import (
    Configuration,
    FeatureChoice,
    RecordSettings,
    load_configuration,
)
from scoring_model.configuration.findings import FindingSettings
from scoring_model.configuration.gates import Gate, GateSettings, load_gates
from scoring_model.configuration.policy import CostSettings, PolicySettings
from scoring_model.configuration.reading import ConfigurationError, read_settings, read_yaml
from scoring_model.configuration.training import (
    LeakageCheckName,
    LeakageSettings,
    SplitSettings,
    TrainingSettings,
    Tuned,
    TuningSettings,
)

__all__ = [
    "Configuration",
    "ConfigurationError",
    "CostSettings",
    "FeatureChoice",
    "FindingSettings",
    "Gate",
    "GateSettings",
    "LeakageCheckName",
    "LeakageSettings",
    "PolicySettings",
    "RecordSettings",
    "SplitSettings",
    "TrainingSettings",
    "Tuned",
    "TuningSettings",
    "load_configuration",
    "load_gates",
    "read_settings",
    "read_yaml",
]
