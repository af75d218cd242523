"""The model card of a training."""

from collections.abc import Iterator, Mapping
from typing import Final

from scoring_model.bundle import (
    Contents,
    FeatureRow,
    LeakageRow,
    MetricRow,
    ModelCard,
    PromiseRow,
    ScaleRow,
    SplitRow,
    model_version,
)
from scoring_model.configuration import Configuration
from scoring_model.decision.policy import Policy
from scoring_model.evaluation import Evaluation, Interval, Share
from scoring_model.features import Feature
from scoring_model.training.alternatives import Alternatives
from scoring_model.training.calibration import CalibrationChoice
from scoring_model.training.leakage import Finding, LeakageReport
from scoring_model.training.preparation import Prepared
from scoring_model.training.scale import scale_uncertainty

PURPOSE: Final = (
    "Decides whether each {event} is PASSED, STEPPED_UP (the {subject} is asked for more) or FAILED, from its "
    "record and what earlier records share with it. It is made for records of the population and the client that "
    "it was trained on, and for a step-up that is open to everyone; it is not made for credit, employment or "
    "insurance."
)

LIMITS: Final = (
    "The promises hold for independent persons and rings of one population: drift breaks them, and so do rings "
    "that no link key shows.",
    "The meaning of the score is that of the genuine records of the validation period; records that were "
    "wrongly taken for genuine pull its upper end down.",
    "Links are counted within one client's history; a record without a history has no links.",
)

_DIRECTIONS: Final = {-1: "lowers", 0: "either", 1: "raises"}


def describe(
    prepared: Prepared,
    contents: Contents,
    evaluation: Evaluation,
    configuration: Configuration,
    *,
    alternatives: Alternatives,
    leakage: LeakageReport,
    calibration: CalibrationChoice,
    data: Mapping[str, object],
) -> str:
    """Write the card of a bundle: equal trainings give equal text."""
    policy = contents.rules.policy
    genuine = int((prepared.split.validation_targets == 0).sum())
    card = ModelCard(
        name=configuration.name,
        model_version=model_version(configuration.name, contents.to_files()),
        policy_version=contents.policy_version,
        purpose=PURPOSE.format(event=configuration.use.event, subject=configuration.use.subject),
        subject=configuration.use.subject,
        data_sha256=str(data["sha256"]),
        data_records=len(prepared.table),
        data_from=str(data["from"]),
        data_to=str(data["to"]),
        step_up_from=policy.step_up_from,
        fail_from=policy.fail_from,
        extrapolated_from=contents.rules.scale.extrapolated_from,
        choice=_choice(policy, alternatives, configuration.use.event),
        splits=[
            SplitRow(
                part=s.part, since=s.start, until=s.end, records=s.records, genuine=s.genuine, frauds=s.frauds
            )
            for s in prepared.split.summaries
        ],
        calibration=str(calibration),
        leakage=[_leakage_row(finding, leakage) for finding in leakage.findings],
        metrics=list(_metrics(evaluation)),
        promises=[
            PromiseRow(
                bound=p.bound, limit=p.limit, confidence=1 - p.delta, observed=p.observed, records=p.records
            )
            for p in policy.promises
        ],
        scale=[
            ScaleRow(score=u.score, low=u.low, high=u.high, extrapolated=u.extrapolated)
            for u in scale_uncertainty(genuine)
        ],
        features=[_feature_row(feature) for feature in prepared.matrix.features],
        protected=sorted(configuration.features.use_protected),
        limits=LIMITS,
    )
    return card.to_markdown()


def _choice(policy: Policy, alternatives: Alternatives, event: str) -> str:
    """Describe the choice of thresholds, its confidence and the population of the promises."""
    cost, prevalence = alternatives.chosen.expected_cost, alternatives.prevalence
    text = "These are the lowest thresholds that are certified to keep what is promised."
    if cost is not None:
        text = (
            "Of the thresholds that are certified to keep what is promised, these have the least expected cost per "
            f"{event}: {cost:.4g}, where frauds have a share of {prevalence:.4g}."
        )
    if not policy.promises:
        return f"{text} Nothing is promised."
    return (
        f"{text} All promises hold together with a confidence of {alternatives.confidence:.4g}, each being tested at "
        f"{policy.promises[0].delta:.3g}. They are about a genuine person drawn as those of the validation part were, "
        "and one of the person's records there, drawn by chance, and likewise about a ring (frauds that link keys "
        "join, or one by itself) and one of its records."
    )


def _leakage_row(finding: Finding, leakage: LeakageReport) -> LeakageRow:
    return LeakageRow(
        check=finding.check,
        verdict=leakage.verdict_of(finding),
        records=finding.records,
        detail=finding.detail,
    )


def _metrics(evaluation: Evaluation) -> Iterator[MetricRow]:
    overall, ends = evaluation.overall, evaluation.uncertainty
    yield _metric_row("ROC AUC", overall.roc_auc, ends.roc_auc)
    yield _metric_row("Average precision", overall.average_precision, ends.average_precision)
    for limit, recall in overall.recalls.items():
        yield _metric_row(f"Recall at {limit:.1%} false positives", recall, ends.recalls[limit])
    yield _metric_row("Brier score", overall.brier, ends.brier)
    yield _metric_row("Log loss", overall.log_loss, ends.log_loss)
    yield MetricRow(metric="Expected calibration error", value=overall.calibration_error)
    yield _share_row("Genuine failed", overall.false_reject)
    yield _share_row("Genuine stepped up or failed", overall.step_up)
    yield _share_row("Frauds passed", overall.missed_fraud)


def _metric_row(metric: str, value: float | None, ends: Interval) -> MetricRow:
    return MetricRow(metric=metric, value=value, low=ends.low, high=ends.high)


def _share_row(metric: str, share: Share) -> MetricRow:
    return MetricRow(metric=metric, value=share.share, low=share.low, high=share.high)


def _feature_row(feature: Feature) -> FeatureRow:
    return FeatureRow(
        name=feature.name,
        sentence=feature.sentence,
        direction=_DIRECTIONS[feature.direction],
        reason=feature.reason,
    )
