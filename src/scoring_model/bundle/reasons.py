"""The public catalogue of reasons of one use: its factors and their statements.

A sentence states what the feature row shows, and carries no value: that something was given or was not, a property that
a column states, or the name of a factor that counted against the record. None claims that a value is unusual, since a
contribution does not show that.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from scoring_model.contract.fields import REQUIRED_FIELDS, RequiredField
from scoring_model.contract.violation import check_fields
from scoring_model.decision.factors import Fact, Factor, Factors, Rule, Statement
from scoring_model.features import FeatureMatrix, FeatureSettings, delayed_columns, link_columns
from scoring_model.features.catalogue import (
    fraud_link_reason,
    link_reason,
    read_name,
    read_reason,
    signal_reason,
    snake,
)
from scoring_model.features.settings import READ_TYPES
from scoring_model.history import PERSON, CountKind, LinkKey
from scoring_model.records import SignalType, format_duration

_WORDS: Final = re.compile(r"[a-z][a-z -]{0,38}[a-z]")
_UNITS: Final = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_ONES: Final = {"1d": "24 hours", "1h": "60 minutes", "1m": "60 seconds", "1s": "1 second"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Use:
    """What the records of a use are of, and what an identity needs.

    Parameters
    ----------
    subject : str
        Whom a record is of, such as ``applicant`` or ``customer``.
    event : str
        What a record is, such as ``application`` or ``payment``.
    identity_requires : tuple of str
        Fields without which the service leaves an identity INCOMPLETE; kept in the order of `RequiredField`.

    Raises
    ------
    Invalid
        When one of the words is not 2 to 40 small letters, blanks and hyphens.
    """

    subject: str = "applicant"
    event: str = "application"
    identity_requires: tuple[RequiredField, ...] = REQUIRED_FIELDS

    def __post_init__(self) -> None:
        required = tuple(name for name in get_args(RequiredField) if name in self.identity_requires)
        object.__setattr__(self, "identity_requires", required)
        words = {"subject": self.subject, "event": self.event}
        expected = "2 to 40 small letters, blanks or hyphens"
        check_fields(self, *((name, expected, bool(_WORDS.fullmatch(word))) for name, word in words.items()))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Topic:
    """The statements about one factor. ``{event}`` is replaced by the word of the use.

    Parameters
    ----------
    code, sentence : str
        The sentence where the fact holds.
    about : str
        What the factor is about, for the sentence where the fact can't be read.
    fact : Fact or None
        That it was given: it holds exactly where it was. None for what every record has.
    absence : (str, str) or None
        Code and sentence where the fact does not hold.
    detail : (str, str, tuple of str) or None
        Code and sentence that say more, where one of these columns is above 0 as well.
    """

    code: str
    sentence: str
    about: str = ""
    fact: Fact | None = None
    absence: tuple[str, str] | None = None
    detail: tuple[str, str, tuple[str, ...]] | None = None


def reason_factors(matrix: FeatureMatrix, *, use: Use, share: float) -> Factors:
    """Put the factors of a use together.

    Parameters
    ----------
    share : float
        Minimum share, in [0, 1], of all positive contributions for a reason after the first.

    Raises
    ------
    ValueError
        When two signals or link keys come to the same code.
    """
    topics = [*_RECORD, *_of_signals(matrix.settings), *_of_links(matrix)]
    codes = [topic.code for topic in topics]
    if shared := sorted({code for code in codes if codes.count(code) > 1}):
        raise ValueError(
            f"signals or link keys share the reason code {', '.join(shared)}: rename one of them"
        )
    features: dict[str, list[str]] = {}
    for feature in matrix.features:
        features.setdefault(feature.reason, []).append(feature.name)
    return Factors(
        share=share,
        factors=tuple(
            Factor(features=tuple(features[topic.code]), statements=_statements(topic, matrix.names, use))
            for topic in topics
            if topic.code in features
        ),
        otherwise=Statement(
            code="NOTHING_ALONE", sentence=f"Nothing counted against the {use.event} by itself."
        ),
    )


def _statements(topic: _Topic, names: Sequence[str], use: Use) -> tuple[Statement, ...]:
    """The statements of a factor, the most specific first."""

    def statement(code: str, sentence: str, *facts: Fact) -> Statement:
        return Statement(code=code, sentence=sentence.replace("{event}", use.event), facts=facts)

    if topic.fact is None or topic.absence is None:
        return (statement(topic.code, topic.sentence),)
    if not set(topic.fact.columns) <= set(names):
        # Features were left out without which a row does not show whether it was given.
        neither = f"What is known of {topic.about}, or is not, counted against the {{event}}."
        return (statement(f"ABOUT_{topic.code}", neither),)
    statements = [statement(topic.code, topic.sentence, topic.fact), statement(*topic.absence)]
    if topic.detail is not None:
        code, sentence, columns = topic.detail
        if read := tuple(column for column in columns if column in names):
            statements.insert(0, statement(code, sentence, topic.fact, _positive(*read)))
    return tuple(statements)


def _present(*columns: str) -> Fact:
    return Fact(rule=Rule.PRESENT, columns=columns)


def _positive(*columns: str) -> Fact:
    return Fact(rule=Rule.POSITIVE, columns=columns)


def _of_signals(settings: FeatureSettings) -> Iterator[_Topic]:
    for name, signal in sorted(settings.signals.items()):
        if signal.type is SignalType.IDENTIFIER:
            continue  # never a feature
        title = signal.title or f"signal {name}"
        if signal.type in READ_TYPES:
            yield from _of_read_signal(name, signal.type, title)
            continue
        yield _Topic(
            code=signal_reason(name),
            sentence=f"The {title} counted against the {{event}}.",
            about=f"the {title}",
            fact=_present(f"signal_{snake(name)}"),
            absence=(f"NO_{signal_reason(name)}", f"No {title} was given."),
        )


def _of_read_signal(name: str, kind: SignalType, title: str) -> Iterator[_Topic]:
    """What is said of a mail address, a phone number or an IP address."""
    form, wrong, sentence = _FORMS[kind]
    yield _Topic(
        code=signal_reason(name),
        sentence=f"The {title} counted against the {{event}}.",
        about=f"the {title}",
        fact=_present(f"{read_name(kind, name)}_{form}"),
        absence=(f"NO_{signal_reason(name)}", f"No {title} was given."),
        detail=(read_reason(kind, name, wrong), sentence.format(title), (f"{read_name(kind, name)}_{form}",)),
    )
    for aspect in _ASPECTS[kind]:
        code, column = read_reason(kind, name, aspect.code), f"{read_name(kind, name)}_{aspect.column}"
        detail = aspect.detail
        yield _Topic(
            code=code,
            sentence=f"{aspect.subject.format(title)} counted against the {{event}}.",
            about=aspect.about.format(title),
            fact=_present(column),
            absence=(f"NO_{code}", aspect.absence.format(title)),
            detail=detail and (read_reason(kind, name, detail[0]), detail[1].format(title), (column,)),
        )


def _of_links(matrix: FeatureMatrix) -> Iterator[_Topic]:
    for key in matrix.link_keys:
        spec, same = matrix.specs[key.name], _same(key)
        linked, span = _counted(matrix, key, "records")
        yield _Topic(
            code=link_reason(key.name),
            sentence=f"An earlier {{event}} {same} is known.",
            about=f"earlier records {same}",
            fact=linked,
            absence=(
                f"NO_{link_reason(key.name)}",
                f"No earlier {{event}} {same} is known from the {span}.",
            ),
        )
        known, span = _counted(matrix, key, "frauds")
        yield _Topic(
            code=fraud_link_reason(key.name),
            sentence=f"An earlier {{event}} {same} is known to be fraud.",
            about=f"frauds among earlier records {same}",
            fact=known,
            absence=(
                f"NO_{fraud_link_reason(key.name)}",
                # Of more records than the cap a window sees the latest alone.
                f"No earlier {{event}} {same} is known to be fraud (the latest {spec.cap} of the {span}).",
            ),
        )


def _counted(matrix: FeatureMatrix, key: LinkKey, kind: CountKind) -> tuple[Fact, str]:
    """That any window counts something, and what the windows are in words.

    Of either sort of windows the longest one is needed, since it sees all, and the others that are in use are read.
    """
    spec = matrix.specs[key.name]
    sorts = [(link_columns(key, spec, kind), f"{_span(spec.windows[-1])} before")]
    if spec.delayed:
        older = f"{_span(spec.delayed[-1])} before the last {_span(spec.delay)}"
        sorts = [*(sorts if kind in spec.counts else ()), (delayed_columns(key, spec, kind), older)]
    names = [name for columns, _ in sorts for name in columns if name in matrix.names or name == columns[-1]]
    return _positive(*names), " and the ".join(words for _, words in sorts)


def _same(key: LinkKey) -> str:
    return "of the same person" if key.name == PERSON else f"with the same {key.name.replace('_', ' ')}"


def _span(window: int) -> str:
    """A window in words, such as ``90 days`` or ``24 hours``."""
    text = format_duration(window)
    return _ONES.get(text) or f"{text[:-1]} {_UNITS[text[-1]]}"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Aspect:
    """A factor of a signal that is read, beside its form; ``{}`` stands for the title of the signal.

    Parameters
    ----------
    code, column : str
        End of the reason code, and of the feature that is there exactly where the aspect is known.
    subject, about : str
        What counted, at the start of a sentence and within one.
    absence : str
        Sentence where the aspect is not known.
    detail : (str, str) or None
        End of the code, and sentence, where the column is above 0.
    """

    code: str
    column: str
    subject: str
    about: str
    absence: str
    detail: tuple[str, str] | None = None


_FORMS: Final = {
    SignalType.EMAIL: ("unreadable", "UNREADABLE", "The {} cannot be read as a mail address."),
    SignalType.PHONE: ("invalid", "INVALID", "The {} is not a valid phone number."),
    SignalType.IP: ("unreadable", "UNREADABLE", "The {} cannot be read as an IP address."),
}
"""Column that is there exactly where the signal is, and what is said where it is above 0."""

_ASPECTS: Final = {
    SignalType.EMAIL: (
        _Aspect(
            code="PROVIDER",
            column="disposable",
            subject="The provider of the {}",
            about="the provider of the {}",
            absence="No {} with a provider was given.",
            detail=("DISPOSABLE", "The provider of the {} gives addresses that are thrown away after use."),
        ),
        _Aspect(
            code="NAME",
            column="name_share",
            subject="How much the {} is like the names",
            about="how much the {} is like the names",
            absence="No {} was given that could be compared with a name.",
        ),
    ),
    SignalType.PHONE: (
        _Aspect(
            code="COUNTRY",
            column="code_differs",
            subject="That the {} has the calling code of the country of the address",
            about="the calling code of the {} and the country of the address",
            absence="No {} was given whose calling code could be compared with that of the country of the address.",
            detail=(
                "COUNTRY_MISMATCH",
                "The {} does not have the calling code of the country of the address.",
            ),
        ),
    ),
    SignalType.IP: (
        _Aspect(
            code="RANGE",
            column="special",
            subject="The range of the {}",
            about="the range of the {}",
            absence="No {} with a range was given.",
            detail=("NOT_PUBLIC", "The {} is of a range that is not public."),
        ),
    ),
}

_NO_NAME: Final = ("NO_NAME", "No name was given.")
_NO_BIRTH_DATE: Final = ("NO_BIRTH_DATE", "No date of birth was given.")
_NO_LINE: Final = ("NO_ADDRESS_LINE", "No first line of an address was given.")
_NAMED: Final = _present("name_digits")
_BORN: Final = _present("birth_day")
_LINE: Final = _present("address_line_length")

_RECORD: Final = (
    _Topic(
        code="NAME_FORM",
        sentence="The form of the name counted against the {event}.",
        about="the name",
        fact=_NAMED,
        absence=_NO_NAME,
    ),
    _Topic(
        code="NAME_RARITY",
        sentence="How common the name is counted against the {event}.",
        about="the name",
        fact=_NAMED,
        absence=_NO_NAME,
    ),
    _Topic(
        code="NAME_WORDS",
        sentence="The words of the name counted against the {event}.",
        about="the name",
        fact=_NAMED,
        absence=_NO_NAME,
        detail=(
            "NAME_NOT_OF_A_PERSON",
            "The name holds a title, a word of companies, or one that stands in for a name.",
            ("name_title", "name_placeholder"),
        ),
    ),
    _Topic(
        code="BIRTH_DATE",
        sentence="The date of birth counted against the {event}.",
        about="the date of birth",
        fact=_BORN,
        absence=_NO_BIRTH_DATE,
    ),
    _Topic(
        code="AGE",
        sentence="The age counted against the {event}.",
        about="the age",
        fact=_BORN,
        absence=_NO_BIRTH_DATE,
    ),
    _Topic(code="EVENT_TIME", sentence="The hour or weekday of the {event} counted against it."),
    _Topic(
        code="DOCUMENT_TYPE",
        sentence="The type of document counted against the {event}.",
        about="the type of document",
        fact=_present("document_type"),
        absence=("NO_DOCUMENT_TYPE", "No type of document was given."),
    ),
    _Topic(
        code="CITIZENSHIP",
        sentence="The citizenship counted against the {event}.",
        about="the citizenship",
        fact=_present("citizenship"),
        absence=("NO_CITIZENSHIP", "No citizenship was given."),
    ),
    _Topic(
        code="COUNTRIES",
        sentence="That citizenship and country of the address agree counted against the {event}.",
        about="citizenship and country of the address",
        fact=_present("citizenship_abroad"),
        absence=("NO_COUNTRIES", "No citizenship was given together with a country of the address."),
        detail=(
            "COUNTRY_MISMATCH",
            "Citizenship and country of the address differ.",
            ("citizenship_abroad",),
        ),
    ),
    _Topic(
        code="ADDRESS_PARTS",
        sentence="Which parts of the address were given counted against the {event}.",
        about="the parts of the address",
        fact=_positive("address_parts"),
        absence=("NO_ADDRESS", "No address was given."),
        detail=(
            "ADDRESS_INCOMPLETE",
            "Parts that the address needs were not given.",
            ("address_parts_wanting",),
        ),
    ),
    _Topic(
        code="ADDRESS_FORM",
        sentence="The form of the address counted against the {event}.",
        about="the form of the address",
        fact=_present(
            "address_line_length",
            "address_line2_length",
            "postal_code_length",
            "city_length",
            "region_length",
        ),
        absence=("NO_ADDRESS_TEXT", "No line, city, region or postal code of an address was given."),
    ),
    _Topic(
        code="ADDRESS_LINE",
        sentence="The wording of the first line of the address counted against the {event}.",
        about="the first line of the address",
        fact=_LINE,
        absence=_NO_LINE,
        detail=(
            "ADDRESS_PLACEHOLDER",
            "The first line of the address has no word, or one that stands in for an address.",
            ("address_line_placeholder",),
        ),
    ),
    _Topic(
        code="ADDRESS_KIND",
        sentence="The kind of place that the address names counted against the {event}.",
        about="the kind of place that the address names",
        fact=_LINE,
        absence=_NO_LINE,
        detail=(
            "ADDRESS_NOT_A_HOME",
            "The address names a post-office box, a hotel, a mailbox or somebody else's care.",
            ("address_line_po_box", "address_line_care_of"),
        ),
    ),
    _Topic(
        code="POSTAL_CODE",
        sentence="That the postal code has the form of its country's counted against the {event}.",
        about="the postal code",
        fact=_present("postal_code_foreign"),
        absence=(
            "NO_POSTAL_CODE_FORM",
            "No postal code was given that could be compared with those of the country.",
        ),
        detail=(
            "POSTAL_CODE_MISMATCH",
            "The postal code does not have the form of its country's.",
            ("postal_code_foreign",),
        ),
    ),
    _Topic(
        code="ADDRESS_COUNTRY",
        sentence="The country of the address counted against the {event}.",
        about="the country of the address",
        fact=_present("address_country"),
        absence=("NO_ADDRESS_COUNTRY", "No country of an address was given."),
    ),
    _Topic(
        code="DOCUMENT_IMAGES",
        sentence="The references to document images counted against the {event}.",
        about="document images",
        fact=_positive("image_count"),
        absence=("NO_DOCUMENT_IMAGES", "No document image was given."),
    ),
)
