import subprocess
import sys
from pathlib import Path

import pytest

from scoring_model.locks import locked

HOLD = """
import sys
from pathlib import Path
from scoring_model.locks import locked
with locked(Path(sys.argv[1]), create=sys.argv[2] == "file"):
    print(flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("name", ["folder", "file"])
def test_one_process_holds_a_lock(tmp_path: Path, name: str) -> None:
    """Another one is refused or waits, until the holder ends, even when it is killed; a new file is private."""
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
    command = [sys.executable, "-c", HOLD, str(path), name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"\n"
        with pytest.raises(ValueError, match="busy"), locked(path, busy=ValueError("busy")):
            pass
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as waiting:
            with pytest.raises(subprocess.TimeoutExpired):
                waiting.wait(0.5)
            holder.kill()
            assert waiting.wait(30) == 0
    with locked(path, busy=ValueError("busy")):
        assert path.is_dir() == (name == "folder")
        assert name == "folder" or path.stat().st_mode & 0o777 == 0o600


def test_a_missing_path_is_not_created(tmp_path: Path) -> None:
    """A folder that is not there does not become a file."""
    with pytest.raises(FileNotFoundError), locked(tmp_path / "folder"):
        pass
    assert not list(tmp_path.iterdir())
