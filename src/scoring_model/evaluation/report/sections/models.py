"""Size, latency and origin of two models, and their promises."""

from collections.abc import Iterator
from typing import Final

from scoring_model.evaluation.comparison_result import ComparedBundle, ComparisonResult
from scoring_model.evaluation.report.first_screen import promise_cards
from scoring_model.evaluation.report.section import Cell, Grid, Section
from scoring_model.evaluation.report.words import threshold_text
from scoring_model.evaluation.result import EvaluationResult
from scoring_model.records import rfc3339

_MODELS: Final = {"champion": "Champion", "challenger": "Challenger"}


def models_section(comparison: ComparisonResult) -> Section:
    """Describe size, latency and origin of both models."""
    name, title = "models", "Both models"
    promises = _promises(comparison)
    if not comparison.bundles:
        text = "The models were compared as arrays, without bundles, so size and latency are not known."
        return Section(name=name, title=title, texts=(text,), grids=(promises,))
    columns = [
        list(_properties(bundle, evaluation))
        for bundle, evaluation in zip(
            comparison.bundles, (comparison.champion, comparison.challenger), strict=True
        )
    ]
    rows = [(head, before, after) for (head, before), (_, after) in zip(*columns, strict=True)]
    return Section(
        name=name,
        title=title,
        texts=(
            "Times were measured on the machine that made this report, with the threads that it was given.",
        ),
        grids=(Grid.of("bundles", "Size, latency and origin", {"what": "What", **_MODELS}, rows), promises),
    )


def _promises(comparison: ComparisonResult) -> Grid:
    """List each promise of both models with its verdict."""
    models = comparison.champion.stability, comparison.challenger.stability
    rows = [
        (old.title, *(Cell(text=f"{one.head}: {one.sentence}", tone=one.tone) for one in (old, new)))
        for old, new in zip(*map(promise_cards, models), strict=True)
    ]
    return Grid.of("both-promises", "Promises on these records", {"error": "Error", **_MODELS}, rows)


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
