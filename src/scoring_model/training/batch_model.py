"""The model that `mlflow.pyfunc.load_model` gives: a sealed bundle that scores frames.

A copy of this file is registered with each bundle, so it uses only what every version of the package has.
"""

from typing import Any

import pandas as pd
from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel

from scoring_model import Scorer


class BatchModel(PythonModel):
    """Scores frames with the bundle beside its code."""

    def load_context(self, context: Any) -> None:
        """Read the bundle, and check its seal and golden rows."""
        self._scorer = Scorer.load(context.artifacts["bundle"])

    def predict(self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> Any:
        """Score every record of a DataFrame, with the same bits as `Scorer.score`.

        Parameters
        ----------
        model_input : DataFrame
            Records with the columns of a file.
        params : dict, optional
            ``history``: paths of files of earlier records; none by default.

        Returns
        -------
        DataFrame
        """
        return self._scorer.score(model_input, history=list((params or {}).get("history", ())))


set_model(BatchModel())
