"""What a training adds to the report of its evaluation."""

from collections.abc import Iterator

from scoring_model.evaluation.report import Grid, Section
from scoring_model.evaluation.report.words import (
    ABSENT,
    estimate_text,
    percent,
    threshold_text,
    titles,
    unbroken,
)
from scoring_model.training.alternatives import SHARES, Alternatives
from scoring_model.training.split import Split
from scoring_model.training.thinning import Thinning


def training_sections(
    split: Split, alternatives: Alternatives, thinning: Thinning | None
) -> Iterator[Section]:
    """Describe the split, and the pairs of thresholds beside the chosen one."""
    yield other_thresholds(alternatives)
    yield _split(split, thinning)


def _split(split: Split, thinning: Thinning | None) -> Section:
    rows = tuple(
        (
            part.part,
            unbroken(part.start[:10]),
            unbroken(part.end[:10]),
            f"{part.records:,}",
            f"{part.genuine:,}",
            f"{part.frauds:,}",
            "; ".join(f"{count:,}: {reason}" for reason, count in part.left_out.items()) or "none",
        )
        for part in split.summaries
    )
    heads = {
        "part": "Part",
        "since": "From",
        "until": "To",
        "records": "Records",
        "genuine": "Genuine",
        "frauds": "Frauds",
        "left_out": "Left out",
    }
    return Section(
        name="split",
        title="Data and split",
        texts=(
            "The model was fitted on the train part; thresholds and probabilities on the validation part. The rest of "
            f"this report is about the {split.evaluated.name} part.",
            *([] if thinning is None else [f"{thinning.sentence}."]),
        ),
        grids=(Grid.of("split", "Parts of the history", heads, rows),),
    )


def other_thresholds(alternatives: Alternatives) -> Section:
    """Describe the pairs that share a threshold with the chosen one, at multiples of a hundred."""
    chosen = alternatives.chosen
    rows = tuple(
        (
            f"{row.step_up_from} and {threshold_text(row.fail_from)}" + (", chosen" if row.chosen else ""),
            "yes" if row.certified else "no",
            *(estimate_text(getattr(row, name)) for name in SHARES),
            ABSENT if row.expected_cost is None else f"{row.expected_cost:#.4g}",
        )
        for row in alternatives.rows
        if chosen.is_beside(row)
    )
    heads = {
        "thresholds": "Stepped up and failed from",
        "certified": "Certified",
        **titles(SHARES),
        "cost": "Expected cost",
    }
    prevalence = alternatives.prevalence
    costs = "" if prevalence is None else f" Costs are per record, of which {percent(prevalence)} are frauds."
    caption = "Pairs that share a threshold with the chosen one, at multiples of a hundred"
    return Section(
        name="other-thresholds",
        title="Other thresholds on the validation part",
        texts=(
            f"On {chosen.step_up.records:,} genuine persons and {chosen.missed_fraud.records:,} rings of frauds, one "
            "record of each. Intervals are Clopper and Pearson’s, each by itself; a certified pair keeps all bounds "
            f"together with a confidence of {alternatives.confidence:.4g}." + costs,
        ),
        grids=(Grid.of("other-thresholds", caption, heads, rows),),
    )
