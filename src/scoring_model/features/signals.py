"""Features of the signals that a client supplies, typed by the configuration.

Decision record: docs/adr/0007-signals.md.
"""

from collections.abc import Callable, Iterator, Mapping

from scoring_model.features import emails, ips, phones
from scoring_model.features.catalogue import (
    MISSING,
    Direction,
    Family,
    Feature,
    ReasonTopic,
    group_of,
    signal_reason,
    signal_reasons,
    snake,
)
from scoring_model.features.signal_settings import READ_TYPES, SignalSettings, Trend
from scoring_model.features.state import FittedState, Vocabulary
from scoring_model.records import SignalType

VERSION = 1

_READERS = {SignalType.EMAIL: emails, SignalType.PHONE: phones, SignalType.IP: ips}
_REASON = ReasonTopic(
    code="",
    sentence="The {title} counted against the {event}.",
    about="the {title}",
    present=("",),
    absence=("", "No {title} was given."),
)
_DIRECTIONS: Mapping[Trend, Direction] = {Trend.FREE: 0, Trend.INCREASING: 1, Trend.DECREASING: -1}


def number(value: float | None) -> tuple[float, ...]:
    """Return the signal unchanged."""
    return (MISSING if value is None else value,)


def differs(value: str | None, other: str | None) -> tuple[float, ...]:
    """Return whether signal and field differ."""
    return (MISSING if value is None or other is None else float(value != other),)


def family(signals: Mapping[str, SignalSettings], vocabularies: Mapping[str, Vocabulary]) -> Family:
    """Return the features of signals: the value of each signal that is no identifier and not read, and its comparison.

    The reasons are those of the signals that are read too, in the order of all names.

    Parameters
    ----------
    vocabularies : mapping of str to Vocabulary
        By name of the categorical signal.
    """
    groups = []
    for name, settings in sorted(signals.items()):
        if settings.type is SignalType.IDENTIFIER or settings.type in READ_TYPES:
            continue
        function = _coder(vocabularies[name]) if settings.type is SignalType.CATEGORY else number
        groups.append(group_of(function, _value(name, settings)))
        if settings.differs_from is not None:
            compared = _difference(name, settings, settings.differs_from)
            groups.append(group_of(differs, compared))
    return Family(name="signals", version=VERSION, reasons=tuple(_reasons(signals)), groups=tuple(groups))


def read_families(signals: Mapping[str, SignalSettings], state: FittedState) -> tuple[Family, ...]:
    """Return a family for each type of signals that are read, if the use has one.

    They have versions of their own, so that new plans of phone numbers, say, leave other uses alone.
    """
    found = []
    for kind, module in _READERS.items():
        of_kind = [(name, settings) for name, settings in sorted(signals.items()) if settings.type is kind]
        groups = [group for name, settings in of_kind for group in module.groups(name, settings, state)]
        if groups:
            found.append(Family(name=kind.value, version=module.VERSION, groups=tuple(groups)))
    return tuple(found)


def _reasons(signals: Mapping[str, SignalSettings]) -> Iterator[ReasonTopic]:
    for name, settings in sorted(signals.items()):
        if settings.type is SignalType.IDENTIFIER:
            continue  # never a feature
        title, read = settings.title or f"signal {name}", _READERS.get(settings.type)
        if read is None:
            yield from signal_reasons((_REASON,), name, title=title)
        else:
            yield from signal_reasons(read.REASONS, name, title=title, kind=settings.type)


def _coder(vocabulary: Vocabulary) -> Callable[[str | None], tuple[float, ...]]:
    return lambda value: (vocabulary.code(value),)


def _value(name: str, settings: SignalSettings) -> Feature:
    categorical = settings.type is SignalType.CATEGORY
    return Feature(
        name=f"signal_{snake(name)}",
        inputs=(_input(name),),
        unit="code" if categorical else "as supplied",
        reason=signal_reason(name),
        sentence=f"The signal {name}.",
        direction=_DIRECTIONS[settings.trend],
        categorical=categorical,
        learnt=categorical,
        protected=settings.protected,
    )


def _difference(name: str, settings: SignalSettings, field: str) -> Feature:
    return Feature(
        name=f"signal_{snake(name)}_differs",
        inputs=(_input(name), field),
        unit="0 or 1",
        reason=signal_reason(name),
        sentence=f"Whether the signal {name} differs from {field}.",
        protected=settings.protected or ("citizenship" if field == "citizenship" else None),
    )


def _input(name: str) -> str:
    return f"signals.{name}"
