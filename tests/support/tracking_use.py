"""A small training to tell of, and what a store has of it."""

import json
from pathlib import Path
from typing import Final

from mlflow import MlflowClient
from mlflow.entities import Run, ViewType

from scoring_model.training.tracking import Measured, Telling, TrackedData
from scoring_model.training.tracking.telling import files_below

EXPERIMENT: Final = "tests"
TABLE: Final = {
    "columns": ["trial", "value", "rounds"],
    "data": [[0, 0.5, 10], [1, 0.12345678912345678, None]],
}
DATA: Final = TrackedData(
    name="records",
    digest="ab" * 32,
    schema='{"mlflow_colspec": [{"name": "dob", "type": "string", "required": false}]}',
    profile='{"num_rows": 3}',
)
_SOME_DAY: Final = 1_750_000_000_000  # milliseconds: long before any of these tests
_MINUTE: Final = 60_000


def telling_of(folder: Path, *, number: int = 1, model_name: str = "identities") -> Telling:
    """Make up the training of a number: later numbers ended later, equal ones are equal wherever their files are."""
    bundle = folder / "bundle"
    bundle.mkdir(parents=True)
    (bundle / "manifest.json").write_text(json.dumps({"protocol": 1, "number": number}))
    (bundle / "model.onnx").write_bytes(bytes(range(256)) * 50 + str(number).encode())
    (folder / "trials.json").write_text(json.dumps(TABLE))
    ended = _SOME_DAY + number * _MINUTE
    return Telling(
        key=f"{model_name}-{number}",
        experiment=EXPERIMENT,
        name=f"{model_name}-of-{number}",
        model_name=model_name,
        started=ended - _MINUTE // 2,
        ended=ended,
        params={"learning_rate": str(0.1 + 0.2), "seed": "7"},
        metrics=(
            Measured(name="roc_auc", value=0.9 + number / 1000, time=ended),
            Measured(name="step_up_low", value=1 / 3, time=ended - 5),
        ),
        tags={
            "use": "identities",
            "mlflow.loggedArtifacts": json.dumps([{"path": "trials.json", "type": "table"}]),
        },
        version_tags={"model_version": f"{model_name}-of-{number}"},
        data=DATA,
        files=files_below(folder),
    )


def contents(folder: Path) -> dict[str, bytes]:
    """Read all files below a folder."""
    return {name: path.read_bytes() for name, path in files_below(folder).items()}


def runs_of(client: MlflowClient, telling: Telling) -> list[Run]:
    """Every run of a telling, deleted ones too."""
    experiment = client.get_experiment_by_name(telling.experiment)
    if experiment is None:
        return []
    wanted = f"tags.training_key = '{telling.key}'"
    return list(client.search_runs([experiment.experiment_id], wanted, run_view_type=ViewType.ALL))
