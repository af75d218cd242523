"""Finds what was decided about applicants, and how it ended."""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from scoring_model.arrays import BoolArray
from scoring_model.configuration import synonyms
from scoring_model.configuration.headers import known, tells, words_of
from scoring_model.configuration.profiles import Kind, Profile
from scoring_model.configuration.proposal.draft import FEWEST, NEARLY_ALL, Proposal
from scoring_model.configuration.proposal.label_columns import LABEL_WORDS, Meaning, meaning_of, words_in
from scoring_model.records import NEVER

_DECIDED: Final = {"outcome": "what was decided", "resolution": "how reviews ended"}
_OUTCOMES: Final = {
    "failed": synonyms.FAILED,
    "passed": synonyms.PASSED,
    "stepped_up": synonyms.STEPPED_UP,
}
_ENDS: Final = {
    "abandoned": synonyms.ABANDONED,
    "declined": synonyms.DECLINED,
    "approved": synonyms.APPROVED,
}
_NEGATED: Final = {"passed": "failed", "approved": "declined"}
_ENDED: Final = {"passed": "approved", "failed": "declined"}
_UNKNOWN: Final = ""
_RARE: Final = 0.5  # only applicants who were stepped up have an end
_BEGINNING: Final = 5  # letters in which words of one stem agree: verified, could not verify
_STEM: Final = 4  # letters of a word from which its beginning may be a negation
_OTHERS: Final = 2  # most unknown words beside approved and declined, such as those for what is waited for

Words = Mapping[str, list[str]]
"""Words of a column by what they mean; those that mean nothing under ''."""


def find_outcomes(proposal: Proposal) -> None:
    """Find what was decided: outcomes and resolutions by their words, the end of accounts by its header."""
    taken = _take(proposal, "outcome", _decisions(proposal))
    stepped_up = [] if taken is None else proposal.outcomes.get("stepped_up", [])
    reviews, asked = [], []
    for column in _candidates(proposal):
        ends = taken is not None and _ends_step_ups(column, taken, stepped_up)
        words = _ends_of(column, proposal.outcomes) if ends else _meanings(column, _ENDS)
        is_called_so = tells(column.words, synonyms.RESOLUTION) and column.filled < _RARE
        if _UNKNOWN not in words and "approved" in words and (ends or is_called_so):
            reviews.append((column, words))
        elif ends:
            listed = ", ".join(words_in(column))
            asked.append(
                f"{column.name} stands where applicants were stepped up: if it says {_DECIDED['resolution']}, name it "
                f"in records.columns.resolution, and what its words mean in records.outcomes ({listed})."
            )
    _take(proposal, "resolution", reviews)
    proposal.decisions += [] if reviews else asked
    _find_closing(proposal)
    if not {"outcome", "resolution"} & proposal.fields.keys():
        headers = synonyms.DECISION + synonyms.RESOLUTION
        named = [column.name for column in _candidates(proposal) if tells(column.words, headers)]
        proposal.decisions.append(
            "No column says in known words what was decided, so all count as passed. If applicants were stopped, name "
            "records.columns.outcome, resolution and closedAt, and their words in records.outcomes."
            + (f" {', '.join(named)} may say it: if so, it is no signal." if named else "")
        )


def _decisions(proposal: Proposal) -> list[tuple[Profile, Words]]:
    """List the columns that may say what was decided, those with a header of decisions first."""
    candidates = [column for column in _candidates(proposal) if column.filled > _RARE]
    decided = [
        (column, words)
        for column in candidates
        if "passed" in (words := _outcomes_of(proposal, column))
        and not {"failed", "stepped_up"}.isdisjoint(words)
        and (
            _are_decisions(column, words)
            or (tells(column.words, synonyms.DECISION) and _tell(words))
            or (_UNKNOWN not in words and _are_reviewed(proposal, column, words.get("stepped_up", [])))
        )
    ] + [(column, words) for column in candidates if (words := _approvals(column))]
    return sorted(decided, key=lambda fit: not tells(fit[0].words, synonyms.DECISION))


