"""The page of the names that a program may import, from their signatures and docstrings."""

import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import griffe

PAGE: Final = Path(__file__).parents[1] / "docs" / "api.md"

NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "Train and decide": {
        "scoring_model": "train load_configuration Scorer Bundle change_policy",
        "scoring_model.scorer": "Decision Decisions Explanation Reason",
        "scoring_model.batch.dataset": "score_dataset",
    },
    "Measure": {
        "scoring_model": "evaluate compare monitor backtest",
        "scoring_model.evaluation": "Evaluation Comparison check_gates paired_differences",
        "scoring_model.evaluation.estimator": "BundleClassifier",
        "scoring_model.monitoring": "Monitoring",
        "scoring_model.configuration": "load_gates",
    },
    "Call the service": {
        "scoring_model.client": "Client AsyncClient RetryPolicy Address Identity Verification Label Webhook "
        "verify_webhook ScoringError ApiError Invalid Conflict NotFound RateLimited Unavailable TransportError "
        "StillPending InvalidWebhook",
    },
}
"""Everything else may change in any version. Methods of the client are in docs/client.md."""


@cache
def _visited(module: str) -> griffe.Module:
    """Read the definitions of a module without running it."""
    path = Path(inspect.getfile(import_module(module)))
    return griffe.visit(module, filepath=path, code=path.read_text(encoding="utf-8"))


def api_page() -> str:
    """Return the up-to-date page: its introduction, which is written by hand, and a section for each name."""
    parts = [PAGE.read_text(encoding="utf-8").partition("\n## ")[0].strip()]
    for title, modules in NAMES.items():
        parts.append(f"## {title}")
        for module, names in modules.items():
            for name in names.split():
                parts += _entry(module, name)
    return "\n\n".join(parts) + "\n"


def _entry(module: str, name: str) -> Iterator[str]:
    found: Any = getattr(import_module(module), name)
    yield f"### {name}"
    yield _code(f"from {module} import {name}")
    yield from _described(_visited(found.__module__)[found.__qualname__], name)
    if inspect.isclass(found):
        classes = [one for one in found.__mro__ if one.__module__.startswith("scoring_model.")]
        described = [_visited(one.__module__)[one.__qualname__] for one in reversed(classes)]
        members = {key: one for owner in described for key, one in owner.members.items() if key[0] != "_"}
        lines = [_member(one) for one in members.values() if one.docstring or one.is_function]
        yield from ["\n".join(lines)] if lines else []


def _described(found: Any, name: str) -> Iterator[str]:
    """Yield its signature, and the sections of its docstring in the style of numpydoc."""
    if found.is_function or "__init__" in found.members:
        yield _code(_signature(found, name))
    for section in found.docstring.parse("numpy", warnings=False) if found.docstring else ():
        kind = section.kind.value
        if kind == "text":
            yield _plain(section.value)
        elif kind == "examples":
            yield _code("\n".join(text for _, text in section.value))
        else:
            yield f"*{kind.capitalize()}*"
            yield "\n".join(_item(one) for one in section.value)


def _signature(found: Any, name: str) -> str:
    """Write the signature, a parameter on a line if it is long."""
    text = str(found.signature(name=name)).replace("(self, ", "(").replace("(cls, ", "(")
    text = text.replace("(self)", "()").replace("(cls)", "()")
    if len(text) <= 100:
        return text
    inner = ",\n    ".join(
        re.split(r", (?=[\w*]+(?:[:,=]|$|\)))", text[text.index("(") + 1 : text.rindex(")")])
    )
    return f"{text[: text.index('(')]}(\n    {inner},\n{text[text.rindex(')') :]}"


def _member(one: Any) -> str:
    first = _plain(one.docstring.value.partition("\n\n")[0]) if one.docstring else ""
    signature = one.name if one.is_attribute else _signature(one, one.name)
    line = re.sub(r"\n *", " ", signature.replace(",\n)", ")")).replace("( ", "(")
    label = f"`{line}`"
    return f"- {label}: {first}" if first else f"- {label}"


def _item(one: Any) -> str:
    name = getattr(one, "name", "") or ""
    kind = str(one.annotation) if one.annotation is not None else ""
    label = " : ".join(f"`{part}`" for part in (name, kind) if part)
    return f"- {label}: {_plain(one.description)}" if one.description else f"- {label}"


def _plain(text: str) -> str:
    """Write a docstring's text as Markdown: its code in single backticks, its paragraphs kept."""
    parts = re.split(r"\n(?=- )|\n\n", text.replace("``", "`"))
    paragraphs = [" ".join(part.split()) for part in parts]
    return "\n\n".join(re.sub(r"\bdocs/([\w-]+\.md)", r"[\1](\1)", part) for part in paragraphs)


def _code(text: str) -> str:
    return f"```python\n{text}\n```"


if __name__ == "__main__":
    PAGE.write_text(api_page(), encoding="utf-8")
