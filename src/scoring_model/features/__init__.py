"""Features: the catalogue, its value functions, and the matrix that evaluates them."""

from scoring_model.features.catalogue import DERIVED, Family, Feature, Group, ReasonTopic
from scoring_model.features.families import DEFAULT_FAMILIES, FAMILIES, FamilyName
from scoring_model.features.fingerprint import feature_versions, fingerprint, invented_table
from scoring_model.features.fitting import fit_state
from scoring_model.features.label_fitting import fit_known_labels
from scoring_model.features.label_statistics import KnownLabels
from scoring_model.features.matrix import FeatureMatrix, StartedRow
from scoring_model.features.settings import FeatureSettings, KeySettings, LinkSettings
from scoring_model.features.signal_settings import MailProviders, SignalSettings, Trend
from scoring_model.features.state import FittedState

__all__ = [
    "DEFAULT_FAMILIES",
    "DERIVED",
    "FAMILIES",
    "Family",
    "FamilyName",
    "Feature",
    "FeatureMatrix",
    "FeatureSettings",
    "FittedState",
    "Group",
    "KeySettings",
    "KnownLabels",
    "LinkSettings",
    "MailProviders",
    "ReasonTopic",
    "SignalSettings",
    "StartedRow",
    "Trend",
    "feature_versions",
    "fingerprint",
    "fit_known_labels",
    "fit_state",
    "invented_table",
]
