"""`compare` and `evaluate --gate`: output, JSON and exit codes."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from identity_use import with_thresholds
from program import Captured, refused, run
from scoring_model.training.run import Training

LOOSE = "gates: {ranking: {difference: roc_auc, above: -0.5}, level: {figure: roc_auc, above: 0.5}}\n"


@pytest.fixture(scope="module")
def stricter(training: Training, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with the same model and lower thresholds."""
    out = tmp_path_factory.mktemp("stricter") / "bundle"
    policy = training.bundle.contents.rules.policy
    lower = {name: getattr(policy, name) - 60 for name in ("step_up_from", "fail_from")}
    with_thresholds(training.bundle, **lower).save(out)
    return out


@pytest.fixture(scope="module")
def records(frame: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The last labelled records of the history."""
    path = tmp_path_factory.mktemp("records") / "records.parquet"
    pq.write_table(frame.slice(20_000, 3_000), path)
    return path


def gates(folder: Path, text: str) -> Path:
    """Write a file of gates."""
    path = folder / "gates.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_compare_prints_and_writes(
    capsys: Captured, sealed: Path, stricter: Path, records: Path, tmp_path: Path
) -> None:
    """The summary has the changes per day, and the JSON every gate with its numbers."""
    out = tmp_path / "ab.json"
    compare = ["compare", sealed, stricter, records, "--by", "documentType", "--json", out]
    compare += ["--report", tmp_path / "ab.html"]
    code, said, error = run(capsys, *compare, "--gate", gates(tmp_path, LOOSE + "allow_trained: true\n"))
    assert code == 0, error
    assert "more step-ups a day" in said
    assert "### Groups by documentType" in said
    assert (
        "- **Passed: ranking.** ROC AUC, challenger minus champion: the lower end must be above −0.5." in said
    )
    document = json.loads(out.read_text())
    assert document["gates"]["exit_code"] == 0
    assert document["gates"]["improved"] == []
    assert [gate["name"] for gate in document["gates"]["gates"]] == ["ranking", "level"]
    example, *_ = document["flips"][0]["examples"]
    html = (tmp_path / "ab.html").read_text(encoding="utf-8")
    assert "2 of 2 gates passed." in html
    assert example in html
    assert document["bundles"][1]["model_version"] in html


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("gates: {level: {figure: roc_auc, above: 0.9999}}\nallow_trained: true\n", 10),
        ("gates: {level: {figure: roc_auc, above: 0.5}}\nmin_days: 3000\n", 11),
    ],
)
def test_gates_set_the_exit_code(
    capsys: Captured, sealed: Path, records: Path, tmp_path: Path, text: str, code: int
) -> None:
    """`evaluate --gate` fails a gate, or has too little data for it."""
    out = tmp_path / "a.json"
    found, said, _ = run(capsys, "evaluate", sealed, records, "--gate", gates(tmp_path, text), "--json", out)
    assert found == code
    assert ": level.** " in said
    assert json.loads(out.read_text())["gates"]["exit_code"] == code


def test_records_of_the_training_leave_gates_open(
    capsys: Captured, sealed: Path, frame: pa.Table, tmp_path: Path
) -> None:
    """Records from before the end of the validation period decide no gate."""
    pq.write_table(frame.slice(12_000, 2_000), tmp_path / "old.parquet")
    level = gates(tmp_path, "gates: {level: {figure: roc_auc, above: 0.5}}\n")
    code, said, _ = run(capsys, "evaluate", sealed, tmp_path / "old.parquet", "--gate", level)
    assert code == 11
    assert "evaluated records are from the period that a model was trained and validated on" in said


def test_wrong_gates_are_refused_before_scoring(
    capsys: Captured, sealed: Path, records: Path, tmp_path: Path
) -> None:
    """A file of gates with an unknown key ends in code 1 and names the key."""
    wrong = gates(tmp_path, "gates: {level: {figure: roc_auc, abov: 0.5}}\n")
    assert "gates.level.abov" in refused(capsys, "compare", sealed, sealed, records, "--gate", wrong)
