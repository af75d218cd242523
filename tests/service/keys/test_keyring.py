import base64
import hashlib
import os
import shlex
import stat
import subprocess
import sys
import time
import traceback
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring_model.service.keys import keyring
from scoring_model.service.keys.keyring import (
    KeyEncryptionKey,
    Keyring,
    MasterKeyError,
    Unreadable,
    add_master_key,
    generate_master_key,
    load_master_keys,
    parse_master_keys,
    seal,
    unseal,
)

SECRET = bytes(range(32))
LINE = base64.b64encode(SECRET).decode()
OTHER = bytes(range(1, 33))
CIPHER = KeyEncryptionKey(SECRET).cipher
OTHER_LINE = base64.b64encode(OTHER).decode()


def _file(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "master.key"
    path.write_text(text)
    path.chmod(mode)
    return path


def _command(*arguments: str) -> str:
    return "command:" + shlex.join([sys.executable, "-I", "-S", "-c", *arguments])


def test_id_is_the_beginning_of_a_hash() -> None:
    """A key's id is the first 8 bytes of its SHA-256."""
    assert KeyEncryptionKey(SECRET).id == hashlib.sha256(SECRET).digest()[:8]


@given(st.binary(max_size=64), st.binary(max_size=64))
def test_sealing_comes_back(plaintext: bytes, associated_data: bytes) -> None:
    """What was sealed opens with the same key and associated data, and is 28 bytes longer."""
    sealed = seal(CIPHER, plaintext, associated_data)
    assert len(sealed) == len(plaintext) + 28
    assert unseal(CIPHER, sealed, associated_data) == plaintext


def test_every_change_is_refused() -> None:
    """A changed or shortened ciphertext, another key or other associated data does not open."""
    sealed = seal(CIPHER, b"text", b"here")
    number = int.from_bytes(sealed)
    flipped = [(number ^ 1 << bit).to_bytes(len(sealed)) for bit in range(8 * len(sealed))]
    for changed in (*flipped, *(sealed[:length] for length in range(len(sealed)))):
        with pytest.raises(Unreadable):
            unseal(CIPHER, changed, b"here")
    for cipher, associated_data in ((KeyEncryptionKey(OTHER).cipher, b"here"), (CIPHER, b"there")):
        with pytest.raises(Unreadable):
            unseal(cipher, sealed, associated_data)


def test_equal_texts_are_sealed_differently() -> None:
    """Every ciphertext has a nonce of its own."""
    assert len({seal(CIPHER, b"text", b"here")[:12] for _ in range(100)}) == 100


def test_first_line_is_current_and_comments_say_nothing() -> None:
    """The first key wraps, those after it are found by id, comments and empty lines are passed over."""
    keys = parse_master_keys(f"# made by hand\n\n  {LINE}  \n# older\n{OTHER_LINE}", source="text")
    assert keys == Keyring(KeyEncryptionKey(SECRET), (KeyEncryptionKey(OTHER),))
    assert keys.by_id == {keys.primary.id: keys.primary, keys.older[0].id: keys.older[0]}


def test_keys_do_not_show() -> None:
    """Neither a key nor a set of keys shows its bytes."""
    shown = repr(Keyring(KeyEncryptionKey(SECRET), (KeyEncryptionKey(OTHER),)))
    for secret, line in ((SECRET, LINE), (OTHER, OTHER_LINE)):
        assert repr(secret) not in shown
        assert line not in shown
        assert secret.hex() not in shown


def test_all_bad_lines_are_reported_at_once_and_none_is_shown() -> None:
    """Errors name the lines and the rule, never what stands there."""
    almost = LINE[:-4]
    with pytest.raises(MasterKeyError) as caught:
        parse_master_keys(f"{LINE}\n{almost}\n#\n!{OTHER_LINE[1:]}", source="file:x")
    assert str(caught.value) == (
        "file:x: line 2 must be base64 of 32 bytes, got 30; "
        "line 4 must be base64 of 32 bytes, got something else"
    )
    shown = "".join(traceback.format_exception(caught.value))
    assert almost not in shown
    assert OTHER_LINE[1:] not in shown


def test_nothing_is_read_past_in_a_line() -> None:
    """Characters outside base64 are refused, not skipped."""
    for line in (f"{LINE[:9]}!{LINE[9:]}", f"{LINE} {LINE}", f"{LINE} # comment"):
        with pytest.raises(MasterKeyError, match="line 1 must be base64 of 32 bytes, got something else"):
            parse_master_keys(line, source="text")


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n"])
def test_a_source_without_a_key_is_refused(text: str) -> None:
    """There is always a current key."""
    with pytest.raises(MasterKeyError, match="there is no key"):
        parse_master_keys(text, source="text")


@pytest.mark.parametrize("source", ["", "file:", "env:", "command:", "master.key", "vault:x", "FILE:x"])
def test_an_unknown_kind_of_source_is_refused(source: str) -> None:
    """A source is a file, a variable or a command."""
    with pytest.raises(MasterKeyError, match="must be file:PATH, env:NAME or command:PROGRAM"):
        load_master_keys(source)


def test_file_is_read(tmp_path: Path) -> None:
    """A file readable only by its owner is a source."""
    assert load_master_keys(f"file:{_file(tmp_path, LINE)}").primary == KeyEncryptionKey(SECRET)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644, 0o777])
