"""The settings of the features of one use."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, get_args

from scoring_model.contract.violation import Invalid, Violation, check_fields
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
    """Monotone direction of the risk in a numeric signal."""

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
        A text field with the same value for a genuine person, such as ``address.country`` for the country of
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
        compared, has_trend = self.differs_from is not None, self.trend is not Trend.FREE
        titled = self.title is None or _TITLE.fullmatch(self.title) is not None
        check_fields(
            self,
            ("title", "2 to 60 letters, digits, blanks or hyphens", titled),
            (
                "differs_from",
                f"absent for type {self.type}: it is for categories",
                not compared or self.type is SignalType.CATEGORY,
            ),
            (
                "differs_from",
                f"one of {', '.join(COMPARABLE_FIELDS)}",
                not compared or self.differs_from in COMPARABLE_FIELDS,
            ),
            (
                "trend",
                f"free for type {self.type}: others are for numbers and booleans",
                not has_trend or self.type in (SignalType.NUMBER, SignalType.BOOLEAN),
            ),
        )


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
    Invalid
        With every key, window and number that breaks a rule.
    """

    keys: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {PERSON: ()})
    windows: tuple[Duration, ...] = (HOUR, 24 * HOUR, 7 * DAY, 30 * DAY, 90 * DAY)
    cap: int = 256
    amount: Amount | None = None

    def __post_init__(self) -> None:
        violations = [
            found.within("keys", name)
            for name, parts in self.keys.items()
            for found in _key_violations(name, parts)
        ]
        try:
            _ = self.spec
        except Invalid as error:
            violations += error.violations
        if violations:
            raise Invalid(violations)

    @property
    def spec(self) -> WindowSpec:
        """The window specification of these settings."""
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
    families : tuple of str
        Families of features of the record that are used, by default all.
    use_protected : tuple of str
        Protected attributes that features may read after all: ``citizenship``, ``age``, or one that a signal
        carries.
    exclude : tuple of str
        Names of features to leave out.

    Raises
    ------
    Invalid
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
        kind = self.signals[amount.signal].type if amount.signal in self.signals else None
        if kind is not SignalType.NUMBER:
            detail = f"must be of type number, {amount.signal} is of type {kind}"
            if kind is None:
                detail = f"there is no signal {amount.signal}"
            raise Invalid([Violation("/links/amount/signal", "not_a_number", detail)])


def _key_violations(name: str, parts: tuple[str, ...]) -> Iterator[Violation]:
    if name == PERSON and parts:
        yield Violation("", "built_in", "the person is built in and takes no fields")
    if name != PERSON and not parts:
        yield Violation("", "empty", "no fields")
    for part in sorted({part for part in parts if parts.count(part) > 1}):
        yield Violation("", "repeated", f"{part} stands twice")
    try:
        LinkKey(name=name, parts=tuple(parts))
    except Invalid as error:
        yield from error.violations
