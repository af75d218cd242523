"""The page of the configuration against the types that read one."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import yaml

from scoring_model.configuration import Configuration, CostSettings, read_settings
from scoring_model.features import DEFAULT_FAMILIES, KeySettings, LinkSettings, SignalSettings
from scoring_model.records import SignalType

PAGE: Final = Path(__file__).parents[2] / "docs" / "configuration.md"
PLACEHOLDERS: Final = {
    "links.by_key": "<key>",
    "links.keys": "<key>",
    "signals": "<name>",
    "training.tuned.params": "<parameter>",
}
"""What stands for the keys of mappings whose entries are described one by one."""


def described() -> dict[str, str]:
    """The keys of the page's tables, each with the cell of its default."""
    rows = re.findall(r"^\| `([^`]+)` \| .+? \| (.+?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len({key for key, _ in rows}) == len(rows)
    return dict(rows)


def keys_of(kind: Any, prefix: str = "") -> Iterator[str]:
    """Every key that a type reads, dotted; a part that may be absent is a key of its own."""
    hints = get_type_hints(kind)
    for field in fields(kind):
        yield from _keys_of_value(hints[field.name], f"{prefix}{field.name}")


def _keys_of_value(hint: Any, key: str) -> Iterator[str]:
    if get_origin(hint) in (Union, UnionType):
        nested = [part for part in get_args(hint) if is_dataclass(part)]
        yield key
        for part in nested:
            yield from keys_of(part, f"{key}.")
    elif is_dataclass(hint):
        yield from keys_of(hint, f"{key}.")
    elif key in PLACEHOLDERS:
        yield from _keys_of_value(get_args(hint)[1], f"{key}.{PLACEHOLDERS[key]}")
    else:
        yield key


def nested(flat: Mapping[str, object]) -> dict[str, Any]:
    """Dotted keys as mappings in mappings."""
    found: dict[str, Any] = {}
    for key, value in flat.items():
        *path, leaf = key.split(".")
        inner = found
        for part in path:
            inner = inner.setdefault(part, {})
        inner[leaf] = value
    return found


def test_every_key_is_described_and_nothing_else() -> None:
    """The page names exactly the keys that a configuration may hold."""
    assert sorted(described()) == sorted(keys_of(Configuration))


def test_required_keys_are_marked() -> None:
    """Exactly the keys without which nothing can be read are called required."""
    required = {key for key, default in described().items() if default == "required"}
    assert required == {
        "name",
        "links.amount.decimals",
        "links.amount.signal",
        "policy.control.failed.most_per_day",
        "policy.control.failed.share",
        "policy.control.stepped_up.most_per_day",
        "policy.control.stepped_up.share",
        "policy.costs.fraud_loss",
        "policy.costs.reject_cost",
        "policy.costs.step_up_cost",
        "policy.costs.step_up_effectiveness",
        "signals.<name>.type",
        "training.tuned.params.<parameter>",
        "training.tuned.rounds",
    }


def test_defaults_are_those_of_the_page() -> None:
    """A configuration that spells out every default of the page equals one that leaves them out."""
    defaults = {
        key.replace("<name>", "x").replace("<key>", "person"): (
            list(DEFAULT_FAMILIES)
            if (key, default) == ("features.families", "all but `label_statistics`")
            else yaml.safe_load(default.strip("`"))
        )
        for key, default in described().items()
        if default != "required"
        and not key.startswith(("policy.control.", "policy.costs.", "training.thinning."))
    }
    spelt = read_settings(Configuration, nested({**defaults, "name": "u", "signals.x.type": "number"}))
    assert spelt == Configuration(
        name="u",
        signals={"x": SignalSettings(type=SignalType.NUMBER)},
        links=LinkSettings(by_key={"person": KeySettings()}),
    )
    assert len(defaults) + 19 == len(described())


def test_costs_default_as_the_page_says() -> None:
    """Within costs, which are absent by default, a prevalence that is spelt out as on the page changes nothing."""
    needed = dict.fromkeys(("fraud_loss", "reject_cost", "step_up_cost", "step_up_effectiveness"), 1.0)
    default = yaml.safe_load(described()["policy.costs.prevalence"].strip("`"))
    assert read_settings(CostSettings, {**needed, "prevalence": default}) == CostSettings(**needed)
