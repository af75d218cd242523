"""Token buckets in a small file beside the database, shared by all processes that have mapped it.

A transaction of SQLite for every request would cost more than the request. The file is an open table: a bucket lies
in one of a few places that follow from the hash of its name. A bucket that is full again is forgotten by itself: its
place counts as free. What a crash of the machine loses is at most a burst that was already taken.
"""

import asyncio
import fcntl
import mmap
import os
import struct
import time
from hashlib import blake2b
from pathlib import Path
from typing import Final

from scoring_model.service.core.store import Bucket, StoreUnavailable
from scoring_model.service.store.buckets import Level, describe, draw, full_at

_MAGIC: Final = b"scoring-buckets1"
_SLOT: Final = struct.Struct(
    "<16sdqq"
)  # hash of the name, tokens, instant of that, instant at which it is full
_WHEN_FULL: Final = struct.Struct("<q")
_WHEN_FULL_AT: Final = _SLOT.size - _WHEN_FULL.size
_PLACES: Final = 1 << 16
_NEAR: Final = 32
"""Places in which a bucket may lie. When all are taken, the one that is full soonest gives way."""

_BEGIN: Final = 64
_SIZE: Final = _BEGIN + (_PLACES + _NEAR) * _SLOT.size  # 2.6 MB
_RETRY_SECONDS: Final = 0.0002


class BucketFile:
    """The buckets of one database.

    Parameters
    ----------
    path : Path
    seconds : float
        How long to wait for a process that holds the lock; it is held for microseconds.

    Raises
    ------
    StoreUnavailable
        If the file can't be opened or is something else.
    """

    def __init__(self, path: Path, *, seconds: float) -> None:
        self._seconds = seconds
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                self._prepare(path)
                self._map = mmap.mmap(self._handle, _SIZE)
            except BaseException:
                os.close(self._handle)
                raise
        except OSError as error:
            raise StoreUnavailable(
                f"The buckets beside the database can't be opened: {error.strerror}"
            ) from error

    def _prepare(self, path: Path) -> None:
        fcntl.flock(self._handle, fcntl.LOCK_EX)
        try:
            size, magic = os.fstat(self._handle).st_size, os.pread(self._handle, len(_MAGIC), 0)
            if size <= _SIZE and not any(magic):  # new, or left half made where the disk was full
                # All of it gets its place on the disk now: where the disk is full, writing to a mapped file would
                # end the process.
                os.posix_fallocate(self._handle, 0, _SIZE)
            elif size != _SIZE or magic != _MAGIC:
                raise StoreUnavailable(f"{path} is no file of buckets of this version: delete it")
            os.pwrite(self._handle, _MAGIC, 0)
        finally:
            fcntl.flock(self._handle, fcntl.LOCK_UN)

    async def take(self, key: bytes, *, capacity: int, per_second: float, now: int) -> Bucket:
        """See `Store.take`."""
        digest = blake2b(key, digest_size=16).digest()
        if not self._try_lock():
            await self._wait_for_lock()
        try:
            level, taken = self._draw(digest, capacity, per_second, now)
        finally:
            fcntl.flock(self._handle, fcntl.LOCK_UN)
        return describe(level.tokens, allowed=taken == 1, capacity=capacity, per_second=per_second)

    def close(self) -> None:
        """Give the file back."""
        self._map.close()
        os.close(self._handle)

    def _draw(self, digest: bytes, capacity: int, per_second: float, now: int) -> tuple[Level, int]:
        begin = _BEGIN + int.from_bytes(digest[:2], "little") * _SLOT.size
        place = self._find(digest, begin)
        before = None
        if place is None:
            place = self._free(begin, now)
        else:
            _, tokens, at, _ = _SLOT.unpack_from(self._map, place)
            before = Level(tokens, at)
        after, taken = draw(before, now=now, capacity=capacity, per_second=per_second)
        full = full_at(after, capacity=capacity, per_second=per_second)
        _SLOT.pack_into(self._map, place, digest, after.tokens, after.at, full)
        return after, taken

    def _find(self, digest: bytes, begin: int) -> int | None:
        """Where a bucket lies."""
        end = begin + _NEAR * _SLOT.size
        place = self._map.find(digest, begin, end)
        while place >= 0 and (place - begin) % _SLOT.size:
            place = self._map.find(digest, place + 1, end)
        return None if place < 0 else place

    def _free(self, begin: int, now: int) -> int:
        """The first place near that is free, else the one that will be soonest."""
        soonest, found = None, begin
        for place in range(begin, begin + _NEAR * _SLOT.size, _SLOT.size):
            full = _WHEN_FULL.unpack_from(self._map, place + _WHEN_FULL_AT)[0]
            if full <= now:
                return place
            if soonest is None or full < soonest:
                soonest, found = full, place
        return found

    def _try_lock(self) -> bool:
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    async def _wait_for_lock(self) -> None:
        """Let others run while another process is at the file, even if that one is stopped in the middle."""
        until = time.monotonic() + self._seconds
        while not self._try_lock():
            if time.monotonic() > until:
                raise StoreUnavailable("The buckets beside the database are locked for too long")
            await asyncio.sleep(_RETRY_SECONDS)
