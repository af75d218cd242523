"""Sets windows, label delay, split and bounds by what the file can show."""

from typing import Final

import numpy as np

from scoring_model.configuration.proposal.draft import Proposal
from scoring_model.configuration.proposal.outcomes import unobserved_rows
from scoring_model.configuration.proposal.signals import key_codes
from scoring_model.configuration.proposal.split import FEWER, Parts, propose_parts, provable_bound
from scoring_model.configuration.proposal.windows import KNOWN_SHARE, propose_lengths
from scoring_model.records import NEVER, format_duration
from scoring_model.records.times import DAY

_VALIDATED: Final = 0.1  # approximate share of records in the validation part


def find_lengths(proposal: Proposal, given: int | None) -> None:
    """Set the delay (`given`, in microseconds, or measured), the windows, the burn-in and the split."""
    event, known_at = proposal.of("eventTime"), proposal.of("labelKnownAt")
    targets, nothing = proposal.targets(), np.empty(0, dtype=np.int64)
    times = nothing if event is None else event.times
    since = None if known_at is None else np.where(targets >= 0, known_at.times, NEVER)
    codes = {name: of_key for name in proposal.keys if (of_key := key_codes(proposal, name)) is not None}
    proposal.lengths = lengths = propose_lengths(times, since, targets == 1, codes, given=given)
    if since is not None:
        proposal.partly_known = bool(((since == NEVER) & (targets >= 0)).any())
        proposal.ends = int(max(one[one != NEVER].max(initial=0) for one in (times, since)))
    if not proposal.keys:
        proposal.decisions.append(
            "No column links records, so that nothing counts earlier ones: links.keys is empty."
        )
    elif not lengths.links and codes:
        proposal.decisions.append(
            "No value of a link key recurs in the file: features that count earlier records are 0 or missing in it."
        )
    if given is None and event is not None:
        _say_delay(proposal)
    seen = times[times != NEVER]
    if not len(seen) or not (targets == 1).any():
        return
    assumed = 0 if known_at is not None and proposal.ends else lengths.delay
    as_of = (proposal.ends if known_at is not None else int(seen.max())) + assumed + 1
    assumed_known = np.where(times == NEVER, NEVER, times + lengths.delay * (times != NEVER))
    proposal.parts = propose_parts(
        times,
        targets,
        known=assumed_known if since is None else np.where(since == NEVER, assumed_known, since),
        persons=codes.get("person"),
        stopped=unobserved_rows(proposal, lengths.maturity),
        as_of=as_of,
        maturity=lengths.maturity,
        gap=lengths.gap,
        burn_in=lengths.burn_in,
    )
    _say_parts(proposal)


def _say_delay(proposal: Proposal) -> None:
    lengths = proposal.lengths
    if not lengths.measured:
        proposal.decisions.append(
            f"No column says when labels became known: {format_duration(lengths.delay)} after the event is assumed. "
            "Set records.labels.delay to what is true, and training.split.label_maturity with it."
        )
        return
    half, most, longest = (f"{length / DAY:.1f}" for length in lengths.quantiles)
    proposal.guesses += (
        f"frauds become known {half} days after the event (median); 95 % within {most}, the last after {longest}",
    )
    if lengths.maturity < lengths.delay:
        proposal.decisions.append(
            f"It takes {format_duration(lengths.delay)} until {KNOWN_SHARE:.0%} of the frauds are known, which is long "
            f"for this file: training.split.label_maturity is {format_duration(lengths.maturity)}, and frauds that are "
            "known later count as genuine."
        )


def _say_parts(proposal: Proposal) -> None:
    """Say what the split gave up for enough frauds, or what would help where none has them."""
    parts, counts = proposal.parts, ", ".join(map(str, proposal.parts.frauds))
    if parts.few:
        proposal.decisions.append(
            f"No split has 20 frauds in each part (the best has {counts}): training.split.min_frauds is {FEWER}, and "
            "what the validation part shows is uncertain. A longer history or a shorter label_maturity helps."
        )
    elif not parts.enough:
        held = f"the best has {counts}" if counts else "burn-in, gaps and label maturity leave no time"
        tried = (
            "" if parts.shares[2] == 0 else "training.split.test: 0 with durations for train and validation, "
        )
        proposal.decisions.append(
            f"No split has 20 frauds in each part ({held}): use a longer history, {tried}a shorter label_maturity, or "
            "a lower min_frauds."
        )
    elif not parts.shares[2]:
        proposal.decisions.append(
            f"There are too few frauds for a test part: training.split.test is 0, with {counts} frauds in training "
            "and validation. Evaluate on later records."
        )
    elif parts.is_for_weeks:
        proposal.decisions.append(
            "The validation part is longer than usual, so that it has four of each weekday: beside fewer, monitor "
            "gives no verdict on drift."
        )
    elif parts.shares[0] < Parts().shares[0]:
        proposal.decisions.append(
            "The validation part is longer than usual, so that the parts have enough frauds, and that part enough "
            f"records for the policy ({counts} frauds in training, validation and test; {parts.genuine:,} genuine in "
            "validation)."
        )


def find_bound(proposal: Proposal) -> None:
    """Bound false rejections by what the validation part proves."""
    targets = proposal.targets()
    judged = proposal.parts.genuine
    genuine = judged if judged > 0 else int((targets != 1).sum()) * _VALIDATED
    proposal.max_false_reject = provable_bound(genuine)
