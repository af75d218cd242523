"""Docs: write the pages of features and findings and the schemas of configurations and gates; rerun the notebooks."""

import json
import re
from pathlib import Path
from typing import Any, Final

import nbformat
from nbclient import NotebookClient

from scoring_model.bundle import Use, reason_factors
from scoring_model.configuration import load_configuration
from scoring_model.configuration.schema import configuration_schema, gates_schema
from scoring_model.features import FeatureMatrix, FeatureSettings, FittedState, LinkSettings, SignalSettings
from scoring_model.features.reference import read_signals, reference
from scoring_model.features.settings import READ_TYPES
from scoring_model.findings import CHECKS

ROOT: Final = Path(__file__).parents[1]
CONFIGURATION: Final = ROOT / "configs" / "identity.yaml"
PAGE: Final = ROOT / "docs" / "features.md"
KEYS: Final = ROOT / "docs" / "configuration.md"
SCHEMA: Final = ROOT / "configs" / "schema.json"
GATES: Final = ROOT / "docs" / "gates.md"
GATES_SCHEMA: Final = ROOT / "configs" / "gates.schema.json"
FINDINGS: Final = ROOT / "docs" / "findings.md"
NOTEBOOKS: Final = sorted((ROOT / "notebooks").glob("*.ipynb"))


def features_page() -> str:
    """Return the up-to-date page; the list of features does not depend on fitted state."""
    configuration = load_configuration(CONFIGURATION)
    matrix = FeatureMatrix(configuration.feature_settings, FittedState())
    factors = reason_factors(matrix, use=configuration.use, share=configuration.policy.reason_share)
    return f"{reference(matrix, factors.sentences)}\n{_read_signals(configuration.use)}"


def _read_signals(use: Use) -> str:
    signals = {kind.value: SignalSettings(type=kind) for kind in READ_TYPES}
    settings = FeatureSettings(signals=signals, families=("signals",), links=LinkSettings(keys={}))
    matrix = FeatureMatrix(settings, FittedState())
    return read_signals(matrix, reason_factors(matrix, use=use, share=0).sentences)


def findings_page() -> str:
    """Return the up-to-date page: its introduction, which is written by hand, and a section for each code."""
    introduction = FINDINGS.read_text(encoding="utf-8").partition("\n## SM")[0].strip()
    sections = [
        f"## {code.value}\n\n**{check.title}.** Severity: {check.severity}. Made by: "
        f"{'the training' if check.of_training else 'the evaluation'}.\n\n"
        f"*Why it matters.* {check.why}\n\n*What to do.* {check.action}"
        for code, check in CHECKS.items()
    ]
    return "\n\n".join([introduction, *sections]) + "\n"


def schema_text() -> str:
    """Return the up-to-date schema, each key described as in the configuration page."""
    return _json(configuration_schema(_meanings(KEYS)))


def gates_schema_text() -> str:
    """Return the up-to-date schema of gates, each key described as in their page."""
    return _json(gates_schema(_meanings(GATES)))


def _meanings(page: Path) -> dict[str, str]:
    rows = re.findall(
        r"^\| `([^`]+)` \| .+? \| .+? \| (.+) \|$", page.read_text(encoding="utf-8"), re.MULTILINE
    )
    # The page writes `links.keys.<key>` for every entry of a map.
    return {re.sub(r"<\w+>", "*", key): meaning for key, meaning in rows}


def _json(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def run_notebook(path: Path) -> None:
    """Run a notebook and keep its output, without traces of machine or time."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    folder = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, record_timing=False, resources=folder).execute()
    notebook.metadata["language_info"] = {"name": "python"}
    nbformat.write(notebook, path)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    PAGE.write_text(features_page(), encoding="utf-8")
    FINDINGS.write_text(findings_page(), encoding="utf-8")
    SCHEMA.write_text(schema_text(), encoding="utf-8")
    GATES_SCHEMA.write_text(gates_schema_text(), encoding="utf-8")
    for notebook_path in NOTEBOOKS:
        run_notebook(notebook_path)
