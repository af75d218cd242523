"""What a backtest found."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from scipy.stats import binom

from scoring_model.arrays import IntArray
from scoring_model.configuration import SplitSettings, Tuned
from scoring_model.decision.rules import Promise
from scoring_model.estimates import Decider, Estimate, Key, NamedEstimates, Slice, Table
from scoring_model.evaluation.document import frame, members
from scoring_model.evaluation.stability import Verdict
from scoring_model.figures import bounded
from scoring_model.findings import Finding
from scoring_model.records import format_duration, rfc3339
from scoring_model.records.observation import NOT_OBSERVED
from scoring_model.training.backtest.plan import ImpossibleFold
from scoring_model.training.split import PartSummary

if TYPE_CHECKING:
    import pandas

FORMAT: Final = 1
"""Version of the JSON document; it grows when a key changes its meaning or goes."""

FRAME_COLUMNS: Final = ("part", "cadence", "at", "figure", "estimate", "low", "high", "records")

NEVER_RETRAINED: Final = "never"
"""The cadence of the first model, kept for all periods."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fold:
    """A model that was trained with what was known at one instant.

    Parameters
    ----------
    as_of : int
        Microseconds since 1970-01-01 UTC.
    settings : SplitSettings
        `train` with these settings makes the same model.
    parts : tuple of PartSummary
        The records of each segment of the split.
    failure : str or None
        Why there is no model: then the earlier one stays in use.
    step_up_from, fail_from : int or None
    promises : tuple of Promise
    tuned : Tuned or None
        Parameters of the fit.
    features : int
        Number of features in use.
    useless : mapping of str to str
        Features left out as useless, with the reason.
    families : mapping of str to Estimate
        Mean absolute contribution of each family of features to the margin, in log-odds, on records of the first
        period after `as_of`; heaviest first.
    """

    as_of: int
    settings: SplitSettings
    parts: tuple[PartSummary, ...]
    failure: str | None
    step_up_from: int | None = None
    fail_from: int | None = None
    promises: tuple[Promise, ...] = ()
    tuned: Tuned | None = None
    features: int = 0
    useless: Mapping[str, str] = field(default_factory=dict)
    families: NamedEstimates = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Give the fold as a JSON document."""
        plain = members(self)
        del plain["settings"]
        return {**plain, "split": {name: _length(value) for name, value in self.settings.parts.items()}}


def _length(value: float) -> float | str:
    return format_duration(value) if isinstance(value, int) and value else value


def judge_promise(lowest: Estimate, highest: Estimate, *, limit: float, delta: float) -> Verdict:
    """Test a promise on fresh records by exact binomial tests at the level `delta` on either side.

    Parameters
    ----------
    lowest, highest : Estimate
        Least and greatest share of errors, with their counts, over all labels that stopped applicants could have: it is
        broken if the least one breaks it, and kept if the greatest one keeps it.
    """
    if lowest.records and binom.sf((lowest.count or 0) - 1, lowest.records, limit) <= delta:
        return Verdict.BROKEN
    if highest.records and binom.cdf(highest.count or 0, highest.records, limit) <= delta:
        return Verdict.KEPT
    return Verdict.UNDECIDED


@dataclass(frozen=True, kw_only=True, slots=True)
class PromiseMonth:
    """One promise in one period.

    Parameters
    ----------
    as_of : int
        Instant of the training of the model in use.
    delta : float
        Chance with which the promise may be false, and level of this test.
    share : Estimate
        Errors among one observed record of each genuine person, or of each ring of frauds, of the period.
    verdict : Verdict
        Broken if so many errors have a probability of at most `delta` where the share is the limit, kept if so few
        have, else undecided. Where applicants were stopped: if so with every label that these could have.
    possible : Estimate or None
        Ends of the share over all labels that stopped applicants could have; None if nobody was stopped.
    """

    cadence: str
    period: str
    as_of: int
    bound: str
    limit: float
    delta: float
    share: Estimate
    verdict: Verdict
    possible: Estimate | None = None

    @property
    def waits_for_stopped(self) -> bool:
        """Whether the verdict is open for the labels of stopped applicants alone."""
        observed = judge_promise(self.share, self.share, limit=self.limit, delta=self.delta)
        return self.verdict is Verdict.UNDECIDED and observed is not Verdict.UNDECIDED


@dataclass(frozen=True, kw_only=True, slots=True)
class PromiseTally:
    """The periods of one promise.

    Parameters
    ----------
    chance : float
        Chance that a period is called broken where nothing drifts: at most 2 delta, one for the certificate of the
        thresholds and one for the test of the period.
    explained : int
        Broken periods that chance explains: the 95 % quantile of the binomial distribution of `judged` and `chance`.
    p_value : float
        Its probability of at least as many broken periods.
    """

    cadence: str
    bound: str
    judged: int
    kept: int
    broken: int
    undecided: int
    chance: float
    explained: int
    p_value: float


@dataclass(frozen=True, kw_only=True, slots=True)
class CadenceResult:
    """All periods, each decided by the latest model of a cadence.

    Parameters
    ----------
    models : int
        Models that were in use.
    figures : mapping of str to Estimate
        As in an `Evaluation`; the ranking is that of the scores, since margins of several models are not comparable.
    """

    cadence: str
    models: int
    figures: NamedEstimates


@dataclass(frozen=True, kw_only=True, slots=True)
class CadenceDifference:
    """Figures of one cadence minus those of another on the same records, paired by draws of days."""

    cadence: str
    against: str
    figures: NamedEstimates


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelPeriod:
    """One model in one period.

    Parameters
    ----------
    age : int
        Periods since its training: 0 for the first.
    figures : mapping of str to float or None
        `recall_at_fpr_0.01`, `roc_auc`, `missed_fraud`, `step_up` and `false_reject`.
    """

    as_of: int
    period: str
    age: int
    genuine: int
    frauds: int
    figures: Mapping[str, float | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ageing:
    """Models of one age against models trained just before the same periods.

    Parameters
    ----------
    periods : int
        Periods with both.
    figures : mapping of str to Estimate
        Mean over these periods of the old model's figure minus the fresh one's, paired by draws of days.
    """

    age: int
    periods: int
    figures: NamedEstimates


@dataclass(frozen=True, kw_only=True, slots=True)
class LearningPoint:
    """A model of the latest part of a fold's train part, on all later judged records.

    Parameters
    ----------
    share : float
        Share of the length of the train part, counted back from its end.
    since : int
        Where it begins, microseconds since 1970-01-01 UTC.
    records, frauds : int
        Training records.
    figures : mapping of str to float or None
        `recall_at_fpr_0.01` and `roc_auc`.
    differences : mapping of str to Estimate
        Those figures minus the ones of the whole train part, paired by draws of days.
    """

    as_of: int
    share: float
    since: int
    records: int
    frauds: int
    figures: Mapping[str, float | None]
    differences: NamedEstimates


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedHistory:
    """The records that a backtest read.

    Parameters
    ----------
    sha256 : str
        Hash of the records.
    records : int
    first, last, as_of : str
        First and last event, and the instant before which labels count, in RFC 3339.
    """

    sha256: str
    records: int
    first: str
    last: str
    as_of: str

    def to_json(self) -> dict[str, Any]:
        """Give the period as `from` and `to`."""
        period = {"from": self.first, "to": self.last, "as_of": self.as_of}
        return {"sha256": self.sha256, "records": self.records, **period}


@dataclass(frozen=True, kw_only=True)
class BacktestResult:
    """What a backtest found, as data; see `Backtest`.

    Parameters
    ----------
    name : str
        Name of the use.
    files : tuple of str
        Names of the files of records, without folders; empty for frames.
    data : JudgedHistory
    window : str
        'expanding' or 'rolling'.
    unit : str
        Length of a period: 'month' or 'week'.
    confidence : float
        Confidence of the promises of each model.
    has_costs : bool
        Whether the policy has costs.
    periods : mapping of str to tuple of (int, int)
        Genuine records and frauds of each judged period.
    left_out : mapping of str to int
        Records that are not judged, by reason; with those of the periods they sum to all records.
    folds : tuple of Fold
    impossible : tuple of ImpossibleFold
        Instants at which no model can be trained.
    findings : tuple of Finding
        Of the leakage checks, which ran once, on the latest fold.
    promises : tuple of PromiseMonth
    tallies : tuple of PromiseTally
    cadences : tuple of CadenceResult
        The given cadences, the most frequent first, and the first model kept for all periods.
    differences : tuple of CadenceDifference
        Each pair of cadences, the more frequent minus the other.
    models : tuple of ModelPeriod
    ageing : tuple of Ageing
    learning : tuple of LearningPoint
    population : str
        Whom the figures are about, as a sentence; empty where that is everyone. Not part of any document.
    record_ids : tuple of str
        Ids of the judged records, in order of time; not part of any document.
    scores : mapping of int to ndarray of shape (k,), int64
        Scores of each model by its instant: of the last k judged records, those that happened from then on. Not part of
        any document.
    """

    name: str
    files: tuple[str, ...]
    data: JudgedHistory
    window: str
    unit: str
    confidence: float
    has_costs: bool
    periods: Mapping[str, tuple[int, int]]
    left_out: Mapping[str, int]
    folds: tuple[Fold, ...]
    impossible: tuple[ImpossibleFold, ...]
    findings: tuple[Finding, ...]
    promises: tuple[PromiseMonth, ...]
    tallies: tuple[PromiseTally, ...]
    cadences: tuple[CadenceResult, ...]
    differences: tuple[CadenceDifference, ...]
    models: tuple[ModelPeriod, ...]
    ageing: tuple[Ageing, ...]
    learning: tuple[LearningPoint, ...]
    record_ids: tuple[str, ...] = field(repr=False)
    scores: Mapping[int, IntArray] = field(repr=False)
    population: str = field(default="", repr=False)

    @property
    def stopped(self) -> int:
        """Records of the judged periods that were not observed."""
        return self.left_out.get(NOT_OBSERVED, 0)

    @cached_property
    def table(self) -> Table:
        """Every number that is a figure: of cadences, of their pairs, of single models, of models by age and history.

        Differences of ages are means over periods, against models of age 0; those of histories are against the whole
        train part.
        """
        table = Table()
        for one in self.cadences:
            table |= Table.of(one.figures, decided_by=Decider(name=one.cadence))
        for pair in self.differences:
            cadence, other = Decider(name=pair.cadence), Decider(name=pair.against)
            table |= Table.of(pair.figures, decided_by=cadence, against=other, form="difference")
        for month in self.promises:
            decided_by = Decider(name=month.cadence, trained=month.as_of)
            key = Key(figure=bounded(month.bound), part=_period(month.period), decided_by=decided_by)
            table |= {key: month.share}
        for model in self.models:
            records = model.genuine + model.frauds
            values = {name: Estimate(value=value, records=records) for name, value in model.figures.items()}
            trained = Decider(trained=model.as_of)
            table |= Table.of(values, part=_period(model.period), decided_by=trained)
        for aged in self.ageing:
            age = Decider(age=aged.age)
            table |= Table.of(aged.figures, decided_by=age, against=Decider(age=0), form="difference")
        for point in self.learning:
            whole = Decider(trained=point.as_of)
            fitted = replace(whole, share=point.share)
            table |= Table.of(point.differences, decided_by=fitted, against=whole, form="difference")
        return table

    def to_frame(self) -> "pandas.DataFrame":
        """Give every figure as a row.

        Returns
        -------
        pandas.DataFrame
            Columns `part` (cadence, difference, promise, model, ageing, learning, family), `cadence`, `at` (period,
            age, or instant of the training), `figure`, `estimate`, `low`, `high` and `records`.
        """
        return frame(FRAME_COLUMNS, self._rows())

    def _rows(self) -> Iterator[tuple[object, ...]]:
        for key, one in self.table.items():
            yield *_cells(key), one.value, one.low, one.high, one.records
        for fold in self.folds:
            for name, one in fold.families.items():
                cells = "family", "", rfc3339(fold.as_of)[:10], name
                yield *cells, one.value, one.low, one.high, one.records

    def to_json(self) -> dict[str, Any]:
        """Give the result as a JSON document with stable keys."""
        return {
            "format": FORMAT,
            **members(self),
            "periods": {
                name: {"genuine": genuine, "frauds": frauds}
                for name, (genuine, frauds) in self.periods.items()
            },
        }


def _period(name: str) -> Slice:
    return Slice(kind="period", value=name)


def _cells(key: Key) -> tuple[str, str, str, str | None]:
    """Return the columns of the frame that say what a number is."""
    name, decided_by = key.figure.key, key.decided_by
    day = "" if decided_by.trained is None else rfc3339(decided_by.trained)[:10]
    match key:
        case Key(decided_by=Decider(name="", trained=None)):
            return "ageing", "", str(decided_by.age), name
        case Key(decided_by=Decider(name=""), form="difference"):
            return "learning", "", f"{day} {decided_by.share:g}", name
        case Key(decided_by=Decider(name="")):
            return "model", "", f"{day} in {key.part.value}", name
        case Key(against=Decider(name=other)):
            return "difference", f"{decided_by.name} - {other}", "", name
        case Key(part=Slice(kind="period")):
            return "promise", decided_by.name, key.part.value, key.figure.bound
    return "cadence", decided_by.name, "", name
