"""Records that two models decide differently: counts, changes per day, groups, reasons and examples."""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from scoring_model.arrays import FloatArray, IntArray
from scoring_model.contract.outcome import OUTCOMES, Outcome
from scoring_model.decision.flips import FRAUD, GENUINE, SHAPE, count_flips, kinds, turns
from scoring_model.estimates import CHALLENGER, CHAMPION, OVERALL, Estimate, NamedEstimates, Slice, Table
from scoring_model.evaluation.draws import MIN_BLOCKS, Draws
from scoring_model.evaluation.evaluated_records import EvaluatedRecords
from scoring_model.evaluation.grouping import Grouping
from scoring_model.evaluation.groups import MIN_RECORDS, deviating, widened
from scoring_model.evaluation.labellings import rate_ends
from scoring_model.evaluation.metrics import divide
from scoring_model.evaluation.paired import pair_codes, paired_variance, stopped_codes
from scoring_model.evaluation.rates import (
    RATES,
    Rate,
    gained_and_lost,
    outcome_cells,
    rate_counts,
    rate_share,
)
from scoring_model.evaluation.uncertainty import differing, normal_quantile, share_estimate
from scoring_model.figures import GROUP_RATES

EXAMPLES: Final = 5
_OTHERS: Final = 2
_TURNED: Final = Rate(frozenset({1}), frozenset({0, 1}))
MOST_EXPLAINED: Final = 200
"""Records of one kind of flip whose reasons are counted."""

_PLURALS: Final = {Outcome.PASSED: "passes", Outcome.STEPPED_UP: "step-ups", Outcome.FAILED: "failures"}

