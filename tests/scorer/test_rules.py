"""Rules in the scorer: one record, frames and files decide alike."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from program import Captured, run
from scoring_model import synthetic
from scoring_model.batch import score_file
from scoring_model.configuration import read_yaml
from scoring_model.contract.outcome import Outcome
from scoring_model.decision.reasons import MAX_REASONS
from scoring_model.features import FeatureMatrix, FittedState
from scoring_model.records import RecordTable
from scoring_model.records.reading import read_records
from scoring_model.rules import InvalidRules
from scoring_model.scorer import Scorer


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Two thousand records, of which some are stopped."""
    return pa.Table.from_batches(synthetic.generate(records=2_000, seed=5, months=6))


RULES: dict[str, Any] = {
    "rules": [
        {"code": "SEEN", "title": "Seen", "when": {"score": {"at_least": 0}}, "then": "OBSERVE"},
        {"code": "TRUSTED", "title": "Trusted", "when": {"signals.vpn": {"is": False}, "score": {"at_least": 400},
         "signals.emailAgeDays": {"at_least": 300}}, "then": "PASSED"},
        {"code": "YOUNG", "title": "Young", "when": {"signals.emailAgeDays": {"below": 20}}, "then": "FAILED"},
        {"code": "BUSY", "title": "Busy", "when": {"link_device_30d_records": {"at_least": 1}}, "then": "STEPPED_UP"},
    ]
}  # fmt: skip


def test_a_file_is_decided_as_its_records_are(scorer: Scorer, table: pa.Table) -> None:
    """Law 2 with rules: outcome, reasons, hits and who decided are the same alone and in a frame."""
    plain, found = scorer.score(table), scorer.score(table, rules=RULES)
    assert found.column("policyOutcome").cast(pa.string()) == plain.column("scoringOutcome").cast(pa.string())
    rows = found.to_pylist()
    assert {row["decidedByCode"] for row in rows} == {None, "TRUSTED", "YOUNG", "BUSY"}
    changed = {row["decidedByCode"] for row in rows if row["scoringOutcome"] != row["policyOutcome"]}
    assert changed == {"TRUSTED", "YOUNG", "BUSY"}
    ready = scorer.rule_evaluator(RULES)
    for place in np.random.default_rng(1).choice(len(table), 40, replace=False).tolist():
        record = table.slice(place, 1).to_pandas().iloc[0]
        earlier = table.filter(pa.compute.less(table.column("eventTime"), table.column("eventTime")[place]))
        one, row = scorer.score(record, history=earlier, rules=ready), rows[place]
        assert (one.score, one.outcome, one.policy_outcome) == (
            row["scoringScore"],
            row["scoringOutcome"],
            row["policyOutcome"],
        )
        assert [reason.code for reason in one.reasons] == row["reasonCodes"]
        assert (one.decided_by_code, list(one.rule_hits)) == (row["decidedByCode"], row["ruleHits"])


def test_reasons_are_true(scorer: Scorer, table: pa.Table) -> None:
    """OPERATOR_RULE stands first where a rule stopped; the model's reasons follow only if it stopped too."""
    plain = scorer.score(table).column("reasonCodes").to_pylist()
    seen = set()
    for row, of_model in zip(scorer.score(table, rules=RULES).to_pylist(), plain, strict=True):
        reasons = row["reasonCodes"]
        seen.add((row["decidedBy"], row["policyOutcome"], row["scoringOutcome"]))
        assert row["ruleHits"][0] == "SEEN"
        if row["scoringOutcome"] == "PASSED":
            assert reasons == []
        elif row["decidedBy"] == "rule":
            assert reasons == ["OPERATOR_RULE", *of_model][:MAX_REASONS]
        else:
            assert reasons == of_model
    assert {
        ("rule", "PASSED", "FAILED"),
        ("rule", "FAILED", "PASSED"),
        ("policy", "PASSED", "PASSED"),
    } <= seen


def test_observing_changes_nothing(scorer: Scorer, table: pa.Table) -> None:
    """Rules that observe record their hits; every other column is that of a scoring without rules."""
    observing = {"rules": [{**rule, "then": "OBSERVE"} for rule in RULES["rules"]]}
    found = scorer.score(table, rules=observing)
    assert set(found.column("decidedBy").to_pylist()) == {"policy"}
    assert found.drop_columns(["policyOutcome", "decidedBy", "decidedByCode", "ruleHits"]) == scorer.score(
        table
    )


