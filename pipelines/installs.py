"""Measures what each kind of installation takes on the disk, and resolves them for other platforms.

`python pipelines/installs.py` needs the index of packages, two to eight minutes and 2 GB of temporary space. It
installs into environments of its own, in the versions of `requirements.lock`, and writes tables of `docs/deploy.md`.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from scoring_model.records.atomic import write_whole

ROOT: Final = Path(__file__).parents[1]
UV: Final = str(ROOT / ".venv" / "bin" / "uv")
PAGE: Final = ROOT / "docs" / "deploy.md"
KINDS: Final = {
    "Client alone": ("scoring-model-client", "packaging/client", None),
    "Scoring files": ("scoring-model", ".", None),
    "Training": ("scoring-model[train]", ".[train]", "train"),
    "Service": ("scoring-model[serve]", ".[serve]", "serve"),
    "Everything": ("scoring-model[all]", ".[all]", "all"),
}
"""What `pip install` names, where it is in this tree, and its extra."""

PLATFORMS: Final = {
    "Linux x86-64": "x86_64-manylinux_2_28",
    "Linux ARM64": "aarch64-manylinux_2_28",
    "macOS ARM64, 14 or later": "aarch64-apple-darwin",
    "macOS Intel": "x86_64-apple-darwin",
    "Windows x86-64": "x86_64-pc-windows-msvc",
}
VERSIONS: Final = ("3.11", "3.13")


def uv(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run uv at the root, with the settings of the project."""
    # The client is taken from this tree, which settings of uv say; and wheels for macOS 14 count.
    kept = {name: value for name, value in os.environ.items() if name not in ("UV_NO_CONFIG", "UV_PYTHON")}
    return subprocess.run(
        [UV, *words], cwd=ROOT, env={**kept, **environment}, capture_output=True, text=True, check=False
    )


def installed(source: str) -> tuple[int, float]:
    """Return the packages of a new environment without pip, and its megabytes with bytecode."""
    with tempfile.TemporaryDirectory() as folder:
        uv("venv", folder, "--python", sys.executable).check_returncode()
        python = str(Path(folder) / "bin" / "python")
        done = uv(
            *("pip", "install", "--python", python, "--compile-bytecode", "--link-mode=copy"),
            *("--constraint", "requirements.lock", source),
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        (packages,) = Path(folder).glob("lib/python*/site-packages")
        size = sum(path.stat().st_size for path in packages.rglob("*") if path.is_file())
        return len(list(packages.glob("*.dist-info"))), size / 1e6


def resolved(platform: str, extra: str | None) -> str:
    """Return "yes" if every package has a wheel of its locked version for a platform, or which package lacks one."""
    extras = () if extra is None else ("--extra", extra)
    for version in VERSIONS:
        done = uv(
            *("pip", "compile", "--quiet", "--python-platform", platform, "--python-version", version),
            *("--only-binary", ":all:", "--no-binary", "scoring-model-client"),
            *("--constraint", "requirements.lock", *extras, "pyproject.toml"),
            MACOSX_DEPLOYMENT_TARGET="14.0",
        )
        if done.returncode:
            found = re.search(r"Because ([\w-]+)==", done.stderr)
            return f"no wheel of {found[1]}" if found else done.stderr
    return "yes"


def tables() -> dict[str, str]:
    """Return both tables, by the name that their place in the page has."""
    sizes = ["| Installation | Command | Packages | MB |", "| --- | --- | ---: | ---: |"]
    for name, (package, source, _) in KINDS.items():
        count, size = installed(source)
        sizes.append(f"| {name} | `pip install '{package}'` | {count} | {size:,.0f} |")
        print(sizes[-1], flush=True)
    extras = {name: extra for name, (_, source, extra) in KINDS.items() if source.startswith(".")}
    platforms = [f"| Platform | {' | '.join(extras)} |", f"| --- |{' --- |' * len(extras)}"]
    for name, platform in PLATFORMS.items():
        found = [resolved(platform, extra) for extra in extras.values()]
        platforms.append(f"| {name} | {' | '.join(found)} |")
        print(platforms[-1], flush=True)
    return {"sizes": "\n".join(sizes), "platforms": "\n".join(platforms)}


def main() -> None:
    """Write the tables into the page."""
    text = PAGE.read_text(encoding="utf-8")
    for name, table in tables().items():
        before, rest = text.split(f"<!-- {name} -->\n")
        text = f"{before}<!-- {name} -->\n{table}\n<!-- end -->{rest.partition('<!-- end -->')[2]}"
    write_whole(PAGE, text)


if __name__ == "__main__":
    main()