def test_file_that_others_may_use_is_refused(tmp_path: Path, mode: int) -> None:
    """Any right of the group or of others on the file is refused, naming the mode."""
    path = _file(tmp_path, LINE, mode)
    with pytest.raises(MasterKeyError, match=f"owner alone, got mode {mode:o}"):
        load_master_keys(f"file:{path}")


def test_missing_file_folder_pipe_and_bytes_are_refused(tmp_path: Path) -> None:
    """An unreadable source is reported with the reason, and a pipe without a writer does not block."""
    pipe, junk = tmp_path / "pipe", _file(tmp_path, "")
    os.mkfifo(pipe, 0o600)
    junk.write_bytes(b"\xff\xfe")
    for path, why in (
        (tmp_path / "missing", r"No such file\. The first `scoring-model serve` .* makes its master key"),
        (tmp_path, "Is a directory|regular file"),
        (pipe, "regular file"),
        (junk, "UTF-8"),
    ):
        with pytest.raises(MasterKeyError, match=why):
            load_master_keys(f"file:{path}")


def test_variable_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment variable may hold several lines; an unset one is refused."""
    monkeypatch.setenv("MASTER_KEYS_OF_A_TEST", f"{LINE}\n{OTHER_LINE}\n")
    assert load_master_keys("env:MASTER_KEYS_OF_A_TEST").older == (KeyEncryptionKey(OTHER),)
    monkeypatch.delenv("MASTER_KEYS_OF_A_TEST")
    with pytest.raises(MasterKeyError, match="no such variable"):
        load_master_keys("env:MASTER_KEYS_OF_A_TEST")


def test_command_is_run_without_a_shell() -> None:
    """What a command prints is read; what a shell would make of its arguments is not made."""
    printing = "import sys; print('# ' + sys.argv[1]); print(sys.argv[2])"
    assert load_master_keys(_command(printing, "$(exit 3); `x` > y", LINE)).primary == KeyEncryptionKey(
        SECRET
    )


def test_failing_command_is_reported_without_its_arguments_and_output(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """A command that fails, prints no keys or can't be found is named by its program alone."""
    token = "token-of-the-operator"
    for body, why in (
        (f"import sys; print('{LINE}'); print('{LINE}', file=sys.stderr); sys.exit(3)", "status 3"),
        (f"print('no {LINE}')", "line 1 must be base64"),
        ("import sys; sys.stdout.buffer.write(b'\\xff')", "not UTF-8"),
    ):
        with pytest.raises(MasterKeyError, match=why) as caught:
            load_master_keys(_command(body, token))
        assert LINE not in str(caught.value)
        assert token not in str(caught.value)
    with pytest.raises(MasterKeyError, match=r"command:/no/such/program: No such file"):
        load_master_keys(f"command:/no/such/program {token}")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("command", ["command: ", "command:'", 'command:a "b'])
def test_command_that_is_none_is_refused(command: str) -> None:
    """A command names a program and closes its quotes."""
    with pytest.raises(MasterKeyError, match="must name a program"):
        load_master_keys(command)


