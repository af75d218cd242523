"""Reads YAML into frozen settings; reports all violations together, unknown keys with the nearest known name.

Decision record: docs/adr/0002-settings-and-violations.md.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, fields, is_dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from scoring_model.contract.violation import Invalid, Violation, pointer
from scoring_model.records.near_misses import did_you_mean

T = TypeVar("T")
DEPTH: Final = 100
"""Maximum depth of nesting of a file."""

MOST_VIOLATIONS: Final = 100
"""Maximum number of violations that an error describes; it counts the rest."""


NO_TEXT: Final = "must be text: put quotes around what YAML reads as something else, such as 2024, no or null"


class ConfigurationError(Invalid):
    """A configuration breaks rules.

    Parameters
    ----------
    violations : sequence of Violation or str
        Only the first `MOST_VIOLATIONS` are kept. A text is a violation of the whole configuration.
    omitted : int
        Number of further violations.
    """

    def __init__(self, violations: Sequence[Violation | str], *, omitted: int = 0) -> None:
        super().__init__(
            Violation("", "invalid", found) if isinstance(found, str) else found
            for found in violations[:MOST_VIOLATIONS]
        )
        self.omitted = omitted + len(violations[MOST_VIOLATIONS:])

    def __str__(self) -> str:
        lines = self.lines
        listed = f" {lines[0]}" if len(lines) == 1 else "".join(f"\n- {line}" for line in lines)
        return f"the configuration is refused:{listed}"


def read_yaml(path: Path) -> object:
    """Read one YAML file as plain values.

    Raises
    ------
    ConfigurationError
        If it is not YAML, is nested deeper than `DEPTH`, or has a duplicate key.
    """
    import yaml

    from scoring_model.configuration.loader import Loader

    try:
        text = path.read_text(encoding="utf-8")
        depth = 0
        # Loading recurses, in C too; events do not.
        for event in yaml.parse(text, Loader=Loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEPTH:
                detail = f"{path.name}: is nested deeper than {DEPTH} levels"
                raise ConfigurationError([Violation("", "not_yaml", detail)])
        return yaml.load(text, Loader=Loader)
    except yaml.YAMLError as error:
        detail = f"{path.name}: {' '.join(str(error).split())}"
        raise ConfigurationError([Violation("", "not_yaml", detail)]) from error


def read_settings(kind: type[T], plain: object) -> T:
    """Convert plain values to frozen settings.

    Parameters
    ----------
    kind : type
        A dataclass; its fields may be dataclasses or mappings of them.
    plain : object
        Contents of a YAML or JSON file.

    Raises
    ------
    ConfigurationError
        With the first `MOST_VIOLATIONS` violations and the number of the others.
    """
    of_keys: list[UnknownKey | Violation] = []
    known = _with_known_keys(kind, {} if plain is None else plain, (), of_keys)
    try:
        settings = TypeAdapter(kind).validate_python(known)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        found = [violation for item in errors for violation in _violations(item)]
        raise _limited([*of_keys, *found]) from error
    if of_keys:
        raise _limited(of_keys)
    return settings


def _violations(item: ErrorDetails) -> Iterator[Violation]:
    """Translate an error of the validator; settings with checks of their own raise `Invalid`."""
    raised = item.get("ctx", {}).get("error")
    if isinstance(raised, Invalid):
        yield from (violation.within(*item["loc"]) for violation in raised.violations)
    else:
        detail = str(raised) if isinstance(raised, ValueError) else item["msg"]
        if item["type"] == "string_type":
            detail = NO_TEXT
        yield Violation(pointer(*item["loc"]), item["type"], detail)


class UnknownKey(NamedTuple):
    """A key that a section does not have."""

    section: tuple[str, ...]
    key: str
    known: tuple[str, ...]

    def violation(self) -> Violation:
        """Name the nearest known key."""
        hint = did_you_mean(self.key, self.known, otherwise=f"; known are {', '.join(self.known)}")
        return Violation(pointer(*self.section, self.key), "unknown_key", f"unknown key{hint}")


def _limited(found: Sequence[UnknownKey | Violation]) -> ConfigurationError:
    """Describe only the violations that are kept, since finding the nearest name of a key is slow."""
    kept = [item.violation() if isinstance(item, UnknownKey) else item for item in found[:MOST_VIOLATIONS]]
    return ConfigurationError(kept, omitted=len(found) - len(kept))


def _with_known_keys(
    kind: Any, plain: object, where: tuple[str, ...], found: list[UnknownKey | Violation]
) -> object:
    """Remove unknown keys and report them."""
    if isinstance(plain, list) and get_origin(kind) is tuple:
        return [
            _with_known_keys(get_args(kind)[0], item, (*where, str(i)), found) for i, item in enumerate(plain)
        ]
    if not isinstance(plain, Mapping):
        return plain
    settings, part = _fields(kind), _parts(kind)
    known = tuple(f.name for f in settings)
    result: dict[object, object] = {}
    for key, value in plain.items():
        if not isinstance(key, str):
            found.append(Violation(pointer(*where, str(key)), "string_type", NO_TEXT))
            continue
        if settings and key not in known:
            found.append(UnknownKey(where, key, known))
        else:
            result[key] = _with_known_keys(part(key), value, (*where, key), found)
    return result


def _fields(kind: Any) -> Sequence[Field[Any]]:
    return [f for f in fields(kind) if f.init] if is_dataclass(kind) else ()


def _parts(kind: Any) -> Callable[[object], Any]:
    """Return a function from a key to the type of its value; it returns None for types without keys."""
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return lambda key: hints.get(str(key))
    if get_origin(kind) is not None and get_args(kind) and issubclass(get_origin(kind), Mapping):
        return lambda _key: get_args(kind)[1]
    return lambda _key: None
