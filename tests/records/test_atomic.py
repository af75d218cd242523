import os
import threading
from pathlib import Path

import pytest

from scoring_model.records.atomic import atomic_file


def test_a_file_appears_whole(tmp_path: Path) -> None:
    """The path is empty until the body ends, and no other file is left."""
    path = tmp_path / "table.csv"
    with atomic_file(path) as partial:
        assert (partial.parent, partial.suffix) == (tmp_path, ".csv")
        partial.write_text("a")
        assert not path.exists()
    assert path.read_text() == "a"
    assert os.listdir(tmp_path) == ["table.csv"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_what_was_there(tmp_path: Path, error: type[BaseException]) -> None:
    """If the body fails in any way, the old file stays and the new one is removed."""
    path = tmp_path / "table.csv"
    path.write_text("old")

    def broken() -> None:
        with atomic_file(path) as partial:
            partial.write_text("new")
            raise error

    with pytest.raises(error):
        broken()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["table.csv"]


def test_a_full_disk_names_the_file(tmp_path: Path) -> None:
    """Writing to a file that is open names none; an error that names another file stays what it is."""
    path = tmp_path / "table.csv"

    def wrote(device: str) -> None:
        with atomic_file(path), open(device, "w", buffering=1) as full:
            full.write("a\n")

    with pytest.raises(OSError, match=r"No space left on device: '.*table\.csv'"):
        wrote("/dev/full")
    with pytest.raises(FileNotFoundError, match="/dev/nowhere/file"):
        wrote("/dev/nowhere/file")
    assert os.listdir(tmp_path) == []


def test_a_body_that_writes_nothing_is_an_error(tmp_path: Path) -> None:
    """No file is made up, and the old one stays."""
    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises(FileNotFoundError), atomic_file(path):
        pass
    assert path.read_text() == "old"


def test_the_content_is_on_the_disk_before_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is synced before the rename and its folder after it."""
    steps: list[str] = []
    sync, replace = os.fsync, Path.replace

    def fsync(handle: int) -> None:
        steps.append("folder" if os.path.isdir(f"/proc/self/fd/{handle}") else "file")
        sync(handle)

    def renamed(self: Path, target: Path) -> Path:
        steps.append("rename")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", renamed)
    with atomic_file(tmp_path / "a") as partial:
        partial.write_text("a")
    assert steps == ["file", "rename", "folder"]


def test_writers_at_once_do_not_mix(tmp_path: Path) -> None:
    """Of two writers of one path the later one wins whole."""
    path = tmp_path / "a"
    barrier = threading.Barrier(2)

    def write(text: str) -> None:
        with atomic_file(path) as partial, partial.open("w") as file:
            for _ in range(50):
                file.write(text)
            barrier.wait()

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "xy"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() in ("x" * 50, "y" * 50)
    assert os.listdir(tmp_path) == ["a"]
