"""`train` as people meet it: what it shows of the split, and what it refuses."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from identity_use import relaxed, write_configuration
from scoring_model.cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run the program in this process: exit code, standard output, standard error."""
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_the_split_is_shown_and_kept(capsys: pytest.CaptureFixture[str], small: Path, tmp_path: Path) -> None:
    """Progress, `split.json` and the card give the same parts and sizes, and all records are in them."""
    config, out = write_configuration(tmp_path, relaxed()), tmp_path / "out"
    code, _, error = run(
        capsys, "train", small, "--config", config, "--out", out, "--no-track", "--threads", 1
    )
    assert code == 0, error
    folder = tmp_path / "out.training"
    stretches = json.loads((folder / "split.json").read_text())
    parts = [stretch["part"] for stretch in stretches]
    assert parts == ["burn-in", "train", "gap", "validation", "gap", "test", "immature tail", "after as-of"]
    assert sum(stretch["records"] for stretch in stretches) == 5000
    card, summary = (out / "card.md").read_text(), (folder / "evaluation.md").read_text()
    for stretch in stretches:
        sizes = f"{stretch['records']} | {stretch['genuine']} | {stretch['frauds']} |"
        assert f"| {stretch['part']} | {stretch['start']} | {stretch['end']} | {sizes}" in card
        assert f"| {stretch['part']} | {stretch['start']} | {stretch['end']} | {sizes}" in summary
        shown = f"{stretch['part']} {stretch['start']} to {stretch['end']}: {stretch['records']} records; "
        assert (shown in error) is (stretch["records"] > 0)
        assert stretch["records"] == stretch["genuine"] + stretch["frauds"] + sum(
            stretch["left_out"].values()
        )
    found = json.loads((folder / "attacks.json").read_text())
    assert (found["run"], [finding["verdict"] for finding in found["findings"]]) == (True, ["sound"] * 4)
    assert "### Leaks" in summary
    assert "leaks: shuffled_labels sound" in error


def test_parts_with_too_few_frauds_are_refused(
    capsys: pytest.CaptureFixture[str], small: Path, tmp_path: Path
) -> None:
    """The error names each part, how many frauds it has and needs, and for how long to collect; no bundle is left."""
    config = write_configuration(tmp_path, relaxed().replace("min_frauds: 3", "min_frauds: 400"))
    code, _, error = run(capsys, "train", small, "--config", config, "--out", tmp_path / "out", "--no-track")
    assert code == 1
    for part in ("train", "validation", "test"):
        assert f"- {part} (20" in error
    assert error.count("frauds, needs 400: at its rate the history would have to span about ") == 3
    assert "Traceback" not in error
    assert not (tmp_path / "out").exists()


def test_a_leak_is_refused_and_told(capsys: pytest.CaptureFixture[str], small: Path, tmp_path: Path) -> None:
    """A signal that copies the label ends in code 1; what was found is left beside where the bundle would be."""
    table = pq.read_table(small)
    fraud = np.array([label == "fraud" for label in table.column("label").to_pylist()], dtype=np.float64)
    place = table.schema.get_field_index("signals.formSeconds")
    pq.write_table(
        table.set_column(place, "signals.formSeconds", pa.array(fraud)), tmp_path / "leaky.parquet"
    )
    config = write_configuration(tmp_path, relaxed())
    code, _, error = run(
        capsys,
        "train",
        tmp_path / "leaky.parquet",
        "--config",
        config,
        "--out",
        tmp_path / "out",
        "--no-track",
    )
    assert (code, "Traceback" in error) == (1, False)
    assert "single_features: on its own signal_form_seconds has an AUC of 1.0000" in error
    assert (
        "To train all the same, for the card to tell: training.attacks.tolerate: [single_features]" in error
    )
    assert not (tmp_path / "out").exists()
    found = json.loads((tmp_path / "out.training" / "attacks.json").read_text())
    verdicts = {finding["attack"]: finding["verdict"] for finding in found["findings"]}
    assert verdicts == {
        "shuffled_labels": "sound",
        "single_features": "leak",
        "future": "sound",
        "persons": "sound",
    }
