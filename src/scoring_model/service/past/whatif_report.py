"""The report of a what-if, in the words of a comparison's."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from scoring_model.arrays import IntArray
from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.decision.flips import FRAUD, GENUINE, UNLABELLED, kinds, turns
from scoring_model.evaluation.report import Cell, Grid, Report, Section, Text
from scoring_model.evaluation.report.first_screen import counted_out, unknown_section
from scoring_model.evaluation.report.section import Row
from scoring_model.evaluation.report.sections.flips import REASONS, matrix_grid, reasons_grid
from scoring_model.evaluation.report.words import (
    OUTCOME_TITLES,
    capital,
    daily_text,
    day,
    flip_name,
    percent,
    signed_count,
    slug,
)
from scoring_model.service.past.replay import NOT_REPLAYED
from scoring_model.service.past.whatif import CLIENT, GroupTurns, WhatIf
from scoring_model.service.scoring.overrides import OPERATOR_SENTENCES

_THEN: Final = {**{one.value: title for one, title in OUTCOME_TITLES.items()}, "OBSERVE": "Nothing: observes"}
_FLIP: Final = "Then → by the bundle"


def whatif_report(whatif: WhatIf, *, name: str, sentences: Mapping[str, str], before: int) -> Report:
    """Describe a what-if. It holds no value of a person.

    Parameters
    ----------
    name : str
        The use of the bundle.
    sentences : mapping of str to str
        What reasons say, by code.
    before : int
        Microseconds: end of the period, and the instant before which labels count.
    """
    rows = [
        (capital(text), f"{whatif.left_out[reason]:,}")
        for reason, text in NOT_REPLAYED.items()
        if whatif.left_out.get(reason)
    ]
    text = (
        f"{whatif.verifications - whatif.replayed:,} of {whatif.verifications:,} could not be decided again."
        if rows
        else f"None: all {whatif.verifications:,} were decided again."
    )
    return Report(
        kicker="What-if report",
        title=f"{name}: what-if",
        name=f"{name}: what another bundle would have decided",
        basis=_basis(whatif),
        first=(
            _changes(whatif),
            unknown_section(_unknown(whatif)),
            counted_out("Verifications", text, rows),
        ),
        sections=(
            *_hits(whatif),
            _flips(whatif, {**OPERATOR_SENTENCES, **sentences}, before),
            *_groups(whatif),
        ),
    )


def _basis(whatif: WhatIf) -> str:
    """Say which decisions the figures rest on."""
    bundle = f"Model {whatif.model_version}, policy {whatif.policy_version}."
    if whatif.first is None or whatif.last is None:
        return f"{bundle} None of {whatif.verifications:,} completed verifications could be decided again."
    return (
        f"{bundle} {whatif.replayed:,} of {whatif.verifications:,} completed verifications were decided again, from "
        f"{day(whatif.first)} to {day(whatif.last)} (UTC), on {whatif.days:,} days."
    )


def _changes(whatif: WhatIf) -> Section:
    days = max(whatif.days, 1)
    cells = (
        [f"{count:,} ({daily_text(count / days)} a day)" for count in row]
        for row in whatif.matrix.sum(axis=0).tolist()
    )
    matrix = matrix_grid(
        cells,
        old="Then",
        new="Bundle:",
        caption="Flip matrix: verifications by the outcome then and by the bundle, in all and a day",
    )
    return Section(
        name="changes",
        title="What would have changed",
        texts=tuple(Text(text=text, kind="lead") for text in _leads(whatif)),
        grids=(_outcomes(whatif), matrix),
        notes=(Text(text=_note(whatif), kind="note"),),
    )


def _leads(whatif: WhatIf) -> Iterator[str]:
    """Say in natural numbers what would have changed."""
    if not whatif.flipped:
        yield "No verification would have got another outcome."
        return
    for title, then, new, change in _by_outcome(whatif)[1:]:
        yield f"{title}: {then} a day then, {new} by the bundle ({change})."
    share = percent(whatif.flipped / whatif.replayed)
    yield f"{whatif.flipped:,} verifications ({share}) would have got another outcome."


def _by_outcome(whatif: WhatIf) -> list[tuple[str, str, str, str]]:
    """Write verifications of each outcome on a mean day: then, by the bundle, and the change."""
    both, days = whatif.matrix.sum(axis=0), max(whatif.days, 1)
    pairs = zip(both.sum(axis=1).tolist(), both.sum(axis=0).tolist(), strict=True)
    return [
        (
            OUTCOME_TITLES[outcome],
            daily_text(then / days),
            daily_text(new / days),
            signed_count((new - then) / days, daily_text),
        )
        for outcome, (then, new) in zip(OUTCOMES, pairs, strict=True)
    ]


def _outcomes(whatif: WhatIf) -> Grid:
    caption = f"Outcomes a day: a mean day of the {whatif.days:,} with verifications"
    heads = {"outcome": "Outcome", "then": "Then", "bundle": "By the bundle", "change": "Change"}
    return Grid.of("daily", caption, heads, _by_outcome(whatif))


def _note(whatif: WhatIf) -> str:
    """Say what the recorded decisions are, and how exact the new ones."""
    text = (
        "“Then” is what score and thresholds decided, with the model and policy that served; “by the bundle” is what a "
        "service with the bundle would have answered to the same requests, with links and labels as known then. "
        "Counts are complete, so they have no intervals; another period would give others."
    )
    if not whatif.own:
        return f"{text} The bundle had decided none of these verifications itself."
    return (
        f"{text} The bundle had decided {whatif.own:,} of them itself: {whatif.own_differ:,} of its verdicts or "
        "feature rows differ now."
    )


def _unknown(whatif: WhatIf) -> Iterator[str]:
    """List what limits the figures."""
    _, stricter, milder = turns(whatif.matrix)
    labelled = int((stricter + milder)[:UNLABELLED].sum())
    yield (
        f"{labelled:,} of the {whatif.flipped:,} verifications with another outcome have a label. Without labels "
        "nothing says whether another outcome is a better one; compare both bundles on matured labels (scoring-model "
        "compare)."
    )
    released = int(whatif.matrix[UNLABELLED, 1:, 0].sum())
    yield (
        "Labels depend on the decisions of then: those who were stopped could hardly become known frauds."
        + (
            f" Of those whom the bundle would let pass and whom score and thresholds stopped then, {released:,} have "
            "no label: but for those whom a review approved, nobody knows what they were."
            if released
            else ""
        )
    )
    yield (
        "Requests stay as they were: a follow-up is decided again whether or not the bundle would have asked for it, "
        "and nobody knows what applicants would have done after another outcome."
    )
    if list(whatif.groups) == [CLIENT]:
        yield "No groups but clients were asked for: name columns with --by."


def _flips(whatif: WhatIf, sentences: Mapping[str, str], before: int) -> Section:
    """Describe the verifications with another outcome: how many, their labels, and why."""
    flips = sorted(
        ((then, new, counts) for then, new, counts in kinds(whatif.matrix) if then != new),
        key=lambda flip: -flip[2].sum(),
    )
    text = (
        f"Labels are those reported by {day(before)} (UTC). Reasons are those of the stricter of both decisions; a "
        "decision has up to five."
    )
    reasons = reasons_grid(
        (
            (then, new, dict(sorted(whatif.reasons[then, new].items())), int(counts.sum()))
            for then, new, counts in flips
        ),
        sentences,
        head=_FLIP,
        caption=f"Reasons, the {REASONS} most frequent of each kind",
        what="Verifications",
    )
    return Section(
        name="flips",
        title="Who gets another outcome, and why",
        texts=(text,) if flips else ("Nobody.",),
        grids=(_labels(flips, whatif.days), reasons) if flips else (),
    )


def _labels(flips: Sequence[tuple[Outcome, Outcome, IntArray]], days: float) -> Grid:
    rows: list[Row] = [
        (
            Cell(text=flip_name(then, new), key=f"{then}-{new}".lower()),
            f"{counts.sum():,}",
            daily_text(counts.sum() / days),
            *(f"{counts[label]:,}" for label in (FRAUD, GENUINE, UNLABELLED)),
        )
        for then, new, counts in flips
    ]
    heads = {
        "flip": _FLIP,
        "verifications": "Verifications",
        "daily": "A day",
        "frauds": "Frauds",
        "genuine": "Genuine",
        "unlabelled": "Without a label",
    }
    return Grid.of("flips", "Verifications with another outcome, by what is known of them now", heads, rows)


def _hits(whatif: WhatIf) -> Iterator[Section]:
    """Describe whom the lists and rules that are tried would have hit."""
    if not whatif.hits:
        return
    heads = {
        "name": "List or rule",
        "then": "Decides",
        "hits": "Hits",
        "daily": "A day",
        "frauds": "Frauds",
        "genuine": "Genuine",
        "observed": "No label, passed",
        "not_observed": "No label, stopped",
        "decided": "Of them it decides",
        "changed": "Other outcome",
    }
    rows: list[Row] = [
        (
            Cell(text=one.name, key=f"{one.kind}-{slug(one.name)}"),
            _THEN[one.then],
            f"{one.hits:,}",
            daily_text(one.hits / max(whatif.days, 1)),
            *(f"{count:,}" for count in (one.frauds, one.genuine, one.observed, one.not_observed)),
            f"{one.decided:,}",
            f"{one.changed:,}",
        )
        for one in whatif.hits
    ]
    yield Section(
        name="hits",
        title="Whom the lists and rules would have hit",
        texts=(
            "They decide in this order, and the first that holds decides: the outcomes “by the bundle” above are with "
            "them. Who was stopped then and has no label could not be observed: nobody knows what they were. “Other "
            "outcome” is another one than that of score and thresholds of the bundle.",
        ),
        grids=(Grid.of("hits", "Verifications by the list or rule that they would have hit", heads, rows),),
    )


def _groups(whatif: WhatIf) -> Iterator[Section]:
    for place, (column, groups) in enumerate(whatif.groups.items()):
        heads = {
            "value": column,
            "verifications": "Verifications",
            "stricter": "Stricter",
            "milder": "Milder",
            "flipped": "Other outcome",
        }
        caption = f"Verifications by {column}; values of fewer than five persons are one group"
        yield Section(
            name=f"group-{place}",
            title=f"Who gets another outcome by {column}",
            grids=(Grid.of(f"by-{slug(column)}", caption, heads, (_group(*one) for one in groups.items())),),
        )


def _group(value: str, group: GroupTurns) -> tuple[str, ...]:
    flipped = group.stricter + group.milder
    return (
        value,
        f"{group.verifications:,}",
        f"{group.stricter:,}",
        f"{group.milder:,}",
        percent(flipped / group.verifications),
    )
