"""The model card of a real bundle."""

import re
from dataclasses import replace

from scoring_model.configuration import Configuration
from scoring_model.decision.rules import Policy
from scoring_model.training.calibration import CalibrationChoice
from scoring_model.training.cards import LIMITS, describe, table
from scoring_model.training.preparation import Prepared
from scoring_model.training.run import Training


def test_card_names_versions_parts_and_promises(training: Training) -> None:
    """The card has versions, thresholds, and every segment, promise, feature and limitation."""
    bundle = training.bundle
    card = bundle.files["card.md"].decode()
    policy = bundle.contents.rules.policy
    assert bundle.model_version in card
    assert f"policy `{bundle.contents.policy_version}`" in card
    assert f"below a score of {policy.step_up_from}" in card
    for summary in training.split.summaries:
        assert f"| {summary.part} | " in card
        assert f"| {summary.records:,} | {summary.genuine:,} | {summary.frauds:,} |" in card
    for promise in policy.promises:
        assert f"| {promise.bound} | {promise.limit:g} |" in card
    assert all(f"| {name} | " in card for name in bundle.contents.features.names)
    assert all(limit[:40] in card for limit in LIMITS)


def test_card_shows_the_metrics_of_the_evaluation(training: Training) -> None:
    """The numbers in the card are those of the test period."""
    card = training.bundle.files["card.md"].decode()
    overall = training.evaluation.overall
    ends = training.evaluation.figures["roc_auc"]
    assert f"| ROC AUC | {overall.figures['roc_auc'].value:.4g} | {ends.low:.4g} | {ends.high:.4g} |" in card
    share = overall.figures["false_reject"]
    assert f"| Genuine who fail | {share.value:.4g} | {share.low:.4g} | {share.high:.4g} |" in card


def test_directions_are_those_of_the_features(training: Training) -> None:
    """The card states the direction of a feature that may only lower the risk."""
    card = training.bundle.files["card.md"].decode()
    assert re.search(r"\| signal_email_age_days \| [^|]+ \| lowers \| SIGNAL_EMAIL_AGE_DAYS \|", card)


def test_card_states_the_population_of_the_promises(training: Training) -> None:
    """The card states the joint confidence, the share of delta of each test, and the sampled population."""
    card = training.bundle.files["card.md"].decode()
    delta = training.bundle.contents.rules.policy.promises[0].delta
    assert f"hold together with a confidence of 0.95, each being tested at {delta:.3g}." in card
    assert "one of the person's records there, drawn by chance" in card
    assert "a ring (frauds that link keys join, or one by itself) and one of its records" in card


def test_card_shows_the_extrapolated_scores(training: Training) -> None:
    """Exactly the multiples of 100 beyond the range of the sample are marked as extrapolated."""
    card = training.bundle.files["card.md"].decode()
    first = training.bundle.contents.rules.scale.extrapolated_from
    marked = re.findall(r"^\| (\d+00) \| \S+ \| \S+ \| (yes|no) \|$", card, re.MULTILINE)
    assert marked == [(str(score), "yes" if score >= first else "no") for score in range(100, 1001, 100)]
    assert {verdict for _, verdict in marked} == {"yes", "no"}


def test_text_cannot_break_the_layout() -> None:
    """A pipe, a line feed and a tag in a configured text break neither a table row nor the page."""
    rows = [("a | b\n# c <script>", 0.912345, 30_000, None)]
    assert table(("A", "B", "C", "D"), rows).splitlines() == [
        "| A | B | C | D |",
        "| --- | --- | --- | --- |",
        "| a \\| b # c &lt;script&gt; | 0.9123 | 30,000 | - |",
    ]
    assert table(("A",), []) == "None."


def test_card_of_a_policy_without_bounds(
    prepared: Prepared, training: Training, identity: Configuration
) -> None:
    """Without bounds the card says that nobody fails and promises nothing; without extrapolation it adds no line."""
    contents = training.bundle.contents
    scale = replace(contents.rules.scale, extrapolated_from=1001)
    rules = replace(contents.rules, scale=scale, policy=Policy(step_up_from=1001, fail_from=1001))
    card = describe(
        prepared,
        replace(contents, rules=rules),
        training.evaluation,
        identity,
        alternatives=training.alternatives,
        calibration=CalibrationChoice(calibration=rules.calibration, platt_loss=None, beta_loss=None),
        data={"sha256": "0" * 64, "records": 24_000, "from": "", "to": ""},
    )
    assert "`FAILED` never." in card
    assert "Nothing is promised.\n\nNone." in card
    assert "on the scale is extrapolated" not in card
    assert "on the scale is extrapolated" in training.bundle.files["card.md"].decode()