def _outcomes_of(proposal: Proposal, column: Profile) -> Words:
    """Return the words of a decision by their meaning, some of them by another column and by what is left.

    The word that all reviews follow is that for stepped up. Beside it the commonest of the others is passed, if no
    word is known for that, and one that is left is failed.
    """
    words = _meanings(column, _OUTCOMES)
    unsure = [*words.get("stepped_up", []), *words.get(_UNKNOWN, [])]
    headers = synonyms.DECISION + synonyms.RESOLUTION
    is_one = "failed" in words or "passed" in words or tells(column.words, headers) or _has_negation(column)
    if (_UNKNOWN not in words and "passed" in words) or not is_one:
        return words
    said = dict(zip(words_in(column), column.counts.tolist(), strict=True))
    stepped_up = [
        word
        for word in unsure
        if said[word] < _RARE * sum(said.values()) and _are_reviewed(proposal, column, [word])
    ]
    others = sorted((word for word in unsure if word not in stepped_up), key=lambda word: -said[word])
    if not stepped_up:
        return _with_last(proposal, column, words)
    found = {**words, "stepped_up": stepped_up}
    for meaning in ("passed", "failed"):
        if others and meaning not in found:
            found[meaning] = [others.pop(0)]
    found[_UNKNOWN] = others
    return {meaning: held for meaning, held in found.items() if held}


def _with_last(proposal: Proposal, column: Profile, words: Words) -> Words:
    """Return the words with the only unknown one under the only meaning that is left, where a header tells decisions.

    Most applicants pass, and most frauds are known of those.
    """
    unknown, left = words.get(_UNKNOWN, []), [*(_OUTCOMES.keys() - words.keys())]
    if not (len(unknown) == len(left) == 1 and _tell(words) and tells(column.words, synonyms.DECISION)):
        return words
    found = {left[0] if meaning == _UNKNOWN else meaning: held for meaning, held in words.items()}
    passed, frauds = _holds(column, found["passed"]), proposal.targets() == 1
    of_frauds = passed[frauds] if frauds.any() else passed
    return found if min(passed.mean(), of_frauds.mean()) > _RARE else words


def _are_reviewed(proposal: Proposal, column: Profile, stepped_up: list[str]) -> bool:
    """Return whether another column says how the reviews of some words ended, one of them well."""
    return any(
        "approved" in _ends_of(other, {}) and _ends_step_ups(other, column, stepped_up)
        for other in _candidates(proposal)
        if other.filled < _RARE
    )


def _ends_of(column: Profile, decided: Words) -> Words:
    """Return how step-ups ended, where a column says nothing else.

    Words of decisions mean the same here. Of a word and its negation one is approved and the other declined, whatever
    they are. Beside an approved word one that names the customer is abandoned. A negation of another word is one of
    what was waited for, as in `no response`, unless a word is abandoned. Where others were declined, the commonest word
    that is left is approved. A word that is left is that of the only meaning that is left.
    """
    meanings = {word: name for name, held in _meanings(column, _ENDS).items() for word in held}
    said = {word: words_of(word) for word in meanings}
    of_decisions = {word: name for name, held in decided.items() for word in held}
    meanings = {word: name or _ENDED.get(of_decisions.get(word, ""), "") for word, name in meanings.items()}
    for word, other in ((word, other) for word in said for other in said if word != other):
        if _negates(said[word], said[other]):
            meanings |= {word: "declined", other: "approved"}
    meanings |= {word: "approved" for word in said if not meanings[word] and _is_genuine(said[word])}
    meanings = _with_customers(meanings)
    well = {
        part[:_BEGINNING] for word in said if meanings[word] == "approved" for part in said[word].split("_")
    }
    is_declined = "abandoned" in meanings.values()
    for word in said:
        if not meanings[word] and _is_negated(said[word]):
            alike = any(
                len(part) >= _BEGINNING and part[:_BEGINNING] in well for part in said[word].split("_")
            )
            meanings[word] = "declined" if alike or is_declined else "abandoned"
    said_of = dict(zip(words_in(column), column.counts.tolist(), strict=True))
    unknown = [word for word in meanings if not meanings[word]]
    if unknown and "approved" not in meanings.values() and "declined" in meanings.values():
        meanings[max(unknown, key=lambda word: said_of[word])] = "approved"
    meanings = _with_customers(meanings)
    unknown = [word for word in meanings if not meanings[word]]
    left = [name for name in ("approved", "declined", "abandoned") if name not in meanings.values()]
    if len(unknown) == len(left) == 1:
        meanings[unknown[0]] = left[0]
    return _by_meaning(meanings)


def _is_genuine(said: str) -> bool:
    return tells(said, synonyms.GENUINE) and not _is_negated(said)


