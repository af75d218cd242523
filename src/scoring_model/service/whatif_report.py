"""The report of a what-if: one HTML file in the style of a comparison's."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from scoring_model.contract.outcome import OUTCOMES
from scoring_model.evaluation.report import Section, Table
from scoring_model.evaluation.report.first_screen import OUTCOME_TITLES, LeftOutTexts, count_text
from scoring_model.evaluation.report.page import render_page, write_page
from scoring_model.evaluation.report.scales import day, percent
from scoring_model.service.replay import NOT_REPLAYED
from scoring_model.service.whatif import CLIENT, GroupFlips, OutcomeFlip, WhatIf

_REASONS: Final = 5
_MINUS: Final = "\N{MINUS SIGN}"
_TITLES: Final = {outcome.value: OUTCOME_TITLES[outcome] for outcome in OUTCOMES}
_FLIP: Final = "Then → by the bundle"


def write_whatif(found: WhatIf, path: Path, *, name: str, sentences: Mapping[str, str], before: int) -> None:
    """Write the report of a what-if as one HTML file, whole or not at all. It holds no value of a person.

    Parameters
    ----------
    name : str
        The use of the bundle.
    sentences : mapping of str to str
        What reasons say, by code.
    before : int
        Microseconds: end of the period, and the instant before which labels count.

    Raises
    ------
    MissingExtra
        Without Jinja2, which the extra ``[train]`` brings.
    """
    write_page(render_whatif(found, name=name, sentences=sentences, before=before), path)


def render_whatif(found: WhatIf, *, name: str, sentences: Mapping[str, str], before: int) -> str:
    """Return the report of a what-if as HTML; equal results give equal text."""
    return render_page(
        "whatif.html.j2",
        kicker="What-if report",
        title=f"{name}: what-if",
        name=f"{name}: what another bundle would have decided",
        basis=_basis(found),
        leads=tuple(_leads(found)),
        outcomes=_outcomes(found),
        matrix=_matrix(found),
        note=_note(found),
        unknown=tuple(_unknown(found)),
        left_out=_left_out(found),
        sections=[_flips(found, sentences, before), *_groups(found)],
    )


def _basis(found: WhatIf) -> str:
    """Say which decisions the figures rest on."""
    bundle = f"Model {found.model_version}, policy {found.policy_version}."
    if found.first is None or found.last is None:
        return f"{bundle} None of {found.verifications:,} completed verifications could be decided again."
    return (
        f"{bundle} {found.replayed:,} of {found.verifications:,} completed verifications were decided again, from "
        f"{day(found.first)} to {day(found.last)}, on {found.days:,} days."
    )


def _leads(found: WhatIf) -> Iterator[str]:
    """Say in natural numbers what would have changed."""
    flipped = sum(flip.verifications for flip in found.flips.values())
    if not flipped:
        yield "No verification would have got another outcome."
        return
    for title, then, new in _by_outcome(found)[1:]:
        numbers = [value / found.days for value in (then, new, new - then)]
        old, current, change = _number(numbers[0]), _number(numbers[1]), _signed(numbers[2])
        yield f"{title}: {old} a day then, {current} by the bundle ({change})."
    yield f"{flipped:,} verifications ({percent(flipped / found.replayed)}) would have got another outcome."


def _by_outcome(found: WhatIf) -> list[tuple[str, int, int]]:
    """Count verifications of each outcome: then, and by the bundle."""
    return [
        (
            title,
            sum(count for (then, _), count in found.outcomes.items() if then == outcome),
            sum(count for (_, new), count in found.outcomes.items() if new == outcome),
        )
        for outcome, title in _TITLES.items()
    ]


def _outcomes(found: WhatIf) -> Table:
    days = max(found.days, 1)
    return Table(
        caption=f"Outcomes a day: a mean day of the {found.days:,} with verifications",
        heads=("Outcome", "Then", "By the bundle", "Change"),
        rows=tuple(
            (title, _number(then / days), _number(new / days), _signed((new - then) / days))
            for title, then, new in _by_outcome(found)
        ),
    )


def _matrix(found: WhatIf) -> Table:
    days = max(found.days, 1)
    return Table(
        caption="Flip matrix: verifications by the outcome then and by the bundle, in all and a day",
        heads=("Then", *(f"Bundle: {title.lower()}" for title in _TITLES.values())),
        rows=tuple(
            (title, *(_cell(found.outcomes.get((then, new), 0), days) for new in _TITLES))
            for then, title in _TITLES.items()
        ),
    )


def _cell(count: int, days: int) -> str:
    return f"{count:,} ({_number(count / days)} a day)"


def _number(value: float) -> str:
    return count_text(value) if value >= 10 else f"{value:.2g}"


def _signed(value: float) -> str:
    if value == 0:
        return "0"
    return f"{'+' if value > 0 else _MINUS}{_number(abs(value))}"


def _note(found: WhatIf) -> str:
    """Say what the recorded decisions are, and how exact the new ones."""
    text = (
        "“Then” is what score and thresholds decided, with the model and policy that served; “by the bundle” is what a "
        "service with the bundle would have answered to the same requests, with links and labels as known then. "
        "Counts are complete, so they have no intervals; another period would give others."
    )
    if not found.own:
        return f"{text} The bundle had decided none of these verifications itself."
    return (
        f"{text} The bundle had decided {found.own:,} of them itself: {found.own_differ:,} of its verdicts or feature "
        "rows differ now."
    )


def _unknown(found: WhatIf) -> Iterator[str]:
    """List what limits the figures."""
    labelled = sum(flip.frauds + flip.genuine for flip in found.flips.values())
    flipped = sum(flip.verifications for flip in found.flips.values())
    yield (
        f"{labelled:,} of the {flipped:,} verifications with another outcome have a label. Without labels nothing says "
        "whether another outcome is a better one; compare both bundles on matured labels (scoring-model compare)."
    )
    yield (
        "Requests stay as they were: a follow-up is decided again whether or not the bundle would have asked for it, "
        "and nobody knows what applicants would have done after another outcome."
    )
    if list(found.groups) == [CLIENT]:
        yield "No groups but clients were asked for: name columns with --by."


def _left_out(found: WhatIf) -> LeftOutTexts:
    rows = tuple(
        (f"{text[:1].upper()}{text[1:]}", f"{found.left_out[reason]:,}")
        for reason, text in NOT_REPLAYED.items()
        if found.left_out.get(reason)
    )
    if not rows:
        return LeftOutTexts(
            texts=(f"None: all {found.verifications:,} were decided again.",), warnings=(), table=None
        )
    text = f"{found.verifications - found.replayed:,} of {found.verifications:,} could not be decided again."
    table = Table(caption="Verifications left out", heads=("Reason", "Verifications"), rows=rows)
    return LeftOutTexts(texts=(text,), warnings=(), table=table)


def _flips(found: WhatIf, sentences: Mapping[str, str], before: int) -> Section:
    """Describe the verifications with another outcome: how many, their labels, and why."""
    flips = sorted(found.flips.items(), key=lambda item: -item[1].verifications)
    named = [(f"{_TITLES[then]} → {_TITLES[new].lower()}", flip) for (then, new), flip in flips]
    text = (
        f"Labels are those reported by {day(before)}. Reasons are those of the stricter of both decisions; a decision "
        "has up to five."
    )
    return Section(
        name="flips",
        title="Who gets another outcome, and why",
        texts=(text,) if named else ("Nobody.",),
        tables=(_labels(named, found.days), _reasons(named, sentences)) if named else (),
    )


def _labels(flips: list[tuple[str, OutcomeFlip]], days: int) -> Table:
    return Table(
        caption="Verifications with another outcome, by what is known of them now",
        heads=(_FLIP, "Verifications", "A day", "Frauds", "Genuine", "Without a label"),
        rows=tuple(
            (
                name,
                f"{flip.verifications:,}",
                _number(flip.verifications / days),
                f"{flip.frauds:,}",
                f"{flip.genuine:,}",
                f"{flip.verifications - flip.frauds - flip.genuine:,}",
            )
            for name, flip in flips
        ),
    )


def _reasons(flips: list[tuple[str, OutcomeFlip]], sentences: Mapping[str, str]) -> Table:
    return Table(
        caption=f"Reasons, the {_REASONS} most frequent of each kind",
        heads=(_FLIP, "Reason", "Verifications"),
        rows=tuple(
            (name, sentences.get(code, code), f"{count:,} of {flip.verifications:,}")
            for name, flip in flips
            for code, count in sorted(flip.reasons.items(), key=lambda item: (-item[1], item[0]))[:_REASONS]
        ),
    )


def _groups(found: WhatIf) -> Iterator[Section]:
    for place, (column, groups) in enumerate(found.groups.items()):
        yield Section(
            name=f"group-{place}",
            title=f"Who gets another outcome by {column}",
            tables=(
                Table(
                    caption=f"Verifications by {column}; values of fewer than five persons are one group",
                    heads=(column, "Verifications", "Stricter", "Milder", "Other outcome"),
                    rows=tuple(_group(value, group) for value, group in groups.items()),
                ),
            ),
        )


def _group(value: str, group: GroupFlips) -> tuple[str, ...]:
    flipped = group.stricter + group.milder
    return (
        value,
        f"{group.verifications:,}",
        f"{group.stricter:,}",
        f"{group.milder:,}",
        percent(flipped / group.verifications),
    )
