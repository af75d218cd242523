"""From a fitted forest to a bundle: scale, probability, policy, evaluation, golden rows, profile and card."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from importlib.metadata import version
from typing import Final

import numpy as np

from scoring_model.arrays import FloatArray, Int8Array, IntArray
from scoring_model.bundle import (
    CARD,
    CONFIGURATION,
    EVALUATION,
    PROFILE,
    REFERENCE_DAYS,
    SCORE_COUNTS,
    Bundle,
    Contents,
    Golden,
    ScoreCounts,
    choose_rows,
    invent_rows,
    json_bytes,
    measure_profile,
    measure_reference_days,
    reason_factors,
)
from scoring_model.configuration import Configuration, PolicySettings, Tuned
from scoring_model.contract.fields import REQUIRED_FIELDS
from scoring_model.decision.contributions import Contributions
from scoring_model.decision.forest import Forest
from scoring_model.decision.probability import Calibration
from scoring_model.decision.reasons import FactualReasons
from scoring_model.decision.rules import NEVER_REACHED, DecisionRules, Decisions, Policy
from scoring_model.evaluation import EvaluatedRecords, Evaluation, evaluate_records
from scoring_model.evaluation.bounds import tested_scores
from scoring_model.evaluation.holdout import notes_on_population
from scoring_model.evaluation.importance import Importance, measure_importance, sample_rows
from scoring_model.evaluation.stopped import NotObserved
from scoring_model.features import MailProviders
from scoring_model.findings import Finding
from scoring_model.records import OutcomeSchema, digest, rfc3339
from scoring_model.scorer.session import MarginSession
from scoring_model.training.alternatives import Alternatives
from scoring_model.training.calibration import CalibrationChoice, choose_calibration
from scoring_model.training.cards import Sample, describe
from scoring_model.training.certification import InfeasiblePolicy, Shortfall, advise_length, certify
from scoring_model.training.choice import choose
from scoring_model.training.export import to_onnx
from scoring_model.training.ladder import possible_now
from scoring_model.training.preparation import Prepared
from scoring_model.training.scale import fit_scale
from scoring_model.training.split import EvaluatedPart

LIBRARIES: Final = ("lightgbm", "numba", "numpy", "onnx", "onnxruntime", "optuna", "pyarrow", "scoring-model")
"""Libraries that computed the numbers of a bundle, whose versions it records."""

GOLDEN_ROWS: Final = 256
PASS_EVERYONE: Final = Policy(step_up_from=NEVER_REACHED, fail_from=NEVER_REACHED)
"""The policy of a model whose bounds no thresholds keep. It promises nothing."""

EXPLAINED_REFERENCES: Final = 2000
"""Most rows of the validation period whose contributions to the margin are averaged."""

_INVENTED_ROWS: Final = 4 * GOLDEN_ROWS


def assemble(
    prepared: Prepared,
    forest: Forest,
    configuration: Configuration,
    tuned: Tuned,
    *,
    findings: Sequence[Finding],
    threads: int,
) -> tuple[Bundle, Evaluation, Alternatives]:
    """Make the bundle of a forest, its evaluation, and the results of other thresholds.

    Scale, probability and thresholds are fitted on the validation period. The evaluation uses the test period, or the
    validation period if there is no test period. Both use the margins of the exported graph, so the report describes
    the served model.

    Raises
    ------
    ScaleError, CalibrationError, InfeasiblePolicy
        If the validation period does not suffice; the message names what is missing. The last one holds the bundle with
        a policy that passes everyone.
    """
    margins, stopped = _margins(prepared, forest, threads)
    calibration = _calibrate(prepared, margins)
    rules, alternatives, counts = _fit_rules(prepared, margins, stopped, configuration.policy, calibration)
    model = _Model(prepared, configuration, forest, rules, threads)
    evaluation = model.evaluate(counts, findings)
    data = _data(prepared)
    described = {
        CONFIGURATION: json_bytes(resolved(configuration, tuned, prepared.split.boundaries.span)),
        EVALUATION: json_bytes(evaluation_document(evaluation, prepared.split.evaluated)),
        **model.reference(),
        SCORE_COUNTS: counts.to_bytes(),
        CARD: describe(
            prepared,
            model.contents,
            evaluation,
            configuration,
            alternatives=alternatives,
            sample=Sample(stopped=counts.stopped),
            calibration=calibration,
            data=data,
        ).encode(),
    }
    libraries = {library: version(library) for library in LIBRARIES}
    bundle = Bundle(
        name=configuration.name, contents=model.contents, described=described, data=data, libraries=libraries
    )
    if shortfalls := find_shortfalls(counts, configuration.policy):
        advice = advise_length(shortfalls, prepared.split.boundaries, configuration.training.split)
        raise InfeasiblePolicy(shortfalls, alternatives=alternatives, bundle=bundle, advice=advice)
    return bundle, evaluation, alternatives


def _margins(prepared: Prepared, forest: Forest, threads: int) -> tuple[FloatArray, FloatArray]:
    """Return the margins of the validation part and of the stopped ones of its period, by the graph without scores."""
    session = MarginSession(to_onnx(forest, cuts=None, feature_names=prepared.matrix.names), threads=threads)
    parts = prepared.split
    return session.margins(prepared.rows[parts.validation]), session.margins(prepared.rows[prepared.counted])


def _calibrate(prepared: Prepared, margins: FloatArray) -> CalibrationChoice:
    times = prepared.table.event_times[prepared.split.validation]
    return choose_calibration(margins, prepared.split.validation_targets, times)


def _fit_rules(
    prepared: Prepared,
    margins: FloatArray,
    stopped: FloatArray,
    settings: PolicySettings,
    calibration: CalibrationChoice,
) -> tuple[DecisionRules, Alternatives, ScoreCounts]:
    return fit_rules(
        margins,
        prepared.split.validation_targets,
        stopped=stopped,
        observed=max(len(prepared.counted) - len(prepared.split.stopped), 0),
        persons=prepared.genuine_persons,
        rings=prepared.fraud_rings,
        until=prepared.split.boundaries.validation_to,
        settings=settings,
        calibration=calibration.calibration,
    )


@dataclass(frozen=True)
class _Model:
    """A forest with its rules, and the records that describe it."""

    prepared: Prepared
    configuration: Configuration
    forest: Forest
    rules: DecisionRules
    threads: int

    @cached_property
    def graph(self) -> bytes:
        """The graph of margin and score."""
        return to_onnx(self.forest, cuts=self.rules.scale.cuts, feature_names=self.prepared.matrix.names)

    @cached_property
    def session(self) -> MarginSession:
        """What runs the graph."""
        return MarginSession(self.graph, threads=self.threads)

    @cached_property
    def contents(self) -> Contents:
        """What decides."""
        matrix, use = self.prepared.matrix, self.configuration.use
        factors = reason_factors(matrix, use=use, share=self.configuration.policy.reason_share)
        return Contents(
            schema=self.configuration.schema,
            features=matrix,
            graph=self.graph,
            forest=self.forest,
            rules=self.rules,
            reasons=FactualReasons(factors, matrix.names),
            golden=self._golden(),
            identity_requires=use.identity_requires,
        )

    def evaluate(self, counts: ScoreCounts, findings: Sequence[Finding]) -> Evaluation:
        """Evaluate the model on the test period, or on the validation period without one."""
        prepared, settings = self.prepared, self.configuration
        part, table, persons = prepared.split.evaluated, prepared.table, prepared.persons
        unseen = part.not_observed
        records = EvaluatedRecords(
            decisions=self._decide(part.rows),
            labels=part.targets,
            event_times=table.event_times[part.rows],
            persons=persons[part.rows],
            rings=prepared.rings(part),
            not_observed=NotObserved.of(
                self._decide(unseen.rows),
                unseen.targets,
                table.event_times[unseen.rows],
                persons[unseen.rows],
                {},
            ),
            is_sample=prepared.split.is_sample,
        )
        evaluation = evaluate_records(
            records,
            rules=self.rules,
            costs=settings.policy.costs,
            counts=counts,
            findings=findings,
            mute=settings.findings.mute,
            population=notes_on_population(table, records, self.configuration.schema),
        )
        return replace(evaluation, explain=_explain(prepared, self.forest))

    def _decide(self, rows: IntArray) -> Decisions:
        return self.rules.decide(self.session.margins(self.prepared.rows[rows]))

    def _golden(self) -> Golden:
        prepared, train = self.prepared, self.prepared.split.train
        rows = invent_rows(
            prepared.rows[train],
            persons=prepared.persons[train],
            count=_INVENTED_ROWS,
            seed=self.configuration.training.seed,
            categorical=prepared.feature_options["categorical"],
            thresholds=_thresholds(self.forest),
        )
        rows = rows[choose_rows(rows, self.session.margins(rows), count=GOLDEN_ROWS)]
        return Golden(rows=rows, decisions=self.rules.decide(self.session.margins(rows)))

    def reference(self) -> dict[str, bytes]:
        """Describe the applicants of the validation period, those too who were stopped: shares, and counts by day."""
        prepared, policy, parts = self.prepared, self.rules.policy, self.prepared.split
        unseen = parts.validation_not_observed.rows
        places = np.concatenate([parts.validation, unseen])
        targets = np.concatenate([parts.validation_targets, np.full(len(unseen), -1, np.int8)])
        order = np.argsort(prepared.table.event_times[places], kind="stable")
        places, targets = places[order], targets[order]
        rows, persons = prepared.rows[places], prepared.persons[places]
        names, decisions = prepared.matrix.names, self.rules.decide(self.session.margins(rows))
        profile = measure_profile(
            rows,
            decisions.scores,
            names=names,
            persons=persons,
            categorical=prepared.feature_options["categorical"],
        )
        explain = Contributions(self.forest).explain
        drawn = sample_rows(len(rows), limit=EXPLAINED_REFERENCES)
        days = measure_reference_days(
            rows,
            profile=profile,
            names=names,
            persons=persons,
            event_times=prepared.matrix.state.zone.local_of(prepared.table.event_times[places]),
            decisions=decisions,
            targets=targets,
            thresholds=(policy.step_up_from, policy.fail_from),
            contributions=np.array([explain(row) for row in rows[drawn]]),
        )
        return {PROFILE: profile.to_bytes(), REFERENCE_DAYS: days.to_bytes()}


def resolved(configuration: Configuration, tuned: Tuned, span: int) -> dict[str, object]:
    """Return the configuration with the found parameters and without the settings of the search.

    Searches that find the same parameters give the same model, so their settings are left out.

    Parameters
    ----------
    span : int
        Microseconds from the first event to the as-of instant.
    """
    plain = asdict(configuration)
    del plain["training"]["tuning"]
    plain["training"]["split"] = asdict(configuration.split_over(span))
    plain["training"]["tuned"] = asdict(tuned)
    # Later settings stand in bundles that use them.
    plain["policy"] = configuration.policy.to_json()
    records, features = configuration.records, configuration.features
    for part, name, is_default in (
        (plain["records"], "outcomes", records.outcomes == OutcomeSchema()),
        (
            plain["records"],
            "step_up_without_resolution",
            records.step_up_without_resolution == "not_observed",
        ),
        (plain["features"], "mail_providers", features.mail_providers == MailProviders()),
        (plain["use"], "identity_requires", configuration.use.identity_requires == REQUIRED_FIELDS),
        (plain, "findings", not configuration.findings.mute),
        (plain["training"], "thinning", configuration.training.thinning is None),
        *((signal, "country", signal["country"] is None) for signal in plain["signals"].values()),
    ):
        if is_default:
            del part[name]
    return plain


def fit_rules(
    margins: FloatArray,
    targets: Int8Array,
    *,
    stopped: FloatArray,
    persons: IntArray,
    rings: IntArray,
    until: int,
    settings: PolicySettings,
    calibration: Calibration,
    observed: int = 0,
) -> tuple[DecisionRules, Alternatives, ScoreCounts]:
    """Fit the scale and choose the policy on the validation part.

    Parameters
    ----------
    margins : ndarray of shape (n,), float64
    targets : ndarray of shape (n,), 1 fraud, 0 genuine
    stopped : ndarray of shape (s,), float64
        Margins of further records that bounds on the errors of genuine applicants count as genuine.
    persons, rings : ndarray of int64
        Places of the tested records, in `margins` followed by `stopped`: one for each person that is or may be genuine,
        and one for each ring of frauds.
    until : int
        End of the validation part, microseconds since 1970-01-01 UTC.
    observed : int
        So many of `stopped`, the last ones, were observed and are genuine.

    Returns
    -------
    tuple of DecisionRules, Alternatives and ScoreCounts
        The rules, which pass everyone if no thresholds keep the bounds, and what they rest on.
    """
    scale = fit_scale(margins[targets == 0])
    scores = scale.scores(margins)
    unknown_until = len(margins) + len(stopped) - observed
    counts = ScoreCounts.of_scores(
        persons=np.concatenate([scores, scale.scores(stopped)])[persons],
        rings=scores[rings],
        genuine=scores[targets == 0],
        frauds=scores[targets == 1],
        limits=settings.limits(),
        confidence=settings.confidence,
        until=until,
        stopped=int(np.count_nonzero((persons >= len(margins)) & (persons < unknown_until))),
    )
    certification = certify(*tested_scores(counts), settings=settings)
    policy, alternatives = choose(counts, certification, confidence=settings.confidence, costs=settings.costs)
    policy = PASS_EVERYONE if policy is None else replace(policy, control=settings.control_group)
    rules = DecisionRules(scale=scale, calibration=calibration, policy=policy)
    return rules, alternatives, counts


def find_shortfalls(counts: ScoreCounts, settings: PolicySettings) -> tuple[Shortfall, ...]:
    """Find the bounds that no thresholds keep, and what can be promised now that the scores were seen."""
    scores = tested_scores(counts)
    found = certify(*scores, settings=settings).shortfalls()
    return possible_now(found, *scores, limits=settings.limits(), confidence=settings.confidence)


def evaluation_document(evaluation: Evaluation, part: EvaluatedPart) -> dict[str, object]:
    """Return an evaluation as JSON; without a test part it names the part that it rests on."""
    limits = {} if part.name == "test" else {"part": part.name}
    return {**limits, **evaluation.to_json()}


def _explain(prepared: Prepared, forest: Forest) -> Callable[[], Importance]:
    """Return what explains some of the evaluated records, once, however many evaluations share it."""
    evaluated = prepared.split.evaluated.rows
    drawn = evaluated[sample_rows(len(evaluated))]
    # Without `prepared`, so that its rows do not stay in memory as long as the evaluation.
    matrix, rows, event_times = prepared.matrix, prepared.rows[drawn], prepared.table.event_times[drawn]
    return cache(
        lambda: measure_importance(
            rows,
            explain=Contributions(forest).explain,
            matrix=matrix,
            event_times=event_times,
            records=len(evaluated),
        )
    )


def _thresholds(forest: Forest) -> dict[int, FloatArray]:
    numeric = forest.category_set < 0
    return {
        int(feature): np.unique(forest.threshold[numeric & (forest.feature == feature)])
        for feature in np.unique(forest.feature[numeric])
    }


def _data(prepared: Prepared) -> dict[str, object]:
    times = prepared.table.event_times
    return {
        "sha256": digest(prepared.table),
        "records": len(prepared.table),
        "from": rfc3339(int(times.min())),
        "to": rfc3339(int(times.max())),
        "as_of": rfc3339(prepared.split.boundaries.as_of),
        **({} if prepared.thinning is None else prepared.thinning.to_json()),
    }
