"""Leaves out columns that cannot be signals, or that copy the label."""

from typing import Final

import numpy as np

from scoring_model.arrays import BoolArray, FloatArray, IntArray
from scoring_model.configuration import synonyms
from scoring_model.configuration.headers import joined, known, ranks, tells, without_persons, words_of
from scoring_model.configuration.profiles import Kind, Profile, are_rounded
from scoring_model.configuration.proposal.draft import FEWEST, NEARLY_ALL, Proposal
from scoring_model.configuration.proposal.fields import SAMPLE, numbers_records
from scoring_model.configuration.proposal.label_columns import LABEL_WORDS, words_in
from scoring_model.configuration.proposal.matching import rank
from scoring_model.configuration.proposal.outcomes import not_passed_rows, rows_by_decision
from scoring_model.configuration.proposal.signals import _LINKING
from scoring_model.records import NEVER
from scoring_model.records.table import Column

_REASONS: Final = {
    Kind.EMPTY: "it is empty",
    Kind.CONSTANT: "it is the same in every row",
    Kind.TIME: "times are no signals",
    Kind.HOUR: "times are no signals",
    Kind.TEXT: "nearly every row has another text",
    Kind.LIST: "it holds lists or objects, and a signal is one value",
}
_STANDING: Final = (
    "it says how an account stands today, which follows from the label",
    "it may change after the event: use it only as it was at the event",
)
_STATUS: Final = (
    "its header names a status, and its values separate frauds from other records",
    _STANDING[1],
)
_COPIES: Final = (
    "it separates nearly all frauds from the others, or most have a value that only frauds have: it may follow from "
    "the label",
    "it copies the label of most frauds: use it only if it is known at the event",
)
_DECIDED: Final = (
    "it tells those who were stopped from the others nearly perfectly, as what follows from the decision",
    "it nearly follows from what was decided: use it only if it is known before",
)
_AFTER: Final = (
    "its header says what came after the event, and its values separate frauds from other records",
    "it seems to come after the event: use it only if it is known then",
)
_HANDLED: Final = (
    "it says who handled the record, which may have followed from it: a signal if it is known at the event",
    "",
)
_NAMES_FRAUD: Final = (
    "its header names fraud, so it may follow from the label: a signal if it is known at the event",
    "",
)
_CLOCK: Final = 0.99  # rank correlation with the time or the row from which a number runs with it
_CLOCK_ROWS: Final = 10_000
_LEAK: Final = 0.99  # as training.leakage_checks.max_auc
_MOSTLY: Final = 0.8
_RARE: Final = 0.5  # share of records that have a finding, and what follows from it
_APART: Final = 0.6  # ROC AUC from which a column that comes after the event by its header tells frauds
_STANDS_APART: Final = 0.75  # the same of how something stands, which may be known at the event
_TURNS: Final = 1.05  # stretches of time for each value, at most, in a code that runs with it
_BATCH: Final = 5  # least mean number of records of such a code
_GROUPS: Final = 200  # maximum distinct values for meaningful fraud shares


def leave_out(proposal: Proposal) -> None:
    """Leave out columns that cannot be signals, or that copy the label."""
    _leave_out_control(proposal)
    targets, seconds = proposal.targets(), _seconds(proposal)
    if not (targets == 0).any():
        targets = np.maximum(targets, 0)  # where only frauds have a label, the others are genuine
    found, words = _found(proposal, targets), _words_of_names(proposal)
    for column in proposal.free():
        if _holds_names(column, words, proposal.persons):
            _leave_out_names(proposal, column)
        elif reason := _no_signal(proposal, column, found, seconds):
            proposal.left_out[column.name] = reason
        elif (follows := _what_it_follows(proposal, column, targets)) is not None:
            proposal.left_out[column.name], asked = follows
            if asked:
                proposal.decisions.append(f"{column.name} is left out, since {asked}.")


