"""What a use's configuration says of its features."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, get_args

from scoring_model.history import PERSON, Amount, LinkKey, WindowSpec
from scoring_model.records import Duration, SignalType

COMPARABLE_FIELDS = ("address.city", "address.country", "address.region", "citizenship", "documentType")
"""Fields that a signal may be compared with."""

_TITLE = re.compile(r"[^\W_][\w -]{0,58}[^\W_]")

FamilyName = Literal["names", "dates", "documents", "addresses", "images", "signals"]
FAMILIES: tuple[FamilyName, ...] = get_args(FamilyName)
"""Families of features of the record, in the order of their columns."""

HOUR = 3_600_000_000
DAY = 24 * HOUR


class Trend(StrEnum):
    """How the risk may move with a numeric signal."""

    FREE = "free"
    INCREASING = "increasing"
    DECREASING = "decreasing"


@dataclass(frozen=True, kw_only=True, slots=True)
class SignalSettings:
    """One signal that the model may use.

    Parameters
    ----------
    type : SignalType
        An identifier is for link keys alone and never a feature.
    trend : Trend
        Of numbers and booleans: the model is held to it.
    protected : str, optional
        The protected attribute that the signal carries, such as ``sex``; as a feature it is off unless named.
    differs_from : str, optional
        A field of text that says the same of a genuine person, such as ``address.country`` for the country of
        the network: whether they differ is a further feature. Of categories only.
    title : str, optional
        What reasons call it, such as ``email age``; by default ``signal`` and its name.
    """

    type: SignalType
    trend: Trend = Trend.FREE
    protected: str | None = None
    differs_from: str | None = None
    title: str | None = None

    def __post_init__(self) -> None:
        problems = []
        if self.title is not None and not _TITLE.fullmatch(self.title):
            problems.append("title must be 2 to 60 letters, digits, blanks or hyphens")
        if self.differs_from is not None and self.type is not SignalType.CATEGORY:
            problems.append(f"differs_from is for categories, not for type {self.type}")
        if self.differs_from is not None and self.differs_from not in COMPARABLE_FIELDS:
            problems.append(f"differs_from must be one of {', '.join(COMPARABLE_FIELDS)}")
        if self.trend is not Trend.FREE and self.type not in (SignalType.NUMBER, SignalType.BOOLEAN):
            problems.append(f"trend is for numbers and booleans, not for type {self.type}")
        if problems:
            raise ValueError("; ".join(problems))


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkSettings:
    """Which values tie records together, over which windows, and what is summed in them.

    Parameters
    ----------
    keys : mapping of str to tuple of str
        Name of a link key to the fields that make it. The key ``person`` is built in and takes no fields: it is
        names and date of birth, else ``subjectId``.
    windows : tuple of int
        Lengths in microseconds, ascending; written as ``24h`` or ``30d``.
    cap : int
        The number of latest records that a window sees.
    amount : Amount, optional
        A signal whose sum and mean over the records that a window sees are features too.

    Raises
    ------
    ValueError
        With every key, window and number that breaks a rule.
    """

    keys: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {PERSON: ()})
    windows: tuple[Duration, ...] = (HOUR, 24 * HOUR, 7 * DAY, 30 * DAY, 90 * DAY)
    cap: int = 256
    amount: Amount | None = None

    def __post_init__(self) -> None:
        problems = [problem for name, parts in self.keys.items() for problem in _key_problems(name, parts)]
        try:
            _ = self.spec
        except ValueError as error:
            problems.append(str(error))
        if problems:
            raise ValueError("; ".join(problems))

    @property
    def spec(self) -> WindowSpec:
        """The law of windows that these settings ask for."""
        return WindowSpec(windows=tuple(self.windows), cap=self.cap, amount=self.amount)

    @property
    def link_keys(self) -> tuple[LinkKey, ...]:
        """The keys in the order of their names."""
        return tuple(LinkKey(name=name, parts=tuple(self.keys[name])) for name in sorted(self.keys))


@dataclass(frozen=True, kw_only=True, slots=True)
class FeatureSettings:
    """Everything that decides which features there are.

    Parameters
    ----------
    signals : mapping of str to SignalSettings
    links : LinkSettings
    families : tuple of str
        Families of features of the record that are used, by default all.
    use_protected : tuple of str
        Protected attributes that features may read after all: ``citizenship``, ``age``, or one that a signal
        carries.
    exclude : tuple of str
        Names of features to leave out.

    Raises
    ------
    ValueError
        If the amount of the links is no signal of numbers.
    """

    signals: Mapping[str, SignalSettings] = field(default_factory=dict)
    links: LinkSettings = field(default_factory=LinkSettings)
    families: tuple[FamilyName, ...] = FAMILIES
    use_protected: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        amount = self.links.amount
        if amount is None:
            return
        if amount.signal not in self.signals:
            raise ValueError(f"links.amount.signal: there is no signal {amount.signal}")
        kind = self.signals[amount.signal].type
        if kind is not SignalType.NUMBER:
            raise ValueError(
                f"links.amount.signal: must be of type number, {amount.signal} is of type {kind}"
            )


def _key_problems(name: str, parts: tuple[str, ...]) -> Iterator[str]:
    if name == PERSON and parts:
        yield f"links.keys.{name}: the person is built in and takes no fields"
    if name != PERSON and not parts:
        yield f"links.keys.{name}: no fields"
    for part in sorted({part for part in parts if parts.count(part) > 1}):
        yield f"links.keys.{name}: {part} stands twice"
    try:
        LinkKey(name=name, parts=tuple(parts))
    except ValueError as error:
        yield f"links.keys: {error}"
