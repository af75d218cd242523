"""Checks of an evaluation: small groups and extrapolated scores, with numbers that are counted here again."""

from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from scoring_model.bundle.score_counts import ScoreCounts
from scoring_model.configuration import SplitSettings
from scoring_model.decision.probability import Platt
from scoring_model.decision.rules import DecisionRules, Policy, Promise
from scoring_model.decision.scale import ScoreScale
from scoring_model.evaluation import EvaluatedRecords, Evaluation, evaluate_records, summary
from scoring_model.evaluation.coverage import Coverage, LeftOut
from scoring_model.evaluation.report.sections.findings import findings_section
from scoring_model.evaluation.trained_records import trained_until
from scoring_model.findings import Finding, State
from scoring_model.records import Column, microseconds
from scoring_model.records.times import DAY
from scoring_model.scorer import Scorer


def rules(extrapolated_from: int, fail_from: int = 750) -> DecisionRules:
    """Rules whose scale is extrapolated from a score on."""
    return DecisionRules(
        scale=ScoreScale(cuts=np.linspace(-4, 4, 1000), extrapolated_from=extrapolated_from),
        calibration=Platt(slope=1.0, intercept=0.0),
        policy=Policy(step_up_from=600, fail_from=fail_from, promises=()),
    )


def evaluation(using: DecisionRules, *, by: bool = True, **options: Any) -> Evaluation:
    """Two large groups and one of eight records."""
    rng = np.random.default_rng(3)
    labels = (rng.random(2_000) < 0.3).astype(np.int8)
    codes = rng.choice(2, 2_000).astype(np.int32)
    codes[:8] = 2
    records = EvaluatedRecords(
        decisions=using.decide(rng.normal(2 * labels - 1, 1)),
        labels=labels,
        event_times=rng.integers(0, 30 * DAY, 2_000),
        columns={"document type": Column(("a", "b", "tiny"), codes)},
    )
    return evaluate_records(records, rules=using, by={"document type": None} if by else {}, **options)


def finding(found: Evaluation, code: str) -> Finding:
    """The finding with a code."""
    (one,) = (one for one in found.findings if one.code == code)
    return one


def test_small_groups_are_counted_by_column() -> None:
    """One of three groups has too few records; without groups the check does not apply."""
    found = finding(evaluation(rules(800)), "SM009")
    assert (found.state, found.count, found.names) == (State.FOUND, 1, ("document type",))
    assert found.sentence.startswith("1 of 3 groups lack 50 genuine records and 50 frauds on 10 days")
    assert found.sentence.endswith(": document type 1")
    without = finding(evaluation(rules(800), by=False), "SM009")
    assert (without.state, without.sentence) == (State.NOT_APPLICABLE, "no column was given to group by")


@pytest.mark.parametrize("start", [300, 700, 1000, 1001])
def test_extrapolated_scores_are_counted(start: int) -> None:
    """The count is that of the records at or above the first extrapolated score."""
    done = evaluation(rules(start))
    found = finding(done, "SM010")
    scores, labels = done.records.decisions.scores, done.records.labels
    count, frauds = int((scores >= start).sum()), int(((scores >= start) & (labels == 1)).sum())
    assert (found.count, found.state is State.FOUND) == (count, count > 0)
    if count:
        assert (
            f"{count:,} of 2,000 evaluated records ({frauds:,} frauds) have a score of {start} or"
            in found.sentence
        )
    assert ("FAILED begins there, at 750" in found.sentence) is (start <= 750)


def test_what_is_muted_is_listed_with_its_count() -> None:
    """Summary, report and document show a muted finding as such, and not what to do."""
    done = evaluation(rules(800), mute=["SM009"])
    text = summary(done)
    row = "| SM009 | Groups with too few records | evaluation | info |"
    assert f"{row} found, muted | 1 |" in text
    section = findings_section(done.findings)
    cells = [[cell.text for cell in one] for one in section.grids[0].rows]
    assert [one[4:6] for one in cells if one[0] == "SM009"] == [["found, muted", "1"]]
    assert not any(str(text).startswith("SM009") for text in section.texts)
    assert [one["muted"] for one in done.to_json()["findings"] if one["code"] == "SM009"] == [True]
    found = summary(evaluation(rules(800)))
    assert f"{row} found | 1 |" in found
    assert "SM009, info: 1 of 3 groups lack" in found