def _what_it_follows(proposal: Proposal, column: Profile, targets: IntArray) -> tuple[str, str] | None:
    """Say why a column may have followed from the label or the decision, and what to ask a person about it."""
    if _is_standing(column):
        return _STANDING
    if column.kind not in _LINKING and _separation(proposal, column.column, targets) > _LEAK:
        return _COPIES
    if _follows_decision(proposal, column):
        return _DECIDED
    apart, reason = _after(column)
    if _separation(proposal, column.column, targets) > apart:
        return reason
    if column.kind in (Kind.CATEGORY, Kind.IDENTIFIER) and tells(column.words, synonyms.HANDLERS):
        return _HANDLED
    return _NAMES_FRAUD if len(column.counts) <= LABEL_WORDS and _names_fraud(column) else None


def _leave_out_names(proposal: Proposal, column: Profile) -> None:
    proposal.left_out[column.name] = "names are no signals"
    if "lastName" not in proposal.fields:
        proposal.decisions.append(
            f"{column.name} is called like names: with one column of first names and one of last names, "
            "firstName and lastName, names have features, and persons a link key."
        )


def _no_signal(proposal: Proposal, column: Profile, found: BoolArray, seconds: FloatArray) -> str | None:
    """Say why values of such a form can be no signal, whatever they say about the label."""
    if are_rounded(column.column.values[:SAMPLE]):
        return f"a spreadsheet rounded its numbers, such as {column.column.values[0]}: export them as text"
    if column.kind in _REASONS:
        return _REASONS[column.kind]
    if _is_after(proposal, column, found):
        return "hardly any record has it but those whose label was found"
    if _is_after(proposal, column, found | not_passed_rows(proposal)):
        return "hardly any record has it but those that were not let pass, or whose label was found"
    if _is_lacked(proposal, column):
        return "hardly anyone who was stopped has it, as what is known only of those who were let pass"
    if _is_clock(proposal, column, seconds):
        return "it runs with the time of the event, and says nothing else"
    if column.kind in (Kind.NUMBER, Kind.IDENTIFIER) and numbers_records(proposal, column):
        return "it numbers the records"
    return None


def _found(proposal: Proposal, targets: IntArray) -> BoolArray:
    """Return the rows with a time at which the label became known, or the frauds where most rows have one."""
    known = proposal.of("labelKnownAt")
    rows = len(next(iter(proposal.profiles.values())).column)
    frauds: BoolArray = targets == 1 if len(targets) else np.zeros(rows, dtype=np.bool_)
    dated = frauds if known is None else known.times != NEVER
    return dated if len(dated) and dated.mean() < _RARE else frauds


def _is_after(proposal: Proposal, column: Profile, found: BoolArray) -> bool:
    """Return whether only records with a finding have a value, such as what a dispute cost or how it ended."""
    filled = _filled(proposal, column)
    if not FEWEST <= filled.sum() < _RARE * len(filled):
        return False
    return bool(found[filled].mean() > NEARLY_ALL)


def _filled(proposal: Proposal, column: Profile) -> BoolArray:
    """Return the rows with a value; a zero is none among numbers."""
    values = column.column.values
    is_value = proposal.numbers(values) != 0 if column.kind is Kind.NUMBER else np.ones(len(values), np.bool_)
    filled: BoolArray = np.append(is_value, False)[column.column.codes]
    return filled


def _is_lacked(proposal: Proposal, column: Profile) -> bool:
    """Return whether most of those who were let pass have a value, and none who were stopped, as of later orders."""
    filled = _filled(proposal, column)
    return any(
        rows.sum() >= FEWEST and filled[rows].mean() < 1 - _LEAK and filled[~rows].mean() > _RARE
        for rows in rows_by_decision(proposal)
    )


def _leave_out_control(proposal: Proposal) -> None:
    for column in proposal.free():
        if tells(column.words, synonyms.CONTROL) or _names_control(column):
            proposal.left_out[column.name] = "it says who was in a control group, which is no signal"
            proposal.decisions.append(
                f"{column.name} says who was in a control group: docs/your-data.md#a-control-group-of-your-own has "
                "how it makes figures stand for all applicants."
            )
            _leave_out_propensities(proposal)


