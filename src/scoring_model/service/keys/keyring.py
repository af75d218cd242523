"""The keyring: master keys (key-encryption keys), which wrap all other keys, and their sources.

A source is text with one key per line, base64 (RFC 4648, section 4) of 32 bytes. The first is the primary key, which
wraps; the others only unwrap keys from before a rotation. Empty lines and lines that start with ``#`` are ignored.
"""

import base64
import hashlib
import os
import shlex
import signal
import stat
import subprocess
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from scoring_model.locks import locked
from scoring_model.records.atomic import atomic_file

KEY_BYTES: Final = 32
ID_BYTES: Final = 8
NONCE_BYTES: Final = 12
COMMAND_SECONDS: Final = 10.0
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class MasterKeyError(Exception):
    """A source of master keys can't be used. The message names the source and the line, never a key."""


class UnknownMasterKey(Exception):
    """The keyring lacks the master key that wraps a value."""

    def __init__(self, master_id: bytes) -> None:
        super().__init__(f"the master key {master_id.hex()} is not among those of the source")
        self.master_id = master_id


class Unreadable(Exception):
    """A ciphertext can't be decrypted: the key or the associated data differ, or its bytes were changed."""

    def __init__(self) -> None:
        super().__init__("the ciphertext does not open with this key and associated data")


def seal(cipher: AESGCM, plaintext: bytes, associated_data: bytes) -> bytes:
    """Encrypt with AES-256-GCM; adds a nonce and a tag, 28 bytes. Nonces are random: a key may seal 2**32 texts.

    References
    ----------
    NIST SP 800-38D (GCM), section 8.2.2 (random nonces of 96 bits) and section 8.3.
    """
    nonce = os.urandom(NONCE_BYTES)
    return nonce + cipher.encrypt(nonce, plaintext, associated_data)


def unseal(cipher: AESGCM, sealed: bytes, associated_data: bytes) -> bytes:
    """Decrypt what `seal` returned for the same key and associated data.

    Raises
    ------
    Unreadable
    """
    try:
        return cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], associated_data)
    except (InvalidTag, ValueError):  # ValueError: too short to hold a nonce
        raise Unreadable from None


@dataclass(frozen=True)
class KeyEncryptionKey:
    """A master key of 32 bytes, which wraps other keys."""

    secret: bytes = field(repr=False)

    @cached_property
    def id(self) -> bytes:
        """The first 8 bytes of the SHA-256 of the key; stored with each key that it wraps."""
        return hashlib.sha256(self.secret).digest()[:ID_BYTES]

    @cached_property
    def cipher(self) -> AESGCM:
        """The cipher for `seal` and `unseal`."""
        return AESGCM(self.secret)


@dataclass(frozen=True)
class Keyring:
    """The master keys of a source: the primary one, which wraps, and older ones, which only unwrap."""

    primary: KeyEncryptionKey
    older: tuple[KeyEncryptionKey, ...] = ()

    @cached_property
    def by_id(self) -> dict[bytes, KeyEncryptionKey]:
        """All keys by id."""
        return {key.id: key for key in (self.primary, *self.older)}


def load_master_keys(source: str) -> Keyring:
    """Read the master keys.

    Parameters
    ----------
    source : str
        ``file:PATH``, a file that only its owner may read; ``env:NAME``, an environment variable; or
        ``command:PROGRAM ARGUMENTS``, whose standard output is read. The command is split by shell rules
        but runs without a shell; its time limit is 10 s.

    Raises
    ------
    MasterKeyError
        If the source can't be read or a line is not a key.
    """
    kind, _, rest = source.partition(":")
    if not rest or kind not in ("file", "env", "command"):
        raise MasterKeyError("a source of master keys must be file:PATH, env:NAME or command:PROGRAM")
    if kind == "file":
        return parse_master_keys(_read_file(Path(rest)), source=source)
    if kind == "command":
        return _run(rest)
    if rest not in os.environ:
        raise MasterKeyError(f"{source}: the environment has no such variable")
    return parse_master_keys(os.environ[rest], source=source)