@pytest.mark.parametrize(("limit", "state"), [(0.1, State.FOUND), (0.27, State.CLEAR), (0.35, State.CLEAR)])
def test_a_promise_whose_interval_lies_above_its_bound_is_broken(limit: float, state: State) -> None:
    """Found if the whole interval is above what is promised; neither a kept nor an undecided promise is."""
    promise = Promise(
        bound="max_false_reject", limit=limit, delta=0.05, observed=0.0, records=9, p_value=0.01
    )
    using = rules(800)
    policy = Policy(step_up_from=450, fail_from=450, promises=(promise,))
    done = evaluation(replace(using, policy=policy))
    share = done.figures["false_reject"]
    assert share.value is not None
    assert share.low is not None
    found = finding(done, "SM021")
    assert (found.state, found.count) == (state, int(state is State.FOUND))
    assert (share.low > limit) is (state is State.FOUND)
    if state is State.FOUND:
        assert found.names == ("max_false_reject",)
        assert found.sentence == (
            f"max_false_reject: {share.value:.2%} ({share.low:.2%} to {share.high:.2%}), 10.00% is promised"
        )
    nothing = finding(evaluation(using), "SM021")
    assert (nothing.state, nothing.sentence) == (State.NOT_APPLICABLE, "the policy promises nothing")


def test_months_with_another_share_of_frauds_are_named() -> None:
    """Found is a month whose share and interval lie beyond those of the certificate, above or below."""
    none = np.zeros(0, dtype=np.int64)
    shares = {"2026-01": 0.1, "2026-02": 0.13, "2026-03": 0.2, "2026-04": 0.03}
    labels = np.concatenate([np.arange(2_000) < share * 2_000 for share in shares.values()]).astype(np.int8)
    times = np.repeat([int(np.datetime64(month, "us").astype(np.int64)) for month in shares], 2_000)
    using = rules(800)
    records = EvaluatedRecords(
        decisions=using.decide(np.linspace(-1, 1, len(labels))), labels=labels, event_times=times, columns={}
    )

    def found(genuine: int, frauds: int, young_from: str = "2026-05") -> Finding:
        counts = ScoreCounts.of_scores(
            persons=none, rings=none, genuine=np.full(genuine, 3), frauds=np.full(frauds, 900),
            limits={}, confidence=0.95, until=0,
        )  # fmt: skip
        as_of = int(np.datetime64(young_from, "us").astype(np.int64)) + DAY
        choice = Coverage(
            as_of=as_of, maturity=DAY, matured_only=False, genuine=0, frauds=0,
            immature_genuine=0, immature_frauds=0, left_out={LeftOut.UNLABELLED_IMMATURE: 0},
        )  # fmt: skip
        return finding(evaluate_records(records, rules=using, counts=counts, coverage=choice), "SM022")

    moved = found(9_000, 1_000)
    assert (moved.state, moved.count, moved.names) == (State.FOUND, 2, ("2026-03", "2026-04"))
    assert moved.sentence.startswith(
        "2 of 4 months have another share of known frauds than the records that certified"
    )
    assert "10.00% (9.43% to 10.60%): 2026-03 20.00% (" in moved.sentence
    # Of records younger than the label maturity only those count whose label is known early: mostly frauds.
    assert found(9_000, 1_000, "2026-04").names == ("2026-03",)
    assert found(9_000, 1_000, "2026-01").state is State.NOT_APPLICABLE
    # A certificate of few records does not say what their share is.
    assert found(9, 1).state is State.CLEAR
    assert finding(evaluate_records(records, rules=using), "SM022").state is State.NOT_APPLICABLE


@pytest.mark.parametrize(("gap", "days"), [(None, 60), (10 * DAY, 10)])
def test_a_bundle_without_a_gap_was_trained_with_the_whole_label_maturity(gap: int | None, days: int) -> None:
    """Bundles of former versions hold no gap, which was as long as the maturity; later ones hold their own."""
    split = asdict(
        SplitSettings(burn_in=0, label_maturity=60 * DAY, gap=gap, train=100 * DAY, validation=DAY, test=DAY)
    )
    data = {"from": "2024-01-01T00:00:00Z", "as_of": "2025-01-01T00:00:00Z"}
    scorer = SimpleNamespace(settings={"training": {"split": split}}, manifest=SimpleNamespace(data=data))
    end = microseconds("2025-01-01T00:00:00Z") - (60 + 1 + days) * DAY
    assert trained_until(cast("Scorer", scorer)) == end
