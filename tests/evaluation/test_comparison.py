"""Two models on the same records: flips, groups, changes per day and differences."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import made_results as made
from comparison_use import compared
from identity_use import with_thresholds
from scoring_model.bundle import Bundle
from scoring_model.configuration import DifferenceGate, GateSettings
from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.estimates import Estimate
from scoring_model.evaluation import (
    EvaluationError,
    check_gates,
    compare,
    compare_evaluations,
    comparison_summary,
)
from scoring_model.evaluation.flips import MOST_EXPLAINED, DailyChange
from scoring_model.evaluation.stopped import ASSUMED
from scoring_model.findings import Code, State
from scoring_model.records import rfc3339
from scoring_model.records.sheet import CONTRACT_MARK
from scoring_model.scorer import Scorer
from scoring_model.training.run import Training


def test_flips_are_those_of_a_loop() -> None:
    """Each kind of flip has the records of a loop, its reasons, and the records whose scores moved farthest."""
    found = compared()
    old, new = found.champion.records, found.challenger.records
    pairs = [
        (OUTCOMES[one], OUTCOMES[other], int(label))
        for one, other, label in zip(old.decisions.outcomes, new.decisions.outcomes, old.labels, strict=True)
    ]
    expected = Counter(pair for pair in pairs if pair[0] != pair[1])
    counts = {
        (flip.champion, flip.challenger, label): number
        for flip in found.flips
        for label, number in ((0, flip.genuine), (1, flip.frauds))
        if number
    }
    assert counts == dict(expected)
    for flip in found.flips:
        stricter = OUTCOMES.index(flip.challenger) > OUTCOMES.index(flip.champion)
        assert flip.explained == min(flip.genuine + flip.frauds, MOST_EXPLAINED)
        assert flip.reasons == dict.fromkeys(("A", "B") if stricter else ("C",), flip.explained)
        farthest = int(flip.examples[0][1:])
        moved = np.abs(new.decisions.scores - old.decisions.scores)
        rows = [row for row, pair in enumerate(pairs) if pair[:2] == (flip.champion, flip.challenger)]
        for daily, count in ((flip.daily_genuine, flip.genuine), (flip.daily_frauds, flip.frauds)):
            assert daily.value == pytest.approx(count / 40)
            assert None not in (daily.low, daily.high)
            assert sorted([daily.low or 0, count / 40, daily.high or 0])[1] == pytest.approx(count / 40)
        assert moved[farthest] == max(moved[row] for row in rows)


def test_no_records_flip_nothing() -> None:
    """Two results without a record are compared: no day and no flip."""
    found = compare_evaluations(made.empty_evaluation(), made.empty_evaluation())
    assert found.flips == ()
    assert found.days == 0


def test_changes_per_day_are_counts() -> None:
    """The numbers per day are differences of counts, and the sentence says them."""
    found = compared()
    old, new = found.champion.records, found.challenger.records
    for code, change in enumerate(found.daily):
        for estimate, rows in ((change.everyone, old.labels >= 0), (change.frauds, old.labels == 1)):
            gained = np.count_nonzero(new.decisions.outcomes[rows] == code) - np.count_nonzero(
                old.decisions.outcomes[rows] == code
            )
            assert estimate.value == pytest.approx(gained / 40)
    applicants, _, classes = str(found.daily[2]).partition(":")
    assert re.search(rf"{applicants} \(95% interval [^)]*\):{classes}\.", comparison_summary(found))


@pytest.mark.parametrize(
    ("everyone", "frauds", "text"),
    [
        (312.0, 14.0, "312 more step-ups a day, 14 of them fraud"),
        (-3.25, -3.0, "3.2 fewer step-ups a day, 3.0 of them fraud"),
        (2.0, 5.0, "2.0 more step-ups a day: 5.0 more of frauds, 3.0 fewer of genuine records"),
        (-9.0, 4.0, "9.0 fewer step-ups a day: 4.0 more of frauds, 13 fewer of genuine records"),
    ],
)
def test_changes_are_said_in_natural_numbers(everyone: float, frauds: float, text: str) -> None:
    """A sentence is true too when one class gains what the other loses."""
    both, some = (Estimate(value=value, low=None, high=None, records=1) for value in (everyone, frauds))
    assert str(DailyChange(outcome=Outcome.STEPPED_UP, everyone=both, frauds=some)) == text


@pytest.mark.parametrize(
    ("everyone", "frauds", "text"),
    [
        (-15 / 321, -14 / 321, "0.05 fewer failures a day; 0.04 fewer known frauds among them"),
        (-471 / 321, 5 / 321, "1.5 fewer failures a day; 0.02 more known frauds among them"),
        (1.0, 0.0, "1.0 more failures a day; no more and no fewer known frauds among them"),
        (0.0, -0.3, "no more and no fewer failures a day; 0.3 fewer known frauds among them"),
    ],
)
def test_few_frauds_a_day_are_not_none(everyone: float, frauds: float, text: str) -> None:
    """Fourteen fewer frauds in a year are fewer, though they are none a day in tenths."""
    both, some = (Estimate(value=value, low=None, high=None, records=1) for value in (everyone, frauds))
    change = DailyChange(outcome=Outcome.FAILED, everyone=both, frauds=some, all_known=False)
    assert str(change) == text


def test_groups_partition_the_flips() -> None:
    """The flips of the groups sum to all flips, and each change of a rate is that of the two evaluations."""
    found = compared()
    (table,) = found.groups
    flipped = sum(flip.genuine + flip.frauds for flip in found.flips)
    assert sum(group.stricter + group.milder for group in table.groups) == flipped
    assert sum(group.stricter_frauds + group.milder_frauds for group in table.groups) == sum(
        flip.frauds for flip in found.flips
    )
    for group, old, new in zip(
        table.groups, found.champion.groups[0].groups, found.challenger.groups[0].groups, strict=True
    ):
        for name, change in group.changes.items():
            before, after = old.rates[name].estimate, new.rates[name].estimate
            assert before.value is not None
            assert after.value is not None
            assert change.value == pytest.approx(after.value - before.value)
            assert change.simultaneous_low is not None
            assert change.low is not None
            assert change.high is not None
            assert change.simultaneous_low <= change.low <= change.high
            assert change.records == before.records


def test_benefits_hold_at_once() -> None:
    """Intervals that hold at once are wider than one alone, and show a planted gain whichever way is better."""
    found = compared()
    alone = found.benefits({"roc_auc": 1})["roc_auc"]
    both = found.benefits({"roc_auc": 1, "average_precision": 1, "missed_fraud": -1})
    assert alone.simultaneous_low is not None
    assert alone.simultaneous_high is not None
    low, high = both["roc_auc"].simultaneous_low, both["roc_auc"].simultaneous_high
    assert low is not None
    assert high is not None
    assert 0 < low <= alone.simultaneous_low < alone.simultaneous_high <= high
    missed = both["missed_fraud"]
    assert missed.simultaneous_low is not None
    assert missed.simultaneous_low > 0
    same = compared(0.0, noise=0.0)
    assert same.benefits({"roc_auc": 1})["roc_auc"].simultaneous_low is None


def test_the_documents_are_whole() -> None:
    """JSON holds no NaN; the frame has a row for each figure, and for each rate of each group."""
    found = compared()
    document = found.to_json()
    assert json.loads(json.dumps(document, allow_nan=False))["days"] == 40
    assert set(document["differences"]) == set(found.champion.figures)
    frame = found.to_frame()
    assert len(frame) == len(found.differences) + 3 * 6
    assert (frame["challenger"] - frame["champion"]).to_numpy() == pytest.approx(
        frame["difference"].to_numpy()
    )


@pytest.fixture(scope="module")
def stricter(training: Training, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with the same model and lower thresholds."""
    out = tmp_path_factory.mktemp("stricter") / "bundle"
    policy = training.bundle.contents.rules.policy
    lower = {name: getattr(policy, name) - 60 for name in ("step_up_from", "fail_from")}
    with_thresholds(training.bundle, **lower).save(out)
    return out


