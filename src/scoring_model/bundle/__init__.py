"""A bundle: one sealed directory with everything needed to decide (named files, a manifest, a signature)."""

from scoring_model.bundle.bundle import Bundle, check_versions, model_version
from scoring_model.bundle.codec import json_bytes
from scoring_model.bundle.contents import (
    CARD,
    CONFIGURATION,
    EVALUATION,
    PROFILE,
    REFERENCE_DAYS,
    SCORE_COUNTS,
    Contents,
    DecisionPart,
)
from scoring_model.bundle.errors import BundleError
from scoring_model.bundle.golden import Golden, choose_rows
from scoring_model.bundle.invention import invent_rows
from scoring_model.bundle.manifest import Manifest
from scoring_model.bundle.profile import Profile, measure_profile
from scoring_model.bundle.reader import SealedFiles, read_bundle
from scoring_model.bundle.reasons import Use, reason_factors
from scoring_model.bundle.reference_days import ReferenceDays, measure_reference_days
from scoring_model.bundle.score_counts import ScoreCounts
from scoring_model.bundle.upgrade import check_protocol, upgrade

__all__ = [
    "CARD",
    "CONFIGURATION",
    "EVALUATION",
    "PROFILE",
    "REFERENCE_DAYS",
    "SCORE_COUNTS",
    "Bundle",
    "BundleError",
    "Contents",
    "DecisionPart",
    "Golden",
    "Manifest",
    "Profile",
    "ReferenceDays",
    "ScoreCounts",
    "SealedFiles",
    "Use",
    "check_protocol",
    "check_versions",
    "choose_rows",
    "invent_rows",
    "json_bytes",
    "measure_profile",
    "measure_reference_days",
    "model_version",
    "read_bundle",
    "reason_factors",
    "upgrade",
]
