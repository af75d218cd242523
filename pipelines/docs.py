"""Docs: write the page of the features from the catalogue, and run the notebook anew."""

from pathlib import Path
from typing import Final

import nbformat
from nbclient import NotebookClient

from scoring_model.configuration import load_configuration
from scoring_model.features import FeatureMatrix, FittedState
from scoring_model.features.reference import reference

ROOT: Final = Path(__file__).parents[1]
CONFIGURATION: Final = ROOT / "configs" / "identity.yaml"
PAGE: Final = ROOT / "docs" / "features.md"
NOTEBOOK: Final = ROOT / "notebooks" / "first_model.ipynb"


def features_page() -> str:
    """The page as it should stand: no fitted state changes which features there are."""
    settings = load_configuration(CONFIGURATION).feature_settings
    return reference(FeatureMatrix(settings, FittedState()))


def run_notebook() -> None:
    """Run the notebook and keep its output, and nothing of the machine or the moment."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    folder = {"metadata": {"path": str(NOTEBOOK.parent)}}
    NotebookClient(notebook, record_timing=False, resources=folder).execute()
    notebook.metadata["language_info"] = {"name": "python"}
    nbformat.write(notebook, NOTEBOOK)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    PAGE.write_text(features_page(), encoding="utf-8")
    run_notebook()
