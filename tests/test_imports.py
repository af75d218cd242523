"""What a fresh interpreter loads: serving and scoring bring no training library."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from identity_use import bodies

NEVER_TO_SCORE_A_FILE = "lightgbm mlflow optuna sklearn onnx matplotlib phonenumbers"
NEVER_TO_SCORE_A_RECORD = (
    f"{NEVER_TO_SCORE_A_FILE} pandas polars pyarrow numba pydantic yaml rich typer scipy"
)

ONE_RECORD = """
import json, sys
from scoring_model import Scorer
decision = Scorer.load(sys.argv[1]).score(json.loads(sys.argv[2]))
print(json.dumps([decision.score, sorted(sys.modules)]))
"""

ONE_HISTORY = """
import json, sys
from scoring_model.features import FeatureMatrix, FeatureSettings, FittedState
from scoring_model.history import count_before, pack_label
matrix = FeatureMatrix(FeatureSettings(), FittedState())
past = [(1, b"someone", pack_label(2, fraud=True))]
counts = {"person": count_before(past, at=9, spec=matrix.specs["person"])}
row = matrix.finish(matrix.start({"firstName": "Anna"}), 9, counts)
print(json.dumps([row[matrix.names.index("link_person_1h_frauds")], sorted(sys.modules)]))
"""

ONE_COMMAND = """
import json, sys
from scoring_model.cli import main
code = main(sys.argv[1:])
print(json.dumps([code, sorted(sys.modules)]))
"""

PROGRAM = """
import json, sys
from scoring_model.cli import main
code = main()
print(json.dumps([code, sorted(sys.modules)]))
"""


def loaded(script: str, *arguments: str) -> tuple[int, set[str]]:
    """Run a script; return what it gave and the top names of all modules that it loaded."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found, modules = json.loads(done.stdout.splitlines()[-1])
    return found, {name.partition(".")[0] for name in modules}


def test_one_record_needs_no_table_library(sealed: Path, invented: Path) -> None:
    """Load a bundle and score a record: no library of training, tables, configuration or terminals."""
    body = bodies(pq.read_table(invented).slice(0, 1))[0]
    score, modules = loaded(ONE_RECORD, str(sealed), json.dumps(body, default=lambda time: time.isoformat()))
    assert 0 <= score <= 1000
    assert {"numpy", "onnxruntime"} <= modules
    assert modules.isdisjoint(NEVER_TO_SCORE_A_RECORD.split())


def test_one_history_needs_numpy_alone() -> None:
    """A row of one record, its history counted: no table library, no compiler, and no runtime of graphs."""
    frauds, modules = loaded(ONE_HISTORY)
    assert frauds == 1
    assert "numpy" in modules
    assert modules.isdisjoint({"onnxruntime", *NEVER_TO_SCORE_A_RECORD.split()})


@pytest.mark.parametrize("command", ["inspect", "evaluate", "monitor"])
def test_commands_on_bundles_need_no_training_library(
    command: str, sealed: Path, invented: Path, tmp_path: Path
) -> None:
    """Evaluate, monitor and inspect bring no library of training."""
    few = tmp_path / "few.parquet"
    pq.write_table(pq.read_table(invented).slice(0, 300), few)
    arguments = {
        "inspect": [str(sealed), "--json"],
        "evaluate": [str(sealed), str(few)],
        "monitor": [str(sealed), str(few)],
    }
    code, modules = loaded(ONE_COMMAND, command, *arguments[command])
    assert code == 0
    assert "onnxruntime" in modules
    assert modules.isdisjoint(NEVER_TO_SCORE_A_FILE.split())


def test_the_scoring_program_loads_no_pandas(sealed: Path, invented: Path, tmp_path: Path) -> None:
    """As a process of its own, score needs no pandas, and writes the bytes of a process with other work.

    Neither brings a library of training.
    """
    few = tmp_path / "few.parquet"
    pq.write_table(pq.read_table(invented).slice(0, 300), few)
    outs = [tmp_path / "program.parquet", tmp_path / "beside.parquet"]
    found = [
        loaded(script, "score", str(sealed), str(few), "--out", str(out), "--reasons")
        for script, out in zip((PROGRAM, ONE_COMMAND), outs, strict=True)
    ]
    assert [code for code, _ in found] == [0, 0]
    assert ["pandas" in modules for _, modules in found] == [False, True]
    for _, modules in found:
        assert "onnxruntime" in modules
        assert modules.isdisjoint(NEVER_TO_SCORE_A_FILE.split())
    assert outs[0].read_bytes() == outs[1].read_bytes()


def test_the_package_itself_loads_nothing() -> None:
    """`import scoring_model` alone brings no library at all."""
    _, modules = loaded("import json, sys, scoring_model\nprint(json.dumps([0, sorted(sys.modules)]))")
    assert modules.isdisjoint({"numpy", "onnxruntime", *NEVER_TO_SCORE_A_RECORD.split()})
