"""The demonstration: it serves a ring of invented people, and Ctrl-C leaves nothing running."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from running_service import killed_with_children, until
from scoring_model.cli import main

PROGRAM = "import sys; from scoring_model.cli import main; sys.exit(main())"


def answered(command: str) -> dict[str, object]:
    """Answer of a request as the demonstration prints it."""
    found: dict[str, object] = json.loads(
        subprocess.run(["/bin/sh", "-c", command], check=True, capture_output=True).stdout
    )
    return found


def demonstrating(folder: Path, bundle: Path) -> subprocess.Popen[str]:
    """A demonstration in a session of its own, with a bundle, so that nothing is trained."""
    (folder / "bundle").symlink_to(bundle)
    words = ["demo", "--folder", str(folder), "--records", "1000", "--no-open"]
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_missing_extras_are_named_before_anything_is_invented(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """One sentence says what to install, and nothing is written."""
    monkeypatch.setattr("scoring_model.cli.demo.find_spec", lambda _: None)
    assert main(["demo", "--folder", str(tmp_path / "demo"), "--no-open"]) == 1
    assert (
        capsys.readouterr().err
        == "error: the demonstration trains and serves: pip install 'scoring-model[all]'\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_kill_leaves_no_service(sealed: Path, tmp_path: Path) -> None:
    """The service ends with a demonstration that could not stop it."""
    log = tmp_path / "serve.log"
    with demonstrating(tmp_path, sealed) as process:
        until(lambda: log.exists() and "answering on" in log.read_text(), "the service")
        killed_with_children(process.pid)
    assert process.returncode == -signal.SIGKILL


def test_ctrl_c_leaves_nothing_running(sealed: Path, tmp_path: Path) -> None:
    """With a bundle in the folder nothing is trained; the commands that are shown work; SIGINT ends the whole group."""
    process = demonstrating(tmp_path, sealed)
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