def _names_control(column: Profile) -> bool:
    """Return whether few words have that of a control group among them, as in `control` and `business as usual`."""
    few = column.kind is Kind.CATEGORY and len(column.counts) <= LABEL_WORDS
    return few and any(words_of(word) in known(synonyms.CONTROL_WORDS) for word in words_in(column))


def _leave_out_propensities(proposal: Proposal) -> None:
    """Leave out the column that says with which probability a member passed: few numbers above 0, the others 1."""
    for column in proposal.free():
        if column.kind is not Kind.NUMBER or not 1 < len(column.counts) <= LABEL_WORDS or column.filled == 1:
            continue
        shares = proposal.numbers(column.column.values)
        if ((shares > 0) & (shares <= 1)).all() and (shares == 1).any():
            proposal.left_out[column.name] = (
                "it may be the propensity of a control group, which is no signal: records.columns.propensity"
            )


def _names_fraud(column: Profile) -> bool:
    return tells(column.words, synonyms.FRAUD_STEMS) and not tells(column.words, synonyms.EARLIER)


def _is_standing(column: Profile) -> bool:
    """Return whether few words, one for active and one for blocked or closed, say how an account stands today."""
    if len(column.counts) > LABEL_WORDS:
        return False
    words = [words_of(word) for word in words_in(column)]
    return all(any(tells(word, text) for word in words) for text in (synonyms.ACTIVE, synonyms.ENDED))


def _after(column: Profile) -> tuple[float, tuple[str, str]]:
    """Return the ROC AUC from which a column is left out for its header, with why, and what to ask about it.

    That says what became of an application later, such as arrears, refunds or a block, or how something stands. The
    status of a check, such as pass and fail, is known at the event.
    """
    words = column.words.replace("past_due", "overdue")  # nothing that is past
    if tells(words, synonyms.EARLIER):
        return 1.0, _AFTER
    if tells(words, synonyms.AFTERWARDS + synonyms.ENDED):
        return _APART, _AFTER
    is_check = any(tells(words_of(word), synonyms.PASSED + synonyms.FAILED) for word in words_in(column))
    return _STANDS_APART if tells(words, synonyms.STATUSES) and not is_check else 1.0, _STATUS


def _follows_decision(proposal: Proposal, column: Profile) -> bool:
    """Return whether a few words tell who was stopped, such as whether an order was shipped."""
    return len(column.counts) <= LABEL_WORDS and any(
        _separation(proposal, column.column, rows.astype(np.int64)) > _LEAK
        for rows in rows_by_decision(proposal)
    )


def _words_of_names(proposal: Proposal) -> frozenset[str]:
    """Return the words of the names in the file, first, last and whole."""
    columns = [column for name in ("firstName", "lastName") if (column := proposal.of(name)) is not None]
    columns += [column for column in proposal.free() if _is_called_whole(column)]
    values = (value for column in columns for value in column.column.values)
    return frozenset(word for value in values for word in words_of(str(value)).split("_"))


def _are_names(column: Profile, words: frozenset[str]) -> bool:
    """Return whether most cells are several words, all of them of first and last names in the file."""
    cells_of = [words_of(str(value)).split("_") for value in column.column.values[:SAMPLE]]
    names = [parts for parts in cells_of if len(parts) > 1 and words.issuperset(parts)]
    return len(names) > _MOSTLY * len(cells_of)


def _is_called_whole(column: Profile) -> bool:
    headers = map(joined, (column.words, without_persons(column.words)))
    named = not ranks(synonyms.WHOLE_NAMES).keys().isdisjoint(headers)
    return named or (column.words in known(synonyms.CUSTOMERS) and _are_capitalised(column))


def _are_capitalised(column: Profile) -> bool:
    """Return whether many cells, most of them each a few words that begin with capitals, are like names."""
    cells_of = [str(value).split() for value in column.column.values[:SAMPLE]]
    like = [parts for parts in cells_of if 1 < len(parts) < 5 and all(part[:1].isupper() for part in parts)]
    return len(cells_of) > _GROUPS and len(like) > _MOSTLY * len(cells_of)


