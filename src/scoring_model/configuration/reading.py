"""From YAML to frozen settings: every problem at once, unknown keys refused with the nearest name."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import yaml
from pydantic import TypeAdapter, ValidationError

T = TypeVar("T")


class ConfigurationError(ValueError):
    """A configuration that can't be read.

    Attributes
    ----------
    problems : tuple of str
        Each names the key and the rule.
    """

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__(
            "the configuration is refused:\n" + "\n".join(f"- {problem}" for problem in problems)
        )
        self.problems = problems


def read_yaml(path: Path) -> object:
    """Read one YAML file as plain values.

    Raises
    ------
    ConfigurationError
        If it is not YAML, or holds a key twice.
    """
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except yaml.YAMLError as error:
        raise ConfigurationError((f"{path.name}: {' '.join(str(error).split())}",)) from error


def read_settings(kind: type[T], plain: object) -> T:
    """Make frozen settings of plain values.

    Parameters
    ----------
    kind : type
        A dataclass, whose fields may be dataclasses and mappings of them.
    plain : object
        What a YAML or JSON file holds.

    Returns
    -------
    instance of `kind`

    Raises
    ------
    ConfigurationError
        With all problems.
    """
    unknown = tuple(_unknown_keys(kind, plain, ""))
    try:
        settings = TypeAdapter(kind).validate_python({} if plain is None else plain)
    except ValidationError as error:
        found = (f"{_where(e['loc'])}: {e['msg'].removeprefix('Value error, ')}" for e in error.errors())
        raise ConfigurationError((*unknown, *found)) from error
    if unknown:
        raise ConfigurationError(unknown)
    return settings


def _where(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location)) or "the whole"


def _unknown_keys(kind: Any, plain: object, where: str) -> Iterator[str]:
    if not isinstance(plain, Mapping):
        return
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        known = {f.name: hints[f.name] for f in fields(kind) if f.init}
        for key, value in plain.items():
            if key in known:
                yield from _unknown_keys(known[key], value, f"{where}{key}.")
            else:
                near = get_close_matches(str(key), known, n=1)
                hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(known)}"
                yield f"{where}{key}: unknown key{hint}"
    elif get_origin(kind) is not None and get_args(kind) and issubclass(get_origin(kind), Mapping):
        for key, value in plain.items():
            yield from _unknown_keys(get_args(kind)[1], value, f"{where}{key}.")


class _Loader(yaml.SafeLoader):
    """YAML in which a key can stand once only, and dates and times stay text."""


def _mapping_once(loader: _Loader, node: yaml.MappingNode) -> dict[object, object]:
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    twice = sorted({str(key) for key in keys if keys.count(key) > 1})
    if twice:
        raise yaml.constructor.ConstructorError(
            None, None, f"keys stand twice: {', '.join(twice)}", node.start_mark
        )
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping_once)
_Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda _, node: str(node.value))
