"""Settings of a training: split, leakage checks, search, and the parameters that a search found."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from scoring_model.contract.violation import check_fields
from scoring_model.records import Duration, Instant

DAY = 86_400_000_000
"""In microseconds."""

LeakageCheckName = Literal["shuffled_labels", "single_features", "future", "persons"]
"""Leakage checks of the data of a training."""

FORMERLY = "formerly"
"""Metadata of a field: its old name, which configurations may still use."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitSettings:
    """How records are split by time. All times are microseconds.

    Parameters
    ----------
    as_of : int or None
        Instant, since 1970-01-01 UTC: events and labels at it or later are ignored. None: just after the latest
        instant in the data.
    label_maturity : int
        Label maturity window: how long after its event a record without a fraud label counts as genuine.
    gap : int or None
        Time left out between two parts; None: as long as `label_maturity`.
    burn_in : int or None
        Time from the first event on that feeds history and fitted tables but is not trained on. None: as long
        as the longest window, which is 90 days where nothing else is configured.
    train, validation, test : float
        Shares, in (0, 1) and with sum 1, of the time that burn-in, gaps and maturity leave.
    min_frauds : int
        Fewest frauds that each part must hold, at least 1.

    Raises
    ------
    Invalid
        With every field that is out of range.
    """

    as_of: Instant | None = None
    label_maturity: Duration = 60 * DAY
    gap: Duration | None = None
    burn_in: Duration | None = None
    train: float = 0.6
    validation: float = 0.2
    test: float = 0.2
    min_frauds: int = 20

    def __post_init__(self) -> None:
        lengths = {"label_maturity": self.label_maturity, "gap": self.gap, "burn_in": self.burn_in}
        shares = dict(zip(("train", "validation", "test"), self.shares, strict=True))
        check_fields(
            self,
            *((name, "at least 0", length is None or length >= 0) for name, length in lengths.items()),
            *((name, "in (0, 1)", 0 < share < 1) for name, share in shares.items()),
            ("", "train, validation and test of sum 1", abs(sum(self.shares) - 1) <= 1e-9),
            ("min_frauds", "at least 1", self.min_frauds >= 1),
        )

    @property
    def shares(self) -> tuple[float, float, float]:
        """Shares of train, validation and test."""
        return self.train, self.validation, self.test

    @property
    def gap_length(self) -> int:
        """The gap in microseconds, its default resolved."""
        return self.label_maturity if self.gap is None else self.gap

    @property
    def burn_in_length(self) -> int:
        """The burn-in in microseconds, its default resolved."""
        return 90 * DAY if self.burn_in is None else self.burn_in

    @property
    def overhead(self) -> int:
        """Microseconds that no part gets: burn-in, two gaps and the maturity of the last records."""
        return self.burn_in_length + 2 * self.gap_length + self.label_maturity


@dataclass(frozen=True, kw_only=True, slots=True)
class TuningSettings:
    """Limits and target of the search.

    Parameters
    ----------
    trials : int or None
        Number of trials, those of a resumed journal included.
    budget : int or None
        Microseconds after which no further trial is started; at least one is finished. Exactly one of the two
        is set. What a budget finds depends on the machine: its result is the parameters, to be kept.
    fpr : float
        False positive rate around which recall is maximised, in (0, 0.5).
    folds : int
        Rolling-origin folds, at least 1.
    max_rounds : int
        Most trees of a trial, at least 1.
    patience : int
        Trees without an improvement after which a fold stops, at least 1.
    thinning : float
        Share of the genuine records on which the first rungs of a trial train, in (0, 1]; never fewer than 20,000.

    Raises
    ------
    Invalid
        With every field that is out of range.
    """

    trials: int | None = 40
    budget: Duration | None = None
    fpr: float = 0.05
    folds: int = 3
    max_rounds: int = 400
    patience: int = 25
    thinning: float = 0.1

    def __post_init__(self) -> None:
        counts = {"trials": self.trials, "folds": self.folds}
        counts |= {"max_rounds": self.max_rounds, "patience": self.patience}
        check_fields(
            self,
            ("", "exactly one of trials and budget", (self.trials is None) != (self.budget is None)),
            ("budget", "above 0", self.budget is None or self.budget > 0),
            ("fpr", "in (0, 0.5)", 0 < self.fpr < 0.5),
            ("thinning", "in (0, 1]", 0 < self.thinning <= 1),
            *((name, "at least 1", count is None or count >= 1) for name, count in counts.items()),
        )

    @property
    def budget_seconds(self) -> float | None:
        """The budget in seconds."""
        return None if self.budget is None else self.budget / 1e6


@dataclass(frozen=True, kw_only=True, slots=True)
class Tuned:
    """Parameters that a search found; they train the same model again without a search.

    Parameters
    ----------
    params : mapping of str to number
        Parameters of LightGBM by their main name.
    rounds : int
        Number of trees.
    """

    params: Mapping[str, int | float]
    rounds: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LeakageSettings:
    """The leakage checks that precede a training.

    Parameters
    ----------
    run : bool
        Whether the checks run; the card reports if they did not.
    tolerate : tuple of str
        Checks whose failure does not stop the training. The card names them.
    max_auc : float
        Area under the ROC curve, in (0.5, 1], that no single feature may reach.
    standard_errors : float
        How far, above 0, the area with permuted labels may be from one half.
    max_records : int
        Most records for which a check computes features again, at least 1,000.

    Raises
    ------
    Invalid
        With every field that is out of range.
    """

    run: bool = True
    tolerate: tuple[LeakageCheckName, ...] = ()
    max_auc: float = 0.99
    standard_errors: float = 4.0
    max_records: int = 50_000

    def __post_init__(self) -> None:
        check_fields(
            self,
            ("max_auc", "in (0.5, 1]", 0.5 < self.max_auc <= 1),
            ("standard_errors", "finite and above 0", 0 < self.standard_errors < math.inf),
            ("max_records", "at least 1000", self.max_records >= 1000),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingSettings:
    """Settings of a training.

    Parameters
    ----------
    seed : int
        Of the search, the fit and the golden rows; 0 to 2**31 - 1.
    seeds : int
        Boosters, 1 to 100, that differ by their seed alone and whose average is the model.
    leakage_checks : LeakageSettings
        Formerly ``attacks``.
    tuned : Tuned, optional
        Parameters that are known already: nothing is searched.
    """

    seed: int = 7
    seeds: int = 1
    split: SplitSettings = field(default_factory=SplitSettings)
    leakage_checks: LeakageSettings = field(default_factory=LeakageSettings, metadata={FORMERLY: "attacks"})
    tuning: TuningSettings = field(default_factory=TuningSettings)
    tuned: Tuned | None = None

    def __post_init__(self) -> None:
        check_fields(
            self,
            ("seed", f"in 0..{2**31 - 1}", 0 <= self.seed < 2**31),
            ("seeds", "in 1..100", 1 <= self.seeds <= 100),
        )
