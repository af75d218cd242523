"""Which column of a file holds the labels, when they became known, and what was decided: by words, then by headers."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from functools import partial
from itertools import takewhile
from typing import Final

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.configuration import synonyms
from scoring_model.configuration.headers import joined, known, ranks, tells, words_of
from scoring_model.configuration.profiles import Kind, Profile
from scoring_model.records import NEVER
from scoring_model.records.labels import label_cell, label_spelling
from scoring_model.records.schema import ANY
from scoring_model.records.times import DAY

LABEL_WORDS: Final = 8
"""Most distinct words of a label or an outcome."""
KNOWN_FRAUDS: Final = 0.9
"""Least share of the frauds that have a time at which they became known."""
_FEWEST: Final = 20
_RARE: Final = 0.5  # a label that only frauds have fills a smaller share of its column
_NUMBER: Final = re.compile(r"-?\d+", re.ASCII)
_GAP: Final = 5  # missing levels from which a number is none, but a code such as 9 or 99
_SELDOM: Final = 0.2  # a time that marks frauds is filled in a smaller share of the records
_ZERO: Final = re.compile(r"\D{0,4}0+(?:[.,]0*)?\D{0,4}", re.ASCII)
_FRAUD_KINDS: Final = re.compile(
    "(^|_)(types?|typ|tipo|kind|soort|rodzaj|category)(_|$)|(typ|type|(?<!st)art)$"
)
_FREE: Final = ("frei", "free", "vrij", "fri")
_NEGATED: Final = ("nofraud", "nonfraud", "notfraud")
_STRAY: Final = 0.01  # share of rows that a rule about times may be broken in by slips


class Meaning(StrEnum):
    """What a cell says by itself."""

    FRAUD = "fraud"
    GENUINE = "genuine"
    YES = "yes"
    NO = "no"
    OTHER = "other"


class Trust(IntEnum):
    """How sure it is that a column is the label; lower is surer."""

    WORDS = 0  # it has words of fraud, and beside them only words of genuine
    HEADER = 1  # a header that tells fraud, over yes and no
    FRAUD_WORD = 2  # a word of fraud among others, or alone
    PRESENCE = 3  # a header that tells fraud, over a few cells of any values
    TIMES = 4  # a column of times that is filled for some of its words alone
    GENERAL_HEADER = 5  # such as class or outcome


@dataclass(frozen=True, kw_only=True)
class LabelColumn:
    """A column that may be the label, with the words of each class.

    Parameters
    ----------
    guess : bool
        Whether a word was taken for a class by its frequency alone.
    """

    profile: Profile
    trust: Trust
    fraud: tuple[str, ...]
    genuine: tuple[str, ...]
    ignored: tuple[str, ...]
    guess: bool = False

    @property
    def share(self) -> float:
        """Return the share of frauds among the rows with one of its words, or among all where none is genuine."""
        is_for_all = self.trust is Trust.PRESENCE or not self.genuine
        rows = len(self.profile.column) if is_for_all else int(self.profile.counts.sum())
        return int(self.frauds.sum()) / max(rows, 1)

    @property
    def frauds(self) -> BoolArray:
        """Return for each row whether the column calls it fraud."""
        named = {*self.fraud, *self.genuine, *self.ignored}
        is_fraud = [
            word in self.fraud or (ANY in self.fraud and word not in named) for word in words_in(self.profile)
        ]
        frauds: BoolArray = np.array([*is_fraud, False], dtype=np.bool_)[self.profile.column.codes]
        return frauds


def words_in(profile: Profile) -> list[str]:
    """List the words of a column, as a configuration lists them."""
    return [label_spelling(str(label_cell(value))) for value in profile.column.values]


def meaning_of(text: str) -> Meaning:
    """Say what a cell means under any header; `suspected fraud` is no fraud and not genuine either.

    Examples
    --------
    >>> [str(meaning_of(text)) for text in ("Betrugsfall", "kein Betrug", "Fraude soupçonnée", "oui", "bezahlt")]
    ['fraud', 'genuine', 'other', 'yes', 'other']
    """
    words = words_of(text)
    if tells(words, synonyms.FRAUD_STEMS):
        if tells(words, synonyms.SUSPICIONS):
            return Meaning.OTHER
        return Meaning.GENUINE if _is_denied(words) else Meaning.FRAUD
    for meaning, entries in (
        (Meaning.YES, synonyms.POSITIVE),
        (Meaning.NO, synonyms.NEGATIVE),
        (Meaning.GENUINE, synonyms.GENUINE),
    ):
        if words in known(entries):
            return meaning
    denied, _, rest = words.partition("_")
    if denied in known(synonyms.NEGATIONS) and rest in known(synonyms.POSITIVE):
        return Meaning.NO
    return Meaning.GENUINE if tells(words, synonyms.GENUINE) else Meaning.OTHER


def _is_denied(words: str) -> bool:
    """Return whether a negation is of the word of fraud, and not of what the fraud was: `fraud: no card present`.

    It stands before that word, or is the last word, or that of a confirmation follows.
    """
    if words.startswith(_NEGATED):
        return True
    parts = words.split("_")
    denials = [place for place, part in enumerate(parts) if part in known(synonyms.NEGATIONS)]
    first = next((place for place, part in enumerate(parts) if tells(part, synonyms.FRAUD_STEMS)), len(parts))
    confirmed = any(part in known(synonyms.POSITIVE) for part in parts[first + 1 :])
    return bool(denials) and (denials[0] < first or denials[0] == len(parts) - 1 or confirmed)


def _denies_fraud(header: str) -> bool:
    """Return whether a header says that something is no fraud: `non_fraude`, `betrugsfrei`."""
    before = list(takewhile(lambda part: not tells(part, synonyms.FRAUD_STEMS), header.split("_")))
    is_denied = not {*before}.isdisjoint(known(synonyms.NEGATIONS)) or header.endswith(_FREE)
    return tells(header, synonyms.FRAUD_STEMS) and is_denied


def label_columns(profiles: Iterable[Profile]) -> list[LabelColumn]:
    """List the columns that may be the label, likeliest first."""
    found = [column for profile in profiles if (column := _judged(profile)) is not None]
    places = ranks(synonyms.HEADERS["label"])
    return sorted(
        found,
        key=lambda column: (
            column.trust,
            column.profile.kind is Kind.TIME,
            not tells(column.profile.words, synonyms.FRAUD_STEMS),
            tells(column.profile.words, synonyms.RESOLUTION),  # a review may end with a word of fraud
            places.get(joined(column.profile.words), len(places)),
            -column.profile.filled,
        ),
    )


def _judged(profile: Profile) -> LabelColumn | None:
    if _measures(profile.words, synonyms.AMOUNTS) and (found := _by_presence(profile)) is not None:
        return found
    return _by_words(profile) or _by_presence(profile)


def _measures(header: str, text: str = synonyms.MEASURES) -> bool:
    """Return whether a header is that of a measure; the Swedish word for fraud begins as the Dutch one for amounts."""
    others = [part for part in header.split("_") if part not in known(synonyms.FRAUD_STEMS)]
    return tells("_".join(others), text)


def _by_presence(profile: Profile) -> LabelColumn | None:
    """Return a column whose header tells fraud and that most rows lack, or have with an amount of zero."""
    header = profile.words
    if not tells(header, synonyms.FRAUD_STEMS) or tells(header, synonyms.EARLIER) or not profile.filled:
        return None
    is_amount = _measures(header, synonyms.AMOUNTS)
    if _measures(header) and not is_amount:
        return None
    zeros = tuple(word for word in words_in(profile) if is_amount and _ZERO.fullmatch(word))
    found = LabelColumn(profile=profile, trust=Trust.PRESENCE, fraud=(ANY,), genuine=zeros, ignored=())
    return found if 0 < found.share < _RARE else None


def _by_words(profile: Profile) -> LabelColumn | None:
    if profile.kind in (Kind.EMPTY, Kind.TIME) or len(profile.counts) > LABEL_WORDS:
        return None
    words = words_in(profile)
    meanings = dict(zip(words, map(meaning_of, words), strict=True))
    of = {kind: tuple(word for word in words if meanings[word] is kind) for kind in Meaning}
    others = of[Meaning.OTHER]
    if of[Meaning.FRAUD]:
        return _of_fraud_words(profile, of, others)
    header = profile.words
    seldom = int(profile.counts[[word in of[Meaning.NO] for word in words]].sum()) < profile.counts.sum() / 2
    inverse = tells(header, synonyms.GENUINE_STEMS) and not tells(header, synonyms.FRAUD_STEMS)
    inverse |= seldom and _denies_fraud(header)
    telling = inverse or tells(header, synonyms.FRAUD_STEMS)
    if not telling and joined(header) not in ranks(synonyms.HEADERS["label"]):
        return None
    if telling and profile.filled < _RARE and not (of[Meaning.YES] or of[Meaning.NO] or of[Meaning.GENUINE]):
        return None  # kinds of fraud
    if inverse and not (of[Meaning.YES] or of[Meaning.NO]):
        return None  # ways of legitimation
    if telling and len(words) > 2 and all(_NUMBER.fullmatch(word) for word in words):
        return _of_levels(profile, words)
    fraud, genuine = of[Meaning.YES], (*of[Meaning.NO], *of[Meaning.GENUINE])
    if inverse:
        fraud, genuine = of[Meaning.NO], (*of[Meaning.YES], *of[Meaning.GENUINE])
    trust = Trust.HEADER if telling else Trust.GENERAL_HEADER
    if fraud and (genuine or telling):
        return LabelColumn(profile=profile, trust=trust, fraud=fraud, genuine=genuine, ignored=others)
    return _by_frequency(profile, trust, words)


def _of_fraud_words(
    profile: Profile, of: dict[Meaning, tuple[str, ...]], others: tuple[str, ...]
) -> LabelColumn:
    """Return a column with words of fraud: under any header it is a label.

    Where most rows have none of its words, the others say why something else ended, and not what is genuine. Under a
    header of kinds of fraud, such as `type_fraude`, all are kinds but `none`.
    """
    genuine = (*of[Meaning.GENUINE], *of[Meaning.NO])
    ignored, fraud = (*others, *of[Meaning.YES]), of[Meaning.FRAUD]
    trust, guess = (Trust.WORDS if genuine else Trust.FRAUD_WORD), False
    if _FRAUD_KINDS.search(profile.words) and tells(profile.words, synonyms.FRAUD_STEMS):
        none = tuple(word for word in ignored if words_of(word) in known(synonyms.NEGATIONS))
        fraud, genuine, ignored = (
            (*fraud, *(word for word in ignored if word not in none)),
            (*genuine, *none),
            (),
        )
    if not genuine and ignored and profile.filled >= _RARE:
        counts = dict(zip(words_in(profile), profile.counts.tolist(), strict=True))
        genuine, guess = (max(ignored, key=lambda word: counts[word]),), True
        ignored = tuple(word for word in ignored if word not in genuine)
    return LabelColumn(
        profile=profile,
        trust=trust,
        fraud=fraud,
        genuine=genuine,
        ignored=ignored,
        guess=guess,
    )


def _of_levels(profile: Profile, words: Sequence[str]) -> LabelColumn | None:
    """Take all levels of a number above the lowest for fraud, unless the header calls it a measure.

    A number below 0, and one far above the others, such as 9 beside 0 and 1, say that nothing is known.
    """
    if _measures(profile.words):
        return None
    ordered = sorted((word for word in words if int(word) >= 0), key=int)
    levels = [word for place, word in enumerate(ordered) if int(word) - int(ordered[0]) < place + _GAP]
    if len(levels) < 2:
        return None
    unknown = tuple(word for word in words if word not in levels)
    return LabelColumn(
        profile=profile,
        trust=Trust.HEADER,
        fraud=(*levels[1:],),
        genuine=(levels[0],),
        ignored=unknown,
        guess=len(levels) > 2,
    )


def told_by_times(profiles: Sequence[Profile], events: IntArray) -> list[tuple[LabelColumn, Profile]]:
    """List the columns some of whose words alone have a time in another column, each with that column.

    Such a time is that of a chargeback or a finding, whatever the language or the codes of the words: few records have
    it, and never before their event. The fewest words come first.

    Parameters
    ----------
    events : ndarray of shape (n,), int64
        Times of the events, microseconds; `NEVER` where missing.
    """
    found = []
    for time in (one for one in profiles if one.kind is Kind.TIME and one.filled < _SELDOM):
        times = time.times
        if (times != NEVER).sum() < _FEWEST or come_before(times, events):
            continue
        columns = map(partial(_filled_for, times=times), profiles)
        found += [(column, time) for column in columns if column is not None]
    return sorted(found, key=lambda one: (len(one[0].profile.counts), -one[0].profile.filled))


def _filled_for(profile: Profile, times: IntArray) -> LabelColumn | None:
    """Return a column whose words each have a time in nearly all or nearly none of their records, and some in all."""
    if profile.kind in (Kind.EMPTY, Kind.TIME) or len(profile.counts) > LABEL_WORDS:
        return None
    shares = shares_filled(profile, times)
    is_fraud = shares >= KNOWN_FRAUDS
    if is_fraud[0] or not is_fraud.any() or (is_fraud[1:].all() and profile.filled == 1):
        return None
    if (shares[~is_fraud] > _STRAY).any():
        return None
    words = words_in(profile)
    fraud, others = (
        tuple(word for word, is_one in zip(words, is_fraud[1:], strict=True) if bool(is_one) is kind)
        for kind in (True, False)
    )
    confirmed = tuple(word for word in fraud if meaning_of(word) in (Meaning.FRAUD, Meaning.YES))
    ignored: tuple[str, ...] = ()
    if 0 < len(confirmed) < len(fraud):  # the others were refuted
        ignored, others = others, tuple(word for word in fraud if word not in confirmed)
    return LabelColumn(
        profile=profile,
        trust=Trust.TIMES,
        fraud=confirmed or fraud,
        genuine=others,
        ignored=ignored,
        guess=True,
    )


def told_apart_by_times(column: LabelColumn, profiles: Iterable[Profile], events: IntArray) -> LabelColumn:
    """Return a label whose genuine word was guessed with those words of findings that have a time as nearly all frauds.

    The others, such as `not reviewed`, lack it; they are no label.

    Parameters
    ----------
    events : ndarray of shape (n,), int64
        Times of the events, microseconds; `NEVER` where missing.
    """
    others = (*column.genuine, *column.ignored)
    for time in (one for one in profiles if one.kind is Kind.TIME):
        times = time.times
        shares = dict(zip(words_in(column.profile), shares_filled(column.profile, times)[1:], strict=True))
        found = tuple(word for word in others if shares[word] >= KNOWN_FRAUDS)
        left = tuple(word for word in others if shares[word] <= _STRAY)
        is_all = (
            len(found) + len(left) == len(others)
            and min(shares[word] for word in column.fraud) >= KNOWN_FRAUDS
        )
        if found and left and is_all and not come_before(times, events):
            return replace(column, genuine=found, ignored=left, guess=False)
    return column


def shares_filled(profile: Profile, times: IntArray) -> FloatArray:
    """Return the share of records with a time: first of those without a word, then of each word."""
    size = len(profile.counts) + 1
    counts = np.bincount(profile.column.codes + 1, minlength=size)
    filled = np.bincount(profile.column.codes + 1, weights=times != NEVER, minlength=size)
    return filled / np.maximum(counts, 1)


def _by_frequency(profile: Profile, trust: Trust, words: Sequence[str]) -> LabelColumn | None:
    """Take the rarest word for fraud and the most frequent one for genuine."""
    if len(words) < 2:
        return None
    by_count = [words[place] for place in np.argsort(profile.counts, kind="stable")]
    first, *rest, last = by_count
    return LabelColumn(
        profile=profile,
        trust=trust,
        fraud=(first,),
        genuine=(last,),
        ignored=tuple(rest),
        guess=True,
    )


def tell_when_known(times: IntArray, events: IntArray, targets: IntArray) -> bool:
    """Return whether times say when frauds became known.

    Nine in ten frauds have one, and none is before its event. Records without a label have none; or genuine ones have
    none, and nine in ten times are those of frauds. A few slips are let pass.

    Parameters
    ----------
    times, events : ndarray of shape (n,), int64
        Microseconds; `NEVER` where missing.
    targets : ndarray of shape (n,), int64
        1 fraud, 0 genuine, -1 no label.
    """
    filled, frauds = times != NEVER, targets == 1
    if frauds.sum() < _FEWEST or filled[frauds].mean() < KNOWN_FRAUDS:
        return False
    # Records without a label first, then genuine ones; a group of a few records proves nothing.
    others = [group for value in (-1, 0) if (group := targets == value).sum() >= _FEWEST]
    untimed = [bool(filled[group].mean() <= _STRAY) for group in others]
    mostly_frauds = bool(frauds[filled].mean() >= KNOWN_FRAUDS)
    return (any(untimed[:1]) or (any(untimed) and mostly_frauds)) and not come_before(times, events)


def come_before(times: IntArray, events: IntArray) -> bool:
    """Return whether more than a few times lie before their event; whole days are compared by day."""
    both = (times != NEVER) & (events != NEVER)
    if not both.any():
        return False
    start = events[both]
    if not (times[both] % DAY).any():
        start = start // DAY * DAY
    return bool((times[both] < start).mean() > _STRAY)
