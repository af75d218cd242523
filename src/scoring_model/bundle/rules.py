"""What each field of a manifest must be. A rule yields what is wrong, never the value itself."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping

Rule = Callable[[str, object], Iterator[str]]

MANIFEST = "manifest.json"
SIGNATURE = "manifest.sig"

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")  # so neither a path, nor hidden, nor "." or ".."
_SHA256 = re.compile(r"[0-9a-f]{64}")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def problems_of(fields: Mapping[str, object]) -> list[str]:
    """Return everything that is wrong with the fields of a manifest; empty when it is sound."""
    return list(_record(FIELDS)("", fields))


def shape_of(value: object) -> str:
    """Describe a value without repeating it: ``text of 3 characters``, ``a list of 2``, ``null``."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return f"text of {len(value)} characters"
        case Mapping():
            return f"an object of {len(value)}"
        case list() | tuple():
            return f"a list of {len(value)}"
        case _:
            return type(value).__name__


def _matching(pattern: re.Pattern[str], description: str) -> Rule:
    def rule(field: str, value: object) -> Iterator[str]:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            yield f"{field}: must be {description}, got {shape_of(value)}"

    return rule


def _count(field: str, value: object) -> Iterator[str]:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        yield f"{field}: must be an integer of at least 0, got {shape_of(value)}"


def _scalar(field: str, value: object) -> Iterator[str]:
    finite = math.isfinite(value) if isinstance(value, float) else True
    if not finite or not (value is None or isinstance(value, bool | int | float | str)):
        yield f"{field}: must be null, a boolean, a finite number or text, got {shape_of(value)}"


def _record(required: Mapping[str, Rule], others: Rule | None = None) -> Rule:
    """Return the rule of an object with these fields, and with others only where a rule for them is given."""

    def rule(field: str, value: object) -> Iterator[str]:
        if not isinstance(value, Mapping):
            yield f"{field}: must be an object, got {shape_of(value)}"
            return
        prefix = f"{field}." if field else ""
        for name in sorted(required.keys() - value.keys()):
            yield f"{prefix}{name}: missing"
        for name, item in value.items():
            check = required.get(name, others)
            if check is None:
                yield f"{prefix}{ascii(name)[1:-1]}: unknown"
            else:
                yield from check(prefix + name, item)

    return rule


def _named(names: Rule, items: Rule) -> Rule:
    """Return the rule of an object whose names all follow one rule and whose values all follow another."""

    def rule(field: str, value: object) -> Iterator[str]:
        if not isinstance(value, Mapping):
            yield f"{field}: must be an object, got {shape_of(value)}"
            return
        if not value:
            yield f"{field}: must name at least one"
        for name, item in value.items():
            shown = f"{field}.{ascii(name)[1:-1]}"
            yield from names(f"{shown} (its name)", name)
            yield from items(shown, item)

    return rule


_label = _matching(_LABEL, "1 to 100 letters, digits or ._+- with a letter or digit first")
_sha256 = _matching(_SHA256, "a SHA-256 as 64 lower-case hexadecimal digits")
_instant = _matching(_INSTANT, "an instant such as 2026-01-31T12:00:00.000000Z")
_plain_name = _matching(_FILE_NAME, "1 to 100 letters, digits or ._- with a letter, digit or _ first")


def _file_name(field: str, value: object) -> Iterator[str]:
    yield from _plain_name(field, value)
    if value in (MANIFEST, SIGNATURE):
        yield f"{field}: is kept for the bundle itself"


def _data(field: str, value: object) -> Iterator[str]:
    problems = list(_data_fields(field, value))
    yield from problems
    if not problems and isinstance(value, Mapping) and value["from"] > value["to"]:
        yield f"{field}.from: must not be later than {field}.to"


_data_fields = _record(
    {"sha256": _sha256, "records": _count, "from": _instant, "to": _instant}, others=_scalar
)

FIELDS: Mapping[str, Rule] = {
    "protocol": _count,
    "name": _label,
    "model_version": _label,
    "policy_version": _label,
    "feature_fingerprint": _sha256,
    "data": _data,
    "configuration_sha256": _sha256,
    "libraries": _named(_label, _label),
    "files": _named(_file_name, _record({"sha256": _sha256, "bytes": _count})),
}