def parse_master_keys(text: str, *, source: str) -> Keyring:
    """Parse the text of a source; a `MasterKeyError` names `source` and lists all invalid lines."""
    found, problems = [], []
    for number, line in enumerate(map(str.strip, text.splitlines()), start=1):
        if not line or line.startswith("#"):
            continue
        try:
            secret = base64.b64decode(line, validate=True)
        except ValueError:
            problems.append(f"line {number} must be base64 of {KEY_BYTES} bytes, got something else")
            continue
        if len(secret) == KEY_BYTES:
            found.append(KeyEncryptionKey(secret))
        else:
            problems.append(f"line {number} must be base64 of {KEY_BYTES} bytes, got {len(secret)}")
    if problems or not found:
        raise MasterKeyError(f"{source}: {'; '.join(problems) or 'there is no key'}")
    return Keyring(found[0], tuple(found[1:]))


def generate_master_key() -> str:
    """Generate a master key as a line of a source, without newline."""
    return base64.b64encode(os.urandom(KEY_BYTES)).decode()


def add_master_key(path: Path) -> None:
    """Add a new primary key to a file, which is created if missing; its directory must exist.

    The file is replaced atomically. Keeps its older lines, its owner and a symbolic link to it; only the owner can read
    it. Raises `MasterKeyError` if the file can't be read or written, or does not contain master keys.
    """
    target = path.resolve()
    try:
        with locked(
            target.parent
        ):  # of two keys added concurrently, one would be lost, with everything it wraps
            _add_primary_key(target, source=f"file:{path}")
    except OSError as error:
        raise MasterKeyError(f"file:{path}: {error.strerror}") from None


def _add_primary_key(path: Path, *, source: str) -> None:
    before = path.stat() if path.exists() else None
    text = "" if before is None else _read_file(path)
    if before is not None:
        parse_master_keys(text, source=source)
    with atomic_file(path) as partial:
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            if before is not None and before.st_uid != os.geteuid():
                os.fchown(handle, before.st_uid, before.st_gid)
            file.write(f"{generate_master_key()}\n{text}")


def _read_file(path: Path) -> str:
    try:
        # Non-blocking: a named pipe without a writer would block the start forever.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with open(handle, "rb") as file:
            mode = os.fstat(handle).st_mode
            if not stat.S_ISREG(mode):
                raise MasterKeyError(f"file:{path}: is not a regular file")
            if mode & _OTHERS:
                got = f"{stat.S_IMODE(mode):o} (chmod 600)"
                raise MasterKeyError(f"file:{path}: must be readable for its owner alone, got mode {got}")
            return file.read().decode()
    except FileNotFoundError:
        raise MasterKeyError(
            f"file:{path}: No such file. The first `scoring-model serve` with a SQLite database makes its master key; "
            "for PostgreSQL, `scoring-model keys generate-master` does"
        ) from None
    except OSError as error:
        raise MasterKeyError(f"file:{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise MasterKeyError(f"file:{path}: is not UTF-8") from None


def _run(command: str) -> Keyring:
    try:
        arguments = shlex.split(command)
    except ValueError:
        arguments = []
    if not arguments:
        raise MasterKeyError("command: must name a program, with balanced quotes in its arguments")
    # Arguments may contain secrets, so errors name only the program.
    source = f"command:{arguments[0]}"
    try:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # it may contain the keys, and would end up in a log
            start_new_session=True,
        )
    except OSError as error:
        raise MasterKeyError(f"{source}: {error.strerror}") from None
    with process:
        return parse_master_keys(_output_of(process, source=source), source=source)


def _output_of(process: subprocess.Popen[bytes], *, source: str) -> str:
    try:
        output, _ = process.communicate(timeout=COMMAND_SECONDS)
    except subprocess.TimeoutExpired:
        # With its children: one that keeps the pipe open would make this wait forever.
        os.killpg(process.pid, signal.SIGKILL)
        raise MasterKeyError(f"{source}: did not end within {COMMAND_SECONDS:g} s") from None
    if process.returncode != 0:
        raise MasterKeyError(f"{source}: ended with status {process.returncode}; run it by hand to see why")
    try:
        return output.decode()
    except UnicodeDecodeError:
        raise MasterKeyError(f"{source}: its output is not UTF-8") from None
