"""What the files of a bundle hold, as the types of the rooms that use them."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final, TypeVar

from scoring_model.bundle.codec import json_bytes, npz_bytes, read_json, read_npz
from scoring_model.bundle.errors import ContentInvalid
from scoring_model.bundle.golden import Golden
from scoring_model.decision.forest import Forest
from scoring_model.decision.policy import Policy
from scoring_model.decision.probability import calibration_json, read_calibration
from scoring_model.decision.rules import DecisionRules
from scoring_model.decision.scale import ScoreScale
from scoring_model.decision.structure import read_forest
from scoring_model.features import (
    FeatureMatrix,
    FeatureSettings,
    FittedState,
    LinkSettings,
    SignalSettings,
    Trend,
)
from scoring_model.history import Amount
from scoring_model.records import LabelSchema, RecordSchema, SignalType

GRAPH: Final = "model.onnx"
TREES: Final = "trees.npz"
FEATURES: Final = "features.json"
SCALE: Final = "scale.json"
PROBABILITY: Final = "probability.json"
POLICY: Final = "policy.json"
GOLDEN: Final = "golden.npz"
DECIDING: Final = (GRAPH, TREES, FEATURES, SCALE, PROBABILITY, POLICY, GOLDEN)
"""The files that decide. The others describe."""

VERSIONED: Final = (GRAPH, TREES, FEATURES, SCALE, PROBABILITY)
"""The files whose hash is the model's version; the policy has a version of its own."""

CONFIGURATION: Final = "configuration.json"
EVALUATION: Final = "evaluation.json"
PROFILE: Final = "profile.json"
CARD: Final = "card.md"

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Contents:
    """Everything that it takes to decide about a record.

    Parameters
    ----------
    schema : RecordSchema
        What records hold, and under which names a file keeps it.
    features : FeatureMatrix
    graph : bytes
        The ONNX graph of the margin.
    forest : Forest
        The same trees with their counts, for the reasons.
    rules : DecisionRules
    golden : Golden
        Invented rows and what is decided on them.
    """

    schema: RecordSchema
    features: FeatureMatrix
    graph: bytes
    forest: Forest
    rules: DecisionRules
    golden: Golden

    @cached_property
    def reason_codes(self) -> tuple[str, ...]:
        """Reason code of each feature, in the order of the columns."""
        return tuple(feature.reason for feature in self.features.features)

    def to_files(self) -> dict[str, bytes]:
        """The files that decide, by name; equal contents give equal bytes."""
        return {
            GRAPH: self.graph,
            TREES: npz_bytes(self.forest.to_arrays()),
            FEATURES: json_bytes(_features_json(self.schema, self.features)),
            SCALE: json_bytes(self.rules.scale.to_json()),
            PROBABILITY: json_bytes(calibration_json(self.rules.calibration)),
            POLICY: json_bytes(self.rules.policy.to_json()),
            GOLDEN: self.golden.to_bytes(),
        }

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> "Contents":
        """Read the files of a sealed bundle.

        Raises
        ------
        ContentInvalid
            Naming the first file that does not hold what it should.
        """
        missing = [name for name in DECIDING if name not in files]
        if missing:
            raise ContentInvalid(f"the bundle lacks {', '.join(missing)}")
        plain = _read(FEATURES, files, read_json)
        return cls(
            schema=_checked(FEATURES, _schema, plain),
            features=_checked(FEATURES, _matrix, plain),
            graph=files[GRAPH],
            forest=_checked(TREES, read_forest, _read(TREES, files, read_npz)),
            rules=DecisionRules(
                scale=_checked(SCALE, ScoreScale.from_json, _read(SCALE, files, read_json)),
                calibration=_checked(PROBABILITY, read_calibration, _read(PROBABILITY, files, read_json)),
                policy=_checked(POLICY, Policy.from_json, _read(POLICY, files, read_json)),
            ),
            golden=_read(GOLDEN, files, Golden.from_bytes),
        )


def _read(name: str, files: Mapping[str, bytes], read: Callable[[bytes], T]) -> T:
    try:
        return read(files[name])
    except ContentInvalid as error:
        raise ContentInvalid(f"{name}: {error}") from error


def _checked(name: str, make: Callable[[Any], T], plain: Any) -> T:
    try:
        return make(plain)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ContentInvalid(f"{name}: {type(error).__name__}: {error}") from error


def _features_json(schema: RecordSchema, matrix: FeatureMatrix) -> dict[str, Any]:
    settings = matrix.settings
    return {
        "columns": dict(schema.columns),
        "labels": {
            "fraud": schema.labels.fraud,
            "genuine": schema.labels.genuine,
            "delay": schema.labels.delay,
        },
        "signals": {
            name: {
                "type": signal.type,
                "trend": signal.trend,
                "protected": signal.protected,
                "differs_from": signal.differs_from,
            }
            for name, signal in settings.signals.items()
        },
        "links": {
            "keys": dict(settings.links.keys),
            "windows": settings.links.windows,
            "cap": settings.links.cap,
            **({} if settings.links.amount is None else {"amount": asdict(settings.links.amount)}),
        },
        "families": settings.families,
        "use_protected": settings.use_protected,
        "exclude": settings.exclude,
        "state": matrix.state.to_json(),
        # For readers of the bundle; what decides is above.
        "catalogue": [
            {
                "name": f.name,
                "inputs": f.inputs,
                "unit": f.unit,
                "reason": f.reason,
                "sentence": f.sentence,
                "direction": f.direction,
                "categorical": f.categorical,
                "protected": f.protected,
            }
            for f in matrix.features
        ],
        "reasons": dict(matrix.reasons),
    }


def _schema(plain: Mapping[str, Any]) -> RecordSchema:
    labels = plain["labels"]
    return RecordSchema(
        columns=plain["columns"],
        signals={name: SignalType(signal["type"]) for name, signal in plain["signals"].items()},
        labels=LabelSchema(
            fraud=tuple(labels["fraud"]), genuine=tuple(labels["genuine"]), delay=labels["delay"]
        ),
    )


def _matrix(plain: Mapping[str, Any]) -> FeatureMatrix:
    links = plain["links"]
    settings = FeatureSettings(
        signals={
            name: SignalSettings(
                type=SignalType(signal["type"]),
                trend=Trend(signal["trend"]),
                protected=signal["protected"],
                differs_from=signal["differs_from"],
            )
            for name, signal in plain["signals"].items()
        },
        links=LinkSettings(
            keys={name: tuple(parts) for name, parts in links["keys"].items()},
            windows=tuple(links["windows"]),
            cap=links["cap"],
            amount=Amount(**links["amount"]) if "amount" in links else None,
        ),
        families=tuple(plain["families"]),
        use_protected=tuple(plain["use_protected"]),
        exclude=tuple(plain["exclude"]),
    )
    matrix = FeatureMatrix(settings, FittedState.from_json(plain["state"]))
    if [entry["name"] for entry in plain["catalogue"]] != list(matrix.names):
        raise ValueError("the features are not those of this version of the package")
    return matrix
