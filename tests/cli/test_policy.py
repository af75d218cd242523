"""`policy` for users: another policy for a bundle, and its refusals."""

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from identity_use import YAML, write_configuration
from program import Captured, refused, run
from scoring_model.bundle import read_bundle
from scoring_model.training.preparation import Prepared


def test_a_row_of_the_thresholds_becomes_the_policy(capsys: Captured, sealed: Path, tmp_path: Path) -> None:
    """A pair is sealed under the same model version; the table beside the bundle marks it; it can be inspected."""
    out = tmp_path / "new"
    code, said, _ = run(
        capsys, "policy", sealed, "--out", out, "--step-up-from", 450, "--fail-from", 850, "--threads", 1
    )
    assert code == 0
    manifest = read_bundle(out).manifest
    assert manifest.model_version == read_bundle(sealed).manifest.model_version
    assert "certified by: same bounds\n" in said
    assert f"policy {manifest.policy_version}: STEPPED_UP from 450, FAILED from 850\n" in said
    with (tmp_path / "new.thresholds.csv").open() as file:
        chosen = [row for row in csv.DictReader(file) if row["chosen"] == "1"]
    assert [(row["step_up_from"], row["fail_from"], row["certified"]) for row in chosen] == [
        ("450", "850", "1")
    ]
    found = json.loads(run(capsys, "inspect", out, "--json")[1])
    assert found["scores_new_records"] is True
    assert "exists" in refused(
        capsys, "policy", sealed, "--out", out, "--step-up-from", 450, "--fail-from", 850
    )


def test_rounded_bounds_are_reported(capsys: Captured, sealed: Path, tmp_path: Path) -> None:
    """Bounds of a new configuration are promised as values of the ladder, and the output says so."""
    text = YAML.replace("max_false_reject: 0.01", "max_false_reject: 0.03").replace("0.08", "0.12")
    config = write_configuration(tmp_path, text)
    code, said, _ = run(capsys, "policy", sealed, "--config", config, "--out", tmp_path / "new")
    assert code == 0
    assert "max_false_reject: 0.0315 is promised, 0.03 rounded up to the ladder\n" in said
    assert "max_step_up: 0.125 is promised, 0.12 rounded up to the ladder\n" in said
    assert "certified by: ladder\n" in said


def test_fresh_records_certify(
    capsys: Captured, sealed: Path, frame: pa.Table, prepared: Prepared, tmp_path: Path
) -> None:
    """A file of later records certifies the bounds as they are; with earlier ones in it, it is refused."""
    late = prepared.table.event_times >= prepared.split.boundaries.validation_to
    records, past = tmp_path / "fresh.parquet", tmp_path / "past.parquet"
    pq.write_table(frame.filter(pa.array(late)), records)
    pq.write_table(frame.filter(pa.array(~late)), past)
    config = write_configuration(tmp_path, YAML.replace("0.08", "0.12").replace("0.01\n", "0.03\n"))
    policy = ["policy", sealed, "--config", config, "--out", tmp_path / "new"]
    code, said, error = run(capsys, *policy, records, "--history", past)
    assert code == 0, error
    assert "rounded" not in said
    assert "certified by: fresh records\n" in said
    assert "are from before" in refused(capsys, *policy, past, "--replace")


def test_bounds_that_cannot_be_kept_leave_a_table(capsys: Captured, sealed: Path, tmp_path: Path) -> None:
    """Nothing is sealed; the results of all pairs are written for the choice of others."""
    config = write_configuration(tmp_path, YAML.replace("0.08", "0.03") + "  max_missed_fraud: 0.1\n")
    error = refused(capsys, "policy", sealed, "--config", config, "--out", tmp_path / "new")
    assert "no thresholds of the fitted model keep the bounds" in error
    assert not (tmp_path / "new").exists()
    assert len((tmp_path / "new.thresholds.csv").read_text().splitlines()) > 800


@pytest.mark.parametrize("option", ["--step-up-from", "--fail-from"])
def test_one_threshold_is_wrong_usage(option: str, capsys: Captured, sealed: Path, tmp_path: Path) -> None:
    """Both thresholds belong together."""
    code, _, error = run(capsys, "policy", sealed, "--out", tmp_path / "new", option, 500)
    assert code == 2
    assert "must be given together" in error
