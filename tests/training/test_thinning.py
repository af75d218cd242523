"""Thinning: which records a training keeps, what they weigh, and their features from files of any size."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scoring_model.arrays import FloatArray
from scoring_model.batch.plan import Limits
from scoring_model.bundle import CARD, CONFIGURATION, Bundle, read_bundle
from scoring_model.configuration import Configuration, LeakageSettings, ThinningSettings, Tuned
from scoring_model.findings import State
from scoring_model.records import RecordTable
from scoring_model.records.layout import MissingColumns
from scoring_model.records.quarantine import TooManyBadRows
from scoring_model.records.reading import read_records
from scoring_model.training.backtest import BacktestError, backtest
from scoring_model.training.boundaries import SplitError
from scoring_model.training.certification import InfeasiblePolicy
from scoring_model.training.fitting import fit, genuine_weights
from scoring_model.training.job import Job, run_job
from scoring_model.training.leakage import run_leakage_checks
from scoring_model.training.preparation import Prepared, prepare
from scoring_model.training.report import training_sections
from scoring_model.training.run import run_prepared
from scoring_model.training.thinned_files import TooManyKept, prepare_files
from scoring_model.training.thinning import record_facts

LIMITS = Limits(part_rows=512, piece_rows=1_000)
"""So small that 5,000 records have many parts, and frequent keys several pieces."""


def thinned(use: Configuration, thinning: ThinningSettings, *, checked: int = 1_000) -> Configuration:
    """The configuration with thinning, few trees, and leakage checks of so many records."""
    training = replace(
        use.training,
        thinning=thinning,
        tuned=Tuned(params={"learning_rate": 0.2, "num_leaves": 7}, rounds=5),
        leakage_checks=LeakageSettings(run=checked > 0, max_records=max(checked, 1_000)),
    )
    return replace(use, training=training)


@pytest.fixture(scope="module")
def use(small_use: Configuration) -> Configuration:
    """The use with a third of the genuine records."""
    return thinned(small_use, ThinningSettings(genuine=0.3))


@pytest.fixture(scope="module")
def files(small: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The history in three files, not in order of time, with a bad value and an id that two files have."""
    records = pq.read_table(small)
    ids, born = records.column("recordId").to_pylist(), records.column("dob").to_pylist()
    ids[4_000], born[100] = ids[3], "canary"
    for name, values in (("recordId", ids), ("dob", born)):
        place = records.schema.get_field_index(name)
        records = records.set_column(place, name, pa.array(values, pa.string()))
    folder = tmp_path_factory.mktemp("files")
    paths = [folder / name for name in ("a.parquet", "b.parquet", "c.parquet")]
    for path, (start, end) in zip(paths, [(3_000, 5_000), (900, 3_000), (0, 900)], strict=True):
        pq.write_table(records.slice(start, end - start), path, row_group_size=700)
    return paths


@pytest.fixture(scope="module")
def table(files: list[Path], use: Configuration) -> RecordTable:
    """The records of the files."""
    return read_records(files, use.schema, labelled=True).table


@pytest.fixture(scope="module")
def in_memory(table: RecordTable, use: Configuration) -> Prepared:
    """The kept records of the history in memory."""
    return prepare(table, use)


@pytest.fixture(scope="module")
def whole(table: RecordTable, small_use: Configuration) -> Prepared:
    """The history without thinning."""
    return prepare(table, small_use)


