"""Size, latency and origin of two models, and their promises."""

from collections.abc import Iterator

from scoring_model.evaluation.comparison_result import ComparedBundle, ComparisonResult
from scoring_model.evaluation.report.cards import promise_cards
from scoring_model.evaluation.report.figures import Table
from scoring_model.evaluation.report.sections.decisions import threshold_text
from scoring_model.evaluation.report.sections.section import Section
from scoring_model.evaluation.result import EvaluationResult
from scoring_model.records import rfc3339


def models_section(comparison: ComparisonResult) -> Section:
    """Describe size, latency and origin of both models."""
    name, title = "models", "Both models"
    promises = Table(
        caption="Promises on these records",
        heads=("Error", "Champion", "Challenger"),
        rows=tuple(_promises(comparison.champion, comparison.challenger)),
    )
    if not comparison.bundles:
        text = "The models were compared as arrays, without bundles, so size and latency are not known."
        return Section(name=name, title=title, texts=(text,), tables=(promises,))
    old, new = comparison.bundles
    columns = [
        tuple(_properties(bundle, evaluation))
        for bundle, evaluation in ((old, comparison.champion), (new, comparison.challenger))
    ]
    rows = tuple((head, before, after) for (head, before), (_, after) in zip(*columns, strict=True))
    return Section(
        name=name,
        title=title,
        texts=(
            "Times were measured on the machine that made this report, with the threads that it was given.",
        ),
        tables=(
            Table(caption="Size, latency and origin", heads=("What", "Champion", "Challenger"), rows=rows),
            promises,
        ),
    )


def _promises(champion: EvaluationResult, challenger: EvaluationResult) -> Iterator[tuple[str, ...]]:
    """Write each promise of both models with its verdict."""
    cards = zip(promise_cards(champion.stability), promise_cards(challenger.stability), strict=True)
    for old, new in cards:
        yield old.title, *(f"{one.head}: {one.sentence}" for one in (old, new))


def _properties(bundle: ComparedBundle, evaluation: EvaluationResult) -> Iterator[tuple[str, str]]:
    chosen = evaluation.curves.thresholds.chosen
    until, trained = bundle.trained_until, bundle.trained_records
    yield "Model version", bundle.model_version
    yield "Policy version", bundle.policy_version
    yield "Stepped up from", threshold_text(chosen[0])
    yield "Failed from", threshold_text(chosen[1])
    yield "Size of its files", f"{bundle.bytes / 1e6:.2f} MB"
    yield "Trees", f"{bundle.trees:,}"
    yield "Features", f"{bundle.features:,}"
    yield "One decision about a feature row, median", f"{bundle.decision_milliseconds:.2f} ms"
    yield "Records scored a second, with features", f"{bundle.records_per_second:,.0f}"
    yield "End of its validation period", "not in the bundle" if until is None else rfc3339(until)
    yield "Evaluated records from before", "unknown" if trained is None else f"{trained:,}"
