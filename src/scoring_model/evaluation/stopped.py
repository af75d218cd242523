"""Applicants who were not observed: how many a model decides how, and what rates could be with their labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.estimates import Estimate
from scoring_model.evaluation.rates import errs
from scoring_model.evaluation.uncertainty import share_of
from scoring_model.figures import FIGURES, ErrorName
from scoring_model.records.labels import FRAUD, GENUINE, UNLABELLED

ASSUMED: Final = (
    "The records do not say what was decided about the applicants, so it is assumed that nobody was stopped: without "
    "a fraud label each counts as genuine once it is old enough"
)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class NotObserved:
    """Decisions of a model about n records that were not observed.

    Parameters
    ----------
    outcomes : ndarray of shape (n,), int8
        Codes of `OUTCOMES`, as the model decides.
    labels : ndarray of shape (n,), int8
        1 fraud, 0 genuine, -1 not known.
    """

    outcomes: NDArray[np.int8]
    labels: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, kw_only=True, slots=True)
class Stopped:
    """How many applicants were not observed, and what the evaluated model decides about them.

    Parameters
    ----------
    records : int
    frauds, genuine : int
        Those whose label is known all the same. Such labels are selected, so no figure counts them.
    outcomes : mapping of Outcome to int
        By outcome of the evaluated model.
    """

    records: int
    frauds: int
    genuine: int
    outcomes: Mapping[Outcome, int]

    @classmethod
    def of(cls, found: NotObserved) -> "Stopped":
        """Count them."""
        counts = np.bincount(found.outcomes, minlength=len(OUTCOMES)).tolist()
        return cls(
            records=len(found),
            frauds=int(np.count_nonzero(found.labels == FRAUD)),
            genuine=int(np.count_nonzero(found.labels == GENUINE)),
            outcomes=dict(zip(OUTCOMES, counts, strict=True)),
        )

    def sentence(self, evaluated: int) -> str:
        """Say what is not known.

        Parameters
        ----------
        evaluated : int
            Number of observed records with a known class.
        """
        known = f" Of {self.frauds:,} of them it is known that they were frauds." if self.frauds else ""
        return (
            f"{self.records:,} applicants were stopped, or left before maturity: what they were is not known, and they "
            f"are in no figure.{known} "
            f"Figures are those of the {evaluated:,} who were observed; promises allow for every label that the "
            "stopped ones could have"
        )


def possible_share(name: ErrorName, outcomes: NDArray[np.int8], found: NotObserved) -> Estimate:
    """Bound an error rate over all labels that the records which were not observed could have.

    Exact for the records: among all labellings the rate is highest if the unlabelled ones that would count as errors
    belong to its class and the others do not, and lowest the other way round. The ends are those of Wilson's intervals
    of these two rates, so they also carry the sampling error.

    Parameters
    ----------
    outcomes : ndarray of shape (n,), int8
        Of the observed records of the rate's class.

    Returns
    -------
    Estimate
        Without a value: only the ends are known. `records` counts the observed ones.

    References
    ----------
    Manski 2003, Partial Identification of Probability Distributions, chapter 1 (bounds under selective observation).
    """
    own = found.labels == FIGURES[name].label
    errors = [errs(name, part) for part in (outcomes, found.outcomes[own])]
    unknown = errs(name, found.outcomes[found.labels == UNLABELLED])
    count, total = (sum(map(measure, errors)) for measure in (np.count_nonzero, len))
    more, other = int(np.count_nonzero(unknown)), int(np.count_nonzero(~unknown))
    lowest, highest = share_of(int(count), int(total) + other), share_of(int(count) + more, int(total) + more)
    return Estimate(
        value=None,
        low=0.0 if lowest.low is None else lowest.low,
        high=1.0 if highest.high is None else highest.high,
        records=len(outcomes),
        method="labellings",
    )
