"""From margins to decisions: scale, probability and policy together."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from scoring_model.arrays import FloatArray, Int8Array, IntArray
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.violation import Violation
from scoring_model.decision.control import CONTROL, Control
from scoring_model.decision.document import (
    DocumentError,
    check_document,
    count,
    each,
    fields,
    integer,
    share,
    text,
)
from scoring_model.decision.probability import Calibration
from scoring_model.decision.scale import MAX_SCORE, ScoreScale

NEVER_REACHED = MAX_SCORE + 1
"""A threshold that no score reaches."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Promise:
    """A bound on an error of the policy, with its test when the thresholds were chosen.

    Parameters
    ----------
    bound : str
        `max_false_reject`, `max_step_up` or `max_missed_fraud`.
    limit : float
        Share, in (0, 1), that the error does not exceed.
    delta : float
        Chance, in (0, 1), with which this promise may be broken.
    observed : float
        Share, in [0, 1], of the tested records that the policy gets wrong.
    records : int
        How many records were tested: one for each genuine person, or one for each ring of frauds.
    p_value : float
        Of the exact binomial test of "the share exceeds the limit"; at most `delta`.
    """

    bound: str
    limit: float
    delta: float
    observed: float
    records: int
    p_value: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """Two thresholds on the score: the only place where a score becomes an outcome.

    Parameters
    ----------
    step_up_from : int
        First score, 1 to 1001, that is stepped up; 1001 is never.
    fail_from : int
        First score, `step_up_from` to 1001, that fails; 1001 is never.
    promises : tuple of Promise
        The bounds that the thresholds keep, with the evidence.
    control : Control or None
        Which of those who do not pass by the thresholds pass all the same, in a service. It changes no `outcome` here.

    Attributes
    ----------
    version : str
        First 16 hexadecimal digits of the SHA-256 of the policy's canonical JSON: the same
        thresholds with the same evidence and control group have the same version, wherever they were chosen.

    Raises
    ------
    ValueError
        If a threshold is out of range or the thresholds are in the wrong order.
    """

    step_up_from: int
    fail_from: int
    promises: tuple[Promise, ...] = ()
    control: Control | None = None
    version: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not 1 <= self.step_up_from <= self.fail_from <= NEVER_REACHED:
            raise ValueError(
                f"thresholds: must fulfil 1 <= step_up_from <= fail_from <= {NEVER_REACHED}, "
                f"got step_up_from={self.step_up_from}, fail_from={self.fail_from}"
            )
        plain = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"), allow_nan=False)
        object.__setattr__(self, "version", hashlib.sha256(plain.encode()).hexdigest()[:16])

    def outcome(self, score: int) -> Outcome:
        """Outcome of one score, 0 to 1000."""
        if score >= self.fail_from:
            return Outcome.FAILED
        return Outcome.STEPPED_UP if score >= self.step_up_from else Outcome.PASSED

    def outcomes(self, scores: IntArray) -> Int8Array:
        """Outcomes of many scores.

        Parameters
        ----------
        scores : ndarray of shape (n,), int64, 0 to 1000

        Returns
        -------
        ndarray of shape (n,), int8
            Codes into `OUTCOMES`; each is the outcome that `outcome` gives.
        """
        return (scores >= self.step_up_from).astype(np.int8) + (scores >= self.fail_from).astype(np.int8)

    def to_json(self) -> dict[str, Any]:
        """Give the policy as a JSON document, without its version, which follows from it."""
        plain = {
            "step_up_from": self.step_up_from,
            "fail_from": self.fail_from,
            "promises": [asdict(promise) for promise in self.promises],
        }
        return plain if self.control is None else {**plain, "control": self.control.to_json()}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Policy":
        """Read the result of `to_json`."""
        check_document("policy", document, _document)
        if document["step_up_from"] > document["fail_from"]:
            raise DocumentError(
                [Violation("/fail_from", "order", "must not be below step_up_from")], "policy"
            )
        promises = tuple(Promise(**promise) for promise in document["promises"])
        return cls(
            step_up_from=document["step_up_from"],
            fail_from=document["fail_from"],
            promises=promises,
            control=Control.from_json(document["control"]) if "control" in document else None,
        )


_shares = dict.fromkeys(("limit", "delta", "observed", "p_value"), share)
_document = fields(
    {
        "step_up_from": integer(1, NEVER_REACHED),
        "fail_from": integer(1, NEVER_REACHED),
        "promises": each(fields({"bound": text, "records": count, **_shares})),
    },
    optional={"control": CONTROL},
)


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """The decisions about n rows.

    Parameters
    ----------
    margins : ndarray of shape (n,), float64
        Log-odds of the booster.
    scores : ndarray of shape (n,), int64
        0 to 1000.
    outcomes : ndarray of shape (n,), int8
        Codes into `scoring_model.contract.outcome.OUTCOMES`.
    probabilities : ndarray of shape (n,), float64
        Calibrated chance of fraud, in [0, 1].
    """

    margins: FloatArray
    scores: IntArray
    outcomes: Int8Array
    probabilities: FloatArray

    def take(self, rows: IntArray) -> "Decisions":
        """The decisions about some rows, in their order."""
        return Decisions(self.margins[rows], self.scores[rows], self.outcomes[rows], self.probabilities[rows])


@dataclass(frozen=True, kw_only=True, slots=True)
class DecisionRules:
    """The rules that turn a margin into a decision."""

    scale: ScoreScale
    calibration: Calibration
    policy: Policy

    def decide(self, margins: FloatArray) -> Decisions:
        """Decide about margins.

        Parameters
        ----------
        margins : ndarray of shape (n,), float64
            Without NaN.
        """
        scores = self.scale.scores(margins)
        return Decisions(
            margins, scores, self.policy.outcomes(scores), self.calibration.probabilities(margins)
        )
