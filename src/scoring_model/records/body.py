"""A body's nested objects as dotted field names."""

from collections.abc import Mapping
from typing import Final

from scoring_model.contract.rules import Rule
from scoring_model.records.problems import Problem

NESTED: Final = ("address", "signals")


def flatten(body: Mapping[str, object]) -> tuple[dict[str, object], list[Problem]]:
    """Give every value its dotted field name.

    Parameters
    ----------
    body : mapping
        `address` and `signals` are objects, null, or left out for fields of dotted names.

    Returns
    -------
    flat : dict of str to object
        Values by field name.
    problems : list of Problem
        Of parts that are no objects, and of fields that come both nested and dotted.
    """
    flat: dict[str, object] = {}
    problems: list[Problem] = []
    for key, value in body.items():
        if key not in NESTED:
            if key in flat:
                problems.append(_repeated(key))
            flat[key] = value
        elif isinstance(value, Mapping):
            named = {f"{key}.{part}": item for part, item in value.items()}
            problems += map(_repeated, sorted(flat.keys() & named.keys()))
            flat |= named
        elif value is not None:
            detail = f"must be an object, got {type(value).__name__}"
            problems.append(Problem(key, Rule.WRONG_TYPE, detail))
    return flat, problems


def _repeated(field: str) -> Problem:
    return Problem(field, Rule.REPEATED_FIELD, "must come once")
