"""The model card (Mitchell et al. 2019, doi 10.1145/3287560.3287596): a bundle in words and tables."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scoring_model.bundle import CARD, Contents, SealedFiles, model_version
from scoring_model.configuration import Configuration
from scoring_model.decision.rules import NEVER_REACHED, Policy
from scoring_model.decision.scale import MAX_SCORE, ScoreScale
from scoring_model.escaping import for_markdown, sentence_for_markdown
from scoring_model.evaluation import Evaluation
from scoring_model.evaluation.bounds import MISSED_FRAUD
from scoring_model.features import Feature
from scoring_model.figures import CALIBRATION_ERROR, ERRORS, FIGURES, HEADLINES
from scoring_model.findings import LIMIT, Code, Finding
from scoring_model.records import rfc3339
from scoring_model.records.times import to_the_minute
from scoring_model.training.alternatives import Alternatives
from scoring_model.training.calibration import CalibrationChoice
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

_METRICS: Final = re.compile(r"^## Metrics on the \w+ part\n\n", re.MULTILINE)
_STALE: Final = (
    "Stale: genuine failed, genuine stepped up or failed, and frauds passed were measured under the policy"
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
    calibration: CalibrationChoice,
    data: Mapping[str, object],
    sample: "Sample | None" = None,
) -> str:
    """Write the card of a bundle; its text is reproducible and independent of clock and machine."""
    rules, use = contents.rules, configuration.use
    version = model_version(configuration.name, contents.to_files())
    sections = (
        f"# {for_markdown(configuration.name)}\n\nModel `{version}`, policy `{contents.policy_version}`.",
        f"## Purpose\n\n{for_markdown(PURPOSE.format(event=use.event, subject=use.subject))}",
        _data(prepared, data, configuration.training.split.as_of),
        _findings(evaluation.findings),
        _evaluated(prepared, evaluation, calibration),
        policy_section(rules.policy, alternatives, use.event, sample=sample or Sample()),
        _scale(rules.scale, use.subject, genuine=int((prepared.split.validation_targets == 0).sum())),
        _features(prepared.matrix.features),
        _list("Protected attributes read", sorted(configuration.features.use_protected)),
        _list("Limits", LIMITS),
    )
    return "\n\n".join(sections) + "\n"


def _data(prepared: Prepared, data: Mapping[str, object], as_of: int | None) -> str:
    start, end = (to_the_minute(str(data[name])) for name in ("from", "to"))
    span = f"{data['records']:,} records from {start} to {end} UTC, SHA-256 `{data['sha256']}`."
    if as_of is not None:
        span += (
            f" Records and labels that happened or became known at {rfc3339(as_of)} or later were not read."
        )
    if (thinning := prepared.thinning) is not None:
        span += (
            f" They were chosen among {thinning.read:,} records; features were computed from all of them. "
            f"{thinning.sentence}."
        )
    rows = [
        (s.part, to_the_minute(s.start), to_the_minute(s.end), s.records, s.genuine, s.frauds)
        for s in prepared.split.summaries
    ]
    return f"## Data\n\n{span}\n\n{table(('Part', 'From', 'To', 'Records', 'Genuine', 'Frauds'), rows)}"


def _findings(findings: Sequence[Finding]) -> str:
    rows = [
        (f.code.value, f.check.title, f.check.severity.value, f.verdict, f.records, f.sentence)
        for f in findings
    ]
    heads = ("Code", "Check", "Severity", "Verdict", "Records", "Found")
    return f"## Findings\n\n{table(heads, rows)}\n\n{LIMIT} `docs/findings.md` says what each code means."


def _evaluated(prepared: Prepared, evaluation: Evaluation, calibration: CalibrationChoice) -> str:
    part = prepared.split.evaluated
    limits = [
        f"**{sentence_for_markdown(one.sentence)}**"
        for one in evaluation.findings
        if one.code is Code.TRAINING_PERIOD and one.is_open
    ]
    texts = [
        f"## Metrics on the {part.name} part",
        *limits,
        _metrics(evaluation),
        sentence_for_markdown(str(calibration)),
    ]
    return "\n\n".join(texts)


def _metrics(evaluation: Evaluation) -> str:
    overall = evaluation.overall
    figures = [(FIGURES[name].title, evaluation.figures[name]) for name in HEADLINES]
    shares = {FIGURES[name].title: overall.errors[name] for name in ERRORS}
    rows: list[Sequence[Cell]] = [
        *((title, figure.value, figure.low, figure.high) for title, figure in figures),
        (CALIBRATION_ERROR.title, overall.calibration_error, None, None),
        *((metric, share.value, share.low, share.high) for metric, share in shares.items()),
    ]
    return table(("Metric", "Value", "95 % from", "to"), rows)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """The records that certify a policy.

    Parameters
    ----------
    of : str
        Their name in a sentence.
    is_seen : bool
        Whether the bounds were set after their scores were seen, and so taken from the ladder.
    stopped : int
        How many of the tested persons were stopped, so that each counts as genuine.
    """

    of: str = "the validation part"
    is_seen: bool = False
    stopped: int = 0


def policy_section(
    policy: Policy,
    alternatives: Alternatives,
    event: str,
    *,
    sample: Sample = Sample(),
    is_picked: bool = False,
) -> str:
    """Describe the thresholds, their choice and what they promise.

    Parameters
    ----------
    event : str
        The word of the use for what a record is.
    is_picked : bool
        Whether a person picked the thresholds among the certified ones.
    """
    thresholds = (
        f"`PASSED` below a score of {policy.step_up_from}, `STEPPED_UP` from there, "
        f"`FAILED` {'never' if policy.fail_from == NEVER_REACHED else f'from {policy.fail_from}'}."
    )
    rows = [(p.bound, p.limit, 1 - p.delta, p.observed, p.records) for p in policy.promises]
    promises = table(("Promise", "At most", "With confidence", "Observed", "On records"), rows)
    sentences = (
        _choice(alternatives, event, is_picked),
        *_promised(policy, alternatives, sample),
        *_controlled(policy),
    )
    return f"## Policy\n\n{thresholds}\n\n{sentence_for_markdown(' '.join(sentences))}\n\n{promises}"


def _choice(alternatives: Alternatives, event: str, is_picked: bool) -> str:
    if not any(row.chosen for row in alternatives.rows):
        return "No thresholds keep the bounds of the configuration, so everyone passes until there are other bounds."
    cost, prevalence = alternatives.chosen.expected_cost, alternatives.prevalence
    if is_picked:
        return "A person picked these thresholds among those that are certified to keep what is promised."
    if cost is None:
        return "These are the lowest thresholds that are certified to keep what is promised."
    return (
        "Of the thresholds that are certified to keep what is promised, these have the least expected cost per "
        f"{event}: {cost:.4g}, where frauds have a share of {prevalence:.4g}."
    )


def _promised(policy: Policy, alternatives: Alternatives, sample: Sample) -> Iterator[str]:
    """Describe the confidence and the population of the promises."""
    if not policy.promises:
        yield "Nothing is promised."
        return
    yield (
        f"All promises hold together with a confidence of {alternatives.confidence:.4g}, each being tested at "
        f"{policy.promises[0].delta:.3g}. They are about a genuine person drawn as those of {sample.of} were, "
        "and one of the person's records there, drawn by chance, and likewise about a ring (frauds that link keys "
        "join, or one by itself) and one of its records."
    )
    if sample.is_seen:
        yield (
            "The bounds were set after these records had been scored. Each is a value of a ladder of 40, all of which "
            "are tested, so that all policies that are ever chosen in this way keep their promises together with that "
            "confidence."
        )
    if sample.stopped:
        yield from _stopped(policy, alternatives, sample)


def _stopped(policy: Policy, alternatives: Alternatives, sample: Sample) -> Iterator[str]:
    """Describe whom the promises are about where applicants were stopped and each counts as genuine."""
    persons = alternatives.rows[0].step_up.records
    yield (
        f"{sample.stopped:,} of the {persons:,} persons that count as genuine were stopped: nobody knows what they "
        "were. Each counts as genuine, so promises on genuine persons hold for all applicants, whatever these were."
    )
    if any(promise.bound == MISSED_FRAUD for promise in policy.promises):
        yield (
            "Frauds among them are not known: unless a control group of the training stands for them, the promise on "
            "missed fraud is about frauds among those who were passed."
        )


def _controlled(policy: Policy) -> Iterator[str]:
    """Describe the control group."""
    control = policy.control
    if control is not None:
        yield (
            f"A service lets a control group pass: {control.failed.share:.3g} of the persons who would be failed, at "
            f"most {control.failed.most_per_day} a day, and {control.stepped_up.share:.3g} of those who would be "
            f"stepped up, at most {control.stepped_up.most_per_day} a day. The promises are about the outcomes without "
            "it."
        )


def revised(sealed: SealedFiles, section: str, policy_version: str) -> str:
    """Return the card of a bundle for another policy, with its metrics marked as those of the former one.

    Parameters
    ----------
    section : str
        Result of `policy_section`.
    policy_version : str
        Of the new policy.
    """
    before = sealed.manifest.policy_version
    text = sealed.files[CARD].decode().replace(f"policy `{before}`", f"policy `{policy_version}`", 1)
    text = re.sub(
        r"^## Policy\n.*?(?=^## |\Z)", lambda _: f"{section}\n\n", text, flags=re.MULTILINE | re.DOTALL
    )
    if _STALE in text:
        return text
    note = f"{_STALE} `{before}`, not under that of this bundle. The other metrics depend on the model alone."
    return _METRICS.sub(lambda heading: f"{heading[0]}{note}\n\n", text, count=1)


def _scale(scale: ScoreScale, subject: str, *, genuine: int) -> str:
    meaning = f"A genuine {for_markdown(subject)} scores s or more with a chance of 10^(-s/250)."
    if scale.extrapolated_from <= MAX_SCORE:
        meaning += f" From {scale.extrapolated_from} on the scale is extrapolated."
    rows = [
        (str(u.score), u.low, u.high, "yes" if u.extrapolated else "no") for u in scale_uncertainty(genuine)
    ]
    return f"## Score\n\n{meaning}\n\n{table(('Score', '95 % from', 'to', 'Extrapolated'), rows)}"


def _features(features: Sequence[Feature]) -> str:
    rows = [(f.name, f.sentence, _DIRECTIONS[f.direction], f.reason) for f in features]
    return f"## Features\n\n{table(('Feature', 'Meaning', 'Direction', 'Reason'), rows)}"


def table(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Write a Markdown table: four digits of a share, groups of three in a count, a dash for None; or "None."."""
    lines = [header, ["---"] * len(header), *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) if len(lines) > 2 else "None."


def _list(title: str, items: Sequence[str]) -> str:
    body = "\n".join(f"- {sentence_for_markdown(item)}" for item in items) or "None."
    return f"## {title}\n\n{body}"


def _cell(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return sentence_for_markdown(cell)
    return f"{cell:.4g}" if isinstance(cell, float) else f"{cell:,}"