def test_unknown_names_are_refused_before_anything_is_scored(scorer: Scorer) -> None:
    """Categories and fitted frequencies are no names; the nearest name is given."""
    for name in ("citizenship_code", "first_name_improbability", "document_type", "signal_channel"):
        rule = {**RULES["rules"][0], "when": {name: {"above": 1}}}
        with pytest.raises(InvalidRules, match=f"rules.0.when.{name}: nothing has this name"):
            scorer.score({}, rules={"rules": [rule]})


def test_a_path_of_rules_is_answered_with_the_right_call(scorer: Scorer, tmp_path: Path) -> None:
    """What that call reads, days included, is taken."""
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"rules": [{**RULES["rules"][0], "until": "2027-01-31"}]}))
    for wrong in (path, str(path)):
        with pytest.raises(TypeError, match=r"got its path: rules=scoring_model\.configuration\.read_yaml"):
            scorer.score({}, rules=wrong)  # type: ignore[arg-type]
    read = read_yaml(path)
    assert isinstance(read, dict)
    assert scorer.rule_evaluator(read).rules.rules[0].until == "2027-01-31"


def test_names_do_not_depend_on_what_was_fitted(scorer: Scorer, table: pa.Table) -> None:
    """Features that rules may read have the same values with other tables and vocabularies; fitted ones differ."""
    records = synthetic_records(scorer, table)
    bare = FeatureMatrix(scorer.matrix.settings, FittedState()).rows(records)
    fitted = scorer.matrix.rows(records)
    for column, feature in enumerate(scorer.matrix.features):
        same = np.array_equal(bare[:, column], fitted[:, column], equal_nan=True)
        if feature.name in scorer.rule_names:
            assert same, feature.name
        elif feature.fitted:
            assert not same, feature.name
    assert any(feature.fitted for feature in scorer.matrix.features)


def synthetic_records(scorer: Scorer, table: pa.Table) -> RecordTable:
    """The records of a table."""
    return read_records(table, scorer.contents.schema, labelled=False).table


def test_files_and_folders_hold_what_the_scorer_says(
    capsys: Captured, sealed: Path, scorer: Scorer, table: pa.Table, tmp_path: Path
) -> None:
    """`score --rules` writes the same columns, in a file and in a folder; a folder keeps to its rules."""
    source, rules = tmp_path / "in.parquet", tmp_path / "rules.yaml"
    pq.write_table(table, source)
    rules.write_text(json.dumps(RULES))
    out, folder = tmp_path / "out.parquet", tmp_path / "out"
    code, said, _ = run(
        capsys, "score", sealed, source, "--out", out, "--rules", rules, "--reasons", "--json"
    )
    assert code == 0
    written = pq.read_table(out)
    expected = scorer.score(table, rules=RULES)
    for name in ("scoringOutcome", "policyOutcome", "decidedBy", "decidedByCode", "ruleHits", "reasonCodes"):
        assert written.column(name).to_pylist() == expected.column(name).to_pylist()
    counts = {one: written.column("scoringOutcome").to_pylist().count(one) for one in Outcome}
    assert json.loads(said)["outcomes"] == counts
    words = ("score", sealed, source, "--out", folder, "--rules", rules, "--reasons")
    assert run(capsys, *words)[0] == 0
    parts = pa.concat_tables([pq.read_table(part) for part in sorted(folder.glob("*.parquet"))])
    assert parts.to_pylist() == written.to_pylist()
    rules.write_text(json.dumps({"rules": RULES["rules"][1:]}))
    code, _, complaint = run(capsys, *words, "--resume")
    assert (code, "scored with other rules" in complaint) == (1, True)
    assert score_file(scorer, source, out).outcomes != counts


def test_check_prints_the_version_or_all_problems(
    capsys: Captured, sealed: Path, scorer: Scorer, tmp_path: Path
) -> None:
    """`rules check` prints what the rules are, and ends with 1 and every problem of a bad file."""
    path = tmp_path / "rules.yaml"
    path.write_text(json.dumps(RULES))
    code, said, _ = run(capsys, "rules", "check", path, sealed, "--json")
    rules = scorer.rule_evaluator(RULES).rules
    assert (code, json.loads(said)) == (
        0,
        {
            "version": rules.version,
            "rules": 4,
            "acting": ["TRUSTED", "YOUNG", "BUSY"],
            "reads": list(rules.names),
        },
    )
    path.write_text(
        "rules:\n- {code: A, title: a, when: {scor: {above: 1}}, then: STOP, until: 2027-01-31}\n"
    )
    code, _, complaint = run(capsys, "rules", "check", path, sealed)
    assert code == 1
    assert "rules.0.then: must be one of PASSED, STEPPED_UP, FAILED, OBSERVE" in complaint
    assert "rules.0.when.scor: nothing has this name; did you mean score?" in complaint
    assert "until" not in complaint
