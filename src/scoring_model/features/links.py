"""Features of links: what is known of earlier records with the same link key.

Of a table they are made of arrays, of one record of plain numbers, which is many times faster than arrays of
one. Counts are far below 2**53, integers become the nearest float in either, and a quotient of two floats is
rounded correctly by either, so both are the same bits.
"""

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.features.catalogue import MISSING, Feature, fraud_link_reason, link_reason, snake
from scoring_model.features.settings import FeatureSettings
from scoring_model.history import NOTHING_BEFORE, PERSON, Counts, LinkCounts, LinkKey, LinkSums, Sums
from scoring_model.records import format_duration

VERSION = 1

_MICROSECONDS = 1_000_000.0
_FRAUD_FEATURES = _FRAUDS, _FRAUD_SHARE = "frauds", "fraud_share"


def link_features(settings: FeatureSettings) -> tuple[Feature, ...]:
    """The features of every link key, in the order of `link_rows`."""
    return tuple(
        feature
        for key in settings.links.link_keys
        for feature in (*_features_of(key, settings.links.windows), *_features_of_sums(key, settings))
    )


def fraud_features(settings: FeatureSettings, window: int) -> tuple[str, ...]:
    """Names of the features of known frauds over one window that are not excluded."""
    span = format_duration(window)
    names = [f"link_{key.name}_{span}_{name}" for key in settings.links.link_keys for name in _FRAUD_FEATURES]
    return tuple(name for name in names if name not in settings.exclude)


def link_rows(key: LinkKey, counts: LinkCounts) -> FloatArray:
    """The features of one link key from its counts.

    Returns
    -------
    ndarray of shape (n, d), float64
        For each window the records, distinct persons (not for the person itself), known frauds and their share
        (NaN where there are no records); then the seconds since the last (NaN where there is none). Where amounts
        are summed there follow for each window their sum and their mean (NaN where no record has one).
    """
    records = counts.records.astype(np.float64)
    share = np.divide(counts.frauds, records, out=np.full_like(records, np.nan), where=records > 0)
    persons = [] if key.name == PERSON else [counts.persons.astype(np.float64)]
    by_window = _interleaved(records, *persons, counts.frauds.astype(np.float64), share)
    since = np.where(counts.since_last == NOTHING_BEFORE, np.nan, counts.since_last / _MICROSECONDS)
    sums = [] if counts.sums is None else [_sum_rows(counts.sums)]
    return np.concatenate([by_window, since[:, None], *sums], axis=1)


def link_row(key: LinkKey, counts: Counts) -> list[float]:
    """The features of one link key of one record: the same bits as its row of `link_rows`."""
    records, persons, frauds, since_last, sums = counts
    row: list[float] = []
    for n, distinct, known in zip(records, persons, frauds, strict=True):
        row.append(float(n))
        if key.name != PERSON:
            row.append(float(distinct))
        row.append(float(known))
        row.append(known / n if n else MISSING)
    row.append(MISSING if since_last == NOTHING_BEFORE else since_last / _MICROSECONDS)
    if sums is not None:
        row += _sum_row(sums)
    return row


def _sum_rows(sums: LinkSums) -> FloatArray:
    units, records = sums.units.astype(np.float64), sums.records.astype(np.float64)
    mean = np.divide(units, records * sums.scale, out=np.full_like(units, np.nan), where=records > 0)
    return _interleaved(units / sums.scale, mean)


def _sum_row(sums: Sums) -> list[float]:
    row = []
    for total, n in zip(sums.units, sums.records, strict=True):
        # The scale is a float: a sum becomes the nearest one before it is divided, as it does in an array.
        row.append(total / sums.scale)
        row.append(total / (n * sums.scale) if n else MISSING)
    return row


def _interleaved(*blocks: FloatArray) -> FloatArray:
    """Put blocks of shape (n, W) side by side, window by window."""
    stacked = np.stack(blocks, axis=2)
    return stacked.reshape(len(stacked), stacked.shape[1] * stacked.shape[2])


def _features_of(key: LinkKey, windows: tuple[int, ...]) -> list[Feature]:
    def feature(name: str, unit: str, sentence: str, *, fraud: bool = False) -> Feature:
        return Feature(
            name=f"link_{key.name}_{name}",
            inputs=key.fields or (key.name,),
            unit=unit,
            reason=fraud_link_reason(key.name) if fraud else link_reason(key.name),
            sentence=sentence,
        )

    features = []
    for window in windows:
        span = format_duration(window)
        same = _same(key, window)
        features.append(feature(f"{span}_records", "records", f"Earlier records {same}."))
        if key.name != PERSON:
            features.append(feature(f"{span}_persons", "persons", f"Distinct persons {same}."))
        features.append(feature(f"{span}_{_FRAUDS}", "records", f"Known frauds {same}.", fraud=True))
        features.append(
            feature(f"{span}_{_FRAUD_SHARE}", "share", f"Share of known frauds {same}.", fraud=True)
        )
    features.append(feature("since_last", "seconds", f"Time since the last record with the same {key.name}."))
    return features


def _features_of_sums(key: LinkKey, settings: FeatureSettings) -> list[Feature]:
    amount = settings.links.amount
    if amount is None:
        return []

    def feature(window: int, name: str) -> Feature:
        return Feature(
            name=f"link_{key.name}_{format_duration(window)}_{snake(amount.signal)}_{name}",
            inputs=(*(key.fields or (key.name,)), amount.field),
            unit="as supplied",
            reason=link_reason(key.name),
            sentence=f"{name.capitalize()} of the signal {amount.signal} over earlier records {_same(key, window)}.",
            protected=settings.signals[amount.signal].protected,
        )

    return [feature(window, name) for window in settings.links.windows for name in ("sum", "mean")]


def _same(key: LinkKey, window: int) -> str:
    return f"with the same {key.name} in the {format_duration(window)} before"
