"""Settings of a training: split, leakage checks, search, and the parameters that a search found."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from scoring_model.contract.violation import Invalid, Violation, check_fields, pointer
from scoring_model.records import Duration, Instant, ShareOrDuration
from scoring_model.records.near_misses import did_you_mean
from scoring_model.records.times import DAY, HOUR

_SECOND = 1_000_000
_LONGEST_PART = 36_500 * DAY
_PARTS = ("train", "validation", "test")

LeakageCheckName = Literal["shuffled_labels", "single_features", "future", "persons"]
"""Leakage checks of the training data."""

"""Metadata key for the old name of a field, which configurations may still use."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitSettings:
    """How records are split by time. All times are microseconds.

    Parameters
    ----------
    as_of : int or None
        Instant since 1970-01-01 UTC; events and labels at or after it are ignored. None: just after the latest
        instant in the data.
    label_maturity : int
        Label maturity window: time after its event from which a record without a fraud label counts as genuine.
    gap : int or None
        Time left out between two parts. None: half of `label_maturity`.
    burn_in : int or None
        Time after the first event that feeds history and fitted tables but is not trained on. None: the shorter of the
        longest window and a tenth of the time, see `Configuration.split_over`.
    train, validation, test : float or int
        All are shares (float, in (0, 1) and with sum 1) of the time that remains after burn-in, gaps and maturity, or
        all are durations (int, whole seconds from 1s to 36500d in microseconds) that are counted back from its end.
        With a `test` of 0 there is neither a test part nor a gap before it, and shares of train and validation (with
        sum 1 at most) divide the time in their proportion.
    min_frauds : int
        Minimum number of frauds in each part, at least 1.

    Raises
    ------
    Invalid
        With every field that is out of range.
    """

    as_of: Instant | None = None
    label_maturity: Duration = 60 * DAY
    gap: Duration | None = None
    burn_in: Duration | None = None
    train: ShareOrDuration = 0.68
    validation: ShareOrDuration = 0.12
    test: ShareOrDuration = 0.2
    min_frauds: int = 20

    def __post_init__(self) -> None:
        lengths = {"label_maturity": self.label_maturity, "gap": self.gap, "burn_in": self.burn_in}
        kinds = {name: isinstance(length, int) for name, length in self.parts.items()}
        mixed = ", ".join(f"{name} is a {'duration' if long else 'share'}" for name, long in kinds.items())
        total = sum(self.parts.values())
        full = abs(total - 1) <= 1e-9 or (not self.test and total < 1)
        check_fields(
            self,
            *((name, "at least 0", length is None or length >= 0) for name, length in lengths.items()),
            *(
                (name, "a share in (0, 1) or a duration in 1s..36500d, such as 7d", _is_part(length))
                for name, length in self.parts.items()
            ),
            ("", f"shares for all parts or durations for all; {mixed}", len(set(kinds.values())) == 1),
            ("", "train, validation and test of sum 1", full or any(kinds.values())),
            ("min_frauds", "at least 1", self.min_frauds >= 1),
        )

    @property
    def parts(self) -> Mapping[str, float]:
        """Return the share or duration of each part by name; `test` is absent if it is 0."""
        return {name: getattr(self, name) for name in _PARTS if name != "test" or self.test}

    @property
    def by_duration(self) -> bool:
        """Return True if parts are durations in microseconds."""
        return isinstance(self.train, int)

    def part_lengths(self, usable: int) -> Mapping[str, int]:
        """Return the length of each part in microseconds by name.

        Parameters
        ----------
        usable : int
            Microseconds that shares divide; the last part gets what rounding leaves. Durations do not depend on it.
        """
        if self.by_duration:
            return {name: int(length) for name, length in self.parts.items()}
        total = 1.0 if self.test else sum(self.parts.values())
        *others, last = self.parts.items()
        lengths = {name: int(usable * (share / total)) for name, share in others}
        return {**lengths, last[0]: usable - sum(lengths.values())}

    @property
    def gap_length(self) -> int:
        """Return the gap in microseconds, with its default resolved."""
        return self.label_maturity // 2 if self.gap is None else self.gap

    @property
    def gaps(self) -> int:
        """Return the number of gaps between parts: 2, or 1 without a test part."""
        return len(self.parts) - 1

    @property
    def burn_in_length(self) -> int:
        """Return the burn-in in microseconds; none where it is not resolved."""
        return 0 if self.burn_in is None else self.burn_in

    @property
    def overhead(self) -> int:
        """Return the microseconds outside of all parts: burn-in, gaps and the maturity of the last records."""
        return self.burn_in_length + self.gaps * self.gap_length + self.label_maturity

    def validation_end(self, start: int, as_of: int) -> int:
        """Return the instant before which a model and its thresholds may have seen labels.

        Parameters
        ----------
        start, as_of : int
            First event, and the instant at which the labels ended, microseconds since 1970-01-01 UTC.
        """
        lengths = self.part_lengths(as_of - start - self.overhead)
        after = lengths["test"] + self.gap_length if "test" in lengths else 0
        return as_of - self.label_maturity - after


def longest_burn_in(span: int) -> int:
    """Return a tenth of the time, the longest burn-in that is not configured, in whole days, or hours below a day."""
    tenth = span // 10
    return tenth // DAY * DAY or tenth // HOUR * HOUR


