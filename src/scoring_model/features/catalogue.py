"""Entries of the catalogue of features, and names that follow from the configuration."""

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Literal

Direction = Literal[-1, 0, 1]
"""1 where a larger value can only raise the risk, -1 where it can only lower it, 0 where either may be."""

MISSING = float("nan")
"""The result of a value function for a missing value."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Feature:
    """One named number that the model sees.

    Parameters
    ----------
    name : str
        Unique in the catalogue, snake_case.
    inputs : tuple of str
        Names of the fields that it reads, or of what is derived of them (``eventDay``, ``eventHour``).
    unit : str
        Such as ``characters``, ``share``, ``years``, ``code``.
    reason : str
        Code of the factor that it belongs to; the contributions of a factor are summed.
    sentence : str
        The meaning of the number, for people.
    direction : {-1, 0, 1}
        For monotone constraints.
    categorical : bool
        Whether the number is a code without order.
    protected : str, optional
        The protected attribute that it reads; such a feature is off unless the configuration names it.
    """

    name: str
    inputs: tuple[str, ...]
    unit: str
    reason: str
    sentence: str
    direction: Direction = 0
    categorical: bool = False
    protected: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Features that one value function computes.

    Parameters
    ----------
    inputs : tuple of str
        What the function is called with, in order; missing values are None.
    features : tuple of Feature
        One for each number that the function returns.
    function : callable
        Plain Python: the values of one record to numbers that a float64 holds exactly, integers and booleans
        among them, NaN where it is unknown. It is called
        on one record's values, or on the distinct values of a table, and can't know which.
    views : tuple of callable
        For each input a representative of all values that the function treats alike: for every value,
        `function(view(value))` is `function(value)`. Of a table there are so much fewer distinct values to call
        the function on; none where that is not so. A view is not asked about None, and gives something hashable.
    """

    inputs: tuple[str, ...]
    features: tuple[Feature, ...]
    function: Callable[..., tuple[float, ...]]
    views: tuple[Callable[[Any], Hashable], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """Groups that belong together and change together.

    Parameters
    ----------
    version : int
        Raised with every change of a value; part of the fingerprint.
    """

    name: str
    version: int
    groups: tuple[Group, ...]


def snake(name: str) -> str:
    """The name of a signal in the name of a feature: ``emailAgeDays`` as ``email_age_days``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def signal_reason(signal: str) -> str:
    """Code of a signal, such as ``SIGNAL_EMAIL_AGE_DAYS``."""
    return f"SIGNAL_{_upper_snake(signal)}"


def link_reason(key: str) -> str:
    """Code of earlier records with the same value of a link key."""
    return f"LINKED_{_upper_snake(key)}"


def fraud_link_reason(key: str) -> str:
    """Code of earlier records with the same value that are known to be fraud."""
    return f"LINKED_FRAUD_{_upper_snake(key)}"


def _upper_snake(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).strip("_").upper()
