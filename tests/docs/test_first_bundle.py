"""The tutorial: its commands and its program run as they stand, on a small scale, in this process."""

import os
import re
import shlex
from collections.abc import Callable
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Final

import pytest
import yaml

from program import Captured
from scoring_model.cli import main

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "first-bundle.md").read_text(encoding="utf-8")
BUNDLES: Final = (ROOT / "docs" / "bundle.md").read_text(encoding="utf-8")
SMALLER: Final = {
    "--records 200000": "--records 6000",
    "--records 8000": "--records 1000",
    "--trials 8": "--trials 1 --threads 1",
}


def blocks(language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def smaller(script: str) -> str:
    """The same commands on fewer records and with one trial."""
    for words, fewer in SMALLER.items():
        assert words in script
        script = script.replace(words, fewer)
    return script


def write_small_use(folder: Path) -> None:
    """Write the default configuration with a short search, bounds for few records and no checks for leakage."""
    plain = yaml.safe_load((ROOT / "configs" / "identity.yaml").read_text(encoding="utf-8"))
    plain["training"]["tuning"] = {"trials": 1, "folds": 1, "max_rounds": 10}
    plain["training"]["split"]["min_frauds"] = 3
    plain["training"]["leakage_checks"] = {"run": False}
    plain["policy"] = {"max_false_reject": 0.02, "max_step_up": 0.2}
    folder.mkdir()
    (folder / "identity.yaml").write_text(yaml.safe_dump(plain), encoding="utf-8")


@pytest.fixture(scope="module")
def checkout(tracking_folder: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that looks like the repository after `make install`, in which the commands were run."""
    folder = tmp_path_factory.mktemp("first-bundle")
    write_small_use(folder / "configs")
    (folder / "runs").mkdir()
    tracking_folder(folder / "runs" / "tracking")
    lines = [shlex.split(line, comments=True) for line in smaller("".join(blocks("bash"))).splitlines()]
    assert lines[:2] == [["export", "PATH=$PWD/.venv/bin:$PATH"], ["mkdir", "-p", "runs"]]
    with chdir(folder), redirect_stdout(StringIO()) as shown:
        for program, *words in filter(None, lines[2:]):
            assert (program, main(words)) == ("scoring-model", 0), words
    assert "bundle: runs/first\n" in shown.getvalue()
    return folder


def test_the_commands_run_in_sequence(checkout: Path) -> None:
    """Every command of the page succeeds and writes its documented files."""
    written = set(re.findall(r"runs/[a-z.]+", "".join(blocks("bash"))))
    assert len(written) == 7
    assert all((checkout / name).exists() for name in written)


def test_the_bundle_holds_what_the_table_says(checkout: Path) -> None:
    """The files of a signed bundle are those of the table."""
    table = re.search(r"## What a bundle holds\n(.*?)\n## ", BUNDLES, re.DOTALL)
    assert table is not None
    assert set(re.findall(r"^\| `([a-z_.]+)` \|", table[1], re.MULTILINE)) == set(
        os.listdir(checkout / "runs/first")
    )


def test_the_program_runs(checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """The Python of the page runs without a warning and prints a decision."""
    monkeypatch.chdir(checkout)
    (program,) = blocks("python")
    exec(compile(program, "docs/first-bundle.md", "exec", dont_inherit=True), {})
    assert re.fullmatch(r"\d{1,4} (PASSED|STEPPED_UP|FAILED) \[.*\]\n", capsys.readouterr().out)
