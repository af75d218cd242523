"""Takes one column for the label, and lists the others that may be it."""

from collections.abc import Sequence

from scoring_model.configuration.profiles import Kind, Profile
from scoring_model.configuration.proposal.draft import Proposal
from scoring_model.configuration.proposal.label_columns import (
    LabelColumn,
    Trust,
    label_columns,
    told_apart_by_times,
    told_by_times,
)
from scoring_model.configuration.proposal.matching import rank


def find_label(proposal: Proposal) -> None:
    """Find the label and its words."""
    if "label" in proposal.fields and proposal.words:
        return
    candidates = label_columns(proposal.free())
    proposal.words = {"fraud": ["fraud"], "genuine": ["genuine"]}
    best, time = _by_times(proposal, candidates)
    if best is None:
        if "label" in proposal.profiles:  # such as one that says genuine alone: it is no signal either
            proposal.left_out["label"] = "it is called label, and none of its words is fraud"
        proposal.decisions.append(
            "No column holds labels: name it in records.columns.label, and its words in records.labels. Labels of "
            "another file must first be joined to the records, as a column."
        )
        return
    name = proposal.fields["label"] = best.profile.name
    proposal.words = {
        "fraud": [*best.fraud],
        "genuine": [*best.genuine] or ["genuine"],
        "ignored": [*best.ignored],
    }
    _say_candidates(proposal, best, candidates, time)
    if best.guess and len(best.fraud) > 1 and best.trust is Trust.HEADER:
        proposal.decisions.append(
            f"{', '.join(best.fraud)} of {name} are taken for fraud, {best.genuine[0]} for genuine: check "
            "records.labels."
        )
    elif best.guess and best.trust is not Trust.TIMES:
        proposal.decisions.append(
            f"The rarest word of {name} is taken for fraud, the most frequent for genuine: check records.labels."
            if best.trust > Trust.FRAUD_WORD
            else f"{best.genuine[0]}, the most frequent word of {name}, is taken for genuine: check records.labels."
        )
    if best.ignored:
        proposal.decisions.append(
            f"Labels {', '.join(best.ignored)} count as no label: check records.labels.ignored."
        )


def _by_times(
    proposal: Proposal, candidates: Sequence[LabelColumn]
) -> tuple[LabelColumn | None, Profile | None]:
    """Return the likeliest label, and the time that marks its frauds.

    Without words of fraud it is the column of which some codes alone have a time in another column.
    """
    best, event = next(iter(candidates), None), proposal.of("eventTime")
    if best is not None and event is not None and best.guess and best.trust is Trust.FRAUD_WORD:
        return told_apart_by_times(best, proposal.free(), event.times), None
    if event is None or (best is not None and (not best.guess or best.trust is Trust.FRAUD_WORD)):
        return best, None
    columns = [column for column in proposal.free() if rank(column, "closedAt") is None]
    found = told_by_times(columns, event.times)
    named = [one for one in found if best is not None and one[0].profile is best.profile]
    return next(iter(named or found), (best, None))


def _say_why(proposal: Proposal, best: LabelColumn, time: Profile | None) -> None:
    """Say why a column is the label, unless its header names it."""
    name = best.profile.name
    if time is not None:
        words = ", ".join(best.fraud)
        proposal.decisions.append(
            f"{name} is taken for the label, with {words} for fraud: {time.name} has times for nearly all of these "
            "rows and for hardly any other. Check records.columns.label and records.labels."
        )
    elif best.trust is Trust.PRESENCE:
        proposal.decisions.append(
            f"{name} is taken for the label: a row with a value{' above 0' if best.genuine else ''} is fraud, the "
            "others are genuine. Check records.columns.label."
        )
    elif best.trust is not Trust.GENERAL_HEADER and rank(best.profile, "label") is None:
        why = "name" if best.trust is Trust.HEADER else "words"
        proposal.decisions.append(f"{name} is taken for the label by its {why}: check records.columns.label.")


def _say_candidates(
    proposal: Proposal, best: LabelColumn, candidates: Sequence[LabelColumn], time: Profile | None
) -> None:
    """Say why a column is the label, list the others, and use none of those with words of fraud."""
    _say_why(proposal, best, time)
    name = best.profile.name
    others = [
        other
        for other in candidates
        if other.profile is not best.profile
        and other.trust < Trust.GENERAL_HEADER
        and (
            other.trust is not Trust.PRESENCE or other.profile.kind is not Kind.TIME
        )  # when labels became known
    ]
    if others:
        shares = ", ".join(f"{one.profile.name} ({one.share:.2%} frauds)" for one in (best, *others))
        proposal.decisions.append(f"Several columns may be the label: {shares}. {name} is taken.")
    for other in others:
        if alone := int((other.frauds & ~best.frauds).sum()):
            proposal.decisions.append(
                f"{other.profile.name} calls {alone:,} records fraud that {name} does not. If these are frauds too, "
                "make one column of both in the file, and name it in records.columns.label."
            )
    for other in others:
        if other.trust is not Trust.HEADER:
            proposal.left_out[other.profile.name] = (
                "its words say what is fraud, so it follows from the label"
                if other.trust is not Trust.PRESENCE
                else "its header names fraud and few rows have it, so it follows from the label"
            )
