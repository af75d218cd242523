"""How a model is trained: split, search, and the parameters that a search found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from scoring_model.records import Duration, Instant

DAY = 86_400_000_000
"""In microseconds."""

LeakageCheckName = Literal["shuffled_labels", "single_features", "future", "persons"]
"""The ways in which a training looks for leaks in its own data."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitSettings:
    """What a split needs to know. All times are microseconds.

    Parameters
    ----------
    as_of : int or None
        Instant, since 1970-01-01 UTC, from which everything is seen: what happens or becomes known at it or
        later does not exist. None: just after the latest instant in the data.
    label_maturity : int
        How long after its event a record that nobody called fraud counts as genuine.
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
    ValueError
        If values are out of range; the text names every such field.
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
        problems = [
            f"{name} must be at least 0"
            for name, length in lengths.items()
            if length is not None and length < 0
        ]
        problems += [f"{name} must lie in (0, 1)" for name, share in shares.items() if not 0 < share < 1]
        if not abs(sum(self.shares) - 1) <= 1e-9:
            problems.append("train, validation and test must have sum 1")
        if self.min_frauds < 1:
            problems.append("min_frauds must be at least 1")
        if problems:
            raise ValueError("; ".join(problems))

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
    """How long to search, and for what.

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
    ValueError
        If values are out of range; the text names every such field.
    """

    trials: int | None = 40
    budget: Duration | None = None
    fpr: float = 0.05
    folds: int = 3
    max_rounds: int = 400
    patience: int = 25
    thinning: float = 0.1

    def __post_init__(self) -> None:
        problems = []
        if (self.trials is None) == (self.budget is None):
            problems.append("exactly one of trials and budget must be set")
        if self.budget is not None and not self.budget > 0:
            problems.append("budget must be above 0")
        if not 0 < self.fpr < 0.5:
            problems.append("fpr must lie in (0, 0.5)")
        if not 0 < self.thinning <= 1:
            problems.append("thinning must lie in (0, 1]")
        counts = {"trials": self.trials, "folds": self.folds}
        counts |= {"max_rounds": self.max_rounds, "patience": self.patience}
        problems += [
            f"{name} must be at least 1" for name, count in counts.items() if count is not None and count < 1
        ]
        if problems:
            raise ValueError("; ".join(problems))

    @property
    def budget_seconds(self) -> float | None:
        """The budget in seconds."""
        return None if self.budget is None else self.budget / 1e6


@dataclass(frozen=True, kw_only=True, slots=True)
class Tuned:
    """What a search found, with which the same model is trained again without searching.

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
    """How a training looks for leaks before it begins.

    Parameters
    ----------
    run : bool
        Whether it looks at all; the card says so when it does not.
    tolerate : tuple of str
        Attacks whose success does not stop the training. The card names them.
    max_auc : float
        Area under the ROC curve, in (0.5, 1], that no feature may reach on its own.
    standard_errors : float
        How far, above 0, the area of shuffled labels may be from one half.
    max_records : int
        Most records that an attack computes anew, at least 1,000.

    Raises
    ------
    ValueError
        If values are out of range; the text names every such field.
    """

    run: bool = True
    tolerate: tuple[LeakageCheckName, ...] = ()
    max_auc: float = 0.99
    standard_errors: float = 4.0
    max_records: int = 50_000

    def __post_init__(self) -> None:
        problems = []
        if not 0.5 < self.max_auc <= 1:
            problems.append(f"max_auc must fulfil 0.5 < max_auc <= 1, got {self.max_auc}")
        if not 0 < self.standard_errors < float("inf"):
            problems.append(f"standard_errors must be finite and above 0, got {self.standard_errors}")
        if self.max_records < 1000:
            problems.append(f"max_records must be at least 1000, got {self.max_records}")
        if problems:
            raise ValueError("; ".join(problems))


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingSettings:
    """How a model is trained.

    Parameters
    ----------
    seed : int
        Of the search, the fit and the golden rows; 0 to 2**31 - 1.
    seeds : int
        Boosters, 1 to 100, that differ by their seed alone and whose average is the model.
    split : SplitSettings
    attacks : LeakageSettings
    tuning : TuningSettings
    tuned : Tuned, optional
        Parameters that are known already: nothing is searched.
    """

    seed: int = 7
    seeds: int = 1
    split: SplitSettings = field(default_factory=SplitSettings)
    attacks: LeakageSettings = field(default_factory=LeakageSettings)
    tuning: TuningSettings = field(default_factory=TuningSettings)
    tuned: Tuned | None = None

    def __post_init__(self) -> None:
        problems = []
        if not 0 <= self.seed < 2**31:
            problems.append(f"seed must be in 0..{2**31 - 1}, got {self.seed}")
        if not 1 <= self.seeds <= 100:
            problems.append(f"seeds must be in 1..100, got {self.seeds}")
        if problems:
            raise ValueError("; ".join(problems))
