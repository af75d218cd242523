"""The command that backtests: its output for programs, and its refusals."""

import json
from pathlib import Path

import pytest

from backtest_use import UNCHECKED
from identity_use import write_configuration
from program import Captured, refused, run


@pytest.fixture(scope="module")
def use(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configuration with a smaller model, which ranks no better than chance at first."""
    text = UNCHECKED.replace("rounds: 30", "rounds: 12")
    return write_configuration(tmp_path_factory.mktemp("backtest"), text)


def test_a_fold_without_a_model_is_reported(capsys: Captured, small: Path, use: Path, tmp_path: Path) -> None:
    """It says why, and all cadences begin with the first model that there is; the output for programs is JSON."""
    report = tmp_path / "report.html"
    code, output, error = run(
        capsys, "backtest", small, "--config", use, "--cadence", "3m", "--window", "rolling", "--threads", 1,
        "--report", report, "--json",
    )  # fmt: skip
    assert code == 0, error
    found = json.loads(output)
    assert (found["format"], found["unit"], found["window"]) == (1, "month", "rolling")
    failed, fitted = found["folds"]
    assert "calibration" in failed["failure"]
    assert (failed["step_up_from"], failed["promises"], fitted["failure"]) == (None, [], None)
    assert {one["as_of"] for one in (*found["models"], *found["promises"])} == {fitted["as_of"]}
    assert {one["verdict"] for one in found["promises"]} <= {"kept", "broken", "undecided"}
    assert [one["models"] for one in found["cadences"]] == [1, 1]
    assert failed["failure"] in report.read_text(encoding="utf-8")
    assert f"as of {failed['as_of'][:10]}: no model: {failed['failure']}" in error


def test_wrong_arguments_are_refused(capsys: Captured, small: Path, use: Path, tmp_path: Path) -> None:
    """Cadences that do not exist, and periods that are too young, are named; nothing is left behind."""
    report = tmp_path / "report.html"
    arguments = ["backtest", small, "--config", use, "--report", report]
    assert "'1y'" in refused(capsys, *arguments, "--cadence", "1y")
    young = refused(capsys, *arguments, "--as-of", "2024-04-01", "--json")
    assert "no fold is possible" in young
    assert "as of 2024-02-01" in young
    assert list(tmp_path.iterdir()) == []
    assert run(capsys, *arguments[:-1], tmp_path / "absent" / "report.html")[0] == 2