def prepared_files(
    sources: Sequence[Path], use: Configuration, folder: Path, memory: int = 4_000_000_000
) -> Prepared:
    """Prepare files in this process."""
    return prepare_files(
        [str(source) for source in sources],
        use,
        work=folder / "work",
        quarantine=folder / "quarantine.csv",
        memory=memory,
        limits=LIMITS,
        processes=1,
    )


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of `from_files`."""
    return tmp_path_factory.mktemp("prepared")


@pytest.fixture(scope="module")
def from_files(files: list[Path], use: Configuration, work: Path) -> Prepared:
    """The kept records of the files."""
    return prepared_files(files, use, work)


def bits(rows: FloatArray) -> bytes:
    """The bits of a matrix."""
    return np.ascontiguousarray(rows).tobytes()


def test_all_frauds_and_a_share_of_genuine_records_are_kept(
    in_memory: Prepared, whole: Prepared, use: Configuration
) -> None:
    """Frauds and judged parts are those of all records; genuine records weigh as much as all of them."""
    found, every = in_memory.split, whole.split
    assert in_memory.thinning is not None
    assert found.boundaries == every.boundaries
    ids, all_ids = (np.array(one.table.record_ids) for one in (in_memory, whole))
    frauds = found.train[found.train_targets == 1], every.train[every.train_targets == 1]
    assert set(ids[frauds[0]]) == set(all_ids[frauds[1]])
    for part in ("validation", "test"):
        assert list(ids[getattr(found, part)]) == list(all_ids[getattr(every, part)])
    genuine = every.train[every.train_targets == 0]
    kept = found.train[found.train_targets == 0]
    assert set(ids[kept]) < set(all_ids[genuine])
    share = in_memory.thinning.kept_genuine / in_memory.thinning.genuine
    assert abs(share - 0.3) < 4 * np.sqrt(0.3 * 0.7 / in_memory.thinning.genuine)
    assert in_memory.genuine_weight == pytest.approx(1 / share, rel=1e-12)


def test_features_are_those_of_the_whole_history(in_memory: Prepared, whole: Prepared) -> None:
    """The link features of a kept record count every record, kept or not."""
    rows = {record_id: row for row, record_id in enumerate(whole.table.record_ids)}
    places = np.array([rows[record_id] for record_id in in_memory.table.record_ids])
    assert len(places) < len(rows)
    links = [name.startswith("link_") for name in whole.matrix.names]
    assert any(links)
    assert bits(in_memory.rows[:, links]) == bits(whole.rows[places][:, links])


def test_files_give_what_memory_gives(from_files: Prepared, in_memory: Prepared) -> None:
    """Neither the number nor the order of files, parts and pieces changes a record, a bit or a count."""
    assert from_files.table.record_ids == in_memory.table.record_ids
    assert from_files.table.columns == in_memory.table.columns
    assert bits(from_files.rows) == bits(in_memory.rows)
    assert from_files.thinning == in_memory.thinning
    assert from_files.split.summaries == in_memory.split.summaries


def test_every_record_of_a_part_is_counted(in_memory: Prepared, whole: Prepared) -> None:
    """The summaries count all records; those that are not used stand under a reason."""
    summaries = in_memory.split.summaries
    assert [one.records for one in summaries] == [one.records for one in whole.split.summaries]
    for one in summaries:
        assert one.genuine + one.frauds + sum(one.left_out.values()) == one.records
        assert all(count > 0 for count in one.left_out.values())


def saved(bundle: Bundle, folder: Path) -> dict[str, bytes]:
    """The files of a bundle."""
    return {path.name: path.read_bytes() for path in bundle.save(folder).iterdir()}


def test_a_bundle_of_files_is_that_of_memory(
    from_files: Prepared, in_memory: Prepared, use: Configuration, tmp_path: Path
) -> None:
    """The bundle has the same bytes; its card, manifest and configuration name what was kept, and the weight."""
    quick = replace(use, training=replace(use.training, leakage_checks=LeakageSettings(run=False)))
    one, other = (run_prepared(found, quick, threads=1) for found in (from_files, in_memory))
    files = saved(one.bundle, tmp_path / "one")
    assert files == saved(other.bundle, tmp_path / "other")
    thinning = one.thinning
    assert thinning is not None
    assert read_bundle(tmp_path / "one").manifest.data.items() >= thinning.to_json().items()
    assert thinning.read == 4_998
    assert thinning.sentence in files[CARD].decode()
    assert json.loads(files[CONFIGURATION])["training"]["thinning"] == {"genuine": 0.3, "most_records": None}
    section = [*training_sections(one.split, one.alternatives, thinning)][-1]
    assert f"{thinning.sentence}." in section.texts


def test_the_checks_of_leakage_read_the_kept_records(from_files: Prepared, use: Configuration) -> None:
    """The earliest records are kept whole, so that their history is complete, and a sound training stays clear."""
    found = run_leakage_checks(from_files, use.training.leakage_checks, seed=7)
    assert {finding.state for finding in found} == {State.CLEAR}
    thinning = from_files.thinning
    assert thinning is not None
    assert np.count_nonzero(from_files.table.event_times <= thinning.whole_until) == 1_000


def test_a_job_reads_a_folder(files: list[Path], use: Configuration, tmp_path: Path) -> None:
    """It reports the kept records before a bound that cannot be kept ends it; nothing that was spilled is left."""
    hopeless = replace(use, policy=replace(use.policy, max_false_reject=1e-6))
    job = Job(source=files[0].parent, configuration=hopeless, out=tmp_path / "b", track=False, threads=1)
    said: list[str] = []
    with pytest.raises(InfeasiblePolicy):
        run_job(job, report=said.append)
    assert any(line.startswith("training.thinning: of ") for line in said)
    assert "4,998 records read, 2 rows refused" in said
    assert [path.name for path in job.folder.iterdir()] == ["quarantine.csv"]


def test_records_keep_their_luck_under_other_companions(table: RecordTable, use: Configuration) -> None:
    """Whether a record is kept does not depend on order and number of the others; another seed chooses others."""
    facts = record_facts(table, use)["draw"]
    some = np.arange(len(table))[::-3]
    assert np.array_equal(record_facts(table.take(some), use)["draw"], facts[some])
    seeded = replace(use, training=replace(use.training, seed=8))
    assert np.count_nonzero(record_facts(table, seeded)["draw"] == facts) == 0


def test_most_records_is_exact(table: RecordTable, use: Configuration) -> None:
    """Frauds and kept genuine records are as many as allowed; fewer than the frauds are refused."""
    most = replace(use, training=replace(use.training, thinning=ThinningSettings(most_records=1_000)))
    prepared = prepare(table, most)
    assert prepared.thinning is not None
    train = next(one for one in prepared.split.summaries if one.part == "train")
    thinning = prepared.thinning
    frauds = train.records - thinning.genuine - thinning.unknown
    assert thinning.kept_genuine + frauds == 1_000
    is_odd = np.arange(len(table)) % 2 == 1
    many = replace(
        table,
        labels=np.where(is_odd, 1, table.labels).astype(np.int8),
        label_times=np.where(is_odd, table.event_times, table.label_times),
    )
    with pytest.raises(SplitError, match=r"most_records is 1000, but the train part has \d+ frauds"):
        prepare(many, most)


def test_weights_equal_repeated_records() -> None:
    """A genuine record of weight 3 counts like three equal records."""
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 6, (600, 3)).astype(np.float64)
    targets = (rng.random(600) < 0.1 + 0.1 * (rows[:, 0] > 3)).astype(np.int8)
    repeated = np.repeat(np.arange(600), np.where(targets == 1, 1, 3))
    options = {
        "params": {"learning_rate": 0.3, "num_leaves": 7, "min_data_in_leaf": 1},
        "rounds": 10,
        "feature_names": ("a", "b", "c"),
        "categorical": (),
        "monotone": (0, 0, 0),
        "seed": 3,
        "threads": 1,
    }
    weighted = fit(rows, targets, weights=genuine_weights(targets, 3.0), **options)  # type: ignore[arg-type]
    expected = fit(rows[repeated], targets[repeated], **options)  # type: ignore[arg-type]
    np.testing.assert_allclose(weighted.predict(rows), expected.predict(rows), rtol=1e-6)


def test_weights_correct_the_prior() -> None:
    """The probabilities of thinned records have the mean of all records, which without weights they lack by far."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(60_000, 2))
    chance = 1 / (1 + np.exp(3.5 - rows[:, 0]))
    targets = (rng.random(len(rows)) < chance).astype(np.int8)
    kept = (targets == 1) | (rng.random(len(rows)) < 0.1)
    weight = np.count_nonzero(targets == 0) / np.count_nonzero(kept & (targets == 0))

    def mean(chosen: np.ndarray, genuine_weight: float) -> float:
        booster = fit(
            rows[chosen],
            targets[chosen],
            params={"learning_rate": 0.2, "num_leaves": 7},
            rounds=20,
            feature_names=("a", "b"),
            categorical=(),
            monotone=(0, 0),
            seed=3,
            threads=1,
            weights=genuine_weights(targets[chosen], genuine_weight),
        )
        return float(np.mean(booster.predict(rows)))

    error = np.sqrt(chance.mean() * (1 - chance.mean()) / kept.sum())
    assert abs(mean(kept, weight) - chance.mean()) < 4 * error
    assert abs(mean(np.ones(len(rows), np.bool_), 1.0) - chance.mean()) < 4 * error
    assert mean(kept, 1.0) > 3 * chance.mean()


