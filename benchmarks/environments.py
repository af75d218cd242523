"""Virtual environments for the peers of benchmarks, created once."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

RESOLVED_ON: Final = "2026-11-01"
"""Indirect requirements are resolved as of that day too."""


def install_environment(place: Path, requirements: Sequence[str]) -> Path:
    """Create an environment of this Python, or complete an existing one.

    Parameters
    ----------
    place : Path
        Its folder.
    requirements : sequence of str
        Exact versions.

    Returns
    -------
    Path
        Its folder of programs.
    """
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.exists() else shutil.which("uv")
    if uv is None:
        raise SystemExit("this benchmark needs uv, which creates the environments: pip install uv")
    programs = place / "bin"
    if not (programs / "python").exists():
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(place)], check=True)
    words = [uv, "pip", "install", "--quiet", "--exclude-newer", RESOLVED_ON]
    subprocess.run([*words, "--python", str(programs / "python"), *requirements], check=True)
    return programs
