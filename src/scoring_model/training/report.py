"""What a training adds to the report of its evaluation."""

from collections.abc import Iterator

from scoring_model.decision.rules import NEVER_REACHED
from scoring_model.evaluation.report import Section, Table
from scoring_model.evaluation.report.figures import share_text
from scoring_model.evaluation.report.scales import unbroken
from scoring_model.training.alternatives import Alternatives
from scoring_model.training.split import Split
from scoring_model.training.thinning import Thinning


def training_sections(
    split: Split, alternatives: Alternatives, thinning: Thinning | None
) -> Iterator[Section]:
    """Describe the split, and the pairs of thresholds beside the chosen one."""
    yield _other_thresholds(alternatives)
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
    heads = ("Part", "From", "To", "Records", "Genuine", "Frauds", "Left out")
    return Section(
        name="split",
        title="Data and split",
        texts=(
            "The model was fitted on the train part; thresholds and probabilities on the validation part. The rest of "
            f"this report is about the {split.evaluated.name} part.",
            *([] if thinning is None else [f"{thinning.sentence}."]),
        ),
        tables=(Table(caption="Parts of the history", heads=heads, rows=rows),),
    )


def _other_thresholds(alternatives: Alternatives) -> Section:
    chosen = alternatives.chosen
    rows = tuple(
        (
            f"{row.step_up_from} and {'never' if row.fail_from == NEVER_REACHED else row.fail_from}"
            + (", chosen" if row.chosen else ""),
            "yes" if row.certified else "no",
            *(share_text(share) for share in (row.false_reject, row.step_up, row.missed_fraud)),
            "–" if row.expected_cost is None else f"{row.expected_cost:#.4g}",
        )
        for row in alternatives.rows
        if chosen.is_beside(row)
    )
    heads = ("Stepped up and failed from", "Certified", "Genuine who fail", "Genuine stepped up or failed")
    return Section(
        name="other-thresholds",
        title="Other thresholds on the validation part",
        texts=(
            f"On {chosen.step_up.total:,} genuine persons and {chosen.missed_fraud.total:,} rings of frauds, one "
            "record of each. Intervals are Clopper and Pearson’s, each by itself; a certified pair keeps all bounds "
            f"together with a confidence of {alternatives.confidence:.4g}.",
        ),
        tables=(
            Table(
                caption="Pairs that share a threshold with the chosen one, at multiples of a hundred",
                heads=(*heads, "Frauds that pass", "Expected cost"),
                rows=rows,
            ),
        ),
    )
