"""Settings of a process that does nothing but score many records: together they save a third of its time."""

import ctypes
import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # parameters of `mallopt` (glibc, malloc.h)
_KEPT_BYTES: Final = 2**30
_OBJECTS_PER_COLLECTION: Final = 1_000_000


class _Without(MetaPathFinder):
    """Finds one module nowhere."""

    def __init__(self, module: str) -> None:
        self._module = module

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Refuse the module, and leave the others to the next finder."""
        if fullname == self._module:
            raise ModuleNotFoundError(fullname)
        return None


def configure() -> None:
    """Change this process for the rest of its life. Results do not depend on it."""
    # The columns of a file are freed by their reference counts; looking for cycles among them finds none.
    gc.disable()
    _keep_freed_memory()
    _import_without_extras()


def configure_worker() -> None:
    """Change a process for many tasks, and keep libraries from starting threads for every core in each process."""
    import pyarrow as pa

    configure()
    # Unlike a process for one file it lives on, so it looks for cycles, though rarely.
    gc.enable()
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)


def _keep_freed_memory() -> None:
    """Reuse freed memory: pages that went back to the system come again as new ones, which it must clear first."""
    import pyarrow as pa

    with suppress(OSError, AttributeError):  # other C libraries have no `mallopt`
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_MMAP_THRESHOLD, _KEPT_BYTES)
    pa.set_memory_pool(pa.system_memory_pool())


def _import_without_extras() -> None:
    """Import libraries that look once for others, which take half a second and are not used here."""
    import pyarrow as pa

    with hidden("pandas"):
        pa.scalar(0)  # at the first value pyarrow looks for pandas, to recognise frames
    with hidden("scipy.linalg"):
        import numba.np.arraymath  # noqa: F401  # looks for BLAS, which no function here calls


@contextmanager
def hidden(module: str) -> Iterator[None]:
    """Let the import of a module fail, as if it were not installed."""
    finder = _Without(module)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
