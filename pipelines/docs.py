"""Docs: write pages of features, figures, findings and commands, and schemas of YAML; rerun the notebooks."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import nbformat
import typer
from nbclient import NotebookClient

from scoring_model.bundle import Use, reason_factors
from scoring_model.cli.app import app
from scoring_model.cli.groups import Group
from scoring_model.configuration import load_configuration
from scoring_model.configuration.schema import configuration_schema, gates_schema
from scoring_model.features import FeatureMatrix, FeatureSettings, FittedState, LinkSettings, SignalSettings
from scoring_model.features.reference import read_signals, reference
from scoring_model.features.signal_settings import READ_TYPES
from scoring_model.figures import MEASURED
from scoring_model.findings import CHECKS, Check
from scoring_model.service.core.metrics import METRICS, PREFIX
from scoring_model.service.exposition import GAUGE_LABELS, GAUGES

ROOT: Final = Path(__file__).parents[1]
CONFIGURATION: Final = ROOT / "configs" / "identity.yaml"
PAGE: Final = ROOT / "docs" / "features.md"
KEYS: Final = ROOT / "docs" / "configuration.md"
SCHEMA: Final = ROOT / "configs" / "schema.json"
GATES: Final = ROOT / "docs" / "gates.md"
GATES_SCHEMA: Final = ROOT / "configs" / "gates.schema.json"
FIGURES: Final = ROOT / "docs" / "figures.md"
FINDINGS: Final = ROOT / "docs" / "findings.md"
METRICS_PAGE: Final = ROOT / "docs" / "metrics.md"
COMMANDS: Final = ROOT / "docs" / "commands.md"
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


def _maker(check: Check) -> str:
    """Say what makes a check."""
    return (
        "`labels report`" if check.of_service else "the training" if check.of_training else "the evaluation"
    )


def figures_page() -> str:
    """Return the up-to-date page: its introduction, which is written by hand, and a row for each figure."""
    introduction = FIGURES.read_text(encoding="utf-8").partition("\n| Figure")[0].strip()
    rows = [f"| {one.title} | `{one.key}` | {one.sentence} {one.reading} |" for one in MEASURED.values()]
    table = "\n".join(["| Figure | Name in files | What it says |", "| --- | --- | --- |", *rows])
    return f"{introduction}\n\n{table}\n"


def findings_page() -> str:
    """Return the up-to-date page: its introduction, which is written by hand, and a section for each code."""
    introduction = FINDINGS.read_text(encoding="utf-8").partition("\n## SM")[0].strip()
    sections = [
        f"## {code.value}\n\n**{check.title}.** Severity: {check.severity}. Made by: "
        f"{_maker(check)}.\n\n"
        f"*Why it matters.* {check.why}\n\n*What to do.* {check.action}"
        for code, check in CHECKS.items()
    ]
    return "\n\n".join([introduction, *sections]) + "\n"


def metrics_page() -> str:
    """Return the up-to-date page: its introduction, which is written by hand, and a table of metrics by origin."""
    introduction = METRICS_PAGE.read_text(encoding="utf-8").partition("\n## ")[0].strip()
    counted = [(one.name, one.kind, one.labels, one.about) for one in METRICS]
    read = [(PREFIX + name, "gauge", GAUGE_LABELS.get(name, ()), about) for name, about in GAUGES.items()]
    tables = []
    for title, rows in (("Counted by processes", counted), ("Read from the database", read)):
        lines = [
            f"| `{name}` | {kind} | {', '.join(f'`{label}`' for label in labels)} | {about} |".replace(
                "|  |", "| |"
            )
            for name, kind, labels, about in rows
        ]
        tables += [
            f"## {title}",
            "\n".join(["| Metric | Kind | Labels | Meaning |", "| --- | --- | --- | --- |", *lines]),
        ]
    return "\n\n".join([introduction, *tables]) + "\n"


def commands_page() -> str:
    """Return the up-to-date page: its introduction, which is written by hand, and every command by its group."""
    introduction = COMMANDS.read_text(encoding="utf-8").partition("\n## ")[0].strip()
    program: Any = typer.main.get_command(app)
    sections = [introduction]
    for group in Group:
        members = {name: one for name, one in program.commands.items() if one.rich_help_panel == group}
        sections += [f"## {group}", *(_section(name, one) for name, one in walk(members))]
    return "\n\n".join(sections) + "\n"


def walk(commands: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every command that does something, by its words."""
    for word, command in commands.items():
        if inner := getattr(command, "commands", {}):
            yield from walk(inner, f"{before}{word} ")
        else:
            yield f"{before}{word}", command


