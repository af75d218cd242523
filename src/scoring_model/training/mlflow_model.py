"""What makes MLflow load a bundle as a model: two files around the bundle, which stays as it is."""

import platform
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from scoring_model.scorer.frames import ALIGNED
from scoring_model.training.mlflow_runs import BUNDLE

_CODES: Final = pa.list_(pa.string())
_CODE: Final = "batch_model.py"


def write_model(folder: Path) -> None:
    """Write the files of a model whose bundle is the folder `BUNDLE` beside them.

    MLflow's `save_model` would copy the bundle, and write the path of this machine into the description.

    Parameters
    ----------
    folder : Path
        It gets ``MLmodel``, the code of `batch_model` and ``requirements.txt``, which MLflow compares with what is
        installed where the model is loaded.
    """
    # Imported here, since it takes seconds.
    from mlflow.models import Model, ModelSignature
    from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema
    from mlflow.types.schema import Array

    folder.mkdir()
    kinds: dict[pa.DataType, DataType | Array] = {
        pa.int16(): DataType.integer,
        pa.float64(): DataType.double,
        _CODES: Array(DataType.string),
    }
    columns: list[Any] = [ColSpec(kinds.get(one.type, DataType.string), one.name, False) for one in ALIGNED]
    # The input has no schema: MLflow would convert the values, and drop columns, before the bundle reads them.
    signature = ModelSignature(
        outputs=Schema(columns), params=ParamSchema([ParamSpec("history", "string", [], (-1,))])
    )
    model = Model(signature=signature)
    model.add_flavor(
        "python_function",
        loader_module="mlflow.pyfunc.model",
        python_version=platform.python_version(),
        model_code_path=_CODE,
        artifacts={BUNDLE: {"path": BUNDLE, "uri": BUNDLE}},
    )
    model.save(str(folder / "MLmodel"))
    shutil.copyfile(Path(__file__).with_name(_CODE), folder / _CODE)
    pins = [f"{name}=={version(name)}\n" for name in ("mlflow", "scoring-model")]
    (folder / "requirements.txt").write_text("".join(pins), encoding="utf-8")