def _with_customers(meanings: Mapping[str, str]) -> dict[str, str]:
    """Return the meanings of words, where one is approved and none abandoned, with those that name the customer."""
    held = {*meanings.values()}
    if "approved" not in held or "abandoned" in held:
        return {**meanings}
    return {
        word: meaning or ("abandoned" if tells(words_of(word), synonyms.CUSTOMERS) else "")
        for word, meaning in meanings.items()
    }


def _has_negation(column: Profile) -> bool:
    """Return whether one word is another one with a negation: `uygun` and `uygun değil`."""
    said = [*map(words_of, words_in(column))]
    return any(_negates(word, other) for word in said for other in said if word != other)


def _negates(word: str, other: str) -> bool:
    """Return whether a word is another one with a negation before it, apart or as a prefix: `nicht erbracht`.

    Of the other word more may be said: `nije potvrđen` and `potvrđen identitet`.
    """
    negations = known(synonyms.NEGATIONS)
    denied = {part for part in word.split("_") if part not in negations}
    if _is_negated(word) and denied and denied <= {*other.split("_")} - {*negations}:
        return not _is_negated(other)
    before = word.removesuffix(other)
    is_stem = len(other) >= _STEM or not other.isascii()
    return before != word and is_stem and before in known(synonyms.NEGATING_PREFIXES)


def _is_negated(said: str) -> bool:
    return not set(said.split("_")).isdisjoint(known(synonyms.NEGATIONS))


def _by_meaning(meanings: Mapping[str, str]) -> Words:
    found: dict[str, list[str]] = {}
    for word, meaning in meanings.items():
        found.setdefault(meaning, []).append(word)
    return found


def _find_closing(proposal: Proposal) -> None:
    """Find when accounts were closed, unless most frauds were: then an account is closed for the fraud."""
    closed = proposal.likeliest("closedAt", [Kind.TIME])
    if closed is None:
        return
    filled, frauds = closed.times != NEVER, proposal.targets() == 1
    if len(frauds) and frauds.sum() >= FEWEST and filled[frauds].mean() > max(_RARE, 2 * closed.filled):
        proposal.left_out[closed.name] = (
            "most frauds have it and few others, so that it follows from the label"
        )
    else:
        proposal.fields["closedAt"] = closed.name


def _candidates(proposal: Proposal) -> Iterator[Profile]:
    for column in proposal.free():
        is_words = column.kind in (Kind.CATEGORY, Kind.BOOLEAN, Kind.TEXT, Kind.IDENTIFIER)
        if is_words and 1 <= len(column.counts) <= LABEL_WORDS:
            yield column


def _meanings(column: Profile, lists: Mapping[str, str]) -> Words:
    """Return the words of a column by their meaning; the first list that has the beginning of one counts.

    `not approved` is declined.
    """
    meanings = {}
    for word in words_in(column):
        said = words_of(word)
        meaning = next((name for name, entries in lists.items() if tells(said, entries)), _UNKNOWN)
        meanings[word] = _NEGATED.get(meaning, _UNKNOWN) if _is_negated(said) else meaning
    return _by_meaning(meanings)


def _are_decisions(column: Profile, words: Words) -> bool:
    """Return whether the words are those of decisions under any header: approved and declined, not pass and fail."""
    told = _has(words, "passed", synonyms.ACCEPTED) and _has(words, "failed", synonyms.REJECTED)
    return told and len(words.get(_UNKNOWN, ())) <= _OTHERS and column.filled > NEARLY_ALL


def _tell(words: Words) -> bool:
    """Return whether words under a header of decisions are some: pass and fail beside others are those of a check."""
    sure = _has(words, "passed", synonyms.ACCEPTED) or _has(words, "failed", synonyms.REJECTED)
    return sure or _UNKNOWN not in words


def _has(words: Words, meaning: str, text: str) -> bool:
    return any(tells(words_of(word), text) for word in words.get(meaning, ()))


def _approvals(column: Profile) -> Words:
    """Return the words of a column of yes and no that is called `approved`; empty for others."""
    said = {Meaning.YES: "passed", Meaning.NO: "failed"}
    if "_" in column.words.removeprefix("is_") or not tells(column.words, synonyms.PASSED):
        return {}
    found = _by_meaning({word: said.get(meaning_of(word), _UNKNOWN) for word in words_in(column)})
    return found if found.keys() == {"passed", "failed"} else {}


