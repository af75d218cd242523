"""The contents of a bundle's files, as the types of the packages that use them."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self, TypeVar

from scoring_model.bundle.codec import json_bytes, npz_bytes, read_json, read_npz
from scoring_model.bundle.errors import ContentInvalid
from scoring_model.bundle.feature_file import (
    check_computed,
    column_names,
    features_json,
    read_matrix,
    read_schema,
)
from scoring_model.bundle.golden import Golden
from scoring_model.bundle.manifest import OLDER_READERS
from scoring_model.bundle.reader import SealedFiles
from scoring_model.contract.fields import REQUIRED_FIELDS
from scoring_model.decision.factors import Factors
from scoring_model.decision.forest import Forest, read_forest
from scoring_model.decision.probability import calibration_json, read_calibration
from scoring_model.decision.reasons import FactualReasons
from scoring_model.decision.rules import DecisionRules, Policy
from scoring_model.decision.scale import ScoreScale
from scoring_model.features import FeatureMatrix
from scoring_model.records import RecordSchema

GRAPH: Final = "model.onnx"
TREES: Final = "trees.npz"
FEATURES: Final = "features.json"
SCALE: Final = "scale.json"
PROBABILITY: Final = "probability.json"
POLICY: Final = "policy.json"
REASONS: Final = "reasons.json"
GOLDEN: Final = "golden.npz"
DECIDING: Final = (GRAPH, TREES, FEATURES, SCALE, PROBABILITY, POLICY, REASONS, GOLDEN)
"""The files that determine decisions; the others are descriptive."""

VERSIONED: Final = (GRAPH, TREES, FEATURES, SCALE, PROBABILITY)
"""The files whose hash is the model version; policy and reasons have a separate version."""

CONFIGURATION: Final = "configuration.json"
EVALUATION: Final = "evaluation.json"
PROFILE: Final = "profile.json"
CARD: Final = "card.md"
SCORE_COUNTS: Final = "score_counts.json"
"""`ScoreCounts`."""

REFERENCE_DAYS: Final = "reference_days.npz"
"""`ReferenceDays`."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class DecisionPart:
    """Everything needed to decide about a feature row, also of a past verdict, with any released bundle.

    Parameters
    ----------
    graph : bytes
        The ONNX graph of the margin.
    forest : Forest
        The same trees with their counts, for the reasons.
    identity_requires : tuple of str
        Fields without which an identity that is created while the bundle serves is INCOMPLETE. It stands in
        `CONFIGURATION`.
    """

    graph: bytes
    forest: Forest
    rules: DecisionRules
    reasons: FactualReasons
    golden: Golden
    identity_requires: tuple[str, ...] = REQUIRED_FIELDS

    @property
    def policy_version(self) -> str:
        """Version of the thresholds, their evidence, the reasons and what an identity needs.

        The first 16 hexadecimal digits of a SHA-256.
        """
        parts: dict[str, object] = {
            "policy": self.rules.policy.to_json(),
            "reasons": self.reasons.factors.to_json(),
        }
        if self.identity_requires != REQUIRED_FIELDS:
            parts["identity_requires"] = self.identity_requires
        return hashlib.sha256(json_bytes(parts)).hexdigest()[:16]

    @classmethod
    def of(cls, sealed: SealedFiles) -> Self:
        """Read the files of a sealed bundle of any protocol."""
        return cls(**_decision_part(sealed))


@dataclass(frozen=True, kw_only=True)
class Contents(DecisionPart):
    """Everything needed to decide about a record.

    Parameters
    ----------
    schema : RecordSchema
        Fields of records, and their column names in files.
    """

    schema: RecordSchema
    features: FeatureMatrix

    def to_files(self) -> dict[str, bytes]:
        """Return the files that determine decisions, by name; equal contents give equal bytes."""
        return {
            GRAPH: self.graph,
            TREES: npz_bytes(self.forest.to_arrays()),
            FEATURES: json_bytes(features_json(self.schema, self.features)),
            SCALE: json_bytes(self.rules.scale.to_json()),
            PROBABILITY: json_bytes(calibration_json(self.rules.calibration)),
            **self.policy_files(),
        }

    def policy_files(self) -> dict[str, bytes]:
        """Return the files that another policy changes, by name."""
        return {
            POLICY: json_bytes(self.rules.policy.to_json()),
            REASONS: json_bytes(self.reasons.factors.to_json()),
            GOLDEN: self.golden.to_bytes(),
        }

    def under(self, policy: Policy, *, reason_share: float) -> Self:
        """Return the same model under another policy, whose outcomes the golden rows then have."""
        factors = replace(self.reasons.factors, share=reason_share)
        decisions = self.golden.decisions
        return replace(
            self,
            rules=replace(self.rules, policy=policy),
            reasons=FactualReasons(factors, self.features.names),
            golden=replace(
                self.golden, decisions=replace(decisions, outcomes=policy.outcomes(decisions.scores))
            ),
        )

    @classmethod
    def of(cls, sealed: SealedFiles) -> Self:
        """Read the files of a sealed bundle whose features this package computes.

        Raises
        ------
        FeaturesUnknown
            When another version of this package computed the features.
        """
        part = _decision_part(sealed)
        plain = _read(FEATURES, sealed.files, read_json)
        matrix = _checked(FEATURES, read_matrix, plain)
        check_computed(plain, matrix, sealed.manifest)
        return cls(**part, schema=_checked(FEATURES, read_schema, plain), features=matrix)


def _decision_part(sealed: SealedFiles) -> dict[str, Any]:
    return OLDER_READERS.get(sealed.manifest.protocol, read_decision_part)(sealed.files)


def read_decision_part(files: Mapping[str, bytes]) -> dict[str, Any]:
    """Read the fields of a `DecisionPart` from the files of a bundle of the present protocol.

    Raises
    ------
    ContentInvalid
        If a file is missing, or does not have its format.
    """
    if missing := [name for name in DECIDING if name not in files]:
        raise ContentInvalid(f"the bundle lacks {', '.join(missing)}")
    return {
        "graph": files[GRAPH],
        "forest": _checked(TREES, read_forest, _read(TREES, files, read_npz)),
        "rules": DecisionRules(
            scale=_checked(SCALE, ScoreScale.from_json, _read(SCALE, files, read_json)),
            calibration=_checked(PROBABILITY, read_calibration, _read(PROBABILITY, files, read_json)),
            policy=_checked(POLICY, Policy.from_json, _read(POLICY, files, read_json)),
        ),
        "reasons": _reasons(files),
        "golden": _read(GOLDEN, files, Golden.from_bytes),
        "identity_requires": _identity_requires(files),
    }


def _identity_requires(files: Mapping[str, bytes]) -> tuple[str, ...]:
    settings = _read(CONFIGURATION, files, read_json) if CONFIGURATION in files else {}
    return _checked(
        CONFIGURATION,
        lambda plain: tuple(plain.get("use", {}).get("identity_requires", REQUIRED_FIELDS)),
        settings,
    )


def _reasons(files: Mapping[str, bytes]) -> FactualReasons:
    names = _checked(FEATURES, column_names, _read(FEATURES, files, read_json))
    return _checked(
        REASONS,
        lambda factors: FactualReasons(Factors.from_json(factors), names),
        _read(REASONS, files, read_json),
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
