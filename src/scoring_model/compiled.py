"""Functions that numba compiles: each for one signature, and once for all processes.

numba keeps compiled code in two files, an index and the code, that are written one after the other without a lock. Two
processes could leave one signature the code of the other, and a process that was killed between them left the code of
an earlier version. Here one file holds both, and appears whole.
"""

import fcntl
import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, get_args, get_type_hints

import numpy as np
from numba import njit
from numba.core.caching import IndexDataCacheFile
from numba.core.compiler_lock import global_compiler_lock

P = ParamSpec("P")
R = TypeVar("R")


class CodeFile(IndexDataCacheFile):  # type: ignore[misc]
    """Compiled code that says what it was compiled from, and for which signature and processor."""

    def save(self, key: tuple[Any, ...], data: Any) -> None:
        """Write the code of a signature, whole or not at all."""
        self._save_data(self._name(key), (self._source_stamp, key, data))

    def load(self, key: tuple[Any, ...]) -> Any:
        """Return the code of a signature; None without such code, of other source, or from a torn file."""
        with suppress(Exception):  # a file that cannot be read is written again
            stamp, found, data = self._load_data(self._name(key))
            if (stamp, found) == (self._source_stamp, key):
                return data
        return None

    def _name(self, key: tuple[Any, ...]) -> str:
        # Not the source: the code of a new one takes the place of the old.
        digest = hashlib.sha256(repr((self._version, *key[:2])).encode()).hexdigest()
        return f"{Path(self._index_name).stem}.{digest[:16]}.nbc"


def inner(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that only compiled functions of its module call, whose code contains it."""
    kernel: Callable[P, R] = njit(nogil=True)(function)
    return kernel


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function at its first call, or load its code if a process has compiled it before.

    Arrays have the type of their annotation, any number of dimensions but always the same, and may be written to.
    Numbers are int, float or bool. Arrays that are read-only, or not contiguous, are copied for the call; what the
    function writes to the copy of an array that may be written to is copied back.

    Raises
    ------
    TypeError
        At a call, if an array has another type than its annotation.
    """
    kernel = njit(nogil=True)(function)
    with suppress(RuntimeError):  # no folder can be written to: each process compiles
        kernel.enable_caching()
        _keep_in_one_file(kernel)
    hints = get_type_hints(function)
    kinds = [_kind(name, hints[name]) for name in signature(function).parameters]

    @wraps(function)
    def call(*given: P.args, **_: P.kwargs) -> R:
        uniform = [kind(value) for kind, value in zip(kinds, given, strict=True)]
        found: R = kernel(*uniform)
        for value, used in zip(given, uniform, strict=True):
            if isinstance(value, np.ndarray) and value is not used and value.flags.writeable:
                value[...] = used
        return found

    call.kernel = kernel  # type: ignore[attr-defined]
    return call


def _kind(name: str, hint: Any) -> Callable[[Any], Any]:
    """Return what makes an argument uniform."""
    if hint in (int, float, bool):
        return hint  # type: ignore[no-any-return]
    element = get_args(hint)[-1]  # of numpy 2.5 the type itself; before it, that of the array's dtype
    dtype = np.dtype((get_args(element) or (element,))[0])

    def uniform(value: Any) -> Any:
        if value.dtype != dtype:
            raise TypeError(f"{name} must be of {dtype}, got {value.dtype}")
        return value if type(value) is np.ndarray and value.flags.carray else np.array(value, order="C")

    return uniform


def _keep_in_one_file(kernel: Any) -> None:
    """Keep the code of a function in files of one signature each; compile under a lock of their folder."""
    kept, compile_now = kernel._cache._cache_file, kernel.compile
    kernel._cache._cache_file = CodeFile(kept._cache_path, Path(kept._index_name).stem, kept._source_stamp)

    def compile_alone(wanted: Any) -> Any:
        with global_compiler_lock, _locked(Path(kept._cache_path)):
            return compile_now(wanted)

    kernel.compile = compile_alone


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let other processes wait that are about to compile the same functions: they will find the code."""
    with ExitStack() as held:
        with suppress(OSError):  # without locks in the file system, processes compile the same code twice
            fcntl.flock(held.enter_context(open(folder / "compiling.lock", "wb")), fcntl.LOCK_EX)
        yield
