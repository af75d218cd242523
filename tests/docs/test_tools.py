"""The page of other tools: its Python runs in sequence, on the exported columns of a real bundle."""

import re
import warnings
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import matplotlib.pyplot as plt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

PAGE: Final = (Path(__file__).parents[2] / "docs" / "tools.md").read_text(encoding="utf-8")


def program() -> str:
    """The Python of the page, without MLflow's, which needs a store, and Evidently's, which needs an environment."""
    parts = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    sections = [part for part in parts if not part.startswith(("MLflow", "Evidently"))]
    return "".join(re.findall(r"^```python\n(.*?)^```", "".join(sections), re.MULTILINE | re.DOTALL))


@pytest.fixture
def folder(sealed: Path, frame: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a bundle, earlier records, and the records of the last weeks."""
    (tmp_path / "bundles").mkdir()
    (tmp_path / "bundles" / "a").symlink_to(sealed)
    pq.write_table(frame.slice(0, len(frame) - 2000), tmp_path / "past.parquet")
    pq.write_table(frame.slice(len(frame) - 2000), tmp_path / "fresh.parquet")
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_every_tool_works_on_the_exported_columns() -> None:
    """All blocks run without a warning; shap draws our contributions, the others see our probabilities."""
    with warnings.catch_warnings():
        # shap sets colours of matplotlib's colour maps in a way that matplotlib will drop.
        warnings.filterwarnings("ignore", r"The set_(bad|over|under) function", PendingDeprecationWarning)
        import shap  # type: ignore[import-untyped]  # noqa: F401
    plt.close("all")  # shap draws into the axes that an earlier test left
    found: dict[str, Any] = {}
    exec(program(), found)
    scorer, features, fraud = found["scorer"], found["features"], found["fraud"]
    assert len(features) == len(fraud) > 100
    margins = found["explanation"].values.sum(axis=1) + found["explanation"].base_values
    assert margins == pytest.approx(scorer.decide(features.to_numpy().copy()).margins, abs=1e-9)
    overall = found["report"].metrics
    assert overall.recall() == pytest.approx((found["model"].predict(features)[fraud == 1]).mean())
    assert len(found["lost"].importances_mean) == len(scorer.matrix.names)
    assert plt.get_fignums()
    plt.close("all")
