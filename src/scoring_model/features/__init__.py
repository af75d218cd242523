"""Features: the catalogue, its value functions, and the matrix that evaluates them."""

from scoring_model.features.catalogue import Family, Feature, Group
from scoring_model.features.fingerprint import feature_versions, fingerprint, invented_table, record_at
from scoring_model.features.links import delayed_columns, link_columns
from scoring_model.features.matrix import FeatureMatrix, StartedRow
from scoring_model.features.settings import (
    FAMILIES,
    FamilyName,
    FeatureSettings,
    KeySettings,
    LinkSettings,
    MailProviders,
    SignalSettings,
    Trend,
)
from scoring_model.features.state import FittedState, fit_state

__all__ = [
    "FAMILIES",
    "Family",
    "FamilyName",
    "Feature",
    "FeatureMatrix",
    "FeatureSettings",
    "FittedState",
    "Group",
    "KeySettings",
    "LinkSettings",
    "MailProviders",
    "SignalSettings",
    "StartedRow",
    "Trend",
    "delayed_columns",
    "feature_versions",
    "fingerprint",
    "fit_state",
    "invented_table",
    "link_columns",
    "record_at",
]
