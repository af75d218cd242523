"""The writer writes a complete bundle or nothing, whatever happens meanwhile."""

import errno
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scoring_model.bundle import durable, writer
from scoring_model.bundle.codec import json_bytes
from scoring_model.bundle.errors import (
    BundleError,
    BundleExists,
    ManifestInvalid,
    NewerProtocol,
    NotABundle,
    UnexpectedFile,
)
from scoring_model.bundle.manifest import PROTOCOL
from scoring_model.bundle.reader import read_bundle
from scoring_model.records.atomic import sync

SCRIPT = Path(__file__).with_name("killed_writer.py")
LOOP = f"""
import itertools, runpy, sys
from pathlib import Path
write = runpy.run_path({str(SCRIPT)!r})["write"]
out = Path(sys.argv[1])
write(out, "old", replace=False)
print("ready", flush=True)
for version in itertools.cycle(["new", "old"]):
    write(out, version, replace=True)
"""


def contents(path: Path) -> dict[str, bytes]:
    """Return every file of a directory by name."""
    return {entry.name: entry.read_bytes() for entry in path.iterdir()}


@pytest.fixture(params=["exchange", "two renames"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two names change in one step, or stand for a file system that can not."""
    if request.param == "two renames":
        monkeypatch.setattr(durable, "RENAME_EXCHANGE", 1 << 30)  # EINVAL


def test_same_inputs_give_the_same_bytes(
    tmp_path: Path, write: Callable[..., Path], files: Any, key: Any
) -> None:
    """Neither the place, nor the moment, nor the order of files shows in any byte, signature included."""
    one = write(tmp_path / "one", signing_key=key)
    two = write(tmp_path / "deep" / "er" / "two", signing_key=key, files=dict(reversed(files.items())))
    assert contents(one) == contents(two)
    assert contents(one).keys() == {*files, "manifest.json", "manifest.sig"}


def test_a_bundle_is_not_replaced_unasked(bundle: Path, write: Callable[..., Path]) -> None:
    """An existing bundle is unchanged unless replacement is requested."""
    before = contents(bundle)
    with pytest.raises(BundleExists):
        write(bundle, model_version="other")
    assert contents(bundle) == before


@pytest.mark.usefixtures("way")
def test_a_bundle_is_replaced_when_asked(bundle: Path, write: Callable[..., Path]) -> None:
    """The new bundle stands alone where the old one stood, and no file of the old one is left."""
    write(bundle, files={"other": b"1"}, replace=True)
    assert read_bundle(bundle).files == {"other": b"1"}
    assert os.listdir(bundle.parent) == [bundle.name]


def test_a_damaged_bundle_may_be_replaced(bundle: Path, write: Callable[..., Path], files: Any) -> None:
    """Altered and missing files are no reason to keep a bundle."""
    (bundle / "model.onnx").write_bytes(b"damaged")
    (bundle / "policy.json").unlink()
    assert read_bundle(write(bundle, replace=True)).files == files


def _foreign(place: Path) -> None:
    place.mkdir()
    (place / "thesis.tex").write_text("years of work")


def _misnamed(place: Path) -> None:
    _foreign(place)
    (place / "manifest.json").write_text('{"name": "a web extension", "manifest_version": 3}')


def _newer(place: Path) -> None:
    _foreign(place)
    (place / "manifest.json").write_bytes(json_bytes({"protocol": PROTOCOL + 1}))


@pytest.mark.parametrize(
    ("make", "refusal"),
    [
        (Path.mkdir, NotABundle),
        (Path.touch, NotABundle),
        (_foreign, NotABundle),
        (_misnamed, ManifestInvalid),
        (_newer, NewerProtocol),
        (lambda place: place.symlink_to("nowhere"), BundleExists),
    ],
)
def test_nothing_but_a_bundle_is_replaced(
    tmp_path: Path, write: Callable[..., Path], make: Callable[[Path], None], refusal: type[BundleError]
) -> None:
    """Another directory, a file and a link are never replaced."""
    place = tmp_path / "place"
    make(place)
    before = os.lstat(place).st_ino
    with pytest.raises(refusal):
        write(place, replace=True)
    assert os.lstat(place).st_ino == before
    assert os.listdir(tmp_path) == ["place"]


def test_a_bundle_with_more_in_it_is_not_replaced(bundle: Path, write: Callable[..., Path]) -> None:
    """Additional files in a bundle's directory are not lost."""
    (bundle / "notes.txt").write_text("do not lose")
    with pytest.raises(UnexpectedFile, match=r"notes\.txt"):
        write(bundle, replace=True)
    assert (bundle / "notes.txt").exists()


@pytest.mark.parametrize("change", [{"name": "a/b"}, {"files": {"../x": b""}}, {"files": {}}])
def test_an_unsound_bundle_is_not_written(tmp_path: Path, write: Callable[..., Path], change: Any) -> None:
    """Content that a reader would refuse is refused before anything is written."""
    with pytest.raises(ManifestInvalid):
        write(tmp_path / "bundle", **change)
    assert os.listdir(tmp_path) == []


def test_a_leftover_does_not_disturb(
    tmp_path: Path, bundle: Path, write: Callable[..., Path], files: Any
) -> None:
    """Remains of a killed writer are neither read, nor reused, nor removed."""
    leftover = tmp_path / ".bundle.0123456789abcdef.partial"
    leftover.mkdir()
    (leftover / "model.onnx").write_bytes(b"half")
    assert read_bundle(write(bundle, replace=True)).files == files
    assert contents(leftover) == {"model.onnx": b"half"}


def _calls(bundle: Path, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, fail_at: int) -> int:
    """Replace the bundle with the disk failing at one call; return how many calls there were."""
    count = itertools.count(1)
    made = 0

    def failing(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **options: Any) -> Any:
            nonlocal made
            made = next(count)
            if made == fail_at:
                raise OSError(errno.ENOSPC, "No space left on device")
            return call(*args, **options)

        return wrapper

    with monkeypatch.context() as patch:
        for name in ("fsync", "rename", "mkdir"):
            patch.setattr(os, name, failing(getattr(os, name)))
        write(bundle, model_version="new", replace=True)
    return made


@pytest.mark.usefixtures("way")
def test_a_failing_disk_leaves_the_old_or_the_new(
    bundle: Path, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever call fails a whole bundle stands; the old one is kept beside a new one that is not synced."""
    seen, errors = [], set()
    for fail_at in itertools.count(1):
        write(bundle, model_version="old", replace=True)
        try:
            calls = _calls(bundle, write, monkeypatch, fail_at)
        except OSError as error:
            errors.add(error.errno)
            seen.append(read_bundle(bundle).manifest.model_version)
            left = [read_bundle(path).manifest.model_version for path in bundle.parent.glob(".bundle.*")]
            assert left == ([] if seen[-1] == "old" else ["old"])
            shutil.rmtree(bundle.parent)
        else:
            if calls < fail_at:  # every call has failed once; that the parent can not be made may be no error
                break
    assert errors == {errno.ENOSPC}
    assert len(seen) >= 6
    assert seen == sorted(seen, reverse=True)  # first old, and new once it stands
    assert {"old", "new"} == set(seen)


def test_everything_is_synced_before_it_is_named(
    tmp_path: Path, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, files: Any
) -> None:
    """Each file and its directory are synced before the rename, and the parent directory after it."""
    events: list[str] = []
    fsync, rename = os.fsync, os.rename

    def synced(descriptor: int) -> None:
        events.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        fsync(descriptor)

    def renamed(source: Path, target: Path) -> None:
        events.append(f"rename to {target.name}")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "rename", renamed)
    write(tmp_path / "bundle")
    assert set(events[: len(files) + 1]) == {*files, "manifest.json"}
    partial, *rest = events[len(files) + 1 :]
    assert partial.startswith(".bundle.")
    assert rest == ["rename to bundle", tmp_path.name]


def test_of_two_writers_one_gives_way(
    tmp_path: Path, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that finds another's bundle at the last moment leaves it and reports it."""

    def overtaken(path: Path) -> None:
        monkeypatch.setattr(writer, "sync", sync)
        write(tmp_path / "bundle", model_version="faster")

    monkeypatch.setattr(writer, "sync", overtaken)
    with pytest.raises(BundleExists, match="appeared"):
        write(tmp_path / "bundle", model_version="slower")
    assert read_bundle(tmp_path / "bundle").manifest.model_version == "faster"
    assert os.listdir(tmp_path) == ["bundle"]


@pytest.mark.parametrize(("mode", "before"), [("fresh", "absent"), ("replace", "old")])
def test_kill_at_every_line(tmp_path: Path, mode: str, before: str) -> None:
    """Killed before any line of its code, the writer leaves what was there or the whole new bundle."""
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path, mode], capture_output=True, check=True, text=True
    )
    seen = json.loads(done.stdout)
    switch = seen.index("new")
    assert switch > 50
    assert seen == [before] * switch + ["new"] * (len(seen) - switch)
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".partial")]


def test_kill_at_any_instant(tmp_path: Path) -> None:
    """Killed from outside while it replaces one bundle by another, the writer leaves a whole one of them."""
    for instant in range(12):
        out = tmp_path / f"bundle-{instant}"
        with subprocess.Popen([sys.executable, "-c", LOOP, out], stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(0.0037 * instant)
            child.send_signal(signal.SIGKILL)
        assert read_bundle(out).manifest.model_version in {"old", "new"}


def test_readers_see_a_whole_bundle_while_it_is_replaced(tmp_path: Path) -> None:
    """A reader beside a writer reads the old or the new bundle; never a mixture, never half of one."""
    out = tmp_path / "bundle"
    seen = set()
    with subprocess.Popen([sys.executable, "-c", LOOP, out], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        for _ in range(200):
            try:
                sealed = read_bundle(out)
            except BundleError as error:  # the one that was opened is being removed
                assert type(error).__name__ in {"MissingFile", "NotABundle"}  # noqa: PT017
                assert out.is_dir()
            else:
                version = sealed.manifest.model_version
                assert version.encode() in sealed.files["a"]
                seen.add(version)
        child.send_signal(signal.SIGKILL)
    assert seen
