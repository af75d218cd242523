"""Thresholds and scores."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from scoring_model.contract.outcome import OUTCOMES
from scoring_model.decision.rules import NEVER_REACHED
from scoring_model.decision.scale import nominal_share
from scoring_model.evaluation.report.plots.scores import coarse, draw_score_distribution
from scoring_model.evaluation.report.plots.thresholds import draw_threshold_map, has_pair
from scoring_model.evaluation.report.section import NEEDS_BOTH, NO_RECORDS, Cell, Drawing, Grid, Row, Section
from scoring_model.evaluation.report.words import (
    OUTCOME_TITLES,
    estimate_text,
    percent,
    possible_text,
    threshold_text,
    writer_of,
)
from scoring_model.evaluation.result import EvaluationResult
from scoring_model.figures import FIGURES

if TYPE_CHECKING:
    from scoring_model.evaluation.curves import ThresholdMap


def decisions_section(evaluation: EvaluationResult) -> Section:
    """Describe what other thresholds would do, how scores are distributed and what they mean."""
    return Section(
        name="thresholds",
        title="Thresholds and scores",
        texts=tuple(_cost(evaluation)),
        drawings=(partial(_threshold_map, evaluation), partial(_distribution, evaluation)),
        grids=(_outcomes(evaluation), _meaning(evaluation)),
    )


def _cost(evaluation: EvaluationResult) -> Iterator[str]:
    """Say what an applicant costs under the policy, where it has costs."""
    cost = evaluation.figures.get("cost")
    if cost is None or cost.value is None:
        return
    text = (
        f"An applicant costs {estimate_text(cost, writer_of('cost'))} on average, by the costs of the policy"
    )
    if evaluation.stopped is None:
        yield f"{text}."
    else:
        possible = possible_text(
            evaluation.stopped.possible.get("cost"), writer_of("cost"), FIGURES["cost"].span
        )
        yield f"{text}; whatever the stopped ones were: {possible}."


def _outcomes(evaluation: EvaluationResult) -> Grid:
    """List the share of each outcome in both classes."""
    figures = evaluation.overall.figures
    rows: list[Row] = [
        (
            Cell(text=OUTCOME_TITLES[outcome], key=outcome.lower()),
            *(estimate_text(figures[f"{label}_{outcome.lower()}"]) for label in ("genuine", "fraud")),
        )
        for outcome in OUTCOMES
    ]
    heads = {"outcome": "Outcome", "genuine": "Genuine", "fraud": "Frauds"}
    return Grid.of("class-outcomes", "Outcomes of each class, with 95% intervals", heads, rows)


def _meaning(evaluation: EvaluationResult) -> Grid:
    """List genuine records at or above each hundred points, against what the score promises."""
    rows = [
        (
            str(score),
            f"{nominal_share(score):.3%}",
            estimate_text(share),
            "yes" if score >= evaluation.extrapolated_from else "no",
        )
        for score, share in evaluation.score_shares.items()
    ]
    heads = {
        "score": "Score",
        "nominal": "Nominal",
        "observed": "Observed",
        "extrapolated": "Extrapolated",
    }
    return Grid.of("score-meaning", "Meaning of the score: genuine records at or above it", heads, rows)


def _threshold_map(evaluation: EvaluationResult) -> Drawing:
    name, title = "threshold-map", "What each pair of thresholds would have done"
    pairs, certified = evaluation.curves.thresholds, evaluation.curves.certified
    if not (pairs.genuine and pairs.frauds):
        return Drawing(name=name, title=title, missing=NEEDS_BOTH)
    first, last = map(threshold_text, pairs.chosen)
    here, there = np.searchsorted(pairs.thresholds, pairs.chosen)
    return Drawing(
        name=name,
        title=title,
        draw=lambda ax: draw_threshold_map(ax, pairs, certified),
        alt=(
            f"Map of both thresholds. The policy steps up from {first} and fails from {last}: "
            f"{percent(pairs.step_up[here])} of genuine applicants are stepped up or fail, "
            f"{percent(pairs.false_reject[there])} fail, and {percent(pairs.missed_fraud[here])} of frauds pass."
        ),
        caption=" ".join(_map_caption(evaluation)),
        grid=_map_grid(pairs),
        height=4.9,
    )


def _map_caption(evaluation: EvaluationResult) -> Iterator[str]:
    pairs = evaluation.curves.thresholds
    yield (
        "Every point is a pair of thresholds. Dashed lines: share of genuine applicants who are stepped up or fail. "
        "Dotted lines: share of frauds that pass. Both depend on the first threshold alone. No pair lies below the "
        "diagonal, where failing would start before stepping up."
    )
    if pairs.cost is None:
        yield "The policy has no costs, so none are drawn."
    elif np.nanmin(pairs.cost) > 0:
        row, column = np.searchsorted(pairs.thresholds, pairs.chosen)
        yield (
            f"Solid lines: expected cost above the lowest, which is {np.nanmin(pairs.cost):.4g} an applicant; "
            f"the chosen pair costs {pairs.cost[row, column]:.4g}."
        )
    yield _certified_text(evaluation)
    yield f"{pairs.genuine:,} genuine records and {pairs.frauds:,} frauds."


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


def _map_grid(pairs: "ThresholdMap") -> Grid:
    """List the thresholds that are multiples of 100 and the chosen ones."""
    rows = [
        (
            threshold_text(threshold) + (" (chosen)" if threshold in pairs.chosen else ""),
            *(percent(share, digits=3) for share in shares),
        )
        for threshold, *shares in zip(
            pairs.thresholds.tolist(), pairs.step_up, pairs.missed_fraud, pairs.false_reject, strict=True
        )
        if threshold % 100 == 0 or threshold in pairs.chosen or threshold == NEVER_REACHED
    ]
    heads = {
        "threshold": "Threshold",
        "step_up": "Genuine stepped up or failed",
        "missed_fraud": "Frauds that pass",
        "false_reject": "Genuine who fail",
    }
    caption = "Shares if stepping up (second and third column) or failing (fourth) starts at the threshold"
    return Grid.of("threshold-map", caption, heads, rows)


def _distribution(evaluation: EvaluationResult) -> Drawing:
    name, title = "score-distribution", "How scores are distributed"
    curves, overall = evaluation.curves, evaluation.overall
    scores = curves.scores
    if not scores.records:
        return Drawing(name=name, title=title, missing=NO_RECORDS)
    steps = int(scores.edges[coarse(scores.edges, frauds=overall.frauds)[1]])
    return Drawing(
        name=name,
        title=title,
        draw=lambda ax: draw_score_distribution(ax, scores, curves.thresholds.chosen),
        alt=(
            f"Histogram of the scores of {overall.genuine:,} genuine records and {overall.frauds:,} frauds per 100,000 "
            f"applicants, on a logarithmic scale. Middle scores: genuine {_median(scores.genuine, scores.edges)}, "
            f"frauds {_median(scores.frauds, scores.edges)}."
        ),
        caption=(
            f"Per 100,000 applicants of both classes together, in steps of {steps} points, on a logarithmic scale; "
            f"steps at the bottom are empty. {overall.genuine:,} genuine records and {overall.frauds:,} frauds."
        ),
        grid=_distribution_grid(evaluation),
        height=3.9,
    )


def _median(counts: np.ndarray, edges: np.ndarray) -> str:
    """Write the bin that holds the middle record."""
    if not counts.sum():
        return "none"
    place = int(np.searchsorted(np.cumsum(counts), counts.sum() / 2))
    return f"{edges[place]} to {edges[place + 1] - 1}"


def _distribution_grid(evaluation: EvaluationResult) -> Grid:
    scores = evaluation.curves.scores
    rows = []
    for start in range(0, 1000, 100):
        end = start + 99 if start < 900 else 1000
        inside = (scores.edges[:-1] >= start) & (scores.edges[:-1] <= end)
        counts = [int(counts[inside].sum()) for counts in (scores.genuine, scores.frauds)]
        per = (f"{100_000 * count / scores.records:,.0f}" for count in counts)
        rows.append((f"{start} to {end}", *per, *(f"{count:,}" for count in counts)))
    heads = {
        "score": "Score",
        "genuine_share": "Genuine per 100,000",
        "fraud_share": "Frauds per 100,000",
        "genuine": "Genuine records",
        "frauds": "Frauds",
    }
    return Grid.of("score-distribution", "Applicants by score, per 100,000 and as counted", heads, rows)