def test_bundles_are_compared(scorer: Scorer, sealed: Path, stricter: Path, frame: pa.Table) -> None:
    """Flips have the reasons of the bundle that is stricter, and records of the training are found by time."""
    records = frame.slice(16_000, 4_000)
    found = compare(sealed, stricter, records, by=["documentType"])
    assert found.flips
    assert all(OUTCOMES.index(flip.challenger) > OUTCOMES.index(flip.champion) for flip in found.flips)
    assert all(flip.reasons.keys() <= scorer.sentences.keys() for flip in found.flips)
    assert any(flip.reasons for flip in found.flips)
    assert set(found.flips[0].examples) <= set(records.column("recordId").to_pylist())
    assert found.differences["roc_auc"].value == 0
    champion, challenger = found.bundles
    assert champion.policy_version != challenger.policy_version
    assert champion.trees == challenger.trees == 30
    assert champion.bytes == sum(
        path.stat().st_size for path in sealed.iterdir() if path.name != "manifest.json"
    )
    assert min(champion.decision_milliseconds, champion.records_per_second) > 0
    until = champion.trained_until
    assert until is not None
    trained = int(np.count_nonzero(found.champion.records.event_times < until))
    assert champion.trained_records == trained > 0
    overlaps = [one for one in found.findings if one.code == "SM007"]
    assert [(one.count, one.records) for one in overlaps] == [(trained, len(found.champion.records))] * 2
    assert (
        f"{trained:,} of {overlaps[0].records:,} evaluated records are from before " in overlaps[0].sentence
    )
    card = (sealed / "card.md").read_text()
    assert rfc3339(until)[:16].replace("T", " ") in card.split("| validation |")[1].split("\n")[0]


