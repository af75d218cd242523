"""`train` for users: its report of the split, and its refusals."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from identity_use import checked, relaxed, write_configuration
from program import Captured, refused, run
from scoring_model.evaluation.report.words import unbroken


@pytest.mark.usefixtures("undrawn")
def test_the_split_is_shown_and_kept(capsys: Captured, small: Path, tmp_path: Path) -> None:
    """Progress, `split.json` and the card give the same parts and sizes, and all records are in them."""
    config, out = write_configuration(tmp_path, checked(relaxed())), tmp_path / "out"
    code, _, error = run(
        capsys, "train", small, "--config", config, "--out", out, "--no-track", "--threads", 1
    )
    assert code == 0, error
    folder = tmp_path / "out.training"
    segments = json.loads((folder / "split.json").read_text())
    parts = [segment["part"] for segment in segments]
    assert parts == [
        "burn-in",
        "train",
        "gap",
        "validation",
        "gap",
        "test",
        "label maturity window",
        "after as-of",
    ]
    assert sum(segment["records"] for segment in segments) == 5000
    card, summary = (out / "card.md").read_text(), (folder / "evaluation.md").read_text()
    for segment in segments:
        start, end = (segment[name][:16].replace("T", " ") for name in ("start", "end"))
        sizes = f"{segment['records']:,} | {segment['genuine']:,} | {segment['frauds']:,} |"
        assert f"| {segment['part']} | {start} | {end} | {sizes}" in card
        days = " | ".join(unbroken(one[:10]) for one in (start, end))
        assert f"| {segment['part']} | {days} | {sizes}" in summary
        shown = f"{segment['part']} {start} to {end}: {segment['records']:,} records; "
        assert (shown in error) is (segment["records"] > 0)
        assert segment["records"] == segment["genuine"] + segment["frauds"] + sum(
            segment["left_out"].values()
        )
    found = json.loads((folder / "findings.json").read_text())
    assert [finding["state"] for finding in found[:4]] == ["clear"] * 4
    assert "### Findings" in summary
    assert "warning SM006: a fraud is known" in error
    assert "link_address_1d_frauds, link_address_1d_fraud_share, " in error
    assert "checks: SM001 clear; SM002 clear" in error


def test_parts_with_too_few_frauds_are_refused(capsys: Captured, small: Path, tmp_path: Path) -> None:
    """The error names each part, how many frauds it has and needs, and for how long to collect; no bundle is left."""
    config = write_configuration(tmp_path, relaxed().replace("min_frauds: 3", "min_frauds: 400"))
    code, _, error = run(capsys, "train", small, "--config", config, "--out", tmp_path / "out", "--no-track")
    assert code == 1
    for part in ("train", "validation", "test"):
        assert f"- {part} (20" in error
    assert error.count("frauds, needs 400: at its rate the history would have to span about ") == 3
    assert "Traceback" not in error
    assert not (tmp_path / "out").exists()


def test_a_leak_is_refused_and_named(capsys: Captured, small: Path, tmp_path: Path) -> None:
    """A signal that copies the label ends in code 1; what was found is left beside where the bundle would be."""
    table = pq.read_table(small)
    fraud = np.array([label == "fraud" for label in table.column("label").to_pylist()], dtype=np.float64)
    place = table.schema.get_field_index("signals.formSeconds")
    pq.write_table(
        table.set_column(place, "signals.formSeconds", pa.array(fraud)), tmp_path / "leaky.parquet"
    )
    config = write_configuration(tmp_path, checked(relaxed()))
    train = ["train", tmp_path / "leaky.parquet", "--config", config, "--out", tmp_path / "out"]
    code, _, error = run(capsys, *train, "--no-track")
    assert (code, "Traceback" in error) == (1, False)
    assert "single_features: on its own signal_form_seconds has an AUC of 1.0000" in error
    assert (
        "To train all the same, with a note in the card: training.leakage_checks.tolerate: [single_features]"
        in error
    )
    assert not (tmp_path / "out").exists()
    found = json.loads((tmp_path / "out.training" / "findings.json").read_text())
    leaks = [f["code"] for f in found if f["state"] == "found" and f["severity"] == "error"]
    assert leaks == ["SM002"]


@pytest.mark.usefixtures("undrawn")
def test_a_policy_that_counts_refuse_is_refused_before_the_search(
    capsys: Captured, small: Path, tmp_path: Path
) -> None:
    """With too few genuine persons for any model nothing is searched; the error is a table of what to write."""
    text = relaxed().replace("max_false_reject: 0.04", "max_false_reject: 0.00001")
    config, out = write_configuration(tmp_path, text), tmp_path / "out"
    code, _, error = run(
        capsys, "train", small, "--config", config, "--out", out, "--no-track", "--trials", 1
    )
    assert code == 1
    assert "error: no thresholds of any model, even a perfect one, keep the bounds of the policy\n\n" in error
    possible = re.search(
        r"^  max_false_reject  1e-05      (\S+)\s+policy\.max_false_reject: (\S+)$", error, re.MULTILINE
    )
    assert possible is not None
    assert possible[1] == possible[2]
    assert "SM001" not in error
    assert {path.name for path in (tmp_path / "out.training").iterdir()} == {"quarantine.csv"}
    feasible = text.replace("max_false_reject: 0.00001", f"max_false_reject: {possible[1]}")
    train = ["train", small, "--config", write_configuration(tmp_path, feasible), "--out", out, "--no-track"]
    assert run(capsys, *train, "--threads", 1)[0] == 0


def test_a_policy_that_the_model_refuses_leaves_what_to_choose_by(
    capsys: Captured, small: Path, tmp_path: Path
) -> None:
    """The model and its thresholds stay, and with the bound that the table names it gets a policy."""
    text = relaxed() + "  max_missed_fraud: 0.5\n"
    config, out = write_configuration(tmp_path, text), tmp_path / "out"
    train = ["train", small, "--config", config, "--out", out, "--no-track", "--threads", 1]
    code, _, error = run(capsys, *train, "--trials", 1)
    assert (code, out.exists()) == (1, False)
    assert "error: no thresholds of the fitted model keep the bounds of the policy\n\n" in error
    folder = tmp_path / "out.training"
    model, thresholds = folder / "without_policy", folder / "thresholds.csv"
    assert f"results of each pair of thresholds: {thresholds}\n" in error
    policy = ["policy", model, "--config", config, "--out", out]
    assert f"scoring-model policy {model} --config CONFIG --out {out}\n" in error
    rows = list(csv.DictReader(thresholds.read_text().splitlines()))
    assert len(rows) > 800
    assert {(row["chosen"], row["certified"]) for row in rows} == {("0", "0")}
    card = (model / "card.md").read_text()
    assert "so everyone passes until there are other bounds. Nothing is promised." in card
    assert "no thresholds of the fitted model keep the bounds" in refused(capsys, *policy)
    possible = dict(re.findall(r"policy\.(\w+): (\S+)", error))
    assert "max_missed_fraud" in possible
    bound = possible["max_missed_fraud"]
    write_configuration(tmp_path, text.replace("max_missed_fraud: 0.5", f"max_missed_fraud: {bound}"))
    code, said, error = run(capsys, *policy)
    assert code == 0, error
    assert "certified by: ladder" in said
    assert f"| max_missed_fraud | {float(bound):.4g} |" in (out / "card.md").read_text()
