"""Files of lists, which are priced by a what-if and then imported."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scoring_model.configuration.reading import read_yaml
from scoring_model.contract.operator_list import NAME
from scoring_model.contract.outcome import Outcome
from scoring_model.contract.violation import Invalid, Violation
from scoring_model.decision.document import check_document, each, fields, must_be, one_of
from scoring_model.history import LinkKey
from scoring_model.records.times import end_of, is_end
from scoring_model.service.operator_lists.changes import ACTIONS, MOST_LISTS
from scoring_model.service.operator_lists.values import (
    ValueHasher,
    chosen_key,
    hash_values,
    read_lines,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileList:
    """A list of a file.

    Parameters
    ----------
    key : str
        Name of its link key.
    until : int or None
        Microseconds since 1970-01-01 UTC.
    values : sequence of tuple of (int, object)
        Place and value, as for `hash_values`.
    source : str
        Where they stand, for errors.
    """

    name: str
    key: str
    outcome: Outcome
    until: int | None
    values: Sequence[tuple[int, object]] = field(repr=False)
    source: str

    def hashed(self, hasher: ValueHasher) -> dict[bytes, object]:
        """Hash the values.

        Raises
        ------
        RowsRefused
            With the first violations by place, from 0, and the number of others.
        """
        return hash_values(self.values, self.source, hasher)


def read_lists(path: Path) -> tuple[FileList, ...]:
    """Read lists from YAML: ``lists``, each with ``name``, ``key``, ``action``, ``values`` and perhaps ``until``.

    ``values`` are a list, or the name of a file beside this one with a value in each line.

    Raises
    ------
    ConfigurationError
        If the file is not YAML.
    DocumentError, Invalid
        With all violations of the form.
    OSError
        If a file of values can't be read.
    """
    listed = check_document(path.name, read_yaml(path), _FORM)["lists"]
    if violations := list(_repeated(listed)):
        raise Invalid(violations, path.name)
    found = []
    for plain in listed:
        given, source = plain["values"], f"{path.name}: {plain['name']}"
        values = list(enumerate(given))
        if isinstance(given, str):
            beside = path.parent / given
            with beside.open(encoding="utf-8-sig") as lines:
                values, source = read_lines(lines, beside.name), beside.name
        until = plain.get("until")
        found.append(
            FileList(
                name=plain["name"],
                key=plain["key"],
                outcome=ACTIONS[plain["action"]],
                until=None if until is None else end_of(until),
                values=values,
                source=source,
            )
        )
    return tuple(found)


def keys_of(lists: Sequence[FileList], keys: Collection[LinkKey]) -> dict[str, LinkKey]:
    """Return the link keys of lists by name; raises `Invalid` with each list whose key the history has not."""
    found, broken = {}, []
    for place, one in enumerate(lists):
        try:
            found[one.key] = chosen_key(keys, one.key)
        except Invalid as error:
            broken += [violation.within("lists", place) for violation in error.violations]
    if broken:
        raise Invalid(broken)
    return found


def _repeated(listed: Sequence[Mapping[str, object]]) -> Iterator[Violation]:
    seen = set()
    if len(listed) > MOST_LISTS:
        yield Violation("/lists", "too_many", f"must be at most {MOST_LISTS} lists, got {len(listed)}")
    for place, plain in enumerate(listed):
        if plain["name"] in seen:
            yield Violation("/name", "repeated", "stands twice").within("lists", place)
        seen.add(plain["name"])


_TEXT: Final = must_be("text", lambda value: isinstance(value, str) and bool(value.strip()))
_FORM: Final = fields(
    {
        "lists": each(
            fields(
                {
                    "name": must_be(
                        "1 to 64 letters, digits, hyphens and underscores",
                        lambda value: isinstance(value, str) and NAME.fullmatch(value) is not None,
                    ),
                    "key": _TEXT,
                    "action": one_of(*ACTIONS),
                    "values": must_be(
                        "a list of values, or the name of a file",
                        lambda value: isinstance(value, list | str) and len(value) > 0,
                    ),
                },
                optional={"until": must_be("a day such as 2027-01-31, or a time of RFC 3339", is_end)},
            ),
            least=1,
        )
    }
)
