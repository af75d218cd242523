"""The tutorial's section on the service: its commands work as they stand, but for the port."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from running_service import free_port

ROOT: Final = Path(__file__).parents[3]
PORT: Final = "8000"


def section() -> str:
    """The section."""
    text = (ROOT / "docs" / "first-bundle.md").read_text(encoding="utf-8")
    found = re.search(r"^## Service\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def blocks(language: str) -> list[str]:
    """Its fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", section(), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def port() -> str:
    """Where the service is, in the place of 8000."""
    return str(free_port())


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    """With the program on the path, as after `make install`."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture(scope="module")
def checkout(
    sealed: Path, port: str, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A folder with a bundle, where the first block runs."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "runs").mkdir()
    (folder / "runs" / "first").symlink_to(sealed)
    serve = blocks("sh")[0].replace(PORT, port)
    assert serve.startswith("scoring-model serve ")
    process = subprocess.Popen(
        ["bash", "-c", f"exec {serve}"], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == f"http://127.0.0.1:{port}\n"
        yield folder
        process.terminate()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@pytest.fixture(scope="module")
def answered(checkout: Path, port: str, environment: dict[str, str]) -> str:
    """What the second block prints."""
    typed = blocks("sh")[1].replace(PORT, port)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", typed],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_request(answered: str, checkout: Path) -> None:
    """What curl prints is a completed verification; the credentials are for their owner's eyes alone."""
    found = json.loads(answered)
    assert (found["status"], found["scoringOutcome"] in ("PASSED", "STEPPED_UP", "FAILED")) == (
        "COMPLETED",
        True,
    )
    assert (checkout / "runs" / "demo.headers").stat().st_mode & 0o077 == 0


def test_the_program(answered: str, checkout: Path, port: str) -> None:
    """The Python runs without a warning and prints an outcome and a score."""
    (program,) = blocks("py")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program.replace(PORT, port)],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"(PASSED|STEPPED_UP|FAILED) \d{1,4}\n", done.stdout)


def test_every_block_is_run() -> None:
    """Nothing in the section is there to be read only, but for `make serve`."""
    fences = re.findall(r"^```(\w*)$", section(), re.MULTILINE)
    assert fences[::2] == ["", "sh", "sh", "py"]
    assert "```\nmake serve\n```" in section()
