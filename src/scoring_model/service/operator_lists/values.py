"""Values of a list: what a person writes, and the hash that links use of it."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, TextIO

from scoring_model.contract.fields import IDENTITY_FIELDS, REFERENCE_FIELDS
from scoring_model.contract.rules import (
    IDENTITY_RULES,
    Rule,
    RuleError,
    any_signal,
    identifier,
    kind_of,
)
from scoring_model.contract.violation import MOST_ERRORS, Invalid, Violation, pointer
from scoring_model.history import PERSON, LinkKey
from scoring_model.history.keys import PERSON_PARTS
from scoring_model.records.near_misses import did_you_mean
from scoring_model.records.record import RowViolation
from scoring_model.service.core.row_files import RowsRefused, lines_of
from scoring_model.service.keys.link_hashes import Linker
from scoring_model.service.keys.secrets import Secrets

MOST_VALUES: Final = 200_000
"""Values of one file."""

_PERSON: Final = (*PERSON_PARTS, "subjectId")
_COLUMN: Final = b"list_entries\0"


def chosen_key(keys: Iterable[LinkKey], name: str) -> LinkKey:
    """Return the link key with a name.

    Raises
    ------
    Invalid
        If the history has none, with the nearest name.
    """
    known = {key.name: key for key in keys}
    if name not in known:
        hint = did_you_mean(
            name, known, otherwise=f"; the history links by {', '.join(known) or 'nothing yet'}"
        )
        raise Invalid([Violation("/key", "unknown_key", f"is no link key of the history{hint}")])
    return known[name]


def fields_of(key: LinkKey) -> tuple[str, ...]:
    """Return the fields that a value of a link key may have."""
    return _PERSON if key.name == PERSON else key.fields


class ValueHasher:
    """Hashes values of one link key.

    Parameters
    ----------
    client : int or None
        Whose references the values hold; None for values without references.
    """

    def __init__(self, secrets: Secrets, key: LinkKey, history_scope: str, client: int | None) -> None:
        self._secrets = secrets
        self._key = key
        self._linker = Linker(secrets, (key,))
        self._scope = history_scope
        self._client = client

    def hash(self, value: object) -> bytes:
        """Hash a value.

        Parameters
        ----------
        value : object
            Text, if the key has one field; else an object of its fields, such as ``{"firstName": "Ann", ...}``.

        Raises
        ------
        Invalid
            With all violations.
        """
        values = self._canonical(value)
        if self._client is None and any(name in REFERENCE_FIELDS for name in values):
            detail = "is a client's own reference: say of which client"
            raise Invalid([Violation("", "reference", detail)])
        found = dict(self._linker.link(self._scope, self._client or 0, values).hashes).get(self._key.name)
        if found is None:
            detail = f"leaves nothing to link by: {self._key.name} needs {', '.join(fields_of(self._key))}"
            raise Invalid([Violation("", Rule.BLANK, detail)])
        return found

    def seal(self, hash_: bytes, value: object) -> bytes:
        """Encrypt a value for `open`."""
        return self._secrets.seal(_COLUMN + hash_, json.dumps(value).encode())

    def open(self, hash_: bytes, sealed: bytes) -> object:
        """Decrypt a value, whose hash may be that of another history scope than its own."""
        return json.loads(self._secrets.open(_COLUMN + hash_, sealed))

    def _canonical(self, value: object) -> dict[str, object]:
        known = fields_of(self._key)
        if not isinstance(value, Mapping):
            if len(known) > 1 or not isinstance(value, str):
                wanted = f"an object of {', '.join(known)}" if len(known) > 1 else "text, or an object"
                detail = f"must be {wanted}, got {kind_of(value)}"
                raise Invalid([Violation("", Rule.WRONG_TYPE, detail)])
            value = {known[0]: value}
        found: dict[str, object] = {}
        broken: list[Violation] = []
        for name, given in value.items():
            if name not in known:
                hint = did_you_mean(str(name), known, otherwise=f"; known are {', '.join(known)}")
                broken.append(Violation("", Rule.UNKNOWN_FIELD, f"has an unknown field{hint}"))
                continue
            try:
                checked = _checked(name, given)
            except RuleError as error:
                place = pointer(name) if len(known) > 1 else ""
                broken.append(Violation(place, error.type, error.message()))
            else:
                if checked is not None:
                    found[name] = checked
        if broken:
            raise Invalid(broken[:MOST_ERRORS], omitted=len(broken[MOST_ERRORS:]))
        return found


def _checked(name: str, value: object) -> object | None:
    """Return the canonical value of a field; a signal is text, or what JSON has."""
    if name not in IDENTITY_FIELDS:
        return identifier(value) if isinstance(value, str) else any_signal(value)
    return IDENTITY_RULES[name]([value] if name == "imageUrls" else value)


def read_lines(source: TextIO, name: str) -> list[tuple[int, object]]:
    """Read the values of a file, one a line; blank lines are skipped.

    Returns
    -------
    list of tuple of (int, object)
        Number of the line, from 0, and its text, for `hash_values`.

    Raises
    ------
    Invalid
        If it has more than `MOST_VALUES` lines, or no value.
    ValueError
        If it has another encoding, or too long a line.
    """
    found: list[tuple[int, object]] = []
    try:
        for number, line in enumerate(lines_of(source, name)):
            if number >= MOST_VALUES:
                raise Invalid(
                    [Violation("", Rule.TOO_MANY, f"must hold at most {MOST_VALUES:,} lines")], name
                )
            if line.strip():
                found.append((number, line.strip()))
    except UnicodeDecodeError:
        raise ValueError(f"{name}: a file of values must be UTF-8") from None
    if not found:
        raise Invalid([Violation("", Rule.MISSING, "must hold a value")], name)
    return found


def hash_values(values: Iterable[tuple[int, object]], name: str, hasher: ValueHasher) -> dict[bytes, object]:
    """Hash values.

    Parameters
    ----------
    values : iterable of tuple of (int, object)
        Place and value, as for `ValueHasher.hash`, or a JSON object as text.
    name : str
        Where they stand, for errors.

    Returns
    -------
    dict of bytes to object
        Values by hash, in order.

    Raises
    ------
    RowsRefused
        With the first violations by place, and the number of others.
    """
    found: dict[bytes, object] = {}
    broken: list[RowViolation] = []
    omitted = 0
    for place, given in values:
        try:
            value = _read(given) if isinstance(given, str) else given
            found[hasher.hash(value)] = value
        except Invalid as error:
            left = MOST_ERRORS - len(broken)
            broken += [RowViolation(place, one) for one in error.violations[:left]]
            omitted += len(error.violations[left:]) + error.omitted
    if broken:
        raise RowsRefused(Path(name), "values", broken, omitted)
    return found


def _read(text: str) -> object:
    if not text.startswith("{"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Invalid([Violation("", Rule.MALFORMED_ROW, "must be text or a JSON object")]) from None
