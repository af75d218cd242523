"""Pages of made results."""

import pytest

from made_pages import page
from page_text import PageText


@pytest.fixture(scope="module")
def comparison() -> PageText:
    """The page of the comparison."""
    return page("comparison")


@pytest.fixture(scope="module")
def evaluation() -> PageText:
    """The page of the evaluation."""
    return page("evaluation")
