"""The command that explains the decision on one record."""

import json
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from scoring_model.cli import console, shared
from scoring_model.cli.groups import Group, in_group

if TYPE_CHECKING:
    from scoring_model.scorer import Explanation, Weighed


_STANDARD_INPUT: Final = Path("-")


def _existing(path: Path) -> Path:
    if path != _STANDARD_INPUT and not path.is_file():
        raise typer.BadParameter(f"file {str(path)!r} does not exist.")
    return path


@in_group(Group.DECISIONS)
def explain_record(
    bundle: shared.BundlePath,
    path: Annotated[
        Path,
        typer.Argument(help="JSON file of one record; - for standard input.", callback=_existing),
    ],
    history: shared.History = None,
    allow_repeats: shared.AllowRepeats = False,
    top: Annotated[
        int, typer.Option(min=0, help="Number of features to show, largest contributions first; 0 for all.")
    ] = 20,
    as_json: shared.Json = False,
    public_key: shared.PublicKey = None,
) -> None:
    """Show the decision on one record and its features: values, sentences, inputs and contributions to the margin.

    The record is a JSON object like the body of a request with an eventTime, or with the columns of a file. The
    contributions are exact TreeSHAP values. The output has personal data; with --json all features.
    """
    from scoring_model.scorer import Scorer

    record = _read(path)
    scorer = Scorer.load(bundle, public_key=shared.key_of(public_key))
    explanation = scorer.explain(record, history=history, allow_repeats=allow_repeats)
    if as_json:
        console.say_json(_plain(explanation))
        return
    for line in _lines(explanation, top or len(explanation.features)):
        console.say(line)


def _read(path: Path) -> Mapping[str, object]:
    """Read one JSON object without duplicate names."""
    raw = sys.stdin.buffer.read() if path == _STANDARD_INPUT else path.read_bytes()
    try:
        record = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_object)
    except UnicodeDecodeError:
        raise ValueError(f"{path}: must be UTF-8") from None
    except RecursionError:
        raise ValueError(f"{path}: is nested too deeply") from None
    except json.JSONDecodeError as error:
        # The error holds only positions, except `doc`, which is the whole record.
        raise ValueError(f"{path}: must be JSON: {error.msg} (line {error.lineno})") from None
    if not isinstance(record, dict):
        raise ValueError(f"{path}: must hold one object, a record; `score` takes many")
    return record


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"the record: duplicate fields: {', '.join(twice)}")
    return dict(pairs)


def _plain(explanation: "Explanation") -> dict[str, Any]:
    decision = explanation.decision
    return {
        "scoringOutcome": decision.outcome.value,
        "scoringScore": decision.score,
        "probability": decision.probability,
        "margin": decision.margin,
        "base": explanation.base,
        "modelVersion": decision.model_version,
        "policyVersion": decision.policy_version,
        "reasonCodes": [reason.code for reason in decision.reasons],
        "reasons": [
            {"code": reason.code, "description": reason.description} for reason in explanation.reasons
        ],
        "features": [
            {
                "name": feature.name,
                "value": _finite(feature.value),
                "unit": feature.unit,
                "contribution": feature.contribution,
                "reason": feature.reason,
                "sentence": feature.sentence,
                "inputs": feature.inputs,
            }
            for feature in explanation.features
        ],
    }


def _finite(value: float | None) -> float | None:
    return value if value is None or math.isfinite(value) else None


def _lines(explanation: "Explanation", top: int) -> Iterator[str]:
    decision = explanation.decision
    yield f"{decision.outcome.value}, score {decision.score}, probability of fraud {decision.probability:.3g}"
    yield f"model {decision.model_version}, policy {decision.policy_version}"
    yield ""
    yield "What pushed the score up, strongest first:"
    for reason in explanation.reasons:
        yield f"  {reason.code}: {reason.description}"
    yield ""
    yield f"Margin (log-odds): {decision.margin:+.4f} = {explanation.base:+.4f} of the mean record"
    rest = math.fsum(feature.contribution for feature in explanation.features[top:])
    for feature in explanation.features[:top]:
        yield f"  {feature.contribution:+.4f}  {feature.name} = {_value(feature)}"
        yield f"           {feature.sentence}{_made_of(feature)}"
    left = len(explanation.features) - top
    if left > 0:
        yield f"  {rest:+.4f}  the {left} other features together"


def _value(feature: "Weighed") -> str:
    if feature.value is None:
        return "not known"
    return f"{feature.value:.6g} ({feature.unit})"


def _made_of(feature: "Weighed") -> str:
    shown = "; ".join(f"{name}: {_text(value)}" for name, value in feature.inputs.items())
    return f" [{shown}]" if shown else ""


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
