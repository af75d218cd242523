"""The model card (Mitchell et al. 2019, doi 10.1145/3287560.3287596): a bundle in words and tables."""

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from scoring_model.bundle import Contents, model_version
from scoring_model.configuration import Configuration
from scoring_model.decision.rules import NEVER_REACHED, Policy
from scoring_model.decision.scale import MAX_SCORE, ScoreScale
from scoring_model.evaluation import Evaluation
from scoring_model.features import Feature
from scoring_model.training.alternatives import Alternatives
from scoring_model.training.calibration import CalibrationChoice
from scoring_model.training.leakage import LeakageReport
from scoring_model.training.preparation import Prepared
from scoring_model.training.scale import scale_uncertainty

PURPOSE: Final = (
    "Decides whether each {event} is PASSED, STEPPED_UP (the {subject} is asked for more) or FAILED, from its "
    "record and what earlier records share with it. It is made for records of the population and the client that "
    "it was trained on, and for a step-up that is open to everyone; it is not made for credit, employment or "
    "insurance."
)

LIMITS: Final = (
    "The promises hold for independent persons and rings of one population: drift breaks them, and so do rings "
    "that no link key shows.",
    "The meaning of the score is that of the genuine records of the validation period; records that were "
    "wrongly taken for genuine pull its upper end down.",
    "Links are counted within one client's history; a record without a history has no links.",
)

_DIRECTIONS: Final = {-1: "lowers", 0: "either", 1: "raises"}

Cell = str | int | float | None


def describe(
    prepared: Prepared,
    contents: Contents,
    evaluation: Evaluation,
    configuration: Configuration,
    *,
    alternatives: Alternatives,
    leakage: LeakageReport,
    calibration: CalibrationChoice,
    data: Mapping[str, object],
) -> str:
    """Write the card of a bundle; its text is reproducible and independent of clock and machine."""
    rules, use = contents.rules, configuration.use
    version = model_version(configuration.name, contents.to_files())
    sections = (
        f"# {_text(configuration.name)}\n\nModel `{version}`, policy `{contents.policy_version}`.",
        f"## Purpose\n\n{_text(PURPOSE.format(event=use.event, subject=use.subject))}",
        _data(prepared, data),
        _leaks(leakage),
        f"## Metrics on the test part\n\n{_metrics(evaluation)}\n\n{_text(str(calibration))}",
        _policy(rules.policy, alternatives, use.event),
        _scale(rules.scale, use.subject, genuine=int((prepared.split.validation_targets == 0).sum())),
        _features(prepared.matrix.features),
        _list("Protected attributes read", sorted(configuration.features.use_protected)),
        _list("Limits", LIMITS),
    )
    return "\n\n".join(sections) + "\n"


def _data(prepared: Prepared, data: Mapping[str, object]) -> str:
    span = f"{data['records']} records from {data['from']} to {data['to']}, SHA-256 `{data['sha256']}`."
    rows = [(s.part, s.start, s.end, s.records, s.genuine, s.frauds) for s in prepared.split.summaries]
    return f"## Data\n\n{span}\n\n{table(('Part', 'From', 'To', 'Records', 'Genuine', 'Frauds'), rows)}"


def _leaks(leakage: LeakageReport) -> str:
    if not leakage.findings:
        return "## Leaks\n\nThe configuration turned the search for leaks off."
    rows = [(f.check, leakage.verdict_of(f), f.records, f.detail) for f in leakage.findings]
    return (
        f"## Leaks\n\n{table(('Check', 'Verdict', 'Records', 'Found'), rows)}\n\nColumns that users supply were "
        "looked at one by one: whether their values were there before the decision can't be seen from the records."
    )


