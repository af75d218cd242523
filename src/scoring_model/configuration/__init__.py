"""Configuration: one YAML file per use, parsed once into frozen types."""

from scoring_model.configuration.configuration import (
    Configuration,
    FeatureChoice,
    RecordSettings,
    load_configuration,
)
from scoring_model.configuration.findings import FindingSettings
from scoring_model.configuration.gates import (
    DifferenceGate,
    DriftGate,
    EarlyGate,
    EstimateGate,
    FigureGate,
    FindingGate,
    FlipGate,
    Gate,
    GateSettings,
    GroupChangeGate,
    GroupGapGate,
    LookSettings,
    PromiseGate,
    load_gates,
)
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
    "DifferenceGate",
    "DriftGate",
    "EarlyGate",
    "EstimateGate",
    "FeatureChoice",
    "FigureGate",
    "FindingGate",
    "FindingSettings",
    "FlipGate",
    "Gate",
    "GateSettings",
    "GroupChangeGate",
    "GroupGapGate",
    "LeakageCheckName",
    "LeakageSettings",
    "LookSettings",
    "PolicySettings",
    "PromiseGate",
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