def test_labels_of_their_own_are_joined(sealed: Path, stricter: Path, frame: pa.Table) -> None:
    """Records without labels and a table of labels compare like labelled records."""
    records = frame.slice(20_000, 1_000)
    names = [name for name in records.column_names if name.startswith("label")]
    labels = records.select(["recordId", *names]).filter(records.column("label").is_valid())
    expected = compare(sealed, stricter, records)
    found = compare(sealed, stricter, records.drop_columns(names), labels=labels)
    assert found.differences == expected.differences
    assert found.flips == expected.flips
    # Whom the figures are about stands first, as in an evaluation.
    assert f"{ASSUMED}." in comparison_summary(found).split("\n")[0]


def test_what_cannot_be_compared_is_refused(
    training: Training, sealed: Path, frame: pa.Table, tmp_path: Path
) -> None:
    """Another use, another meaning of labels and signals without a value are named in one error each."""
    bundle: Bundle = training.bundle
    schema = bundle.contents.schema
    labels = replace(schema.labels, fraud=("fraud", "chargeback"))
    contents = replace(bundle.contents, schema=replace(schema, labels=labels))
    replace(bundle, name="payments", contents=contents).save(tmp_path / "other")
    with pytest.raises(EvaluationError) as refused:
        compare(sealed, tmp_path / "other", frame.slice(0, 100))
    uses = "the uses differ: identity and payments (`name` of their configurations); records.labels.fraud differs"
    assert uses in str(refused.value)
    blind = frame.slice(0, 2000).drop_columns(["signals.vpn"])
    with pytest.raises(EvaluationError, match=r"no value of signals\.vpn, which the champion reads"):
        compare(sealed, sealed, blind)


def test_a_challenger_that_reads_times_in_another_zone_is_compared(
    training: Training, frame: pa.Table, tmp_path: Path
) -> None:
    """Both decide about the same rows, each by its own times; labels and days are the champion's, which a note says."""
    paths = []
    for name, zone in (("champion", "UTC"), ("challenger", "Europe/Rome")):
        schema = training.bundle.contents.schema
        form = replace(schema.format, timezone=zone)
        schema = replace(schema, columns={**schema.columns, "eventTime": "Eingang"}, format=form)
        contents = replace(training.bundle.contents, schema=schema)
        paths.append(tmp_path / name)
        replace(training.bundle, contents=contents).save(paths[-1])
    records = frame.slice(16_000, 2_000)
    naive = [f"{time:%Y-%m-%d %H:%M:%S}" for time in records.column("eventTime").to_pylist()]
    records = records.drop_columns(["eventTime"]).append_column("Eingang", pa.array(naive))
    found = compare(paths[0], paths[1], records)
    (note,) = (one for one in found.notes if "eventTime" in one)
    assert note.startswith("the bundles read eventTime differently in 2,000 of 2,000 records (")
    assert np.array_equal(found.champion.records.event_times, found.challenger.records.event_times)
    assert not [one for one in compare(paths[0], paths[0], records).notes if "eventTime" in one]


def test_a_challenger_that_releases_kinds_nobody_observed_is_not_decided(
    sealed: Path, training: Training, frame: pa.Table, tmp_path: Path
) -> None:
    """Passports were always stopped: whom the challenger releases of them nobody knows, and no gate is decided."""
    stricter = tmp_path / "stricter"
    with_thresholds(training.bundle, step_up_from=1, fail_from=2).save(stricter)
    records = frame.slice(0, 4000)
    kinds = records.column("documentType").to_pylist()
    shown = {}
    for name, stopped in (("passports", "PASSPORT"), ("some", None)):
        outcomes = [
            "FAILED" if kind == stopped or (stopped is None and place % 10 == 0) else "PASSED"
            for place, kind in enumerate(kinds)
        ]
        marked = records.append_column("scoringOutcome", pa.array(outcomes)).replace_schema_metadata(
            CONTRACT_MARK
        )
        found = compare(stricter, sealed, marked)
        settings = GateSettings(
            gates={"all": DifferenceGate(difference="applicants_passed", above=-1)}, allow_trained=True
        )
        (gate,) = check_gates(settings, found).results
        (finding,) = (one for one in found.findings if one.code is Code.UNSEEN_KINDS)
        assert found.released is not None
        assert found.released.released > 20
        shown[name] = finding.state, gate.verdict.value, gate.detail == finding.sentence
    assert shown == {
        "passports": (State.FOUND, "not_enough_data", True),
        "some": (State.CLEAR, "passed", False),
    }
