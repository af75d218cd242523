"""Measures of one set of decisions, without intervals of days."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import FloatArray
from scoring_model.decision.rules import Decisions
from scoring_model.estimates import Estimate, NamedEstimates
from scoring_model.evaluation.decomposition import calibration_table, expected_calibration_error
from scoring_model.evaluation.document import members
from scoring_model.evaluation.evaluated_records import EvaluatedRecords
from scoring_model.evaluation.figures import ranking_figures
from scoring_model.evaluation.metrics import Ranking, brier, log_loss
from scoring_model.evaluation.rates import CLASS_RATES, RATES, cell_codes, rate_share
from scoring_model.figures import CALIBRATION_ERROR, ERRORS


@dataclass(frozen=True, kw_only=True, slots=True)
class Measures:
    """Measures of the decisions on one set of records.

    Parameters
    ----------
    figures : mapping of str to Estimate
        Ranking, losses and the calibration error over ten bins of nearly equal numbers, without ends; the rates of
        `CLASS_RATES` with those for independent records.
    """

    figures: NamedEstimates

    @property
    def records(self) -> int:
        """Number of records."""
        return self.figures["brier"].records

    @property
    def genuine(self) -> int:
        """Number of genuine records."""
        return self.figures["genuine_passed"].records

    @property
    def frauds(self) -> int:
        """Number of frauds."""
        return self.figures["fraud_passed"].records

    @property
    def calibration_error(self) -> float | None:
        """Expected calibration error."""
        return self.figures[CALIBRATION_ERROR.key].value

    @property
    def errors(self) -> dict[str, Estimate]:
        """The errors that a policy may bound, by name."""
        return {name: self.figures[name] for name in ERRORS}

    def under(self, estimates: NamedEstimates) -> "Measures":
        """Return the measures with the intervals that their rates have among the figures of the same records."""
        rates = {name: estimates[name] for name in self.figures if name in CLASS_RATES}
        return replace(self, figures={**self.figures, **rates})

    def to_json(self) -> dict[str, Any]:
        """Give the measures as a JSON document."""
        counts = {"records": self.records, "genuine": self.genuine, "frauds": self.frauds}
        return {**counts, "calibration_error": self.calibration_error, **members(self)}


def measure_periods(records: EvaluatedRecords, periods: NDArray[np.datetime64]) -> dict[str, Measures]:
    """Measure the records of each period.

    Parameters
    ----------
    periods : ndarray of shape (n,), datetime64
        Period of each record; its text is the key.

    Returns
    -------
    dict of str to Measures
        Ascending; periods without records are left out.
    """
    found = {}
    for period in np.unique(periods):
        rows = np.flatnonzero(periods == period)
        weights = None if records.weights is None else records.weights[rows]
        found[str(period)] = measure(records.decisions.take(rows), records.labels[rows], weights)
    return found


def measure(decisions: Decisions, labels: NDArray[np.integer], weights: FloatArray | None = None) -> Measures:
    """Measure one set of decisions, whose records may stand for others; see `Measures`."""
    ranking, probabilities = Ranking.of(decisions.margins, labels, weights), decisions.probabilities
    frauds, codes = int(np.count_nonzero(labels)), cell_codes(labels, decisions.outcomes)
    losses = {"brier": brier, "log_loss": log_loss}
    calibration_error = expected_calibration_error(calibration_table(probabilities, labels))
    plain = {
        **{name: (value, frauds) for name, value in ranking_figures(ranking).items()},
        **{name: (loss(probabilities, labels, weights), len(labels)) for name, loss in losses.items()},
        CALIBRATION_ERROR.key: (calibration_error, len(labels)),
    }
    return Measures(
        figures={
            **{name: Estimate(value=value, records=rests_on) for name, (value, rests_on) in plain.items()},
            **{name: rate_share(codes, weights, RATES[name]) for name in CLASS_RATES},
        },
    )
