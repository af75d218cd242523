"""Determinism: the same records, configuration and seed give the same bundle, byte for byte."""

from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import scoring_model
from identity_use import configuration_of, relaxed, write_configuration
from scoring_model import synthetic
from scoring_model.bundle import Bundle
from scoring_model.configuration import Configuration, TuningSettings
from scoring_model.records import RecordTable
from scoring_model.records.reading import read_records
from scoring_model.training import trial_workers
from scoring_model.training.run import Training, run_training
from scoring_model.training.rungs import Rung, run_trial


@pytest.fixture(scope="module")
def one_thread(small_table: RecordTable, small_use: Configuration) -> Bundle:
    """A small bundle, trained on one thread."""
    return run_training(small_table, small_use, threads=1).bundle


def saved(bundle: Bundle, path: Path) -> dict[str, bytes]:
    """Return the bytes of a bundle's directory."""
    return {file.name: file.read_bytes() for file in bundle.save(path).iterdir()}


def test_threads_change_no_byte(
    small: Path, small_use: Configuration, one_thread: Bundle, tmp_path: Path
) -> None:
    """`train` with two threads gives the directory of one thread."""
    two = scoring_model.train(small, small_use)
    assert saved(two, tmp_path / "two") == saved(one_thread, tmp_path / "one")


@pytest.mark.parametrize("form", ["csv", "jsonl", "columns reversed", "pandas"])
def test_the_form_of_the_records_changes_no_byte(
    form: str, small: Path, small_use: Configuration, one_thread: Bundle, tmp_path: Path
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
    assert saved(found, tmp_path / "found") == saved(one_thread, tmp_path / "one")


def test_another_seed_is_another_model(
    small_table: RecordTable, small_use: Configuration, one_thread: Bundle
) -> None:
    """Another seed gives another model, so the comparisons above are not between constants."""
    seeded = replace(small_use, training=replace(small_use.training, seed=8))
    assert (
        run_training(small_table, seeded, threads=1).bundle.files["golden.npz"]
        != one_thread.files["golden.npz"]
    )


def searching(small_use: Configuration, trials: int) -> Configuration:
    """The same configuration with a search instead of given parameters."""
    settings = TuningSettings(trials=trials, folds=1, max_rounds=8, patience=4)
    return replace(small_use, training=replace(small_use.training, tuned=None, tuning=settings))


def test_an_interrupted_search_ends_in_the_same_bundle(
    small_table: RecordTable, small_use: Configuration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search run at once, resumed after a trial, or replaced by its result gives the same directory."""
    search = searching(small_use, 3)
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


def test_steps_are_reported(training: Training, small_table: RecordTable, small_use: Configuration) -> None:
    """The sizes of the parts and of the model are reported in this order."""
    heard: list[str] = []
    found = run_training(small_table, small_use, threads=1, report=heard.append)
    assert heard[0] == f"{len(found.bundle.contents.features.names)} features"
    parts = [str(segment) for segment in found.split.summaries if segment.records]
    assert heard[1 : 1 + len(parts)] == parts
    rest = heard[1 + len(parts) :]
    train = found.split.summaries[1]
    assert (
        f"train {train.start} to {train.end}: {train.records} records; {train.genuine} genuine, " in heard[2]
    )
    assert rest[0].startswith("warning SM006: a fraud is known ")
    assert "checks: SM001 clear; SM002 clear; SM003 clear; SM004 clear" in rest
    assert [one for one in found.evaluation.findings if f"{one.code}" not in "; ".join(rest)] == []
    assert heard[-1].startswith(f"model {found.bundle.model_version}: STEPPED_UP from ")
    assert training.bundle.model_version != found.bundle.model_version


def test_a_training_takes_paths(small: Path, tmp_path: Path) -> None:
    """Paths of records and configuration give the same bundle as objects in memory, byte for byte."""
    path = write_configuration(tmp_path, relaxed())
    bundle = scoring_model.train(str(small), str(path))
    assert (
        bundle.files == scoring_model.train(pq.read_table(small), configuration_of(tmp_path, relaxed())).files
    )
