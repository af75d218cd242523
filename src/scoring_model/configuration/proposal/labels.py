"""Takes one column for the label, and lists the others that may be it."""

from collections.abc import Sequence

from scoring_model.configuration.profiles import Kind
from scoring_model.configuration.proposal.draft import Proposal, rank
from scoring_model.configuration.proposal.label_columns import LabelColumn, Trust, label_columns


def find_label(proposal: Proposal) -> None:
    """Find the label and its words."""
    if "label" in proposal.fields and proposal.words:
        return
    candidates = label_columns(proposal.free())
    proposal.words = {"fraud": ["fraud"], "genuine": ["genuine"]}
    if not candidates:
        proposal.decisions.append("No column holds labels: name it in records.columns.label, and its words.")
        return
    best = candidates[0]
    name = proposal.fields["label"] = best.profile.name
    proposal.words = {
        "fraud": [*best.fraud],
        "genuine": [*best.genuine] or ["genuine"],
        "ignored": [*best.ignored],
    }
    _say_candidates(proposal, best, candidates)
    if best.guess:
        proposal.decisions.append(
            f"The rarest word of {name} is taken for fraud, the most frequent for genuine: check records.labels."
            if best.trust > Trust.FRAUD_WORD
            else f"{best.genuine[0]}, the most frequent word of {name}, is taken for genuine: check records.labels."
        )
    if best.ignored:
        proposal.decisions.append(
            f"Labels {', '.join(best.ignored)} count as no label: check records.labels.ignored."
        )


def _say_candidates(proposal: Proposal, best: LabelColumn, candidates: Sequence[LabelColumn]) -> None:
    """Say why a column is the label, list the others, and use none of those with words of fraud."""
    name = best.profile.name
    if best.trust is Trust.PRESENCE:
        proposal.decisions.append(
            f"{name} is taken for the label: a row with a value{' above 0' if best.genuine else ''} is fraud, the "
            "others are genuine. Check records.columns.label."
        )
    elif best.trust is not Trust.GENERAL_HEADER and rank(best.profile, "label") is None:
        why = "name" if best.trust is Trust.HEADER else "words"
        proposal.decisions.append(f"{name} is taken for the label by its {why}: check records.columns.label.")
    others = [
        other
        for other in candidates[1:]
        if other.trust < Trust.GENERAL_HEADER
        and (
            other.trust is not Trust.PRESENCE or other.profile.kind is not Kind.TIME
        )  # when labels became known
    ]
    if others:
        shares = ", ".join(f"{one.profile.name} ({one.share:.2%} frauds)" for one in (best, *others))
        proposal.decisions.append(f"Several columns may be the label: {shares}. {name} is taken.")
    for other in others:
        if other.trust is not Trust.HEADER:
            proposal.left_out[other.profile.name] = (
                "its words say what is fraud, so it follows from the label"
                if other.trust is not Trust.PRESENCE
                else "its header names fraud and few rows have it, so it follows from the label"
            )
