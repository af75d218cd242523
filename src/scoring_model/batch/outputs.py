"""The files of a dataset, in a local folder or an object store."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyarrow.fs import FileType

from scoring_model.records.atomic import atomic_file
from scoring_model.records.stored import file_system


def write_output(out: str, name: str, blocks: Iterable[bytes | memoryview], *, private: bool = False) -> None:
    """Write a file of the dataset. It appears whole: on local disks by a rename, in object stores by their own rule.

    A private one gets mode 0600 on a local disk.
    """
    if "://" not in out:
        with atomic_file(Path(out) / name, private=private) as partial, partial.open("wb") as file:
            file.writelines(blocks)
        return
    system, path = _located(out, name)
    with system.open_output_stream(path) as stream:
        for block in blocks:
            stream.write(block)


def read_output(out: str, name: str) -> bytes | None:
    """Read a file of the dataset; None where there is none."""
    system, path = _located(out, name)
    if system.get_file_info(path).type != FileType.File:
        return None
    with system.open_input_stream(path) as stream:
        return bytes(stream.read())


def remove_output(out: str, name: str) -> None:
    """Remove a file of the dataset, if it is there."""
    system, path = _located(out, name)
    if system.get_file_info(path).type == FileType.File:
        system.delete_file(path)


def _located(out: str, name: str) -> tuple[Any, str]:
    base, mark, options = out.partition("?")
    return file_system(f"{base.rstrip('/')}/{name}{mark}{options}")
