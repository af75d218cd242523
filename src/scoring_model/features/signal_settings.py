"""The settings of one signal that the model may use, and of the providers of mail."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from scoring_model.contract.rules import COUNTRIES
from scoring_model.contract.violation import check_fields
from scoring_model.records import SignalType
from scoring_model.records.key_encodings import encode_domain

COMPARABLE_FIELDS = ("address.city", "address.country", "address.region", "citizenship", "documentType")
"""Fields that a signal can be compared with."""

TITLE = re.compile(r"[^\W_][\w -]{0,58}[^\W_]")

READ_TYPES: Final = (SignalType.EMAIL, SignalType.PHONE, SignalType.IP)
"""Types of signals whose text is read, with several features each."""


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
        An identifier is used only in link keys and never as a feature.
    trend : Trend
        For numbers and booleans: a monotone constraint of the model.
    protected : str, optional
        The protected attribute that the signal carries, such as ``sex``; its feature is off unless the attribute is
        named in `use_protected`.
    differs_from : str, optional
        For categories: a text field that a genuine person's signal equals, such as ``address.country`` for the
        country of the network. Whether they differ is a further feature.
    country : str, optional
        For phone numbers: ISO 3166-1 alpha-2 code of the country in which those without ``+`` are dialled.
    title : str, optional
        Name of the signal in reasons, such as ``email age``; by default ``signal`` and its name.
    """

    type: SignalType
    trend: Trend = Trend.FREE
    protected: str | None = None
    differs_from: str | None = None
    country: str | None = None
    title: str | None = None

    def __post_init__(self) -> None:
        compared, has_trend = self.differs_from is not None, self.trend is not Trend.FREE
        titled = self.title is None or TITLE.fullmatch(self.title) is not None
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
            (
                "country",
                f"absent for type {self.type}: it is for phone numbers",
                self.country is None or self.type is SignalType.PHONE,
            ),
            (
                "country",
                "an ISO 3166-1 alpha-2 code, such as GB",
                self.country is None or self.country in COUNTRIES,
            ),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class MailProviders:
    """Domains of providers of mail, beside those that the package lists.

    Parameters
    ----------
    free : tuple of str
        Domains where anyone gets an address free of charge.
    disposable : tuple of str
        Domains of addresses that are thrown away after use; their subdomains count too.

    Raises
    ------
    Invalid
        If one is no domain in lower case.
    """

    free: tuple[str, ...] = ()
    disposable: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        expected = "domains in lower case, such as mail.example"
        check_fields(
            self,
            *(
                (name, expected, all(d and encode_domain(f"x@{d}") == d for d in domains))
                for name, domains in (("free", self.free), ("disposable", self.disposable))
            ),
        )
