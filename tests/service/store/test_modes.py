"""Who may read the files of a database."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scoring_model.service.store import Store
from store_story import run_story

WRITER = """
import asyncio, os, sys
from scoring_model.service.store import open_store, serving

async def main(url):
    store = await open_store(url, create=True)
    async with store.writing(["1"]) as transaction:
        await transaction.set_fact("a", b"1")
    os.kill(os.getpid(), 9)  # so that the log is left

os.umask(int(sys.argv[2], 8))
with serving(sys.argv[1]):
    asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.parametrize("umask", ["0", "022", "077"])
def test_files_are_made_for_their_owner_alone(tmp_path: Path, umask: str) -> None:
    """Database, log, its index and the lock of the server have mode 0600, whatever the umask."""
    subprocess.run([sys.executable, "-c", WRITER, f"sqlite:///{tmp_path / 'a.db'}", umask], check=False)
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir()}
    names = [f"a.db{end}" for end in ("", "-wal", "-shm", ".lock")]
    assert modes == dict.fromkeys(names, "0o600")


def test_a_mode_that_an_operator_chose_stays(sqlite_url: str) -> None:
    """A group may be let in, to the files that SQLite makes from then on too."""
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    path.chmod(0o640)

    async def story(store: Store) -> None:
        async with store.writing(["1"]) as transaction:
            await transaction.set_fact("a", b"1")
        log = path.with_name(path.name + "-wal")
        assert {oct(os.stat(one).st_mode & 0o777) for one in (path, log)} == {"0o640"}

    run_story(sqlite_url, story)
