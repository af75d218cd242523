"""Features of links: what is known of earlier records with the same link key.

Of a table they are made of arrays, of one record of plain numbers, which is many times faster than arrays of
one. Counts are far below 2**53 and a quotient of two is rounded correctly by either, so both are the same bits.
"""

import numpy as np

from scoring_model.arrays import FloatArray
from scoring_model.features.catalogue import MISSING, Feature
from scoring_model.features.reasons import fraud_link_reason, link_reason
from scoring_model.features.settings import LinkSettings
from scoring_model.history import NOTHING_BEFORE, PERSON, Counts, LinkCounts, LinkKey
from scoring_model.records import format_duration

VERSION = 1

_MICROSECONDS = 1_000_000.0


def link_features(settings: LinkSettings) -> tuple[Feature, ...]:
    """The features of every link key, in the order of `link_rows`."""
    return tuple(feature for key in settings.link_keys for feature in _features_of(key, settings.windows))


def link_rows(key: LinkKey, counts: LinkCounts) -> FloatArray:
    """The features of one link key from its counts.

    Returns
    -------
    ndarray of shape (n, d), float64
        For each window the records, distinct persons (not for the person itself), known frauds and their share
        (NaN where there are no records); then the seconds since the last (NaN where there is none).
    """
    records = counts.records.astype(np.float64)
    share = np.divide(counts.frauds, records, out=np.full_like(records, np.nan), where=records > 0)
    persons = [] if key.name == PERSON else [counts.persons.astype(np.float64)]
    by_window = np.stack([records, *persons, counts.frauds.astype(np.float64), share], axis=2)
    since = np.where(counts.since_last == NOTHING_BEFORE, np.nan, counts.since_last / _MICROSECONDS)
    flat = by_window.reshape(len(records), by_window.shape[1] * by_window.shape[2])
    return np.concatenate([flat, since[:, None]], axis=1)


def link_row(key: LinkKey, counts: Counts) -> list[float]:
    """The features of one link key of one record: the same bits as its row of `link_rows`."""
    records, persons, frauds, since_last = counts
    row: list[float] = []
    for n, distinct, known in zip(records, persons, frauds, strict=True):
        row.append(float(n))
        if key.name != PERSON:
            row.append(float(distinct))
        row.append(float(known))
        row.append(known / n if n else MISSING)
    row.append(MISSING if since_last == NOTHING_BEFORE else since_last / _MICROSECONDS)
    return row


def _features_of(key: LinkKey, windows: tuple[int, ...]) -> list[Feature]:
    def feature(name: str, unit: str, sentence: str, *, fraud: bool = False) -> Feature:
        return Feature(
            name=f"link_{key.name}_{name}",
            inputs=key.parts or (key.name,),
            unit=unit,
            reason=fraud_link_reason(key.name) if fraud else link_reason(key.name),
            sentence=sentence,
        )

    features = []
    for window in windows:
        span = format_duration(window)
        same = f"with the same {key.name} in the {span} before"
        features.append(feature(f"{span}_records", "records", f"Earlier records {same}."))
        if key.name != PERSON:
            features.append(feature(f"{span}_persons", "persons", f"Distinct persons {same}."))
        features.append(feature(f"{span}_frauds", "records", f"Known frauds {same}.", fraud=True))
        features.append(feature(f"{span}_fraud_share", "share", f"Share of known frauds {same}.", fraud=True))
    features.append(feature("since_last", "seconds", f"Time since the last record with the same {key.name}."))
    return features
