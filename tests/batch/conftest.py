"""A bundle with links of every kind, and files of its records."""

from pathlib import Path

import pytest

from identity_use import relaxed, shared, train_bundle
from linked_use import linked


@pytest.fixture(scope="session")
def summing_bundle(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a bundle with delayed windows, amounts and all kinds of counts."""
    return shared(tmp_path_factory, "summing", lambda out: train_bundle(small, linked(summing=True), out))


@pytest.fixture(scope="session")
def plain_bundle(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a bundle without links."""
    text = relaxed().replace("rounds: 30", "rounds: 5")
    start, end = text.index("links:"), text.index("features:")
    unlinked = text[:start] + "links:\n  keys: {}\n\n" + text[end:]
    return shared(tmp_path_factory, "plain", lambda out: train_bundle(small, unlinked, out))
