"""The records that an evaluation rests on: decisions, labels and times side by side."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from scoring_model.arrays import FloatArray, Int8Array, IntArray
from scoring_model.decision.rules import Decisions
from scoring_model.evaluation.draws import Draws
from scoring_model.evaluation.stopped import NotObserved
from scoring_model.records import Column


class EvaluationError(ValueError):
    """Records or arrays that cannot be evaluated."""


def refuse(subject: str, problems: Iterable[str]) -> None:
    """Raise an error with all problems of a subject, if there are any.

    Raises
    ------
    EvaluationError
    """
    if found := "; ".join(problems):
        raise EvaluationError(f"{subject}: {found}")


@dataclass(frozen=True, kw_only=True, eq=False)
class EvaluatedRecords:
    """Decisions about n records with known labels.

    Parameters
    ----------
    decisions : Decisions
    labels : ndarray of shape (n,), int8, 1 fraud, 0 genuine
    event_times : ndarray of shape (n,), int64
        Microseconds since 1970-01-01 UTC.
    record_ids : tuple of str, optional
        One for each record; empty if unknown.
    persons : ndarray of shape (n,), int64, optional
        Code of the person of each record. None: unknown.
    columns : mapping of str to Column
        Values by which groups are made, by name.
    weights : ndarray of shape (n,), float64, optional
        How many records each stands for, at least 1: 1 / propensity. None: each for itself.
    rings : ndarray of shape (n,), int64, optional
        Equal for frauds that link keys join (`history.rings`); that of genuine records does not count. None: unknown.
    not_observed : NotObserved, optional
        Decisions about those whose class can't be known. None: nobody was stopped, or others stand for them.
    stood_for : NotObserved, optional
        Decisions about those who were not observed where others stand for them: what became of them is known without
        any label, and nothing else is.
    is_sample : bool
        Whether the records are a sample of all applicants without weights, since a control group stands for those who
        were stopped.
    """

    decisions: Decisions
    labels: Int8Array
    event_times: IntArray
    record_ids: tuple[str, ...] = ()
    persons: IntArray | None = None
    columns: Mapping[str, Column] = field(default_factory=dict)
    weights: FloatArray | None = None
    rings: IntArray | None = None
    not_observed: NotObserved | None = None
    stood_for: NotObserved | None = None
    is_sample: bool = False

    @property
    def weight_of_each(self) -> FloatArray:
        """Return the weights, 1 without any."""
        return np.ones(len(self)) if self.weights is None else self.weights

    def draws(self) -> Draws:
        """Draw the days of the genuine records, and the rings of the frauds where they are known."""
        return Draws.of(self.event_times, rings=self.rings, frauds=self.labels == 1)

    @property
    def others(self) -> NotObserved | None:
        """Return the decisions about those who were not observed, whether others stand for them or not."""
        return self.stood_for if self.not_observed is None else self.not_observed

    def everyone(self) -> tuple[IntArray, IntArray]:
        """Return the outcomes and the event times of the records and of those that were not observed."""
        outcomes, times = self.decisions.outcomes.astype(np.int64), self.event_times
        missing = self.others
        if missing is None:
            return outcomes, times
        return np.concatenate([outcomes, missing.outcomes]), np.concatenate([times, missing.event_times])

    @property
    def applicants(self) -> float:
        """Return how many applicants there are, or for how many the records stand where nobody knows the others."""
        others = self.others
        return float(np.sort(self.weight_of_each).sum() if others is None else len(self) + len(others))

    def __len__(self) -> int:
        return len(self.labels)