def _take(proposal: Proposal, name: str, fits: list[tuple[Profile, Words]]) -> Profile | None:
    """Map a field to the first column whose words are all known; leave out the first one where none is."""
    for column, words in sorted(fits, key=lambda fit: _UNKNOWN in fit[1])[:1]:
        if _stops_frauds(proposal, column, words):
            proposal.left_out[column.name] = (
                "nearly all frauds were stopped by it, as where it follows from the label"
            )
        elif _UNKNOWN in words:
            listed = ", ".join(words[_UNKNOWN])
            proposal.left_out[column.name] = f"it says {_DECIDED[name]}, in words that are not all known"
            proposal.decisions.append(
                f"{column.name} says {_DECIDED[name]}: name it in records.columns.{name}, and what its words "
                f"mean in records.outcomes ({listed} are not known)."
            )
        else:
            proposal.fields[name] = column.name
            proposal.outcomes |= words
            proposal.decisions.append(
                f"{column.name} is taken for {_DECIDED[name]}: {_named(column, name, words)}. Check "
                f"records.columns.{name} and records.outcomes."
            )
            return column
    return None


def _named(column: Profile, name: str, words: Words) -> str:
    """List the words of a column with their meanings: those that are known, then those that are guessed."""
    known_words = _approvals(column) or _meanings(column, _OUTCOMES if name == "outcome" else _ENDS)
    sure, guessed = (
        [
            f"{', '.join(those)} as {meaning}"
            for meaning, held in sorted(words.items())
            if (those := [word for word in held if (word in known_words.get(meaning, ())) is is_known])
        ]
        for is_known in (True, False)
    )
    about = ["guessed by what is left or follows: " + ", ".join(guessed)] if guessed else []
    return "; ".join(([", ".join(sure)] if sure else []) + about)


def _ends_step_ups(column: Profile, decided: Profile, stepped_up: list[str]) -> bool:
    """Return whether a column is filled where applicants were stepped up, and nearly nowhere else."""
    if not column.filled:
        return False
    return bool(_holds(decided, stepped_up)[column.column.codes >= 0].mean() > NEARLY_ALL)


def _stops_frauds(proposal: Proposal, column: Profile, words: Words) -> bool:
    """Return whether nearly all labelled frauds were stopped: then the column was set by the label."""
    frauds = proposal.targets() == 1
    passed = [*words.get("passed", []), *words.get("approved", [])]
    stopped = _holds(column, [word for word in words_in(column) if word not in passed])
    return len(frauds) > 0 and frauds.sum() >= FEWEST and bool(stopped[frauds].mean() > NEARLY_ALL)


def _holds(column: Profile, words: list[str]) -> BoolArray:
    """Return for each row whether the column has one of the words."""
    holds: BoolArray = np.array([*(word in words for word in words_in(column)), False])[column.column.codes]
    return holds


def unobserved_rows(proposal: Proposal, maturity: int) -> BoolArray:
    """Return the rows that were stopped, or closed before a label is mature: no part judges on them."""
    closed, event = proposal.of("closedAt"), proposal.of("eventTime")
    stopped = _stopped_rows(proposal)
    if closed is None or event is None:
        return stopped
    stopped |= (closed.times != NEVER) & (closed.times - event.times < maturity)
    return stopped


def not_passed_rows(proposal: Proposal) -> BoolArray:
    """Return the rows that were stepped up or stopped; none of them without a column that says it."""
    return _rows(proposal, "outcome", "stepped_up", "failed")


def rows_by_decision(proposal: Proposal) -> tuple[BoolArray, ...]:
    """Return the rows that failed, those that were not let pass at once, and those that were stopped in the end."""
    return _rows(proposal, "outcome", "failed"), not_passed_rows(proposal), _stopped_rows(proposal)


def _stopped_rows(proposal: Proposal) -> BoolArray:
    """Return the rows that were stopped, or stepped up and not approved."""
    approved = _rows(proposal, "resolution", "approved")
    return (not_passed_rows(proposal) & ~approved) | _rows(proposal, "resolution", "declined", "abandoned")


def _rows(proposal: Proposal, name: str, *meanings: str) -> BoolArray:
    """Return the rows in which a column says one of some meanings; none where no column is known."""
    column = proposal.of(name)
    if column is None:
        return np.zeros(len(next(iter(proposal.profiles.values())).column), dtype=np.bool_)
    return _holds(column, [word for meaning in meanings for word in proposal.outcomes.get(meaning, ())])