def test_what_does_not_fit_in_memory_is_refused(
    files: list[Path], small_use: Configuration, tmp_path: Path
) -> None:
    """The error names the kept records, and nothing is left behind."""
    use = thinned(small_use, ThinningSettings(genuine=1.0), checked=0)
    with pytest.raises(TooManyKept, match=r"validation and test parts.*training\.split"):
        prepared_files(files, use, tmp_path, memory=4_000_000)
    assert not (tmp_path / "work").exists()


def test_bad_rows_are_listed_and_too_many_refused(
    files: list[Path], use: Configuration, from_files: Prepared, work: Path
) -> None:
    """Violations are listed with their file; too many end the training. The spilled rows are gone in either case."""
    listed = (work / "quarantine.csv").read_text().splitlines()
    fields = [(cells[1], cells[2], cells[-1]) for cells in (line.split(",") for line in listed[1:])]
    assert fields == [("recordId", "duplicate", "c.parquet"), ("dob", "not_a_date", "c.parquet")]
    assert from_files.thinning is not None
    strict = replace(use, records=replace(use.records, max_bad_share=0.0))
    with pytest.raises(TooManyBadRows):
        prepared_files(files, strict, work)
    assert [path.name for path in work.iterdir()] == ["quarantine.csv"]


def test_files_without_labels_are_refused(small: Path, use: Configuration, tmp_path: Path) -> None:
    """Training needs labels; the error names the file."""
    pq.write_table(pq.read_table(small).drop_columns(["label"]), tmp_path / "unlabelled.parquet")
    with pytest.raises(MissingColumns, match=r"unlabelled\.parquet"):
        prepared_files([tmp_path / "unlabelled.parquet"], use, tmp_path)


def test_a_backtest_refuses_thinning(small: Path, use: Configuration) -> None:
    """A backtest would otherwise train on other records than the configuration says."""
    with pytest.raises(BacktestError, match=r"training\.thinning"):
        backtest(small, use)
