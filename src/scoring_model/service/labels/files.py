"""Files of labels, for the command of operators."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from scoring_model.contract.label import IDENTIFIERS, LABELS
from scoring_model.contract.rules import REFERENCE_LENGTH, Rule, RuleError, definite_text
from scoring_model.contract.violation import Violation
from scoring_model.records import cells
from scoring_model.records.record import instant
from scoring_model.service.core.row_files import Cells, RowFile, identifier, values_of
from scoring_model.service.labels.imports import LabelLine


def check_labels(path: Path, *, at: int) -> bool:
    """Check a label file; returns True if it names imported records. Arguments are those of `read_labels`.

    Raises
    ------
    RowsRefused
        With the first `MOST_ERRORS` violations, and the number of others.
    """
    return sum(line.record_id is not None for line in _file(at).check(path)) > 0


def read_labels(path: Path, *, at: int) -> Iterator[LabelLine]:
    """Read a label file row by row; see `RowFile.read`. Other columns are ignored.

    Parameters
    ----------
    at : int
        The current time, microseconds since 1970-01-01 UTC. A label known later is an error.
    """
    return _file(at).read(path)


def _file(at: int) -> RowFile[LabelLine]:
    needed = (("label",), ("knownAt",), IDENTIFIERS)
    return RowFile(noun="labels", needed=needed, parse=partial(_line, at=at))


def _line(row: Cells, at: int) -> LabelLine | list[Violation]:
    values, violations = values_of(row, _PARSERS)
    named = sum(cells.plain(row.get(name)) is not None for name in IDENTIFIERS)
    if named != 1:
        detail = f"must have exactly one of {', '.join(IDENTIFIERS)}, got {named}"
        violations.append(Violation("", "one_identifier", detail))
    known_at = values.get("knownAt")
    if isinstance(known_at, int) and known_at > at:
        violations.append(Violation("/knownAt", Rule.IN_FUTURE.value, "must not be later than now"))
    return violations or LabelLine(**{_NAMES[name]: value for name, value in values.items()})  # type: ignore[arg-type]


def _record_id(value: object) -> str | None:
    # Text as the import of a history reads it, where a table may hold numbers.
    return definite_text(cells.text(value), limit=REFERENCE_LENGTH)


def _label(value: object) -> str:
    text = value.strip().lower() if isinstance(value, str) else value
    if text is None:
        raise RuleError(Rule.MISSING, "must be there")
    if text not in LABELS:
        raise RuleError(Rule.NOT_LISTED, f"must be one of {', '.join(LABELS)}")
    return str(text)


def _known_at(value: object) -> int:
    found = instant(value)
    if found is None:
        raise RuleError(Rule.MISSING, "must be there")
    return found


_PARSERS: Final[Mapping[str, Callable[[object], object]]] = {
    "verificationId": identifier,
    "identityId": identifier,
    "recordId": _record_id,
    "label": _label,
    "knownAt": _known_at,
}

_NAMES: Final = {
    "verificationId": "verification_id",
    "identityId": "identity_id",
    "recordId": "record_id",
    "label": "label",
    "knownAt": "known_at",
}