def _metrics(evaluation: Evaluation) -> str:
    overall = evaluation.overall
    shown = {
        "roc_auc": "ROC AUC",
        "average_precision": "Average precision",
        **{f"recall_at_fpr_{limit:g}": f"Recall at {limit:.1%} false positives" for limit in overall.recalls},
        "brier": "Brier score",
        "log_loss": "Log loss",
    }
    figures = [(title, evaluation.figures[name]) for name, title in shown.items()]
    shares = {
        "Genuine failed": overall.false_reject,
        "Genuine stepped up or failed": overall.step_up,
        "Frauds passed": overall.missed_fraud,
    }
    rows: list[Sequence[Cell]] = [
        *((title, figure.value, figure.low, figure.high) for title, figure in figures),
        ("Expected calibration error", overall.calibration_error, None, None),
        *((metric, share.share, share.low, share.high) for metric, share in shares.items()),
    ]
    return table(("Metric", "Value", "95 % from", "to"), rows)


def _policy(policy: Policy, alternatives: Alternatives, event: str) -> str:
    thresholds = (
        f"`PASSED` below a score of {policy.step_up_from}, `STEPPED_UP` from there, "
        f"`FAILED` {'never' if policy.fail_from == NEVER_REACHED else f'from {policy.fail_from}'}."
    )
    rows = [(p.bound, p.limit, 1 - p.delta, p.observed, p.records) for p in policy.promises]
    promises = table(("Promise", "At most", "With confidence", "Observed", "On records"), rows)
    choice = _text(" ".join(_choice(policy, alternatives, event)))
    return f"## Policy\n\n{thresholds}\n\n{choice}\n\n{promises}"


def _choice(policy: Policy, alternatives: Alternatives, event: str) -> Iterator[str]:
    """Describe the choice of thresholds, its confidence and the population of the promises."""
    cost, prevalence = alternatives.chosen.expected_cost, alternatives.prevalence
    if cost is None:
        yield "These are the lowest thresholds that are certified to keep what is promised."
    else:
        yield (
            "Of the thresholds that are certified to keep what is promised, these have the least expected cost per "
            f"{event}: {cost:.4g}, where frauds have a share of {prevalence:.4g}."
        )
    if not policy.promises:
        yield "Nothing is promised."
        return
    yield (
        f"All promises hold together with a confidence of {alternatives.confidence:.4g}, each being tested at "
        f"{policy.promises[0].delta:.3g}. They are about a genuine person drawn as those of the validation part were, "
        "and one of the person's records there, drawn by chance, and likewise about a ring (frauds that link keys "
        "join, or one by itself) and one of its records."
    )


def _scale(scale: ScoreScale, subject: str, *, genuine: int) -> str:
    meaning = f"A genuine {_text(subject)} scores s or more with a chance of 10^(-s/250)."
    if scale.extrapolated_from <= MAX_SCORE:
        meaning += f" From {scale.extrapolated_from} on the scale is extrapolated."
    rows = [(u.score, u.low, u.high, "yes" if u.extrapolated else "no") for u in scale_uncertainty(genuine)]
    return f"## Score\n\n{meaning}\n\n{table(('Score', '95 % from', 'to', 'Extrapolated'), rows)}"


def _features(features: Sequence[Feature]) -> str:
    rows = [(f.name, f.sentence, _DIRECTIONS[f.direction], f.reason) for f in features]
    return f"## Features\n\n{table(('Feature', 'Meaning', 'Direction', 'Reason'), rows)}"


def table(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Write a Markdown table: numbers with four digits, a dash for None; "None." without rows."""
    lines = [header, ["---"] * len(header), *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) if len(lines) > 2 else "None."


def _list(title: str, items: Sequence[str]) -> str:
    body = "\n".join(f"- {_text(item)}" for item in items) or "None."
    return f"## {title}\n\n{body}"


def _cell(cell: Cell) -> str:
    if cell is None:
        return "-"
    return f"{cell:.4g}" if isinstance(cell, float) else _text(str(cell))


def _text(text: str) -> str:
    """Return the text on one line, without markup that would end a table cell or start a tag."""
    return html.escape(" ".join(text.split()), quote=False).replace("|", "\\|")