Explain: TypeAlias = Callable[[int, bool], tuple[str, ...]]
"""Place of a record, and whether the challenger is stricter, to the reason codes of the stricter model."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Flip:
    """Records with one outcome from the champion and another one from the challenger.

    Parameters
    ----------
    champion, challenger : Outcome
    genuine, frauds : int
        Records of each class.
    daily_genuine, daily_frauds : Estimate
        The same per day with evaluated records; one that stands for others counts as often as in all figures.
    reasons : mapping of str to int
        Records by reason code of the stricter model, most frequent first. A record has up to five reasons.
    explained : int
        Records whose reasons were counted: at most `MOST_EXPLAINED`, spread evenly over the period.
    examples : tuple of str
        `recordId` of the records whose scores differ most, at most five.
    """

    champion: Outcome
    challenger: Outcome
    genuine: int
    frauds: int
    daily_genuine: Estimate
    daily_frauds: Estimate
    reasons: Mapping[str, int]
    explained: int
    examples: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class DailyChange:
    """Change in the number of applicants per day with one outcome: challenger minus champion.

    Parameters
    ----------
    everyone : Estimate
        Of all applicants, per day with evaluated records.
    frauds : Estimate
        Of known frauds.
    all_known : bool
        Whether it is known of all applicants what they were.
    estimated : bool
        Whether a control group gives the number of frauds.
    """

    outcome: Outcome
    everyone: Estimate
    frauds: Estimate
    all_known: bool = True
    estimated: bool = False

    def __str__(self) -> str:
        return self.describe("a day")

    def describe(self, span: str, interval: str = "") -> str:
        """Describe numbers of another span, such as "out of 10,000 applicants", with an interval of all of them."""
        change, frauds = self.everyone.value or 0.0, self.frauds.value or 0.0
        text = f"{_change(change)} {_PLURALS[self.outcome]} {span}{interval}"
        if not self.all_known:
            return f"{text}; {_change(frauds)} {'estimated' if self.estimated else 'known'} frauds among them"
        if frauds * (change - frauds) < 0:  # one class more, the other fewer
            return f"{text}: {_change(frauds)} of frauds, {_change(change - frauds)} of genuine records"
        return f"{text}, {_number(frauds)} of them fraud"


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupCounts:
    """Records with one value of a column, by what the challenger makes of them.

    Parameters
    ----------
    stricter, milder : int
        Records with a stricter (milder) outcome from the challenger.
    stricter_frauds, milder_frauds : int
        Frauds among them.
    """

    value: str
    records: int
    stricter: int
    milder: int
    stricter_frauds: int
    milder_frauds: int


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupFlips(GroupCounts):
    """The same records, and how their rates change.

    Parameters
    ----------
    changes : mapping of str to Estimate
        Rate under the challenger minus that under the champion, by name as in `GROUP_RATES`. Without ends where the
        denominator has fewer than `MIN_RECORDS` records or ten days.
    """

    changes: NamedEstimates


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupFlipTable:
    """Flips by the values of one column, as in `GroupTable`."""

    column: str
    groups: tuple[GroupFlips, ...]


def pair_matrix(champion: EvaluatedRecords, challenger: EvaluatedRecords) -> IntArray:
    """Count the records by class and both outcomes, of shape `SHAPE`."""
    matrix: IntArray = count_flips(pair_codes(champion, challenger))[0]
    return matrix


def find_flips(
    champion: EvaluatedRecords,
    challenger: EvaluatedRecords,
    matrix: IntArray,
    draws: Draws,
    explain: Explain | None,
) -> tuple[Flip, ...]:
    """Describe each kind of flip that occurs in counts of shape `SHAPE`."""
    before, after = champion.decisions, challenger.decisions
    moved = np.abs(after.scores - before.scores)
    codes, weights = pair_codes(champion, challenger), champion.weights
    stand_for = float(np.sort(champion.weight_of_each).sum())  # in any order of the records the same

    def flip(old: Outcome, new: Outcome) -> Flip:
        i, j = OUTCOMES.index(old), OUTCOMES.index(new)
        rows = np.flatnonzero((before.outcomes == i) & (after.outcomes == j))
        shown = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_EXPLAINED)).astype(np.int64))
        chosen = [] if explain is None else rows[shown].tolist()
        reasons = Counter(code for row in chosen for code in (explain(row, j > i) if explain else ()))
        farthest = rows[np.argsort(-moved[rows], kind="stable")][:EXAMPLES].tolist()
        cells = (np.ravel_multi_index((label, i, j), SHAPE) for label in (GENUINE, FRAUD))
        genuine, frauds = (_share((codes == cell).astype(np.int64), weights, draws) for cell in cells)
        return Flip(
            champion=old,
            challenger=new,
            genuine=int(matrix[GENUINE, i, j]),
            frauds=int(matrix[FRAUD, i, j]),
            daily_genuine=genuine.times(stand_for / draws.days),
            daily_frauds=frauds.times(stand_for / draws.days),
            reasons=dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
            explained=len(chosen),
            examples=tuple(champion.record_ids[row] for row in farthest) if champion.record_ids else (),
        )

    return tuple(flip(old, new) for old, new, _ in kinds(matrix) if old is not new)


def daily_changes(
    differences: NamedEstimates,
    *,
    applicants: float,
    days: int,
    observed: float = 1.0,
    estimated: bool = False,
) -> tuple[DailyChange, ...]:
    """Turn differences of shares into numbers per day.

    Parameters
    ----------
    applicants : float
        All in these days, those too for whom others stand, of whom the share `observed` was observed.
    estimated : bool
        Whether frauds are estimated from a control group, and what was decided of all is known.
    """
    daily = applicants / days if days else 0.0
    return tuple(
        DailyChange(
            outcome=outcome,
            everyone=differences[f"applicants_{outcome.lower()}"].times(daily),
            frauds=differences[f"{outcome.lower()}_frauds"].times(daily * observed),
            all_known=observed == 1 and not estimated,
            estimated=estimated,
        )
        for outcome in OUTCOMES
    )


def flip_rates(champion: EvaluatedRecords, challenger: EvaluatedRecords, draws: Draws) -> dict[str, Estimate]:
    """Measure the shares of `FLIPS`; records that stand for others count as often as they do in all figures.

    `all` is of all applicants, those too who were not observed.
    """
    (old, times), (new, _) = champion.everyone(), challenger.everyone()
    weights, own = (champion.weights, draws) if champion.others is None else (None, Draws.of(times))
    found = {"all": _share((old != new).astype(np.int64), weights, own)}
    before, after = champion.decisions.outcomes, challenger.decisions.outcomes
    for name, label in (("genuine", GENUINE), ("fraud", FRAUD)):
        for turn, turned in (("stricter", after > before), ("milder", after < before)):
            codes = np.where(champion.labels == label, turned, _OTHERS).astype(np.int64)
            found[f"{name}_{turn}"] = _share(codes, champion.weights, draws)
    return found


def _share(codes: IntArray, weights: FloatArray | None, draws: Draws) -> Estimate:
    """Estimate the share of records with the code 1 among those with 0 or 1."""
    counted = draws.counts(codes, _OTHERS + 1)
    cells = counted if weights is None else draws.weighted_counts(codes, _OTHERS + 1, weights)
    drawn = divide(draws.drawn(cells[:, 1]), draws.drawn(cells[:, :_OTHERS].sum(axis=1)))
    basis = draws.basis(counted[:, :_OTHERS].sum(axis=1), counted[:, 1])
    return share_estimate(rate_share(codes, weights, _TURNED), drawn, basis)


def group_flips(
    champion: EvaluatedRecords, challenger: EvaluatedRecords, draws: Draws, column: str
) -> tuple[tuple[GroupCounts, ...], Table]:
    """Count flips and measure the changes of rates for each group of a column."""
    grouping = Grouping.of(champion, column)
    size = len(grouping.values)
    groups = draws.block_of * size + grouping.codes
    by_block = count_flips(pair_codes(champion, challenger), groups, draws.blocks * size)
    by_block = by_block.reshape(draws.blocks, size, *SHAPE)
    found = turns(by_block.sum(axis=0))
    counts = tuple(
        GroupCounts(
            value=value,
            records=int(found.records[g].sum()),
            stricter=int(found.stricter[g].sum()),
            milder=int(found.milder[g].sum()),
            stricter_frauds=int(found.stricter[g, FRAUD]),
            milder_frauds=int(found.milder[g, FRAUD]),
        )
        for g, value in enumerate(grouping.values)
    )
    table, all_changes = Table(), _changes(by_block, draws)
    if champion.not_observed is not None and challenger.not_observed is not None:
        codes = stopped_codes(champion.not_observed, challenger.not_observed)
        stopped = count_flips(codes, grouping.stopped, size)
        both = zip(all_changes, by_block.sum(axis=0), stopped, strict=True)
        all_changes = [_over_labels(*one, size) for one in both]
    for value, changes in zip(grouping.values, all_changes, strict=True):
        table |= changed(changes, Slice(kind="group", column=column, value=value))
    return counts, table


def changed(differences: NamedEstimates, part: Slice = OVERALL) -> Table:
    """Make the table of what the challenger changes, challenger minus champion."""
    return Table.of(differences, part=part, decided_by=CHALLENGER, against=CHAMPION, form="difference")


def _changes(by_block: IntArray, draws: Draws) -> list[dict[str, Estimate]]:
    """Measure the changes of rates of each group from counts of shape (blocks, g, *SHAPE)."""
    before, after = outcome_cells(by_block)
    _, totals = rate_counts(before.sum(axis=0), GROUP_RATES)
    drawn_gained, _ = rate_counts(draws.drawn(after - before), GROUP_RATES)
    _, drawn_totals = rate_counts(draws.drawn(before), GROUP_RATES)
    held = np.count_nonzero(rate_counts(before, GROUP_RATES)[1], axis=0)
    enough = (totals >= MIN_RECORDS) & (held >= MIN_BLOCKS)
    counts = by_block.sum(axis=0)
    gained, lost = np.stack([gained_and_lost(RATES[name], counts) for name in GROUP_RATES], axis=-1)
    parts = differing(
        divide(gained - lost, totals),
        divide(drawn_gained, drawn_totals),
        floor=paired_variance(gained - lost, gained + lost, totals),
        enough=enough,
        blocks=draws.blocks,
    )
    return [
        {
            name: deviating(parts[:, g, f], int(totals[g, f]), enough=bool(enough[g, f]))
            for f, name in enumerate(GROUP_RATES)
        }
        for g in range(len(totals))
    ]


def _over_labels(
    changes: NamedEstimates, observed: IntArray, stopped: IntArray, groups: int
) -> dict[str, Estimate]:
    """Widen the ends of the changes of a group to every label that those who were not observed could have."""

    def ends(name: str, z: float) -> tuple[float, float]:
        low, high = rate_ends(name, observed, stopped)
        return low.value - z * math.sqrt(low.variance), high.value + z * math.sqrt(high.variance)

    quantiles = [normal_quantile(several) for several in (1, groups)]
    return {name: widened(one, *(ends(name, z) for z in quantiles)) for name, one in changes.items()}


def _change(value: float) -> str:
    if (number := _number(value)) == "0.0":
        return "no more and no fewer"
    return f"{number} {'more' if value > 0 else 'fewer'}"


def _number(value: float) -> str:
    """Write a number of applicants without its sign; one far below 1 is not nothing."""
    small = f"{abs(value):.1g}" if 0.0005 <= abs(value) < 0.05 else f"{abs(value):,.1f}"
    return f"{abs(value):,.0f}" if abs(value) >= 10 else small
