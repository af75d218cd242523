"""From YAML to frozen settings: every problem at once, unknown keys refused with the nearest name."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import yaml
from pydantic import TypeAdapter, ValidationError

from scoring_model.records.near_misses import near_misses

try:
    from yaml import CSafeLoader as SafeLoader  # reads a large file in a fifth of the time
except ImportError:  # PyYAML was built without libyaml
    from yaml import SafeLoader  # type: ignore[assignment]

T = TypeVar("T")
MOST_PROBLEMS: Final = 100
"""How many problems an error describes. It counts the others."""


class ConfigurationError(ValueError):
    """A configuration that can't be read.

    Parameters
    ----------
    problems : sequence of object
        The text of each names the key and the rule. Only the first `MOST_PROBLEMS` are kept, as text.
    omitted : int
        How many problems there are besides.

    Attributes
    ----------
    problems : tuple of str
    omitted : int
    """

    def __init__(self, problems: Sequence[object], *, omitted: int = 0) -> None:
        self.problems = tuple(map(str, problems[:MOST_PROBLEMS]))
        self.omitted = omitted + len(problems[MOST_PROBLEMS:])
        lines = [*self.problems, *([f"and {self.omitted} more"] if self.omitted else [])]
        super().__init__("the configuration is refused:\n" + "\n".join(f"- {line}" for line in lines))


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
        With the first `MOST_PROBLEMS` problems and the number of the others.
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


class _UnknownKey(NamedTuple):
    """A key that a section does not have; `where` is the section with a dot, or empty.

    Its text is made when it is shown: finding the nearest name takes most of the time.
    """

    where: str
    key: str
    known: tuple[str, ...]

    def __str__(self) -> str:
        near = near_misses(self.key, self.known)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(self.known)}"
        return f"{self.where}{self.key}: unknown key; {hint}"


def _unknown_keys(kind: Any, plain: object, where: str) -> Iterator[_UnknownKey]:
    if not isinstance(plain, Mapping):
        return
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        known = {f.name: hints[f.name] for f in fields(kind) if f.init}
        for key, value in plain.items():
            if key in known:
                yield from _unknown_keys(known[key], value, f"{where}{key}.")
            else:
                yield _UnknownKey(where, str(key), tuple(known))
    elif get_origin(kind) is not None and get_args(kind) and issubclass(get_origin(kind), Mapping):
        for key, value in plain.items():
            yield from _unknown_keys(get_args(kind)[1], value, f"{where}{key}.")


class _Loader(SafeLoader):
    """YAML in which a key can stand once only, and dates and times stay text."""


def _mapping_once(loader: _Loader, node: yaml.MappingNode) -> dict[object, object]:
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    mapping = loader.construct_mapping(node, deep=True)  # refuses keys that can't be hashed
    twice = sorted(str(key) for key, count in Counter(keys).items() if count > 1)
    if twice:
        raise yaml.constructor.ConstructorError(
            None, None, f"keys stand twice: {', '.join(twice[:MOST_PROBLEMS])}", node.start_mark
        )
    return mapping


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping_once)
_Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda _, node: str(node.value))
