"""Features of signals that are mail addresses: their form, their provider and their likeness to the names."""

import re
from functools import lru_cache, partial

from scoring_model.features.catalogue import MISSING, Group, ReasonTopic, read_features
from scoring_model.features.signal_settings import SignalSettings
from scoring_model.features.spelling import plain, steps
from scoring_model.features.state import FittedState, MailTables, NgramTable, Vocabulary
from scoring_model.records.mail import MailAddress, read_mail

VERSION = 1

_DOMAINS = 4096
"""Most domains whose description is kept: addresses are many, their domains few."""

_OTHERS = re.compile("[^a-z]+")
_DIGITS = "0123456789"
_SEPARATORS = "._-"


def form(address: MailAddress, table: NgramTable) -> tuple[float, ...]:
    """Describe the local part: length, digits, separators, tag and rarity."""
    base = address.base
    return (
        0.0,
        len(base),
        sum(map(str.isdigit, base)),
        len(base) - len(base.rstrip(_DIGITS)),
        sum(map(base.count, _SEPARATORS)),
        "+" in address.local,
        *table.improbability(base),
    )


def provider(domain: str, domains: Vocabulary, tops: Vocabulary, tables: MailTables) -> tuple[float, ...]:
    """Describe the domain: which one, its length, and what its provider gives."""
    labels = domain.split(".")
    parents = {".".join(labels[place:]) for place in range(len(labels) - 1)}
    return (
        domains.code(domain),
        tops.code(labels[-1]),
        len(domain),
        len(labels),
        domain in tables.free,
        not tables.disposable.isdisjoint(parents),
    )


def likeness(email: str | None, first: str | None, last: str | None) -> tuple[float, ...]:
    """Compare the letters a to z of the local part, without accents, with those of the names."""
    address = None if email is None else read_mail(email)
    letters = "" if address is None else _letters(address.base)
    names = [_letters(first or ""), _letters(last or "")]
    pairs = set(steps(letters))
    if not pairs or not any(names):
        return (MISSING,) * len(_LIKENESS)
    return (
        *(name in letters if name else MISSING for name in names),
        # A pair of letters is in neither name across the blank.
        sum(map(" ".join(names).__contains__, pairs)) / len(pairs),
    )


def _letters(text: str) -> str:
    folded = plain(text)
    return folded if folded.isascii() and folded.isalpha() else _OTHERS.sub("", folded)


def groups(signal: str, settings: SignalSettings, state: FittedState) -> tuple[Group, ...]:
    """Return the groups of one signal."""
    field, names = f"signals.{signal}", ("firstName", "lastName")
    domains, tops = (state.vocabulary(f"{field}:{part}") for part in ("domain", "top"))
    words = {"domain": domains.values, "top_domain": tops.values}
    features = partial(read_features, "email", signal, protected=settings.protected, words=words)

    @lru_cache(_DOMAINS)
    def provided(domain: str) -> tuple[float, ...]:
        return provider(domain, domains, tops, state.mail)

    def described(email: str | None) -> tuple[float, ...]:
        address = None if email is None else read_mail(email)
        if address is None:
            return (MISSING if email is None else 1.0, *_NOTHING)
        return (*form(address, state.mail.locals), *provided(address.domain))

    return (
        Group(
            inputs=(field,),
            features=(*features(_FORM), *features(_PROVIDER, aspect="PROVIDER")),
            function=described,
        ),
        Group(
            inputs=(field, *names),
            features=features(_LIKENESS, aspect="NAME", others=names),
            function=likeness,
        ),
    )


_FORM = (
    ("unreadable", "0 or 1", "Whether the {} cannot be read as a mail address."),
    ("length", "characters", "Length of the local part of the {}, without a tag after +."),
    ("digits", "characters", "Digits in the local part of the {}."),
    ("digits_at_end", "characters", "Digits at the end of the local part of the {}."),
    ("separators", "characters", "Dots, underscores and hyphens in the local part of the {}."),
    ("tag", "0 or 1", "Whether the local part of the {} has a +."),
    ("improbability", "bits per character", "How unlike the commonly seen ones the local part of the {} is."),
    ("rarest", "bits", "How rare the rarest sequence of three characters of the local part of the {} is."),
)
_PROVIDER = (
    ("domain", "code", "Domain of the {}."),
    ("top_domain", "code", "Last label of the domain of the {}."),
    ("domain_length", "characters", "Length of the domain of the {}."),
    ("domain_labels", "labels", "Labels of the domain of the {}."),
    ("free", "0 or 1", "Whether the provider of the {} gives addresses free of charge."),
    (
        "disposable",
        "0 or 1",
        "Whether the provider of the {} gives addresses that are thrown away after use.",
    ),
)
_LIKENESS = (
    ("first_name", "0 or 1", "Whether the local part of the {} holds the first name."),
    ("last_name", "0 or 1", "Whether the local part of the {} holds the last name."),
    (
        "name_share",
        "share",
        "Share of the pairs of neighbouring letters of the local part of the {} that the names have.",
    ),
)
_NOTHING = (MISSING,) * (len(_FORM) + len(_PROVIDER) - 1)

REASONS = (
    ReasonTopic(
        code="",
        sentence="The {title} counted against the {event}.",
        about="the {title}",
        present=("unreadable",),
        absence=("", "No {title} was given."),
        detail=("UNREADABLE", "The {title} cannot be read as a mail address.", ("unreadable",)),
    ),
    ReasonTopic(
        code="PROVIDER",
        sentence="The provider of the {title} counted against the {event}.",
        about="the provider of the {title}",
        present=("disposable",),
        absence=("", "No {title} with a provider was given."),
        detail=(
            "DISPOSABLE",
            "The provider of the {title} gives addresses that are thrown away after use.",
            ("disposable",),
        ),
    ),
    ReasonTopic(
        code="NAME",
        sentence="How much the {title} is like the names counted against the {event}.",
        about="how much the {title} is like the names",
        present=("name_share",),
        absence=("", "No {title} was given that could be compared with a name."),
    ),
)
