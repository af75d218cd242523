"""The schema that editors check configurations by says what the reader of configurations says."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from jsonschema_rs import Draft202012Validator, meta

from scoring_model.configuration import Configuration, ConfigurationError, read_settings, read_yaml

CONFIGS: Final = Path(__file__).parents[2] / "configs"
SCHEMA: Final = json.loads((CONFIGS / "schema.json").read_text(encoding="utf-8"))
VALIDATOR: Final = Draft202012Validator(SCHEMA)
USES: Final = ("identity", "signup", "transactions", "duplicates", "names")


def accepts(plain: object) -> tuple[bool, bool]:
    """Whether the schema accepts some plain values, and whether the reader does."""
    try:
        read_settings(Configuration, plain)
    except ConfigurationError:
        return VALIDATOR.is_valid(plain), False
    return VALIDATOR.is_valid(plain), True


def test_the_schema_is_one() -> None:
    """It keeps the rules of its dialect."""
    assert meta.is_valid(SCHEMA)


@pytest.mark.parametrize("use", USES)
def test_committed_configurations_name_the_schema_and_keep_it(use: str) -> None:
    """The first line names the schema for editors, and the rest keeps it."""
    path = CONFIGS / f"{use}.yaml"
    assert path.read_text(encoding="utf-8").startswith("# yaml-language-server: $schema=schema.json\n")
    assert accepts(read_yaml(path)) == (True, True)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "{name: x, trainng: {}}",
        "{name: x, training: {sead: 7}}",
        "{name: x, training: {split: {gap: 3 weeks}}}",
        "{name: x, training: {split: {gap: 3w}}}",
        "{name: x, training: {split: {as_of: soon}}}",
        "{name: x, training: {split: {train: 60 days, validation: 7d, test: 7d}}}",
        "{name: x, training: {leakage_checks: {tolerate: [everything]}}}",
        "{name: x, training: {leakage_checks: {run: perhaps}}}",
        "{name: x, training: {tuned: {rounds: 3}}}",
        "{name: x, training: {tuned: {rounds: 3, params: {num_leaves: many}}}}",
        "{name: x, signals: {a: {}}}",
        "{name: x, signals: {a: {type: real}}}",
        "{name: x, signals: {a: {type: number, trend: up}}}",
        "{name: x, links: {windows: 24h}}",
        "{name: x, links: {keys: {device: signals.deviceId}}}",
        "{name: x, features: {families: [faces]}}",
        "{name: x, policy: {max_step_up: little}}",
    ],
)
def test_what_the_reader_refuses_for_its_shape_the_schema_refuses(text: str) -> None:
    """Absent and unknown keys, wrong types and unlisted choices are refused by both."""
    assert accepts(yaml.safe_load(text)) == (False, False)


@pytest.mark.parametrize(
    "text",
    [
        "{name: x}",
        "{name: x, training: {split: {gap: 0d, burn_in: null, as_of: '2026-01-31'}}}",
        "{name: x, training: {split: {as_of: '2026-01-31T12:00:00Z'}, tuning: {trials: null, budget: 10m}}}",
        "{name: x, training: {split: {train: 60d, validation: 7d, test: 7d}}}",
        "{name: x, training: {split: {test: 0}}}",
        "{name: x, training: {tuned: {rounds: 3, params: {num_leaves: 7, learning_rate: 0.1}}}}",
        "{name: x, training: {leakage_checks: {run: false, tolerate: [future]}}}",
        "{name: x, links: {keys: {person: [], device: [signals.d]}, windows: [30s, 24h]}}",
        "{name: x, policy: {max_false_reject: null}}",
    ],
)
def test_what_the_reader_accepts_the_schema_accepts(text: str) -> None:
    """Durations, instants, maps and switched off bounds are what both accept."""
    assert accepts(yaml.safe_load(text)) == (True, True)


def objects(schema: Any) -> list[dict[str, Any]]:
    """Every level of the schema that has keys."""
    found = [schema, *schema["$defs"].values()]
    return [level for level in found if "properties" in level]


def test_every_level_refuses_unknown_keys() -> None:
    """No level takes a key that it does not name."""
    assert len(objects(SCHEMA)) > 8
    assert all(level["additionalProperties"] is False for level in objects(SCHEMA))


def test_every_value_says_what_it_means() -> None:
    """Each key that holds a value and no further keys carries the sentence of the page."""
    silent = [
        name
        for level in objects(SCHEMA)
        for name, value in level["properties"].items()
        if "description" not in value and "$ref" not in value and "additionalProperties" not in value
    ]
    assert silent == []


def test_defaults_of_durations_are_written_as_people_write_them() -> None:
    """A default is what could stand in the file."""
    defaults = {
        name: value.get("default") for name, value in SCHEMA["$defs"]["SplitSettings"]["properties"].items()
    }
    assert (defaults["label_maturity"], defaults["gap"]) == ("60d", None)
    assert SCHEMA["$defs"]["LinkSettings"]["properties"]["windows"]["default"] == [
        "1h",
        "1d",
        "7d",
        "30d",
        "90d",
    ]
