"""A bundle's model as a fitted classifier of scikit-learn, for tools that look into models."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from scoring_model.arrays import FloatArray
from scoring_model.scorer import Decisions, Scorer


class BundleClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Decides about features that `Scorer.features` computed, with the same bits as `Scorer.score`.

    It needs the extra ``[train]``. It is fitted already: tools that fit a model again, such as cross-validation, do
    not apply to it.

    Parameters
    ----------
    scorer : Scorer
    """

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer
        self.classes_ = np.array([0, 1])
        self.n_features_in_ = len(scorer.matrix.names)
        self.feature_names_in_ = np.array(scorer.matrix.names, dtype=object)

    def fit(self, X: Any, y: Any = None) -> "BundleClassifier":  # noqa: N803
        """Refuse to train: tools of scikit-learn require that the method exists.

        Raises
        ------
        NotImplementedError
        """
        raise NotImplementedError("a bundle is trained by scoring_model.train")

    def __sklearn_clone__(self) -> "BundleClassifier":
        """Return itself, fitted, as a `sklearn.frozen.FrozenEstimator` does."""
        return self

    def predict_proba(self, X: Any) -> FloatArray:  # noqa: N803
        """Give the calibrated probabilities of genuine and fraud.

        Parameters
        ----------
        X : DataFrame or array of shape (n, d)
            The columns `Scorer.matrix.names`, in this order.

        Returns
        -------
        ndarray of shape (n, 2), float64
        """
        fraud = self._decide(X).probabilities
        return np.column_stack([1 - fraud, fraud])

    def predict(self, X: Any) -> NDArray[np.int64]:  # noqa: N803
        """Give 1 for each record that does not pass, else 0.

        Returns
        -------
        ndarray of shape (n,), int64
        """
        return (self._decide(X).outcomes > 0).astype(np.int64)

    def _decide(self, features: Any) -> Decisions:
        names = getattr(features, "columns", None)
        if names is not None and list(names) != list(self.scorer.matrix.names):
            raise ValueError("features: must have the columns of Scorer.matrix.names, in this order")
        return self.scorer.decide(np.ascontiguousarray(features, dtype=np.float64))
