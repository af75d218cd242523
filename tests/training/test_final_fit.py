"""Trainings without a test part, and trainings as of an instant."""

import html
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import scoring_model
from identity_use import relaxed, write_configuration
from program import Captured, refused, run
from scoring_model.configuration import Configuration, load_configuration
from scoring_model.evaluation import EvaluatedRecords, evaluate_records
from scoring_model.records import RecordTable, microseconds
from scoring_model.scorer import Scorer
from scoring_model.scorer.frames import score_table
from scoring_model.training.run import Training, run_training
from scoring_model.training.run_description import describe, metrics

DAY = 86_400_000_000  # microseconds
AS_OF = datetime(2024, 12, 15, tzinfo=UTC)


def without_test(text: str) -> str:
    """The configuration with `test: 0` and nothing else changed."""
    return text.replace("min_frauds: 3}", "min_frauds: 3, test: 0}")


@pytest.fixture(scope="module")
def final_use(tmp_path_factory: pytest.TempPathFactory) -> Configuration:
    """The use without a test part."""
    return load_configuration(write_configuration(tmp_path_factory.mktemp("final"), without_test(relaxed())))


@pytest.fixture(scope="module")
def final(small_table: RecordTable, final_use: Configuration) -> Training:
    """A training without a test part."""
    return run_training(small_table, final_use, threads=1)


