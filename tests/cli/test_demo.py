"""The demonstration: it serves a ring of invented people, and Ctrl-C leaves nothing running."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = "import sys; from scoring_model.cli import main; sys.exit(main())"


def answered(command: str) -> dict[str, object]:
    """Answer of a request as the demonstration prints it."""
    found: dict[str, object] = json.loads(
        subprocess.run(["/bin/sh", "-c", command], check=True, capture_output=True).stdout
    )
    return found


def test_ctrl_c_leaves_nothing_running(sealed: Path, tmp_path: Path) -> None:
    """With a bundle in the folder nothing is trained; the commands that are shown work; SIGINT ends the whole group."""
    (tmp_path / "bundle").symlink_to(sealed)
    words = ["demo", "--folder", str(tmp_path), "--records", "1000", "--no-open"]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        shown = list(iter(process.stdout.readline, "Ctrl-C stops the service.\n"))
        ring = [
            line
            for line in shown
            if line.split()[:1] and line.split()[0] in ("PASSED", "STEPPED_UP", "FAILED")
        ]
        os.killpg(process.pid, 0)  # the service runs
        text = "".join(shown).replace("\\\n", "")
        add, send = (
            next(line.strip() for line in text.splitlines() if line.strip().startswith(word))
            for word in ("echo ", "curl ")
        )
        assert "decidedBy" not in answered(send)
        subprocess.run(
            ["/bin/sh", "-c", add.replace("scoring-model", f"'{sys.executable}' -c '{PROGRAM}'")], check=True
        )
        assert answered(send)["decidedByCode"] == "ring"
    finally:
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 130
    assert len(ring) > 1
    assert [
        line.split(".")[0].strip() for line in shown if line.startswith("  ") and line[2].isdigit()
    ] == list("1234")
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
