"""Configuration: one YAML file per use, parsed once into frozen types."""

from scoring_model.configuration.configuration import (
    Configuration,
    FeatureChoice,
    RecordSettings,
    load_configuration,
)
from scoring_model.configuration.findings import FindingSettings
from scoring_model.configuration.gates import Gate, GateSettings, LookSettings, load_gates
from scoring_model.configuration.policy import ControlSettings, CostSettings, PolicySettings
from scoring_model.configuration.reading import ConfigurationError, read_settings, read_yaml
from scoring_model.configuration.training import (
    LeakageCheckName,
    LeakageSettings,
    SplitSettings,
    ThinningSettings,
    TrainingSettings,
    Tuned,
    TuningSettings,
)

__all__ = [
    "Configuration",
    "ConfigurationError",
    "ControlSettings",
    "CostSettings",
    "FeatureChoice",
    "FindingSettings",
    "Gate",
    "GateSettings",
    "LeakageCheckName",
    "LeakageSettings",
    "LookSettings",
    "PolicySettings",
    "RecordSettings",
    "SplitSettings",
    "ThinningSettings",
    "TrainingSettings",
    "Tuned",
    "TuningSettings",
    "load_configuration",
    "load_gates",
    "read_settings",
    "read_yaml",
]
