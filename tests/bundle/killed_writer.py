"""Run by test_writer.py: a writer that is killed (SIGKILL) at every line of its own code in turn.

Usage: killed_writer.py DIRECTORY {fresh,replace}. Prints what stood at the path after each kill, as JSON.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from scoring_model.bundle.errors import NotABundle
from scoring_model.bundle.manifest import Manifest
from scoring_model.bundle.reader import read_bundle
from scoring_model.bundle.seal import seal_file
from scoring_model.bundle.writer import write_bundle

OWN_CODE = ("bundle/writer.py", "bundle/durable.py")
SIZES = {"old": 1000, "new": 70_000}


def write(out: Path, version: str, *, replace: bool) -> None:
    """Write the bundle of one version."""
    write_bundle(
        out,
        {name: version.encode() * SIZES[version] for name in ("a", "b", f"only-{version}")},
        Manifest(
            name="killed",
            model_version=version,
            policy_version="1",
            feature_fingerprint="0" * 64,
            data={
                "sha256": "0" * 64,
                "records": 1,
                "from": "2024-01-01T00:00:00.000000Z",
                "to": "2024-01-01T00:00:00.000000Z",
            },
            configuration_sha256="0" * 64,
            libraries={"none": "0"},
            files={"any": seal_file(b"")},
        ),
        replace=replace,
    )


def killer(lines: int) -> Callable[[FrameType, str, Any], Any]:
    """Return a trace function that kills this process before the given line of the writer's own code."""
    left = lines

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.endswith(OWN_CODE):
            return None
        if event == "line":
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    return trace


def killed(out: Path, lines: int, *, replace: bool) -> bool:
    """Write the new bundle in a child that dies before the given line; return whether it did."""
    child = os.fork()
    if child == 0:
        sys.settrace(killer(lines))
        write(out, "new", replace=replace)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def standing(out: Path) -> str:
    """Return the version of the complete, valid bundle at the path, or ``absent``."""
    try:
        return read_bundle(out).manifest.model_version
    except NotABundle:
        return "broken" if os.path.lexists(out) else "absent"


def main(directory: Path, mode: str) -> None:
    """Kill at line after line until the writer gets through; leftovers of the dead stay where they are."""
    out, replace = directory / "bundle", mode == "replace"
    seen: list[str] = []
    dead = True
    while dead:
        shutil.rmtree(out, ignore_errors=True)
        if replace:
            write(out, "old", replace=False)
        dead = killed(out, len(seen) + 1, replace=replace)
        seen.append(standing(out))
    print(json.dumps(seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