def _is_part(length: float) -> bool:
    if isinstance(length, int):
        return _SECOND <= length <= _LONGEST_PART and length % _SECOND == 0
    return 0 < length < 1


@dataclass(frozen=True, kw_only=True, slots=True)
class TuningSettings:
    """Limits and target of the search.

    Parameters
    ----------
    trials : int or None
        Number of trials, including those of a resumed journal.
    budget : int or None
        Microseconds after which no further trial starts; at least one is finished. Exactly one of `trials` and
        `budget` is set. The result of a budget depends on the machine: keep the parameters that it finds.
    folds : int
        Rolling-origin folds, at least 1.
    max_rounds : int
        Maximum number of trees of a trial, at least 1.
    patience : int
        Number of trees without improvement after which a fold stops, at least 1.
    thinning : float
        Share, in (0, 1], of the genuine records that the first rungs of a trial train on; at least 20,000 records.

    Raises
    ------
    Invalid
        With every field that is out of range.
    """

    trials: int | None = 40
    budget: Duration | None = None
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
            ("thinning", "in (0, 1]", 0 < self.thinning <= 1),
            *((name, "at least 1", count is None or count >= 1) for name, count in counts.items()),
        )

    @property
    def budget_seconds(self) -> float | None:
        """Return the budget in seconds."""
        return None if self.budget is None else self.budget / 1e6


@dataclass(frozen=True, kw_only=True, slots=True)
class ThinningSettings:
    """Which genuine records of the train part a training keeps. It keeps all frauds.

    Records are chosen by a hash of their content. The kept genuine ones weigh as much as all of them.

    Parameters
    ----------
    genuine : float or None
        Share of the genuine records, in [1e-6, 1].
    most_records : int or None
        Maximum number of records of the train part, frauds included, at least 1,000. Exactly one of `genuine` and
        `most_records` is set.

    Raises
    ------
    Invalid
        With every field that is out of range.
    """

    genuine: float | None = None
    most_records: int | None = None

    def __post_init__(self) -> None:
        share, most = self.genuine, self.most_records
        check_fields(
            self,
            ("", "exactly one of genuine and most_records", (share is None) != (most is None)),
            ("genuine", "in [1e-6, 1]", share is None or 1e-6 <= share <= 1),
            ("most_records", "at least 1000", most is None or most >= 1000),
        )


ALLOWED_PARAMS = frozenset(
    {
        "bagging_fraction",
        "bagging_freq",
        "cat_l2",
        "cat_smooth",
        "extra_trees",
        "feature_fraction",
        "feature_fraction_bynode",
        "lambda_l1",
        "lambda_l2",
        "learning_rate",
        "max_cat_threshold",
        "max_cat_to_onehot",
        "max_depth",
        "min_data_in_leaf",
        "min_data_per_group",
        "min_gain_to_split",
        "min_sum_hessian_in_leaf",
        "num_leaves",
        "path_smooth",
        "scale_pos_weight",
    }
)
"""Parameters of LightGBM that a caller may set, by their main name. LightGBM only warns of unknown names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tuned:
    """Parameters found by a search; they reproduce the same model without a search.

    Parameters
    ----------
    params : mapping of str to number
        LightGBM parameters by their main name.
    rounds : int
        Number of trees.

    Raises
    ------
    Invalid
        With every parameter that is not one of `ALLOWED_PARAMS`.
    """

    params: Mapping[str, int | float]
    rounds: int

    def __post_init__(self) -> None:
        if violations := unknown_params(self.params):
            raise Invalid(violation.within("params") for violation in violations)


def unknown_params(params: Iterable[str]) -> list[Violation]:
    """List the parameters that may not be set, each with the nearest that may."""
    return [
        Violation(
            pointer(name), "unknown_name", f"may not be set{did_you_mean(name, sorted(ALLOWED_PARAMS))}"
        )
        for name in sorted(set(params) - ALLOWED_PARAMS)
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class LeakageSettings:
    """The leakage checks that precede a training.

    Parameters
    ----------
    run : bool
        Whether the checks run. The card reports it if they did not.
    tolerate : tuple of str
        Checks whose failure does not stop the training. The card names them.
    max_auc : float
        Area under the ROC curve, in (0.5, 1], that no single feature may reach.
    standard_errors : float
        Largest accepted distance, above 0, of the AUC with permuted labels from one half.
    max_records : int
        Maximum number of records for which a check recomputes features, at least 1,000.

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
        Seed of the search, the fit and the golden rows; 0 to 2**31 - 1.
    seeds : int
        Number of boosters, 1 to 100, that differ only by seed; the model is their average.
    leakage_checks : LeakageSettings
    tuned : Tuned, optional
        Known parameters; they replace the search.
    thinning : ThinningSettings, optional
        Which records of the train part are kept; None keeps all.
    """

    seed: int = 7
    seeds: int = 1
    split: SplitSettings = field(default_factory=SplitSettings)
    leakage_checks: LeakageSettings = field(default_factory=LeakageSettings)
    tuning: TuningSettings = field(default_factory=TuningSettings)
    tuned: Tuned | None = None
    thinning: ThinningSettings | None = None

    def __post_init__(self) -> None:
        check_fields(
            self,
            ("seed", f"in 0..{2**31 - 1}", 0 <= self.seed < 2**31),
            ("seeds", "in 1..100", 1 <= self.seeds <= 100),
        )
