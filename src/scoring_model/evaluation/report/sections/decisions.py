"""Thresholds and scores."""

from typing import TYPE_CHECKING

import numpy as np

from scoring_model.decision.rules import NEVER_REACHED
from scoring_model.evaluation.report.figures import NEEDS_BOTH, NO_RECORDS, Figure, Table, absent, drawn
from scoring_model.evaluation.report.plots.scores import coarse
from scoring_model.evaluation.report.plots.thresholds import has_pair
from scoring_model.evaluation.report.scales import percent
from scoring_model.evaluation.report.sections.section import Section
from scoring_model.evaluation.result import EvaluationResult

if TYPE_CHECKING:
    from scoring_model.evaluation.curves import ThresholdMap
    from scoring_model.evaluation.report.plot import Plots


def decisions_section(evaluation: EvaluationResult, plots: "Plots") -> Section:
    """Describe what other thresholds would do, and how scores are distributed."""
    return Section(
        name="thresholds",
        title="Thresholds and scores",
        figures=(_threshold_map(evaluation, plots), _distribution(evaluation, plots)),
    )


def _threshold_map(evaluation: EvaluationResult, plots: "Plots") -> Figure:
    name, title = "threshold-map", "What each pair of thresholds would have done"
    found = evaluation.curves.thresholds
    if not (found.genuine and found.frauds):
        return absent(name, title, NEEDS_BOTH)
    first, last = (threshold_text(value) for value in found.chosen)
    here = int(np.searchsorted(found.thresholds, found.chosen[0]))
    there = int(np.searchsorted(found.thresholds, found.chosen[1]))
    alt = (
        f"Map of both thresholds. The policy steps up from {first} and fails from {last}: "
        f"{percent(found.step_up[here])} of genuine applicants are stepped up or fail, "
        f"{percent(found.false_reject[there])} fail, and {percent(found.missed_fraud[here])} of frauds pass."
    )
    return drawn(
        name,
        title,
        draw=plots.threshold_map,
        alt=alt,
        caption=" ".join(_map_caption(evaluation)),
        table=_map_table(found),
        height=4.9,
    )


def threshold_text(value: int) -> str:
    """Write a threshold; one that no score reaches is never."""
    return "never" if value == NEVER_REACHED else str(value)


def _map_caption(evaluation: EvaluationResult) -> list[str]:
    found = evaluation.curves.thresholds
    texts = [
        "Every point is a pair of thresholds. Dashed lines: share of genuine applicants who are stepped up or fail. "
        "Dotted lines: share of frauds that pass. Both depend on the first threshold alone. No pair lies below the "
        "diagonal, where failing would start before stepping up."
    ]
    if found.cost is None:
        texts.append("The policy has no costs, so none are drawn.")
    elif np.nanmin(found.cost) > 0:
        texts.append(
            f"Solid lines: expected cost above the lowest, which is {np.nanmin(found.cost):.4g} an applicant; "
            f"the chosen pair costs {_cost_of(found, *found.chosen)}."
        )
    texts.append(_certified_text(evaluation))
    texts.append(f"{found.genuine:,} genuine records and {found.frauds:,} frauds.")
    return texts


def _certified_text(evaluation: EvaluationResult) -> str:
    """Describe the certified region, or say why it is not drawn."""
    curves = evaluation.curves
    if not curves.policy.promises:
        return "The policy promises nothing, so no pair is certified."
    if curves.certified is None:
        holder = (
            "The rules came without" if evaluation.provenance is None else "The bundle was sealed without"
        )
        return f"{holder} the counts of scores that certify pairs, so the certified region is not drawn."
    step_up, fail = curves.certified
    if not has_pair(step_up, fail):
        return "The records that the thresholds were chosen on certify no pair to keep all promises."
    return (
        f"Green: the pairs that are certified to keep all promises, with stepping up {_span(step_up)} and failing "
        f"{_span(fail)}. They were tested on the records that the thresholds were chosen on, not on those of this map."
    )


def _span(thresholds: range) -> str:
    first, last = thresholds[0], thresholds[-1]
    return "never" if first == NEVER_REACHED else f"from {first} to {threshold_text(last)}"


def _cost_of(found: "ThresholdMap", first: int, last: int) -> str:
    if found.cost is None:
        return "–"
    row, column = np.searchsorted(found.thresholds, (first, last))
    return f"{found.cost[row, column]:.4g}"


def _map_table(found: "ThresholdMap") -> Table:
    """List the thresholds that are multiples of 100 and the chosen ones."""
    kept = [
        place
        for place, threshold in enumerate(found.thresholds.tolist())
        if threshold % 100 == 0 or threshold in found.chosen or threshold == NEVER_REACHED
    ]
    rows = tuple(
        (
            threshold_text(int(found.thresholds[place]))
            + (" (chosen)" if found.thresholds[place] in found.chosen else ""),
            percent(found.step_up[place], digits=3),
            percent(found.missed_fraud[place], digits=3),
            percent(found.false_reject[place], digits=3),
        )
        for place in kept
    )
    heads = ("Threshold", "Genuine stepped up or failed", "Frauds that pass", "Genuine who fail")
    return Table(
        caption="Shares if stepping up (second and third column) or failing (fourth) starts at the threshold",
        heads=heads,
        rows=rows,
    )


def _distribution(evaluation: EvaluationResult, plots: "Plots") -> Figure:
    name, title = "score-distribution", "How scores are distributed"
    found = evaluation.curves.scores
    if not found.records:
        return absent(name, title, NO_RECORDS)
    overall = evaluation.overall
    steps = int(found.edges[coarse(found.edges, frauds=overall.frauds)[1]])
    alt = (
        f"Histogram of the scores of {overall.genuine:,} genuine records and {overall.frauds:,} frauds per 100,000 "
        f"applicants, on a logarithmic scale. Middle scores: genuine {_median(found.genuine, found.edges)}, "
        f"frauds {_median(found.frauds, found.edges)}."
    )
    return drawn(
        name,
        title,
        draw=plots.score_distribution,
        alt=alt,
        caption=(
            f"Per 100,000 applicants of both classes together, in steps of {steps} points, on a logarithmic scale; "
            f"steps at the bottom are empty. {overall.genuine:,} genuine records and {overall.frauds:,} frauds."
        ),
        table=_distribution_table(evaluation),
        height=3.9,
    )


def _median(counts: np.ndarray, edges: np.ndarray) -> str:
    """Write the bin that holds the middle record."""
    if not counts.sum():
        return "none"
    place = int(np.searchsorted(np.cumsum(counts), counts.sum() / 2))
    return f"{edges[place]} to {edges[place + 1] - 1}"


def _distribution_table(evaluation: EvaluationResult) -> Table:
    found = evaluation.curves.scores
    rows = []
    for start in range(0, 1000, 100):
        inside = (found.edges[:-1] >= start) & (found.edges[:-1] < (start + 100 if start < 900 else 1002))
        genuine, frauds = int(found.genuine[inside].sum()), int(found.frauds[inside].sum())
        per = 100_000 / found.records
        end = start + 99 if start < 900 else 1000
        rows.append(
            (
                f"{start} to {end}",
                f"{genuine * per:,.0f}",
                f"{frauds * per:,.0f}",
                f"{genuine:,}",
                f"{frauds:,}",
            )
        )
    return Table(
        caption="Applicants by score, per 100,000 and as counted",
        heads=("Score", "Genuine per 100,000", "Frauds per 100,000", "Genuine records", "Frauds"),
        rows=tuple(rows),
    )
