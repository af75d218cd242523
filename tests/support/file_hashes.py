"""The bytes of files, to compare them."""

import hashlib
from pathlib import Path


def hashes(out: Path) -> dict[str, str]:
    """The bytes of every file of a folder."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(out.iterdir())}
