"""The scorer: decides about records with a bundle."""

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Never, Self

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.bundle import (
    CONFIGURATION,
    EVALUATION,
    Contents,
    Manifest,
    ScoreCounts,
    SealedFiles,
    check_protocol,
    check_versions,
)
from scoring_model.bundle.codec import read_json
from scoring_model.bundle.short_card import ShortCard, short_card
from scoring_model.features import Feature
from scoring_model.records import Names, microseconds, parse_record
from scoring_model.rules import RuleEvaluator, Rules
from scoring_model.scorer.decider import Decision, Reason
from scoring_model.scorer.record_scorer import RecordScorer


@dataclass(frozen=True, kw_only=True, slots=True)
class Weighed:
    """One feature of one record.

    Parameters
    ----------
    value : float or None
        Input of the model, in its unit; None if unknown.
    unit : str
        Such as ``records``, ``share`` or ``seconds``; ``code`` for categories.
    inputs : mapping of str to object
        The record's own values that it is made of, by field name; those that are missing are left out.
    contribution : float
        Contribution to the margin, in log-odds (exact TreeSHAP values, doi:10.1038/s42256-019-0138-9); positive if it
        makes the record riskier.
    """

    name: str
    value: float | None = field(repr=False)
    unit: str
    inputs: dict[str, object] = field(repr=False)
    sentence: str
    contribution: float
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """A decision with the features and contributions that led to it.

    Parameters
    ----------
    base : float
        Margin of the mean training record. It and all contributions sum to the margin, but for rounding.
    features : tuple of Weighed
        All features of the model, largest contributions first, ties by name.
    reasons : tuple of Reason
        Reasons for a higher margin, strongest first, for every outcome; clients see only those of STEPPED_UP and
        FAILED.
    """

    decision: Decision
    base: float
    features: tuple[Weighed, ...]
    reasons: tuple[Reason, ...]


def weigh(
    features: Sequence[Feature], values: Mapping[str, object], row: FloatArray, contributions: FloatArray
) -> Iterator[Weighed]:
    """Combine values, contributions and descriptions of the features of one record.

    Parameters
    ----------
    values : mapping of str to object
        Canonical values of the record by field name.
    row, contributions : ndarray of shape (d,), float64
    """
    found = zip(features, row.tolist(), contributions.tolist(), strict=True)
    for feature, value, contribution in sorted(found, key=lambda one: (-abs(one[2]), one[0].name)):
        yield Weighed(
            name=feature.name,
            value=None if math.isnan(value) else value,
            unit=feature.unit,
            inputs={name: values[name] for name in feature.inputs if values.get(name) is not None},
            sentence=feature.sentence,
            contribution=contribution,
            reason=feature.reason,
        )


