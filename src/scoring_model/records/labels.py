"""Labels: their spelling, and the time from which they count."""

import re
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scoring_model.arrays import IntArray
from scoring_model.contract.rules import Rule, RuleError, signal_text
from scoring_model.records import cells
from scoring_model.records.letter_case import fold_case, lower_case
from scoring_model.records.schema import ANY, LabelSchema
from scoring_model.records.table import NEVER

FRAUD: Final = 1
GENUINE: Final = 0
UNLABELLED: Final = -1
_WHOLE_NUMBER: Final = re.compile(r"([+-]?\d+)\.0+", re.ASCII)


def label_cell(value: object) -> object | None:
    """Read a label cell: a number as its digits, a boolean as `true` or `false`."""
    read = cells.text(value)
    return str(read).lower() if isinstance(read, bool) else read


def label_rule(schema: LabelSchema, *, contract: bool = False) -> Callable[[object], int | None]:
    """Return the rule of labels.

    Parameters
    ----------
    schema : LabelSchema
        How labels are spelled.
    contract : bool
        Whether `fraud` and `genuine` mean what they say, unless the schema gives them another meaning.

    Returns
    -------
    callable
        Text to 1 (fraud) or 0 (genuine), None where missing or ignored; other text raises `RuleError`.
    """
    meanings: dict[str, int | None] = {"fraud": FRAUD, "genuine": GENUINE} if contract else {}
    meanings |= {_comparable(value): GENUINE for value in schema.genuine}
    meanings |= {_comparable(value): FRAUD for value in schema.fraud}
    meanings |= {_comparable(value): None for value in schema.ignored}
    others = FRAUD if meanings.pop(ANY, None) is not None else None

    def label(value: object) -> int | None:
        text = signal_text(value if others is None or value is None else str(value))
        if text is None:
            return None
        word = _comparable(text)
        if word not in meanings:
            if others is not None:
                return others
            raise RuleError(Rule.NOT_LISTED, f"must be one of {', '.join(sorted(meanings))}")
        return meanings[word]

    return label


def _comparable(text: str) -> str:
    return fold_case(label_spelling(text))


def label_spelling(text: str) -> str:
    """Return a label as a configuration lists it: in lower case, a whole number by its digits."""
    lowered = lower_case(text)
    number = _WHOLE_NUMBER.fullmatch(lowered)  # CSV of a float column
    return number[1] if number else lowered


def label_times(
    labels: NDArray[np.int8], events: IntArray, known: IntArray, reported: IntArray, delay: int | None
) -> IntArray:
    """Return the times from which labels count: the later of known and reported.

    Parameters
    ----------
    labels : ndarray of shape (n,), int8
        -1 where there is none.
    events, known, reported : ndarray of shape (n,), int64
        Microseconds; `NEVER` where missing.
    delay : int or None
        Microseconds from event to known, where `known` is missing.

    Returns
    -------
    ndarray of shape (n,), int64
        Microseconds; `NEVER` without a label, or if the time is unknown.
    """
    assumed = NEVER if delay is None else np.where(events == NEVER, NEVER, events + (events != NEVER) * delay)
    since = np.where(known == NEVER, assumed, known)
    times: IntArray = np.where(reported == NEVER, since, np.maximum(since, reported))
    return np.where(labels == UNLABELLED, NEVER, times)