def _holds_names(column: Profile, words: frozenset[str], persons: frozenset[str]) -> bool:
    """Return whether a column is called by the word for names, or has those of others, and holds words."""
    is_name = any(rank(column, name, persons) is not None for name in ("firstName", "lastName"))
    is_called_so = (
        _is_called_whole(column)
        or is_name
        or tells(column.words, synonyms.NAMES)
        or _are_names(column, words)
    )
    numbered = sum(any(map(str.isdigit, str(value))) for value in column.column.values[:SAMPLE])
    fits = column.kind in (Kind.TEXT, Kind.CATEGORY, Kind.IDENTIFIER)
    return is_called_so and fits and numbered < min(len(column.column.values), SAMPLE) / 2


def _seconds(proposal: Proposal) -> FloatArray:
    """Return the times of the events in seconds, nan where missing; empty if no column holds them."""
    event = proposal.of("eventTime")
    if event is None:
        return np.empty(0)
    times = event.times
    return np.where(times == NEVER, np.nan, times / 1e6)


def _is_clock(proposal: Proposal, profile: Profile, seconds: FloatArray) -> bool:
    """Return True if numbers rise or fall with the time of the event, as a day count or a serial number does.

    So does a code of which each value has its own stretch of time, as that of a batch has.
    """
    column = profile.column
    if profile.kind is not Kind.NUMBER:
        return _has_stretches(profile, seconds)
    rows = np.arange(0, len(seconds), max(len(seconds) // _CLOCK_ROWS, 1))
    rows = rows[(column.codes[rows] >= 0) & np.isfinite(seconds[rows])]
    numbers = proposal.numbers([column.values[code] for code in column.codes[rows].tolist()])
    times, numbers = seconds[rows][np.isfinite(numbers)], numbers[np.isfinite(numbers)]
    if len(times) < FEWEST or times.std() == 0 or numbers.std() == 0:
        return False
    return bool(abs(np.corrcoef(_ranks(times), _ranks(numbers))[0, 1]) > _CLOCK)


def _has_stretches(profile: Profile, seconds: FloatArray) -> bool:
    codes = profile.column.codes
    fewest = profile.counts.min() if 1 < len(profile.counts) < FEWEST else profile.counts.mean()
    if len(seconds) != len(codes) or len(profile.counts) < 2 or fewest < _BATCH:
        return False
    codes = codes[np.lexsort((codes, seconds))]
    codes = codes[codes >= 0]
    stretches = 1 + (codes[1:] != codes[:-1]).sum()
    return bool(stretches <= _TURNS * len(profile.counts))


def _ranks(numbers: FloatArray) -> FloatArray:
    """Return mean ranks."""
    _, codes, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    ranks_of: FloatArray = (np.cumsum(counts) - counts / 2)[codes]
    return ranks_of


def _separation(proposal: Proposal, column: Column, targets: IntArray) -> float:
    """Return the ROC AUC of the best order of a column's values (missing is a value; numbers keep their order)."""
    if len(targets) == 0:
        return 0.5
    frauds, genuine = (
        np.bincount(column.codes[targets == target] + 1, minlength=len(column.values) + 1)
        for target in (1, 0)
    )
    if min(frauds.sum(), genuine.sum()) < FEWEST:
        return 0.5
    others = np.bincount(column.codes[targets != 1] + 1, minlength=len(column.values) + 1)
    if frauds[(others == 0) & (frauds >= FEWEST)].sum() > frauds.sum() / 2:
        return 1.0  # a value that most frauds have and nobody else, such as that of a block after the finding
    orders = [frauds / np.maximum(frauds + genuine, 1)]
    if len(column.values) > _GROUPS:
        numbers = np.append(-np.inf, proposal.numbers(column.values))
        orders = [numbers, -numbers]
    return max(_area(frauds[order], genuine[order]) for order in (np.argsort(values) for values in orders))


def _area(frauds: IntArray, genuine: IntArray) -> float:
    below = np.cumsum(genuine) - genuine / 2
    return float((frauds * below).sum() / (frauds.sum() * genuine.sum()))
