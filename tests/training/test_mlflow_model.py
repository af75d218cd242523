"""Registered bundles as models of MLflow: `load_model` and `predict` give the bits of `Scorer.score`."""

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import mlflow
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scoring_model.configuration import Configuration
from scoring_model.scorer import Scorer
from scoring_model.training.mlflow_runs import RunRecord, client_of
from scoring_model.training.run import Training
from scoring_model.training.run_description import describe
from scoring_model.training.tracking import sync, track
from tracking_use import contents

PAGE: Final = (Path(__file__).parents[2] / "docs" / "tools.md").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Champion:
    """A training in the store of one folder, whose version has the alias `champion`."""

    folder: Path
    uri: str
    run_id: str
    record: RunRecord


@pytest.fixture(scope="module")
def champion(
    training: Training,
    identity: Configuration,
    sealed: Path,
    tracking_folder: Callable[[Path], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Champion:
    """The shared training, logged with a report."""
    folder = tmp_path_factory.mktemp("champion")
    (folder / "scratch").mkdir()
    report = folder / "report.html"
    report.write_text("<!doctype html>")
    record = describe(
        training,
        identity,
        bundle=sealed,
        source="a",
        started=1,
        ended=2,
        scratch=folder / "scratch",
        report=report,
    )
    run = track(record, folder=tracking_folder(folder / "tracking"))
    client_of(run.uri).set_registered_model_alias("identity", "champion", str(run.model_version))
    return Champion(folder / "tracking", run.uri, run.run_id, record)


def loaded(uri: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The champion of a store, as MLflow loads it."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    with warnings.catch_warnings():
        # A type hint of MLflow's own.
        warnings.filterwarnings("ignore", message=".*type hint is inferred as AnyType")
        return mlflow.pyfunc.load_model("models:/identity@champion")


def test_predictions_are_the_bits_of_the_scorer(
    champion: Champion, scorer: Scorer, frame: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every column is that of `score`, bit for bit, without a history and with one of two files."""
    model = loaded(champion.uri, monkeypatch)
    records = frame.slice(len(frame) - 500).to_pandas()
    past = [tmp_path / f"{number}.parquet" for number in range(2)]
    for number, path in enumerate(past):
        pq.write_table(frame.slice(len(frame) - 500 - 1000 * (number + 1), 1000), path)
    pd.testing.assert_frame_equal(model.predict(records), scorer.score(records), check_exact=True)
    expected = scorer.score(records, history=past)
    found = model.predict(records, params={"history": [str(path) for path in past]})
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
    assert found["margin"].to_numpy().tobytes() == expected["margin"].to_numpy().tobytes()
    assert not found["margin"].equals(model.predict(records)["margin"])


def test_the_signature_names_what_predict_gives(
    champion: Champion, scorer: Scorer, frame: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The registered model says the columns of its output, with their types, and its parameter."""
    signature = loaded(champion.uri, monkeypatch).metadata.signature
    found = scorer.score(frame.slice(0, 5))
    kinds = {"int16": "integer", "double": "double", "list<item: string>": "Array(string)"}
    named = {one.name: str(one.type).removeprefix("DataType.") for one in signature.outputs.inputs}
    assert named == {one.name: kinds.get(str(one.type), "string") for one in found.schema}
    assert [one.name for one in signature.params.params] == ["history"]


def test_the_bundle_is_untouched_and_loads_alone(champion: Champion, sealed: Path, tmp_path: Path) -> None:
    """The download holds the bundle byte for byte in its own folder; the files around it name no machine."""
    version = client_of(champion.uri).get_model_version_by_alias("identity", "champion")
    fetched = Path(mlflow.artifacts.download_artifacts(version.source, dst_path=str(tmp_path)))
    assert contents(fetched / "bundle") == contents(sealed)
    assert Scorer.load(fetched / "bundle").manifest == Scorer.load(sealed).manifest
    around = {path.name: path.read_text() for path in fetched.iterdir() if path.is_file()}
    around.pop("registered_model_meta", None)  # MLflow leaves it where it loaded a version
    assert set(around) == {"MLmodel", "batch_model.py", "requirements.txt"}
    assert not any(str(sealed.parent) in text or str(champion.folder) in text for text in around.values())


def test_report_and_pictures_are_artifacts(champion: Champion) -> None:
    """The run has the report and one picture for each plot."""
    client = client_of(champion.uri)
    assert "report.html" in [file.path for file in client.list_artifacts(champion.run_id)]
    names = {Path(file.path).name for file in client.list_artifacts(champion.run_id, "plots")}
    assert {"threshold_map.png", "roc.png", "reliability.png"} <= names
    pictures = [path.read_bytes() for name, path in champion.record.artifacts.items() if name.endswith("png")]
    assert len(pictures) == len(names)
    assert all(picture.startswith(b"\x89PNG") for picture in pictures)


def test_a_synced_model_loads_too(
    champion: Champion,
    scorer: Scorer,
    frame: pa.Table,
    tracking_folder: Callable[[Path], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What `sync` copies to another store loads there and scores alike; the page's example runs on it."""
    uri = f"sqlite:///{tracking_folder(tmp_path / 'other')}/mlflow.db"
    monkeypatch.chdir(tmp_path)
    (copied,) = sync(champion.folder, uri=uri).copied
    client_of(uri).set_registered_model_alias("identity", "champion", str(copied.model_version))
    records = frame.slice(len(frame) - 50).to_pandas()
    pd.testing.assert_frame_equal(
        loaded(uri, monkeypatch).predict(records), scorer.score(records), check_exact=True
    )
    pq.write_table(frame.slice(0, 2000), "past.parquet")
    pq.write_table(frame.slice(len(frame) - 50), "fresh.parquet")
    (block,) = re.findall(
        r"^```python\n(.*?)^```", PAGE[PAGE.index("## MLflow") :], re.MULTILINE | re.DOTALL
    )[:1]
    run: dict[str, Any] = {}
    exec(block, run)
    pd.testing.assert_frame_equal(run["scored"], scorer.score(records, history="past.parquet"))
