"""Entries of the catalogue of features, and names that follow from the configuration."""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

Direction = Literal[-1, 0, 1]
"""1 if a larger value can only raise the risk, -1 if it can only lower it, 0 if unconstrained."""

DERIVED: Final = frozenset({"eventDay", "eventHour", "localDay", "localHour"})
"""Inputs derived from the instant of the event."""

MISSING = float("nan")
"""The result of a value function for a missing value."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Feature:
    """One named input of the model.

    Parameters
    ----------
    name : str
        Unique in the catalogue, snake_case.
    inputs : tuple of str
        Names of the fields that it reads, or of derived inputs (``eventDay``, ``eventHour``).
    unit : str
        Such as ``characters``, ``share``, ``years``, ``code``.
    reason : str
        Code of its factor; contributions are summed by factor.
    sentence : str
        The meaning of the number, for people.
    direction : {-1, 0, 1}
        For monotone constraints.
    categorical : bool
        Whether the number is a code without order.
    protected : str, optional
        The protected attribute that it reads; the feature is off unless the configuration names the attribute.
    fitted : bool
        Whether the number comes from fitted frequencies, so that it means something else after the next training.
    learnt : bool
        Whether it comes from what is fitted on the train part too, not on the burn-in alone.
    words : tuple of str
        What its codes 0, 1, ... stand for, where they are fixed.
    """

    name: str
    inputs: tuple[str, ...]
    unit: str
    reason: str
    sentence: str
    direction: Direction = 0
    categorical: bool = False
    protected: str | None = None
    fitted: bool = False
    learnt: bool = False
    words: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Features that one value function computes.

    Parameters
    ----------
    inputs : tuple of str
        Arguments of the function, in order; missing values are None.
    features : tuple of Feature
        One for each number that the function returns.
    function : callable
        Plain Python: maps the values of one record to numbers that a float64 holds exactly, including integers and
        booleans; NaN if unknown. It is called on the values of one record, or on the distinct values of a table.
    views : tuple of callable
        For each input, maps a value to a hashable representative of all values that the function treats alike:
        `function(view(value))` equals `function(value)`. This reduces the distinct values of a table; None where it
        would not. A view is never called with None.
    """

    inputs: tuple[str, ...]
    features: tuple[Feature, ...]
    function: Callable[..., tuple[float, ...]]
    views: tuple[Callable[[Any], Hashable], ...] = ()


def group_of(
    function: Callable[..., tuple[float, ...]],
    feature: Feature,
    views: tuple[Callable[[Any], Hashable], ...] = (),
) -> Group:
    """Return the group of a single feature, whose inputs are the arguments of the function."""
    return Group(inputs=feature.inputs, features=(feature,), function=function, views=views)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReasonTopic:
    """A factor that features belong to, and what is said of it. ``{event}`` stands for the word of the use.

    A sentence states what the feature row shows, and carries no value: that something was given or was not, a property
    that a column states, or the name of a factor that counted against the record. None claims that a value is unusual,
    since a contribution does not show that.

    Parameters
    ----------
    code, sentence : str
        The sentence where the factor was given.
    about : str
        What the factor is about, for the sentence where the row does not show whether it was given.
    present, positive : tuple of str
        Columns that show that it was given: one of the former is not NaN, or one of the latter is above 0. None of
        both for what every record has.
    absence : (str, str) or None
        Code and sentence where it was not given.
    detail : (str, str, tuple of str) or None
        Code and sentence that say more, where one of these columns is above 0 as well.
    """

    code: str
    sentence: str
    about: str = ""
    present: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()
    absence: tuple[str, str] | None = None
    detail: tuple[str, str, tuple[str, ...]] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """Groups that belong together and change together.

    Parameters
    ----------
    version : int
        Increased with every change of a value; part of the fingerprint.
    reasons : tuple of ReasonTopic
        The factors of its features.
    """

    name: str
    version: int
    groups: tuple[Group, ...]
    reasons: tuple[ReasonTopic, ...] = ()


def snake(name: str) -> str:
    """Convert the name of a signal for feature names: ``emailAgeDays`` to ``email_age_days``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def signal_reason(signal: str) -> str:
    """Return the reason code of a signal, such as ``SIGNAL_EMAIL_AGE_DAYS``."""
    return f"SIGNAL_{_upper_snake(signal)}"


def read_name(kind: str, signal: str) -> str:
    """Return how names of features that are read from a signal begin.

    They begin with the type, so that a signal ``email`` and another one ``emailDomain`` have no name in common.

    Examples
    --------
    >>> read_name("email", "email"), read_name("email", "backupEmail")
    ('email', 'email_backup_email')
    """
    own = snake(signal)
    return kind if own == kind else f"{kind}_{own}"


def read_reason(kind: str, signal: str, aspect: str) -> str:
    """Return the reason code of one aspect of a signal that is read, such as ``EMAIL_PROVIDER``."""
    return f"{_upper_snake(read_name(kind, signal))}_{aspect}"


def signal_reasons(
    templates: Iterable[ReasonTopic], signal: str, *, title: str, kind: str | None = None
) -> Iterator[ReasonTopic]:
    """Yield the reasons of one signal.

    Parameters
    ----------
    templates : iterable of ReasonTopic
        With ``{title}`` for the title of the signal, and the ends of codes and columns; that of the signal itself is
        empty.
    kind : str, optional
        Type of a signal that is read.
    """
    begin = f"signal_{snake(signal)}" if kind is None else f"{read_name(kind, signal)}_"

    def code_of(end: str) -> str:
        return read_reason(kind, signal, end) if kind is not None and end else signal_reason(signal)

    def titled(text: str) -> str:
        return text.replace("{title}", title)

    for template in templates:
        code, absence, detail = code_of(template.code), template.absence, template.detail
        yield ReasonTopic(
            code=code,
            sentence=titled(template.sentence),
            about=titled(template.about),
            present=tuple(begin + column for column in template.present),
            absence=absence and (f"NO_{code}", titled(absence[1])),
            detail=detail
            and (code_of(detail[0]), titled(detail[1]), tuple(begin + column for column in detail[2])),
        )


def read_features(
    kind: str,
    signal: str,
    parts: Sequence[tuple[str, str, str]],
    *,
    protected: str | None,
    aspect: str | None = None,
    others: tuple[str, ...] = (),
    words: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> tuple[Feature, ...]:
    """Return features that are read from a signal.

    Parameters
    ----------
    kind : str
        Type of the signal.
    parts : sequence of (str, str, str)
        End of the name, unit, and sentence with ``{}`` for the signal; a code is a category.
    aspect : str, optional
        End of the reason code; by default the reason is that of the signal.
    others : tuple of str
        Further inputs.
    words : mapping of str to sequence of str
        What the codes 0, 1, ... of a category stand for, by the end of its name.
    """
    return tuple(
        Feature(
            name=f"{read_name(kind, signal)}_{end}",
            inputs=(f"signals.{signal}", *others),
            unit=unit,
            reason=signal_reason(signal) if aspect is None else read_reason(kind, signal, aspect),
            sentence=sentence.format(f"signal {signal}"),
            categorical=unit == "code",
            words=tuple(words.get(end, ())),
            protected=protected,
            fitted=unit.startswith("bits"),
        )
        for end, unit, sentence in parts
    )


def link_reason(key: str) -> str:
    """Return the reason code of earlier records with the same link key."""
    return f"LINKED_{_upper_snake(key)}"


def fraud_link_reason(key: str) -> str:
    """Return the reason code of known frauds with the same link key."""
    return f"LINKED_FRAUD_{_upper_snake(key)}"


def _upper_snake(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).strip("_").upper()