class Scorer(RecordScorer):
    """Decides about records with one bundle: alone, or as frames and files.

    Parameters
    ----------
    threads : int
        Python threads that share the rows of a table; results do not depend on them.
    """

    def __init__(self, manifest: Manifest, contents: Contents, *, threads: int = 1) -> None:
        super().__init__(manifest, contents, threads=threads)
        self.settings: Mapping[str, Any] = {}
        """Resolved configuration of the training, as the bundle holds it; empty without a bundle."""
        self.score_counts: ScoreCounts | None = None
        """Counts of the records that certified the policy; None without a bundle."""
        self._evaluation = b"{}"

    def __repr__(self) -> str:
        return str(self._short_card)

    def _repr_html_(self) -> str:
        return self._short_card.html

    @property
    def _short_card(self) -> ShortCard:
        manifest = self.manifest
        return short_card(
            f"Scorer {manifest.model_version}", self.contents, data=manifest.data, files=manifest.files
        )

    @classmethod
    def of(cls, sealed: SealedFiles, *, threads: int = 1) -> Self:
        """Make a scorer from files that were read and checked.

        Raises
        ------
        BundleError
            As `Decider.of`; also if this package does not compute the features of the bundle, or if the bundle has an
            earlier protocol.
        """
        contents = Contents.of(sealed)
        scorer = cls(sealed.manifest, contents, threads=threads)
        check_versions(sealed, contents)
        check_protocol(sealed)
        if CONFIGURATION in sealed.files:
            scorer.settings = read_json(sealed.files[CONFIGURATION])
        scorer.score_counts = ScoreCounts.of(sealed)
        if EVALUATION in sealed.files:
            scorer._evaluation = sealed.files[EVALUATION]
        return scorer

    def with_names(self, names: Names | None) -> Self:
        """Return a scorer that takes files with names of both kinds as those of one; itself for None.

        Parameters
        ----------
        names : {"contract", "own"} or None
        """
        if names is None:
            return self
        scorer = copy.copy(self)
        scorer.contents = replace(self.contents, schema=replace(self.contents.schema, names=names))
        return scorer

    @property
    def findings(self) -> Sequence[Mapping[str, Any]]:
        """Findings of the training, as the evaluation in the bundle holds them."""
        found: Sequence[Mapping[str, Any]] = read_json(self._evaluation).get("findings", ())
        return found

    def score(
        self,
        data: Any,
        *,
        history: Any = None,
        as_of: str | date | None = None,
        allow_repeats: bool = False,
        rules: Rules | Mapping[str, Any] | RuleEvaluator | None = None,
        **unknown: Never,
    ) -> Any:
        """Score one record, or every record of a frame.

        Parameters
        ----------
        data : mapping, or pandas Series or DataFrame, or any Arrow-speaking frame, or path of a file
            A mapping is one record, shaped like the body of a request with an ``eventTime``. A Series is one row of
            a file, with the file's names; so is a mapping that has one of these.
        history : frame or path, or a list of them, optional
            Earlier records. Those of a frame also see each other.
        as_of : str, date or datetime, optional
            Instant: labels that became known then or later do not count. Records of any time are scored.
        allow_repeats : bool
            Whether records of the history with the `recordId` of a scored record are left out of it.
        rules : Rules, mapping or RuleEvaluator, optional
            Rules of an operator, which decide after score and thresholds; a mapping is the content of a file. To score
            many single records prepare them once: `rule_evaluator`.

        Returns
        -------
        Decision, or a frame
            For a DataFrame a DataFrame with its index; otherwise a pyarrow Table. One row for each row given:
            one that breaks the contract has no score, and its violations in ``problems``. With rules also
            ``policyOutcome``, ``decidedBy``, ``decidedByCode`` and ``ruleHits``.

        Raises
        ------
        InvalidRecord
            For one record that breaks the contract, with all its problems.
        InvalidRules
            If the rules break their form, or read what the bundle does not have.
        RepeatedRecords
            If the history has records with the `recordId` of a scored one, and these are not left out.

        Warns
        -----
        EqualRecords
            If records of a history equal scored ones, and one of both has no ids.
        """
        if unknown:
            raise TypeError(
                f"score has no option {', '.join(unknown)}: call score(data, history=..., as_of=...), whose decisions "
                "always have their reasons"
            )
        ready = rules if rules is None or isinstance(rules, RuleEvaluator) else self.rule_evaluator(rules)
        if isinstance(data, Mapping) and history is None and not self.is_row(data):
            return self.score_record(parse_record(data, self.contents.schema), rules=ready)
        # Imported here: frames load a table library, which single records never need.
        from scoring_model.scorer import frames

        record = frames.one_record(self, data)
        instant = None if as_of is None else microseconds(as_of)
        if record is None:
            return frames.score_frame(
                self, data, history=history, as_of=instant, allow_repeats=allow_repeats, rules=ready
            )
        past = frames.read_histories(self, history, scored=record, allow_repeats=allow_repeats)
        if past is not None and instant is not None:
            past = past.labelled_before(instant)
        return self.score_record(record, history=past, rules=ready)

    def explain(self, data: Any, *, history: Any = None, allow_repeats: bool = False) -> Explanation:
        """Explain the score of one record.

        Parameters
        ----------
        data : mapping or pandas Series
            One record with the names that `score` takes.
        history : frame or path, or a list of them, optional
            Earlier records, as for `score`; a RecordTable is taken as it is.
        allow_repeats : bool
            As for `score`.

        Raises
        ------
        InvalidRecord
            If the record breaks the contract, with all its problems.
        RepeatedRecords
            As for `score`.
        """
        from scoring_model.scorer import frames

        record = frames.one_record(self, data)
        if record is None:
            raise TypeError("explain takes one record: call contributions(frame, history=...) for many")
        past = frames.read_histories(self, history, scored=record, allow_repeats=allow_repeats)
        row = self.row_of(record, past)
        return Explanation(
            decision=self.decide_row(row),
            base=self.base,
            features=tuple(weigh(self.matrix.features, record.values, row, self.contributions(row))),
            reasons=self.reasons(row),
        )

    def features(
        self, data: Any, *, history: Any = None, contributions: bool = False, allow_repeats: bool = False
    ) -> Any:
        """Compute what the model reads of every record, for tools that look into models.

        Parameters
        ----------
        data : pandas DataFrame, or any Arrow-speaking frame, or path of a file
        history : frame or path, or a list of them, optional
            Earlier records, as for `score`.
        contributions : bool
            Whether to add what each feature adds to the margin, in log-odds: exact TreeSHAP values
            (doi:10.1038/s42256-019-0138-9). This takes most of the time.
        allow_repeats : bool
            As for `score`.

        Returns
        -------
        A frame
            For a DataFrame a DataFrame with its index; otherwise a pyarrow Table. One row for each row given, with the
            columns ``recordId``; each feature by its name, float64, the same bits that the model reads, NaN if
            unknown; if requested ``base`` and ``contribution.<feature>``, which sum to the margin up to rounding; and
            ``problems``: a row that breaks the contract has nothing else.
        """
        from scoring_model.scorer import feature_frames

        return feature_frames.features_frame(
            self, data, history=history, contributions=contributions, allow_repeats=allow_repeats
        )

    def contributions(self, data: Any, *, history: Any = None) -> Any:
        """Give what each feature of every record adds to its margin.

        Parameters
        ----------
        data : pandas DataFrame, or any Arrow-speaking frame, or path of a file; or one row of features, an ndarray
        history : frame or path, or a list of them, optional
            Earlier records, as for `score`.

        Returns
        -------
        A frame, or ndarray of shape (d,)
            The columns ``recordId``, ``base``, ``contribution.<feature>`` and ``problems`` of `features`. For one row
            the values alone, as `Decider.contributions`.
        """
        if isinstance(data, np.ndarray):
            return super().contributions(data)
        if isinstance(data, Mapping) or getattr(data, "ndim", 2) == 1:
            raise TypeError("contributions takes a frame: call explain(record, history=...) for one record")
        found, names = self.features(data, history=history, contributions=True), list(self.matrix.names)
        return found.drop(columns=names) if hasattr(found, "loc") else found.drop_columns(names)

    def importances(self) -> Any:
        """Show how much the model uses each feature, from its trees alone.

        The mean absolute contribution, which needs records, is in `Evaluation.importance`.

        Returns
        -------
        pyarrow.Table
            One row for each feature, largest gain first, ties by name: ``feature``, ``meaning``, ``unit``, ``splits``
            (number of splits on it) and ``gain`` (see `decision.gains.split_gains`);
            `to_pandas` makes a DataFrame of it.
        """
        from scoring_model.scorer import feature_frames

        return feature_frames.importance_table(self)
