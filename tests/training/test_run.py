"""Determinism: the same records, configuration and seed give the same bundle, byte for byte."""

from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import scoring_model
from identity_use import checked, relaxed, write_configuration
from scoring_model import synthetic
from scoring_model.bundle import Bundle
from scoring_model.configuration import Configuration, LeakageSettings, TuningSettings
from scoring_model.records import RecordTable
from scoring_model.records.reading import read_records
from scoring_model.records.times import to_the_minute
from scoring_model.training import trial_workers
from scoring_model.training.run import Training, run_training
from scoring_model.training.rungs import Rung, run_trial


@pytest.fixture(scope="module")
def reported() -> list[str]:
    """What the training on one thread reports."""
    return []


@pytest.fixture(scope="module")
def one_thread(small_table: RecordTable, small_use: Configuration, reported: list[str]) -> Training:
    """A small training on one thread, with leakage checks."""
    training = replace(small_use.training, leakage_checks=LeakageSettings(max_records=2000))
    use = replace(small_use, training=training)
    return run_training(small_table, use, threads=1, report=reported.append)


@pytest.fixture(scope="module")
def unchecked_bundle(small_table: RecordTable, small_use: Configuration) -> Bundle:
    """A small bundle without leakage checks, which read the same records and parameters as the model."""
    return run_training(small_table, small_use, threads=1).bundle


def saved(bundle: Bundle, path: Path) -> dict[str, bytes]:
    """Return the bytes of a bundle's directory."""
    return {file.name: file.read_bytes() for file in bundle.save(path).iterdir()}


def test_neither_threads_nor_paths_change_a_byte(small: Path, one_thread: Training, tmp_path: Path) -> None:
    """`train` with two threads, records and configuration as paths gives the directory of one thread and objects."""
    path = write_configuration(tmp_path, checked(relaxed()))
    two = scoring_model.train(str(small), str(path))
    assert saved(two, tmp_path / "two") == saved(one_thread.bundle, tmp_path / "one")


@pytest.mark.parametrize("form", ["csv", "jsonl", "columns reversed", "pandas"])
def test_the_form_of_the_records_changes_no_byte(
    form: str, small: Path, small_use: Configuration, unchecked_bundle: Bundle, tmp_path: Path
) -> None:
    """The same records in another format, column order or as a DataFrame give the same bundle."""
    source: object
    if form == "pandas":
        source = pq.read_table(small).to_pandas()
    elif form == "columns reversed":
        table = pq.read_table(small)
        source = tmp_path / "reversed.parquet"
        pq.write_table(table.select(table.column_names[::-1]), source)
    else:
        source = tmp_path / f"small.{form}"
        synthetic.write(source, records=5_000, seed=7, months=12)
    table = read_records(source, small_use.schema, labelled=True).table
    found = run_training(table, small_use, threads=1).bundle
    assert saved(found, tmp_path / "found") == saved(unchecked_bundle, tmp_path / "one")


def test_another_seed_is_another_model(
    small_table: RecordTable, small_use: Configuration, unchecked_bundle: Bundle
) -> None:
    """Another seed gives another model, so the comparisons above are not between constants."""
    seeded = replace(small_use, training=replace(small_use.training, seed=8))
    assert (
        run_training(small_table, seeded, threads=1).bundle.files["golden.npz"]
        != unchecked_bundle.files["golden.npz"]
    )


def test_an_interrupted_search_ends_in_the_same_bundle(
    small_table: RecordTable, small_use: Configuration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search run at once, resumed after a trial, or replaced by its result gives the same directory."""
    settings = TuningSettings(trials=3, folds=1, max_rounds=8, patience=4)
    search = replace(small_use, training=replace(small_use.training, tuned=None, tuning=settings))
    whole = run_training(small_table, search, threads=1)
    journal, reached = tmp_path / "journal", list[int]()

    def interrupted(*given: Any) -> Generator[Rung, None, None]:
        if reached:
            raise KeyboardInterrupt
        reached.append(1)
        return run_trial(*given)

    monkeypatch.setattr(trial_workers, "run_trial", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_training(small_table, search, journal=journal, threads=1)
    monkeypatch.undo()
    resumed = run_training(small_table, search, journal=journal, resume=True, threads=1)
    known = replace(small_use, training=replace(small_use.training, tuned=whole.tuned))
    given = run_training(small_table, known, threads=1)
    first = saved(whole.bundle, tmp_path / "whole")
    assert saved(resumed.bundle, tmp_path / "resumed") == first
    assert saved(given.bundle, tmp_path / "given") == first
    assert whole.tuning is not None
    assert resumed.tuning is not None
    assert len(whole.tuning.trials) == len(resumed.tuning.trials) == 3
    assert given.tuning is None


def test_steps_are_reported(training: Training, one_thread: Training, reported: list[str]) -> None:
    """The sizes of the parts and of the model are reported in this order."""
    assert reported[0] == f"{len(one_thread.bundle.contents.features.names)} features"
    parts = [str(segment) for segment in one_thread.split.summaries if segment.records]
    assert reported[1 : 1 + len(parts)] == parts
    used, *rest = reported[1 + len(parts) :]
    train = one_thread.split.summaries[1]
    assert (
        f"train {to_the_minute(train.start)} to {to_the_minute(train.end)}: {train.records:,} records; "
        f"{train.genuine:,} genuine, " in reported[2]
    )
    assert used.startswith(f"{train.genuine + train.frauds:,} of 5,000 records train the model; ")
    assert rest[0].startswith("warning SM006: a fraud is known ")
    assert "checks: SM001 clear; SM002 clear; SM003 clear; SM004 clear" in rest
    (late,) = (one for one in one_thread.evaluation.findings if one.code == "SM015")
    assert late.records > len(one_thread.split.train)
    assert "of the frauds that become known within" in late.sentence
    assert [one for one in one_thread.evaluation.findings if f"{one.code}" not in "; ".join(rest)] == []
    assert reported[-1].startswith(f"model {one_thread.bundle.model_version}: STEPPED_UP from ")
    assert training.bundle.model_version != one_thread.bundle.model_version