def test_slow_command_is_ended_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command has a time limit, also if a child holds its pipe open."""
    monkeypatch.setattr(keyring, "COMMAND_SECONDS", 1.0)
    child = tmp_path / "child"
    script = f"sleep 60 & echo $! > {child}; wait"
    with pytest.raises(MasterKeyError, match="did not end within 1 s"):
        load_master_keys("command:" + shlex.join(["sh", "-c", script]))
    _wait_until_gone(int(child.read_text()))


def _wait_until_gone(process: int) -> None:
    for _ in range(500):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0]
        except FileNotFoundError:
            return
        if state == "Z":  # dead, but not yet reaped by its new parent
            return
        time.sleep(0.01)
    raise AssertionError("the child still runs")


def test_generated_keys_are_lines_of_a_source() -> None:
    """A generated key is a source of its own, and no two are equal."""
    made = {generate_master_key() for _ in range(10)}
    assert len({parse_master_keys(line, source="text").primary.id for line in made}) == 10


def test_added_key_is_current_and_nothing_is_lost(tmp_path: Path) -> None:
    """A new key stands above all that was in the file, comments included."""
    path = _file(tmp_path, f"# mine\n{LINE}\n")
    add_master_key(path)
    keys = load_master_keys(f"file:{path}")
    assert keys.primary != KeyEncryptionKey(SECRET)
    assert keys.older == (KeyEncryptionKey(SECRET),)
    assert path.read_text().endswith(f"# mine\n{LINE}\n")
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_added_key_makes_a_missing_file_private(tmp_path: Path) -> None:
    """A new file is its owner's alone, whatever the umask."""
    path, before = tmp_path / "master.key", os.umask(0)
    try:
        add_master_key(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_master_keys(f"file:{path}").older == ()


def test_added_key_goes_where_a_link_points(tmp_path: Path) -> None:
    """A symbolic link stays one; the file behind it gets the key."""
    (tmp_path / "real").mkdir()
    target = _file(tmp_path / "real", LINE)
    link = tmp_path / "link"
    link.symlink_to(target)
    add_master_key(link)
    assert link.is_symlink()
    assert load_master_keys(f"file:{target}").older == (KeyEncryptionKey(SECRET),)


def test_file_that_is_no_source_stays_as_it_is(tmp_path: Path) -> None:
    """A key is not put on top of what is no file of master keys, or one that others may read."""
    for text, mode, why in (("my diary", 0o600, "line 1"), (LINE, 0o644, "owner alone")):
        path = _file(tmp_path, text, mode)
        with pytest.raises(MasterKeyError, match=why):
            add_master_key(path)
        assert path.read_text() == text
    with pytest.raises(MasterKeyError, match="No such file"):
        add_master_key(tmp_path / "missing" / "master.key")


def test_owner_keeps_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When another user, such as root, rotates the key of a service, the file is given to its owner again."""
    path, given = _file(tmp_path, LINE), list[tuple[int, int]]()
    before, give = path.stat(), os.fchown

    def recorded(handle: int, user: int, group: int) -> None:
        given.append((user, group))
        give(handle, user, group)

    monkeypatch.setattr(os, "geteuid", lambda: before.st_uid + 1)
    monkeypatch.setattr(os, "fchown", recorded)
    add_master_key(path)
    assert given == [(before.st_uid, before.st_gid)]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_keys_that_are_added_at_once_are_all_there(tmp_path: Path) -> None:
    """Concurrent processes that add keys to one file lose none."""
    path = tmp_path / "master.key"
    script = (
        "import sys; from pathlib import Path; from scoring_model.service.keys.keyring import add_master_key\n"
        "print(flush=True); sys.stdin.readline()\n"
        "for _ in range(20): add_master_key(Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", script, str(path)]
    with ExitStack() as stack:
        running = [
            stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
            for _ in range(3)
        ]
        for process in running:
            assert process.stdout is not None
            process.stdout.readline()
        for process in running:
            assert process.stdin is not None
            process.stdin.close()
        assert [process.wait(timeout=60) for process in running] == [0, 0, 0]
    keys = load_master_keys(f"file:{path}")
    assert len({key.id for key in (keys.primary, *keys.older)}) == 60