def _section(name: str, command: Any) -> str:
    """Describe a command: its usage, its help, and a table of its arguments and options."""
    shown = [one for one in command.params if not getattr(one, "hidden", False) and one.name != "help"]
    arguments = [one for one in shown if one.param_type_name == "argument"]
    options = [one for one in shown if one not in arguments]
    needed = [f"{one.opts[0]} {one.name.upper()}" for one in options if one.required]
    words = ["scoring-model", name, *map(_argument, arguments), *needed]
    words += ["[OPTIONS]"] if len(options) > len(needed) else []
    paragraphs = [" ".join(text.split()) for text in command.help.split("\n\n")]
    cells = [(_name(one), _default(one), _marked(one.help)) for one in (*arguments, *options)]
    rows = [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in cells]
    table = "\n".join(["| Argument or option | Default | Meaning |", "| --- | --- | --- |", *rows])
    usage = f"```\n{' '.join(words)}\n```"
    return "\n\n".join([f"### {name}", usage, *map(_marked, paragraphs), table])


def _argument(one: Any) -> str:
    if one.metavar is not None:
        return str(one.metavar)
    return one.name.upper() if one.required else f"[{one.name.upper()}]"


def _name(one: Any) -> str:
    """Name an argument, or an option with its words, the form of its value if that is stated, and its choices."""
    if one.param_type_name == "argument":
        return f"`{_argument(one)}`"
    choices = one.display_type(None).strip("<>").replace("|", "\\|")
    value = one.metavar or (choices if "|" in choices else "")
    words = [f"{one.opts[0]} {value}".strip(), *one.opts[1:], *one.secondary_opts]
    return ", ".join(f"`{word}`" for word in words)


def _default(one: Any) -> str:
    """Say what holds without the option: a variable of the environment, a value, or that it is required."""
    default = one.default
    if getattr(one, "secondary_opts", ()) and isinstance(default, bool):
        text = "yes" if default else "no"
    else:
        text = "" if default in (None, False, "", ()) else f"`{default}`"
    text = "required" if one.required else text
    variable = f"`{one.envvar}`" if one.envvar else ""
    return ", else ".join(part for part in (variable, text) if part)


def _marked(text: str) -> str:
    """Write help as Markdown: options as code, pages as links, and no other text as markup."""
    parts = text.split("`")
    for place in range(0, len(parts), 2):
        plain = re.sub(r"([<*|\[\]])", r"\\\1", parts[place])
        plain = re.sub(r"\bdocs/([\w-]+\.md)(#[\w-]+)?", r"[\1](\1\2)", plain)
        parts[place] = re.sub(r"(?<![\w-])(--[a-z][a-z-]*)", r"`\1`", plain)
    return "`".join(parts)


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
    FIGURES.write_text(figures_page(), encoding="utf-8")
    FINDINGS.write_text(findings_page(), encoding="utf-8")
    COMMANDS.write_text(commands_page(), encoding="utf-8")
    METRICS_PAGE.write_text(metrics_page(), encoding="utf-8")
    subprocess.run([sys.executable, str(Path(__file__).with_name("api_page.py"))], check=True)
    SCHEMA.write_text(schema_text(), encoding="utf-8")
    GATES_SCHEMA.write_text(gates_schema_text(), encoding="utf-8")
    for notebook_path in NOTEBOOKS:
        run_notebook(notebook_path)
