"""The model of a bundle as scikit-learn sees a fitted classifier."""

from pathlib import Path

import pytest
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from scoring_model.evaluation.estimator import BundleClassifier
from scoring_model.scorer import Scorer


def test_it_gives_the_scores_of_the_bundle(scorer: Scorer, invented: Path) -> None:
    """From exported columns it gives the probabilities of `score` bit for bit; 1 is whatever does not pass."""
    model = BundleClassifier(scorer)
    check_is_fitted(model)
    features = scorer.features(invented).select(list(scorer.matrix.names)).to_pandas()
    scored = scorer.score(invented).to_pandas()
    probabilities = model.predict_proba(features)
    assert probabilities[:, 1].tobytes() == scored["probability"].to_numpy().tobytes()
    assert (probabilities.sum(axis=1) == 1).all()
    assert model.predict(features).tolist() == (scored["scoringOutcome"] != "PASSED").astype(int).tolist()
    assert set(model.predict(features)) == {0, 1}


def test_it_refuses_other_columns_and_training(scorer: Scorer, invented: Path) -> None:
    """Columns in another order, or others, would be read as something else; nothing can be fitted."""
    model = BundleClassifier(scorer)
    features = scorer.features(invented).slice(0, 3).select(list(scorer.matrix.names)[::-1]).to_pandas()
    with pytest.raises(ValueError, match="in this order"):
        model.predict(features)
    with pytest.raises(NotImplementedError, match=r"scoring_model\.train"):
        model.fit(features)


def test_a_clone_decides_alike(scorer: Scorer) -> None:
    """A clone, which tools make before they use a model, is fitted and has the same scorer."""
    model = clone(BundleClassifier(scorer))
    check_is_fitted(model)
    assert model.scorer is scorer
