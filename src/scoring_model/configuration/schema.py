"""Configurations and gates as JSON Schemas, for completion and checks in editors."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from scoring_model.configuration.configuration import Configuration
from scoring_model.configuration.gates import GateSettings
from scoring_model.records import format_duration
from scoring_model.records.times import DURATION_PATTERN

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def configuration_schema(meanings: Mapping[str, str]) -> dict[str, Any]:
    """Return the schema of a configuration, derived from the types that read one.

    It covers keys, types and choices. Only the reader checks ranges and rules that involve several keys.

    Parameters
    ----------
    meanings : mapping of str to str
        Meaning of each dotted key, such as ``training.seed``; entries of a map have keys such as ``links.keys.*``.

    Returns
    -------
    dict
        JSON Schema, draft 2020-12, in which unknown keys are errors.
    """
    plain = TypeAdapter(Configuration).json_schema()
    return _whole("Configuration of one use", plain, meanings)


def gates_schema(meanings: Mapping[str, str]) -> dict[str, Any]:
    """Return the schema of a file of gates, as `configuration_schema` does for configurations."""
    return _whole("Gates of a use", TypeAdapter(GateSettings).json_schema(), meanings)


def _whole(title: str, plain: dict[str, Any], meanings: Mapping[str, str]) -> dict[str, Any]:
    definitions: dict[str, Any] = plain.pop("$defs")
    whole = {"$schema": DIALECT, "title": title, **_object(plain), "$defs": definitions}
    for name, definition in definitions.items():
        definitions[name] = _object(definition)
    for key, value in _keys(whole, definitions, ""):
        if key in meanings:
            value["description"] = meanings[key]
    return whole


def _object(plain: dict[str, Any]) -> dict[str, Any]:
    """Close one level of the configuration to unknown keys, and drop its redundant titles."""
    if "properties" not in plain:
        return {key: value for key, value in plain.items() if key != "title"}
    kept = {key: value for key, value in plain.items() if key not in ("title", "description")}
    properties = {name: _property(value) for name, value in kept["properties"].items()}
    return {**kept, "properties": properties, "additionalProperties": False}


def _property(plain: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in plain.items() if key != "title"}
    if DURATION_PATTERN in str(plain) and plain.get("default") is not None:
        given = kept["default"]
        kept["default"] = list(map(format_duration, given)) if isinstance(given, list) else _written(given)
    return kept


def _written(default: float) -> float | str:
    """Write a default as in a file: a whole number is a duration, a float a share of time."""
    return format_duration(default) if isinstance(default, int) else default


def _keys(
    plain: Mapping[str, Any], definitions: Mapping[str, Any], prefix: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every dotted key of the configuration with the schema of its value."""
    for name, value in plain.get("properties", {}).items():
        yield f"{prefix}{name}", value
        for part in (value, *value.get("anyOf", ())):
            yield from _keys(_resolved(part, definitions), definitions, f"{prefix}{name}.")
    entries = plain.get("additionalProperties")
    if isinstance(entries, dict):
        yield f"{prefix}*", entries
        for part in (entries, *entries.get("anyOf", ())):
            yield from _keys(_resolved(part, definitions), definitions, f"{prefix}*.")


def _resolved(plain: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = plain.get("$ref")
    found: Mapping[str, Any] = plain if reference is None else definitions[reference.rpartition("/")[2]]
    return found
