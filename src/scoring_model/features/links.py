"""Features of links: counts and times of earlier records with the same link key.

Tables use arrays; one record uses plain numbers, which are many times faster than arrays of one element. Both give the
same bits: counts are far below 2**53, integers become the nearest float, and quotients are rounded correctly.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.features import link_amounts
from scoring_model.features.catalogue import (
    MISSING,
    Feature,
    ReasonTopic,
    fraud_link_reason,
    link_reason,
    snake,
)
from scoring_model.features.settings import FeatureSettings
from scoring_model.history import (
    NOTHING_BEFORE,
    PERSON,
    CountKind,
    Counts,
    LinkCounts,
    LinkKey,
    TableAmounts,
    WindowSpec,
)
from scoring_model.records import format_duration

VERSION = 1

_MICROSECONDS = 1_000_000.0
_IN_WINDOWS: tuple[CountKind, ...] = ("records", "persons", "frauds", "fraud_share")
_DELAYED: tuple[CountKind, ...] = ("records", "frauds", "fraud_share")
_WHOLE: tuple[CountKind, ...] = ("age", "first", "since_first_fraud", "since_last_fraud", "fraud_run")
_UNITS = {
    "persons": "persons",
    "fraud_share": "share",
    "since_last": "seconds",
    "age": "seconds",
    "first": "0 or 1",
    "since_first_fraud": "seconds",
    "since_last_fraud": "seconds",
}
_WORDS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_ONES = {"1d": "24 hours", "1h": "60 minutes", "1m": "60 seconds", "1s": "1 second"}
_SENTENCES = {
    "records": "Earlier records {same}.",
    "persons": "Distinct persons {same}.",
    "frauds": "Known frauds {same}.",
    "fraud_share": "Share of known frauds {same}.",
    "since_last": "Time since the last record with the same {key}.",
    "age": "Time since the oldest record that is known with the same {key}.",
    "first": "Whether no earlier record with the same {key} is known.",
    "since_first_fraud": "Time since the oldest known fraud with the same {key}.",
    "since_last_fraud": "Time since the latest known fraud with the same {key}.",
    "fraud_run": "Latest known frauds in a row with the same {key}.",
}


def link_features(settings: FeatureSettings) -> tuple[Feature, ...]:
    """Return the features of every link key, in the order of `link_rows`."""
    return tuple(
        feature
        for key in settings.links.link_keys
        for feature in _features_of(key, settings.links.specs[key.name], settings)
    )


def width(key: LinkKey, settings: FeatureSettings) -> int:
    """Return the number of features of one link key, in use or not."""
    return len(tuple(_features_of(key, settings.links.specs[key.name], settings)))


def fraud_features(settings: FeatureSettings, delay: int) -> dict[int, tuple[str, ...]]:
    """Return the features of known frauds that look back at most `delay`, by window length, without excluded ones."""
    found: dict[int, list[str]] = {}
    for key in settings.links.link_keys:
        spec = settings.links.specs[key.name]
        spans = [(window, _span(window), spec.counts) for window in spec.windows]
        spans += [(spec.delay + window, _delayed_span(window), _DELAYED) for window in spec.delayed]
        for reach, span, kinds in spans:
            names = [f"link_{key.name}_{span}_{kind}" for kind in ("frauds", "fraud_share") if kind in kinds]
            if reach <= delay:
                found.setdefault(reach, []).extend(name for name in names if name not in settings.exclude)
    return {reach: tuple(names) for reach, names in sorted(found.items()) if names}


def link_reasons(settings: FeatureSettings, used: Collection[str]) -> Iterator[ReasonTopic]:
    """Yield the reasons of every link key.

    Parameters
    ----------
    used : collection of str
        Names of the features in use.
    """
    for key in settings.links.link_keys:
        spec = settings.links.specs[key.name]
        same = "of the same person" if key.name == PERSON else f"with the same {key.name.replace('_', ' ')}"
        code, columns, span = link_reason(key.name), *_counted(key, spec, "records", used)
        yield ReasonTopic(
            code=code,
            sentence=f"An earlier {{event}} {same} is known.",
            about=f"earlier records {same}",
            positive=columns,
            absence=(f"NO_{code}", f"No earlier {{event}} {same} is known from the {span}."),
        )
        code, columns, span = fraud_link_reason(key.name), *_counted(key, spec, "frauds", used)
        # Of more records than the cap a window sees the latest alone.
        seen = f"the latest {spec.cap} of the {span}"
        yield ReasonTopic(
            code=code,
            sentence=f"An earlier {{event}} {same} is known to be fraud.",
            about=f"frauds among earlier records {same}",
            positive=columns,
            absence=(f"NO_{code}", f"No earlier {{event}} {same} is known to be fraud ({seen})."),
        )


def _counted(
    key: LinkKey, spec: WindowSpec, kind: CountKind, used: Collection[str]
) -> tuple[tuple[str, ...], str]:
    """Return the columns that show that any window counts something, and what the windows are in words.

    Of either sort of windows the longest one is needed, since it sees all, and the others that are in use are read.
    """
    sorts = [(list(map(_span, spec.windows)), f"{_in_words(spec.windows[-1])} before")]
    if spec.delayed:
        older = f"{_in_words(spec.delayed[-1])} before the last {_in_words(spec.delay)}"
        sorts = [*(sorts if kind in spec.counts else ()), (list(map(_delayed_span, spec.delayed)), older)]
    columns = [(f"link_{key.name}_{span}_{kind}", span == spans[-1]) for spans, _ in sorts for span in spans]
    names = tuple(name for name, is_longest in columns if is_longest or name in used)
    return names, " and the ".join(words for _, words in sorts)


def _in_words(window: int) -> str:
    """Write a window in words, such as ``90 days`` or ``24 hours``."""
    text = format_duration(window)
    return _ONES.get(text) or f"{text[:-1]} {_WORDS[text[-1]]}"


def link_rows(spec: WindowSpec, counts: LinkCounts, amounts: Sequence[TableAmounts] = ()) -> FloatArray:
    """Compute the features of one link key from its counts.

    Parameters
    ----------
    amounts : sequence of TableAmounts
        The amounts of the records themselves.

    Returns
    -------
    ndarray of shape (n, d), float64
        For each window its counts, in the order of `COUNT_KINDS`; the seconds since the last record; for each amount
        and window its statistics; for each delayed window records, known frauds and their share; requested features
        of the whole history. Shares without records and times without an event are NaN.
    """
    records, persons, frauds = (
        block.astype(np.float64) for block in (counts.records, counts.persons, counts.frauds)
    )
    columns: list[FloatArray] = []
    for w in range(len(spec.windows)):
        if "records" in spec.counts:
            columns.append(records[:, w])
        if "persons" in spec.counts:
            columns.append(persons[:, w])
        if "frauds" in spec.counts:
            columns.append(frauds[:, w])
        if "fraud_share" in spec.counts:
            columns.append(_shares(frauds[:, w], records[:, w]))
    if "since_last" in spec.counts:
        columns.append(_seconds(counts.since_last))
    for place, sums in zip(spec.places, counts.sums, strict=True):
        columns += link_amounts.columns(sums, amounts[place], spec)
    older, known = counts.delayed_records.astype(np.float64), counts.delayed_frauds.astype(np.float64)
    for w in range(len(spec.delayed)):
        columns += [older[:, w], known[:, w], _shares(known[:, w], older[:, w])]
    if "change" in spec.counts:
        for w, factor in enumerate(_factors(spec)):
            columns.append(_shares(records[:, w] * factor, records[:, w + 1]))
    if "age" in spec.counts:
        columns.append(_seconds(counts.age))
    if "first" in spec.counts:
        columns.append((counts.age == NOTHING_BEFORE).astype(np.float64))
    if counts.known is not None:
        if "since_first_fraud" in spec.counts:
            columns.append(_seconds(counts.known.first))
        if "since_last_fraud" in spec.counts:
            columns.append(_seconds(counts.known.last))
        if "fraud_run" in spec.counts:
            columns.append(counts.known.run.astype(np.float64))
    return np.stack(columns, axis=1) if columns else np.empty((len(records), 0))


def link_row(spec: WindowSpec, counts: Counts, own: Sequence[int | None] = ()) -> list[float]:
    """Compute the features of one link key for one record with its own amounts, equal to its row of `link_rows`.

    Some numbers are integers, which become the nearest floats when the row is packed.
    """
    row: list[float] = []
    has_records, has_persons, has_frauds, has_share = spec.in_windows
    for records, persons, frauds in zip(counts.records, counts.persons, counts.frauds, strict=True):
        if has_records:
            row.append(records)
        if has_persons:
            row.append(persons)
        if has_frauds:
            row.append(frauds)
        if has_share:
            row.append(frauds / records if records else MISSING)
    if "since_last" in spec.counts:
        row.append(_second(counts.since_last))
    if spec.is_plain:
        return row
    for place, sums in zip(spec.places, counts.sums, strict=True):
        row += link_amounts.row(sums, own[place] if own else None, spec)
    for records, frauds in zip(*counts.delayed, strict=True):
        row += (records, frauds, frauds / records if records else MISSING)
    return row + _of_whole(spec, counts)


def _of_whole(spec: WindowSpec, counts: Counts) -> list[float]:
    """Compute the requested features of the whole history of one record."""
    kinds, row = spec.counts, []
    if "change" in kinds:
        pairs = zip(_factors(spec), pairwise(counts.records), strict=True)
        row += [shorter * factor / longer if longer else MISSING for factor, (shorter, longer) in pairs]
    if "age" in kinds:
        row.append(_second(counts.age))
    if "first" in kinds:
        row.append(float(counts.age == NOTHING_BEFORE))
    if counts.known is not None:
        if "since_first_fraud" in kinds:
            row.append(_second(counts.known.first))
        if "since_last_fraud" in kinds:
            row.append(_second(counts.known.last))
        if "fraud_run" in kinds:
            row.append(counts.known.run)
    return row


def _shares(part: FloatArray, whole: FloatArray) -> FloatArray:
    return np.divide(part, whole, out=np.full_like(whole, np.nan), where=whole > 0)


def _seconds(times: IntArray) -> FloatArray:
    return np.where(times == NOTHING_BEFORE, np.nan, times / _MICROSECONDS)


def _second(time: int) -> float:
    return MISSING if time == NOTHING_BEFORE else time / _MICROSECONDS


def _factors(spec: WindowSpec) -> list[float]:
    """Return the factors that scale the count of each window for comparison with the next longer one."""
    return [longer / shorter for shorter, longer in pairwise(spec.windows)]


def _span(window: int) -> str:
    return format_duration(window)


def _delayed_span(window: int) -> str:
    return f"{format_duration(window)}_delayed"


def _features_of(key: LinkKey, spec: WindowSpec, settings: FeatureSettings) -> Iterator[Feature]:
    """Yield the features of one link key, in the order of `link_rows`."""

    def feature(name: str, kind: str, same: str) -> Feature:
        return Feature(
            name=f"link_{key.name}_{name}",
            inputs=key.fields or (key.name,),
            unit=_UNITS.get(kind, "records"),
            reason=fraud_link_reason(key.name) if "fraud" in kind else link_reason(key.name),
            sentence=_SENTENCES[kind].format(same=same, key=key.name),
        )

    def kinds_of(order: Sequence[CountKind]) -> list[CountKind]:
        return [kind for kind in order if kind in spec.counts]

    for window in spec.windows:
        for kind in kinds_of(_IN_WINDOWS):
            yield feature(f"{_span(window)}_{kind}", kind, _same(key, window))
    for kind in kinds_of(("since_last",)):
        yield feature(kind, kind, "")
    yield from _features_of_amounts(key, spec, settings)
    for window in spec.delayed:
        for kind in _DELAYED:
            same = f"{_same(key, window)} the last {format_duration(spec.delay)}"
            yield feature(f"{_delayed_span(window)}_{kind}", kind, same)
    if "change" in spec.counts:
        yield from _features_of_changes(key, spec)
    for kind in kinds_of(_WHOLE):
        yield feature(kind, kind, "")


def _features_of_amounts(key: LinkKey, spec: WindowSpec, settings: FeatureSettings) -> Iterator[Feature]:
    """Yield the statistics of each amount in each window."""
    for place in spec.places:
        amount = spec.amounts[place]
        for window in spec.windows:
            for statistic in link_amounts.kinds(spec):
                yield Feature(
                    name=f"link_{key.name}_{_span(window)}_{snake(amount.signal)}_{statistic}",
                    inputs=(*(key.fields or (key.name,)), amount.field),
                    unit=link_amounts.unit(statistic),
                    reason=link_reason(key.name),
                    sentence=link_amounts.sentence(statistic, amount.signal, _same(key, window), spec),
                    protected=settings.signals[amount.signal].protected,
                )


def _features_of_changes(key: LinkKey, spec: WindowSpec) -> Iterator[Feature]:
    """Yield the rate of each window by that of the next longer one."""
    for shorter, longer in pairwise(spec.windows):
        yield Feature(
            name=f"link_{key.name}_{_span(shorter)}_{_span(longer)}_change",
            inputs=key.fields or (key.name,),
            unit="ratio",
            reason=link_reason(key.name),
            sentence=(
                f"Rate of earlier records {_same(key, shorter)} by their rate in the {_span(longer)} before."
            ),
        )


def _same(key: LinkKey, window: int) -> str:
    return f"with the same {key.name} in the {format_duration(window)} before"