@pytest.fixture(scope="module")
def final_bundle(final: Training, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of its bundle."""
    return final.bundle.save(tmp_path_factory.mktemp("bundles") / "final")


def test_the_final_fit_has_neither_test_part_nor_its_gap(final: Training) -> None:
    """Its validation part ends where records become too young, and three quarters of the time train."""
    b = final.split.boundaries
    assert [row.part for row in final.split.summaries] == [
        "burn-in",
        "train",
        "gap",
        "validation",
        "label maturity window",
        "after as-of",
    ]
    assert sum(row.records for row in final.split.summaries) == 5000
    assert b.validation_to == b.as_of - 30 * DAY
    assert len(final.split.test) == 0
    assert (b.train_to - b.train_from) / (b.validation_to - b.validation_from) == pytest.approx(3)


def test_scale_and_promises_come_from_the_validation_part(
    final: Training, final_bundle: Path, small_table: RecordTable
) -> None:
    """The evaluation is that of the sealed bundle on the validation part, whose genuine records its promises count."""
    scorer, part = Scorer.load(final_bundle), final.split.validation
    decisions = score_table(scorer, small_table, reasons=False).decisions.take(part)
    records = EvaluatedRecords(
        decisions=decisions,
        labels=final.split.validation_targets,
        event_times=small_table.event_times[part],
    )
    expected = evaluate_records(records, rules=scorer.contents.rules)
    assert final.evaluation.overall == expected.overall
    assert final.evaluation.stability == expected.stability
    genuine = int((final.split.validation_targets == 0).sum())
    shares = [np.mean(decisions.scores[final.split.validation_targets == 0] >= s) for s in (250, 500)]
    assert np.allclose(shares, [0.1, 0.01], atol=1 / genuine)
    promises = scorer.contents.rules.policy.promises
    assert 0 < promises[0].records <= genuine


def test_everything_shown_says_on_what_it_rests(
    capsys: Captured, small: Path, final: Training, tmp_path: Path
) -> None:
    """All that a command shows names the validation part, and says that thresholds were chosen on it."""
    config, out = write_configuration(tmp_path, without_test(relaxed())), tmp_path / "out"
    code, said, error = run(
        capsys, "train", small, "--config", config, "--out", out, "--no-track", "--threads", 1
    )
    assert code == 0, error
    (finding,) = (one for one in final.evaluation.findings if one.code == "SM007")
    warning = finding.sentence
    assert (finding.is_open, finding.count) == (True, len(final.split.validation))
    assert "thresholds were chosen on the same records" in warning
    assert f"warning SM007: {warning}" in error
    folder = tmp_path / "out.training"
    assert f"evaluation of the validation period: {folder / 'evaluation.md'}" in said
    card, summary = (out / "card.md").read_text(), (folder / "evaluation.md").read_text()
    assert f"## Metrics on the validation part\n\n**{warning}**\n\n" in card
    assert "test part\n" not in card
    assert summary.startswith("# identity: the validation period\n\n")
    assert f"| evaluation | warning | found | {finding.count:,} |" in summary
    assert f"SM007, warning: {warning}" in summary
    first_screen = (folder / "report.html").read_text().partition("</header>")[0]
    assert html.escape(warning) in first_screen
    for path in (out / "evaluation.json", folder / "evaluation.json"):
        found = json.loads(path.read_text())
        assert (found["part"], found["findings"][6]["sentence"]) == ("validation", warning)
        assert found["overall"]["records"] == len(final.split.validation)
    assert (out / "card.md").read_bytes() == final.bundle.files["card.md"]


def test_a_test_part_leaves_the_evaluation_as_it_was(training: Training) -> None:
    """With a test part the file has the evaluation alone."""
    assert json.loads(training.bundle.files["evaluation.json"]) == training.evaluation.to_json()
    assert [one.is_open for one in training.evaluation.findings if one.code == "SM007"] == [False]


def test_runs_are_named_after_the_validation_part(
    final: Training, final_use: Configuration, final_bundle: Path, tmp_path: Path
) -> None:
    """Name, tags and metrics of MLflow never pass the validation part off as a test part; parameters have the split."""
    record = describe(final, final_use, bundle=final_bundle, source="a", started=1, ended=2, scratch=tmp_path)
    start, end = record.tags["validation.from"], record.tags["validation.to"]
    assert record.name.endswith(f" validation {start[:16]}Z to {end[:16]}Z")
    assert microseconds(end) == final.split.boundaries.as_of - 30 * DAY
    assert not any("test" in name for name in (record.name, *record.tags))
    plain = dict(metrics(final.evaluation))
    assert record.metrics == {f"validation_{name}": value for name, value in plain.items()}
    assert {name: record.params[f"split.{name}"] for name in ("train", "validation", "test")} == {
        "train": "0.6",
        "validation": "0.2",
        "test": "0",
    }
    assert microseconds(record.params["as_of"]) == final.split.boundaries.as_of


def test_lengths_of_the_parts_may_be_written(small: Path, tmp_path: Path) -> None:
    """Parts of 120, 45 and 40 days give a model whose card has parts of these lengths."""
    text = relaxed().replace("train: 0.6, validation: 0.2", "train: 120d, validation: 45d, test: 40d")
    found = scoring_model.train(small, write_configuration(tmp_path, text))
    cells = [line.split(" | ")[:3] for line in found.files["card.md"].decode().splitlines()]
    lengths = {
        cell[0].strip("| "): datetime.fromisoformat(cell[2]) - datetime.fromisoformat(cell[1])
        for cell in cells
        if cell[0].strip("| ") in ("train", "validation", "test") and len(cell) == 3
    }
    assert lengths == {
        "train": timedelta(days=120),
        "validation": timedelta(days=45),
        "test": timedelta(days=40),
    }


def as_it_was(table: pa.Table, instant: datetime) -> tuple[pa.Table, int]:
    """The file without what happened or became known at an instant or later, and the number of labels removed."""
    earlier = table.filter(pc.less(table["eventTime"], pa.scalar(instant, table["eventTime"].type)))
    known_at = earlier["labelKnownAt"]
    later = pc.fill_null(pc.greater_equal(known_at, pa.scalar(instant, known_at.type)), False)
    for name in ("label", "labelKnownAt"):
        cells = pc.if_else(later, pa.scalar(None, earlier[name].type), earlier[name])
        earlier = earlier.set_column(earlier.schema.get_field_index(name), name, cells)
    return earlier, pc.sum(later).as_py()


def test_a_training_as_of_an_instant_reads_nothing_later(
    small: Path, small_table: RecordTable, final_use: Configuration, tmp_path: Path
) -> None:
    """The whole file and the file as it was then give the same bundle, byte for byte; what is left out is counted."""
    said: list[str] = []
    instant = final_use.trained_as_of(microseconds(AS_OF))
    whole = run_training(small_table, instant, threads=1, report=said.append).bundle.save(tmp_path / "whole")
    table = pq.read_table(small)
    cut, labels = as_it_was(table, AS_OF)
    assert labels > 0
    counts = f"{table.num_rows - cut.num_rows} records that happened then or later, and {labels} labels"
    assert f"as of 2024-12-15T00:00:00.000000Z: {counts} of earlier records" in said[0]
    again = scoring_model.train(cut, final_use, as_of=AS_OF).save(tmp_path / "cut")
    for file in whole.iterdir():
        assert (again / file.name).read_bytes() == file.read_bytes(), file.name


def test_an_instant_before_all_records_is_refused(capsys: Captured, small: Path, tmp_path: Path) -> None:
    """The option of the command replaces the instant of the configuration, and the error names it."""
    config = write_configuration(tmp_path, relaxed())
    train = ["train", small, "--config", config, "--out", tmp_path / "out", "--as-of", "2020-01-01"]
    assert "no records before the as-of instant 2020-01-01" in refused(capsys, *train)
    assert not (tmp_path / "out").exists()


def test_an_option_that_is_no_instant_is_refused(capsys: Captured, small: Path, tmp_path: Path) -> None:
    """The usage error names the option, before anything is read."""
    config = write_configuration(tmp_path, relaxed())
    train = ["train", small, "--config", config, "--out", tmp_path / "out", "--as-of", "soon"]
    code, _, error = run(capsys, *train)
    assert code == 2
    assert "--as-of" in error
    assert not (tmp_path / "out.training").exists()
