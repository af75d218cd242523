"""The drill: a backup is restored on either store, with newer, older, other and no keys of persons."""

import asyncio
import base64
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pytest

import program
from databases import Databases, binaries
from program import Captured
from scoring_model.contract.identity import IdentityStatus
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.texts import to_text
from scoring_model.service.clients.clients import Caller
from scoring_model.service.core.rows import PersonKeyRow
from scoring_model.service.keys.backup import Restored, back_up, restore_keys
from scoring_model.service.keys.restored import KeysMissing
from scoring_model.service.store import with_store
from scoring_model.service.store.backup import KeyFile
from service_use import HOUR, MASTERS, START, Made, SetClock, World, applicants, run_story, signals_of, table


class Stored(NamedTuple):
    """Who is stored before the first backup: a person who is erased after it, and one who stays."""

    caller: Caller
    identity: bytes
    gone: Made
    kept: Made


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, sealed: Path) -> None:
    monkeypatch.setenv("PATH", f"{binaries()}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("MASTERS", base64.b64encode(MASTERS.primary.secret).decode())
    monkeypatch.setenv("SCORING_MODEL_MASTER_KEY", "env:MASTERS")
    monkeypatch.setenv("SCORING_MODEL_BUNDLES", str(sealed.parent))


@contextmanager
def restored(url: str, copy: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a new database, restored from a copy as docs/service-storage.md says."""
    if url.startswith("sqlite"):
        yield f"sqlite:///{shutil.copy(copy, copy.with_name(f'{uuid4().hex}.db'))}"
        return
    databases: Databases = request.getfixturevalue("postgres")
    name = f"restored_{uuid4().hex}"
    target = databases.server.create(name)
    try:
        subprocess.run(["pg_restore", "--no-owner", f"--dbname={target}", copy], check=True)
        yield target
    finally:
        databases.server.drop(name)


def stored(url: str, sealed: Path) -> Stored:
    """Two persons with a verification each."""

    async def story(world: World) -> Stored:
        caller = await world.client()
        person = applicants(sealed)[0]
        identity = await world.identity(caller, person.identity)
        gone = (await world.verify(caller, identity=identity, signals=person.signals)).resource
        signals = signals_of(sealed, Outcome.FAILED)[0]
        return Stored(
            caller, identity, gone, (await world.verify(caller, signals=signals, subject="s")).resource
        )

    return run_story(url, sealed, story)


def changed(url: str, sealed: Path, people: Stored) -> Made:
    """One person is erased; an hour later there is another one, whose verification is returned."""

    async def story(world: World) -> Made:
        await world.service.identities.erase(people.caller, people.identity)
        return (await world.verify(people.caller, signals={"vpn": True}, subject="young")).resource

    run_story(url, sealed, story)
    return run_story(url, sealed, story, clock=SetClock(START + HOUR))


def replayed(capsys: Captured, url: str, verification: Made) -> tuple[int, str]:
    """Exit code of a replay, and what it said."""
    shown = to_text(verification.id)
    code, said, error = program.run(capsys, "verifications", "replay", shown, "--database", url)
    return code, said.strip() or error


def restore(url: str, keys: Path) -> Restored:
    """Restore keys without the command, which only shows what this returns."""
    with KeyFile(keys) as file:
        return with_store(url, lambda store: restore_keys(store, file, now=START, progress=lambda _: None))


def test_recovery_an_older_copy_with_the_keys_of_today_brings_no_erased_person_back(
    store_url: str, sealed: Path, tmp_path: Path, capsys: Captured, request: pytest.FixtureRequest
) -> None:
    """A verdict replays with the same score, an erased person stays erased, and without keys nothing is served."""
    copy, old_keys, keys = (tmp_path / name for name in ("copy", "old.keys", "keys"))
    people = stored(store_url, sealed)
    code, said, error = program.run(capsys, "database", "backup", copy, old_keys, "--database", store_url)
    assert (code, "the keys of 2 persons" in said) == (0, True), error
    assert [stat.S_IMODE(path.stat().st_mode) for path in (copy, old_keys)] == [0o600] * 2
    changed(store_url, sealed, people)
    refused = program.refused(capsys, "database", "backup", copy, keys, "--database", store_url)
    assert f"{copy} exists" in refused
    code, _, error = program.run(
        capsys, "database", "backup", tmp_path / "late", keys, "--database", store_url
    )
    assert code == 0, error

    async def look(world: World) -> Made:
        shown = await world.service.identities.get(people.caller, people.identity)
        assert (shown.status, shown.first_name) == (IdentityStatus.REDACTED, None)
        assert (await world.row(people.gone.id)).payload is None
        return await world.verification(people.caller, people.kept.id)

    with restored(store_url, copy, request) as url:
        assert asyncio.run(table(url, PersonKeyRow)) == []
        for one in (people.gone, people.kept):
            code, said = replayed(capsys, url, one)
            assert (code, "copy without its person keys" in said) == (1, True)
        with pytest.raises(KeysMissing):
            run_story(url, sealed, look)
        assert "without its person keys" in program.refused(
            capsys, "database", "backup", tmp_path / "a", tmp_path / "b", "--database", url
        )
        code, said, error = program.run(capsys, "database", "restore-keys", keys, "--database", url)
        assert code == 0, error
        assert said.splitlines() == [
            "1 key of persons restored",
            "erased again: 1 person, who had been erased since the copy",
        ]
        assert replayed(capsys, url, people.kept) == (0, "same")
        assert replayed(capsys, url, people.gone) == (4, "erased")
        assert run_story(url, sealed, look) == people.kept
        assert restore(url, keys) == (0, 0, 0)
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_recovery_keys_that_were_never_restored_are_no_erasure(
    store_url: str, sealed: Path, tmp_path: Path, capsys: Captured, request: pytest.FixtureRequest
) -> None:
    """Older keys leave younger persons unreadable, but not erased, and restore no key of an erased person."""
    old_keys, copy, keys = (tmp_path / name for name in ("old.keys", "copy", "keys"))
    people = stored(store_url, sealed)
    asyncio.run(back_up(store_url, tmp_path / "early", old_keys, now=START + HOUR // 2))
    young = changed(store_url, sealed, people)
    assert asyncio.run(back_up(store_url, copy, keys, now=START + 2 * HOUR)) == 2
    with restored(store_url, copy, request) as url:
        assert restore(url, old_keys) == Restored(restored=1, erased=0, lost=1)
        assert replayed(capsys, url, people.kept) == (0, "same")
        assert replayed(capsys, url, people.gone) == (4, "erased")
        code, said = replayed(capsys, url, young)
        assert (code, "not among those that were restored" in said) == (1, True)
        assert restore(url, keys) == Restored(restored=1, erased=0, lost=0)
        assert replayed(capsys, url, young) == (0, "same")
    with restored(store_url, copy, request) as url:
        code, said, error = program.run(capsys, "database", "restore-keys", "--lost", "--database", url)
        assert (code, "2 persons have no key" in said) == (0, True), error
        assert replayed(capsys, url, people.kept)[0] == 1
        run_story(url, sealed, lambda world: world.verification(people.caller, people.kept.id))
