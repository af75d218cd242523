"""The settings of the features of one use."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from scoring_model.contract.violation import Invalid, Violation, pointer
from scoring_model.features.families import DEFAULT_FAMILIES, FamilyName
from scoring_model.features.signal_settings import MailProviders, SignalSettings
from scoring_model.history import (
    DEFAULT_COUNTS,
    DEFAULT_STATISTICS,
    PERSON,
    Amount,
    CountKind,
    LinkKey,
    Statistic,
    WindowSpec,
)
from scoring_model.records import Duration, SignalType
from scoring_model.records.near_misses import did_you_mean
from scoring_model.records.times import DAY, HOUR


@dataclass(frozen=True, kw_only=True, slots=True)
class KeySettings:
    """Window settings of one link key that differ from those of the others.

    Parameters
    ----------
    windows, delayed_windows, counts, statistics : tuple, optional
        As in `LinkSettings`, which is the default.
    amounts : tuple of str, optional
        Signals of the summed amounts, by default all.
    """

    windows: tuple[Duration, ...] | None = None
    delayed_windows: tuple[Duration, ...] | None = None
    counts: tuple[CountKind, ...] | None = None
    amounts: tuple[str, ...] | None = None
    statistics: tuple[Statistic, ...] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkSettings:
    """The values that link records, the windows of their history, and the amounts summed in them.

    Parameters
    ----------
    keys : mapping of str to tuple of str
        Name of a link key to its fields. The key ``person`` is built in and takes no fields: it consists of names and
        date of birth, else ``subjectId``, else ``identityId``.
    windows : tuple of int
        Lengths in microseconds, ascending; written as ``24h`` or ``30d``.
    delayed_windows : tuple of int
        Lengths of windows that end `delay` before the event, so that labels of their records are known.
    delay : int, optional
        Microseconds; by default the label delay of the records.
    counts : tuple of str
        Counts in the windows; a delayed window counts records, known frauds and their share.
    cap : int
        Maximum number of latest records that a window sees.
    amount : Amount, optional
        A signal whose sum and mean over each window are features too; short for `amounts` with one signal.
    amounts : tuple of Amount
        Signals whose `statistics` over each window are features too.
    statistics : tuple of str
        Statistics of each amount.
    above : int
        The multiple of the mean above which the statistic `above` counts an amount, at least 1.
    by_key : mapping of str to KeySettings
        Settings that differ by key.

    Raises
    ------
    Invalid
        With every key, window and number that breaks a rule.
    """

    keys: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {PERSON: ()})
    windows: tuple[Duration, ...] = (HOUR, 24 * HOUR, 7 * DAY, 30 * DAY, 90 * DAY)
    delayed_windows: tuple[Duration, ...] = ()
    delay: Duration | None = None
    counts: tuple[CountKind, ...] = DEFAULT_COUNTS
    cap: int = 256
    amount: Amount | None = None
    amounts: tuple[Amount, ...] = ()
    statistics: tuple[Statistic, ...] = DEFAULT_STATISTICS
    above: int = 3
    by_key: Mapping[str, KeySettings] = field(default_factory=dict)

    def __post_init__(self) -> None:
        violations = [
            found.within("keys", name)
            for name, parts in self.keys.items()
            for found in _key_violations(name, parts)
        ]
        violations += _spec_violations(self)
        if violations:
            raise Invalid(violations)

    @property
    def every_amount(self) -> tuple[Amount, ...]:
        """Return the amounts of the history, in the order of their masks."""
        return self.amounts if self.amount is None else (self.amount,)

    @property
    def specs(self) -> dict[str, WindowSpec]:
        """Return the window specification of each link key, by name."""
        return {name: self.spec_of(name) for name in sorted(self.keys)}

    @property
    def reach(self) -> int:
        """How far back the windows of all keys look, in microseconds."""
        return max((spec.reach for spec in self.specs.values()), default=self.windows[-1])

    def spec_of(self, name: str) -> WindowSpec:
        """Return the window specification of one link key."""
        own = self.by_key.get(name, KeySettings())
        signals = [amount.signal for amount in self.every_amount]
        counts = self.counts if own.counts is None else own.counts
        return WindowSpec(
            windows=self.windows if own.windows is None else own.windows,
            cap=self.cap,
            delay=self.delay or 0,
            delayed=self.delayed_windows if own.delayed_windows is None else own.delayed_windows,
            amounts=self.every_amount,
            summed=None if own.amounts is None else tuple(signals.index(signal) for signal in own.amounts),
            # Records of one person key belong to one person.
            counts=tuple(kind for kind in counts if name != PERSON or kind != "persons"),
            statistics=self.statistics if own.statistics is None else own.statistics,
            above=self.above,
        )

    @property
    def link_keys(self) -> tuple[LinkKey, ...]:
        """Return the keys sorted by name."""
        return tuple(LinkKey(name=name, parts=tuple(self.keys[name])) for name in sorted(self.keys))


@dataclass(frozen=True, kw_only=True, slots=True)
class FeatureSettings:
    """All settings that determine the features.

    Parameters
    ----------
    families : tuple of str
        Families of features of the record in use, by default all but ``label_statistics``.
    use_protected : tuple of str
        Protected attributes that features may read: ``citizenship``, ``age``, or one that a signal carries.
    exclude : tuple of str
        Names of features to leave out.
    time_zone : str, optional
        The zone of `event_hour` and of the features of local time; None turns the latter off, and the hour is UTC.
    mail_providers : MailProviders
        Further providers of mail, for fitting alone: the bundle holds the complete lists.

    Raises
    ------
    Invalid
        If the amount of the links is not a numeric signal, or label statistics lack a category or its family.
    """

    signals: Mapping[str, SignalSettings] = field(default_factory=dict)
    links: LinkSettings = field(default_factory=LinkSettings)
    families: tuple[FamilyName, ...] = DEFAULT_FAMILIES
    use_protected: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    time_zone: str | None = None
    mail_providers: MailProviders = field(default_factory=MailProviders)

    def __post_init__(self) -> None:
        violations = []
        if self.links.delay is None and any(spec.delayed for spec in self.links.specs.values()):
            detail = "delayed windows need links.delay or records.labels.delay"
            violations.append(Violation("/links/delayed_windows", "no_delay", detail))
        for place, amount in enumerate(self.links.every_amount):
            kind = self.signals[amount.signal].type if amount.signal in self.signals else None
            if kind is SignalType.NUMBER:
                continue
            where = "/links/amount/signal" if self.links.amount else f"/links/amounts/{place}/signal"
            detail = f"must be of type number, {amount.signal} is of type {kind}"
            if kind is None:
                detail = f"there is no signal {amount.signal}{did_you_mean(amount.signal, self.signals)}"
            violations.append(Violation(where, "not_a_number", detail))
        if self.has_label_statistics and not ("signals" in self.families and self.categories):
            detail = "label_statistics needs the family signals, and a signal of type category"
            violations.append(Violation("/families", "no_category", detail))
        if violations:
            raise Invalid(violations)

    @property
    def has_label_statistics(self) -> bool:
        """Return True if the family of label statistics is in use."""
        return "label_statistics" in self.families

    @property
    def categories(self) -> tuple[str, ...]:
        """Return the fields of the signals that are categories, such as ``signals.channel``."""
        return tuple(f"signals.{name}" for name, s in self.signals.items() if s.type is SignalType.CATEGORY)


def _spec_violations(links: LinkSettings) -> Iterator[Violation]:
    signals = [amount.signal for amount in links.every_amount]
    if links.amount is not None and links.amounts:
        yield Violation(pointer("amounts"), "repeated", "amount is there too: name all of them in amounts")
    for signal in sorted({signal for signal in signals if signals.count(signal) > 1}):
        yield Violation(pointer("amounts"), "repeated", f"{signal} stands twice")
    known = True
    for name, own in links.by_key.items():
        if name not in links.keys:
            detail = f"there is no link key {name}{did_you_mean(name, links.keys)}"
            yield Violation(pointer("by_key", name), "unknown_key", detail)
        for signal in own.amounts or ():
            if signal not in signals:
                known = False
                where = pointer("by_key", name, "amounts")
                detail = f"{signal} is none of the amounts{did_you_mean(signal, signals)}"
                yield Violation(where, "unknown_signal", detail)
    if not known:
        return
    found: dict[Violation, None] = {}
    for name in [*links.keys, ""]:
        try:
            links.spec_of(name)
        except Invalid as error:
            own = links.by_key.get(name, KeySettings())
            for violation in error.violations:
                field_ = {"delayed": "delayed_windows"}.get(violation.field, violation.field)
                of_key = getattr(own, field_, None) is not None
                where = pointer("by_key", name, field_) if of_key else pointer(field_)
                found[replace(violation, pointer=where)] = None
    yield from found


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
