"""Finds the times of events, of births, and of what became known."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from scoring_model.arrays import IntArray
from scoring_model.configuration import synonyms
from scoring_model.configuration.configuration import RecordSettings
from scoring_model.configuration.headers import tells
from scoring_model.configuration.profiles import Kind, Profile, counted_like, counts_seconds, profile
from scoring_model.configuration.proposal.draft import Proposal
from scoring_model.configuration.proposal.label_columns import (
    KNOWN_FRAUDS,
    come_before,
    shares_filled,
    tell_when_known,
)
from scoring_model.configuration.proposal.matching import rank
from scoring_model.records import NEVER
from scoring_model.records.clocks import join_clock
from scoring_model.records.times import DAY

_BIRTHS: Final = 10 * 366 * DAY  # births lie at least ten years before the events
_OF_A_DAY: Final = 1_000  # most records of a time that orders the rows of a file
_LATER: Final = ("labelKnownAt", "labelReportedAt", "closedAt")


def find_times(proposal: Proposal) -> None:
    """Find the times of the events and of births, and say what is doubtful."""
    is_given = "eventTime" in proposal.fields
    for name in ("dob", "eventTime"):
        if name in proposal.fields:
            continue
        column = proposal.likeliest(name, [Kind.TIME], _is_full) or proposal.likeliest(name, [Kind.TIME])
        if column is not None:
            proposal.fields[name] = column.name
    full = _find_event(proposal) or _find_count(proposal)
    if "eventTime" not in proposal.fields:
        proposal.decisions.append(
            "No column holds the time of the event: name it in records.columns.eventTime."
        )
        return
    event = _with_clock(proposal, "eventTime")
    for column in proposal.free():
        proposal.profiles[column.name] = counted_like(column, event) or column
    rivals = [column.name for column in full if column.name not in proposal.fields.values()]
    proposal.decisions += _doubts(proposal, event, [] if is_given else rivals)


def _find_event(proposal: Proposal) -> list[Profile]:
    """Take the time of the event from the times that every record has, unless it is found; return these."""
    whole = [column for column in proposal.free() if column.kind is Kind.TIME and _is_full(column)]
    whole = _without_births(proposal, whole)
    full = [column for column in whole if not _is_later(column)]
    if "eventTime" in proposal.fields:
        return full
    # Where every record has but one time, it is that of the event, even if it is named as that of a report.
    full = [column for column in whole if not _is_later(column)] or whole
    full.sort(key=lambda column: not _is_ordered(column))  # rows stand as their records were made
    if full:
        proposal.fields["eventTime"] = full[0].name
        if _is_later(full[0]):
            proposal.decisions.append(
                f"{full[0].name} is taken for the time of the event, since every record has it: check "
                "records.columns.eventTime."
            )
    return full


def _find_count(proposal: Proposal) -> list[Profile]:
    """Take the first column that counts seconds for the time of the event, where no header names one."""
    if "eventTime" in proposal.fields:
        return []
    found = [time for column in proposal.free() if (time := counts_seconds(column)) is not None]
    for time in found[:1]:
        proposal.fields["eventTime"], proposal.profiles[time.name] = time.name, time
        proposal.decisions.append(
            f"{time.name} is taken for the time of the event by its numbers, which count seconds since 1970 or parts "
            "of one: check records.columns.eventTime."
        )
    return found[:1]


def _doubts(proposal: Proposal, event: Profile, rivals: list[str]) -> Iterator[str]:
    """Say what a person must decide about the time of the event."""
    if rivals:
        yield (
            f"The event is taken to be at {event.name}; if it is at {' or '.join(rivals)}, change "
            "records.columns.eventTime."
        )
    for column in (proposal.profiles[name] for name in proposal.fields.values()):
        if column.uncertain:
            yield (
                f"{column.name} does not show whether the day or the month comes first: check records.format.dates."
            )
    if not event.zoned and proposal.timezone is None:
        yield (
            f"{event.name} has no time zone and is read as UTC: name its zone with --timezone, such as Europe/Berlin."
        )


def _with_clock(proposal: Proposal, name: str) -> Profile:
    """Join the days of a time with the times of day in the column that stands nearest, and return its column."""
    day = proposal.profiles[proposal.fields[name]]
    places = {column: place for place, column in enumerate(proposal.profiles)}
    near = [
        (abs(places[hour.name] - places[day.name] - 0.5), hour)  # the next column comes before the last one
        for hour in proposal.free()
        if hour.kind is Kind.HOUR
    ]
    if name != "eventTime":
        near = [(distance, hour) for distance, hour in near if distance < 1]
    if not near or np.any(day.times[day.times != NEVER] % DAY):
        return day
    hour = min(near, key=lambda one: one[0])[1]
    joined, without = join_clock(day.column, hour.column)
    if (missing := without.mean()) > RecordSettings().max_bad_share:
        proposal.decisions.append(
            f"{day.name} has no times of day, so that all events of a day count as one moment. {hour.name} holds them, "
            f"but not in {missing:.1%} of the rows: fill them, and name both, records.columns.{name}: [day, time]."
        )
        return day
    proposal.clocks[name] = hour.name
    proposal.guesses += (f"{name} is joined from {day.name} and {hour.name}",)
    proposal.profiles[day.name] = replace(
        profile(day.name, joined, (), decimal=None), uncertain=day.uncertain
    )
    return proposal.profiles[day.name]


def _is_full(column: Profile) -> bool:
    return column.filled > 0.99


def _is_ordered(column: Profile) -> bool:
    """Return whether the times of a file rise from row to row, but for days with many of them."""
    times = column.times[column.times != NEVER]
    return bool((np.diff(times) >= 0).all()) and column.distinct > 1 / _OF_A_DAY


def _is_later(column: Profile) -> bool:
    """Return whether the header is one of times that come after the event."""
    return any(rank(column, name) is not None for name in _LATER)


def _without_births(proposal: Proposal, columns: list[Profile]) -> list[Profile]:
    """Take a column whose times lie years before those of another for the date of birth."""
    middles = {column.name: _middle(column) for column in columns}
    events = [column for column in proposal.profiles.values() if column.kind is Kind.TIME]
    latest = max((_middle(column) for column in events), default=0)
    born = [column for column in columns if middles[column.name] < latest - _BIRTHS]
    if born and "dob" not in proposal.fields:
        proposal.fields["dob"] = born[0].name
        proposal.decisions.append(
            f"{born[0].name} is taken for the date of birth: check records.columns.dob."
        )
    return [column for column in columns if column not in born]


def _middle(column: Profile) -> int:
    return int(np.median(column.times[column.times != NEVER]))


def find_known(proposal: Proposal) -> None:
    """Find when labels became known: by what the times show, named or not, then by the header."""
    event = proposal.of("eventTime")
    if event is None:
        return
    events, label = event.times, proposal.of("label")
    if label is None:
        return
    if label.kind is Kind.TIME and not come_before(label.times, events):
        proposal.fields["labelKnownAt"] = label.name
    shown, why = _shown_times(proposal, label, events)
    for name in ("labelKnownAt", "labelReportedAt"):
        column = proposal.likeliest(name, [Kind.TIME])
        if name == "labelKnownAt" and shown and column not in shown:
            column = shown[0]
            proposal.decisions.append(
                f"{column.name} is taken for the time at which labels became known: nearly all frauds have one, "
                f"{why}. Check records.columns.labelKnownAt."
            )
        elif name == "labelKnownAt" and column is None:
            column = next(iter(_shown_times(proposal, label, None)[0]), None)  # but for their order
        if column is None or name in proposal.fields:
            continue
        if come_before(column.times, events):
            proposal.decisions.append(
                f"{column.name} can't be when labels became known: some of its times lie before their event."
            )
            proposal.left_out[column.name] = "it holds times that are neither before nor after the event"
            continue
        proposal.fields[name] = column.name
        _with_clock(proposal, name)


def _shown_times(proposal: Proposal, label: Profile, events: IntArray | None) -> tuple[list[Profile], str]:
    """List the times that show when labels became known, and say what shows it beside that nearly all frauds have one.

    Without events they may also lie before these.

    Where none does, frauds that another column stopped have a time too: then the header must name fraud.
    """
    times = [column for column in proposal.free() if column.kind is Kind.TIME]
    targets = proposal.targets()
    if not len(targets):
        return [], ""

    def since(column: Profile) -> IntArray:
        return column.times if events is None else events

    shown = [
        column
        for column in times
        if tell_when_known(column.times, since(column), _with_findings(targets, label, column.times))
    ]
    named = [
        column
        for column in times
        if tells(column.words, synonyms.FRAUD_STEMS)
        and tell_when_known(column.times, since(column), (targets == 1).astype(np.int64))
    ]
    of_frauds = bool(shown) and (targets == 1)[shown[0].times != NEVER].mean() >= KNOWN_FRAUDS
    others = "other records" if of_frauds else "records without a label"
    return (shown, f"and hardly any {others}") if shown else (named, "and its header names fraud")


def _with_findings(targets: IntArray, label: Profile, times: IntArray) -> IntArray:
    """Return the targets, with 0 for words that are no label of records that nearly all have a time all the same.

    Such as `unable to contact` among the findings of reviews.
    """
    shares = shares_filled(label, times)
    shares[0] = 0
    is_found = shares[label.column.codes + 1] >= KNOWN_FRAUDS
    found: IntArray = np.where((targets == -1) & is_found, 0, targets)
    return found
