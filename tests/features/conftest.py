"""The feature set that the tests of features share."""

import pytest

from feature_tables import LINKS, SIGNALS, STATE
from scoring_model.features import FeatureMatrix, FeatureSettings


@pytest.fixture(scope="session")
def matrix() -> FeatureMatrix:
    """A feature set with every kind of signal, protected attributes included."""
    settings = FeatureSettings(signals=SIGNALS, links=LINKS, use_protected=("age", "citizenship", "sex"))
    return FeatureMatrix(settings, STATE)
