"""Scoring of files: one file in memory, or in stages a dataset of any size (`dataset`, imported explicitly)."""

from scoring_model.batch.single_file import (
    FORMATS,
    ExportedFeatures,
    ScoredFile,
    check_format,
    export_features,
    score_file,
    write_table,
)

__all__ = [
    "FORMATS",
    "ExportedFeatures",
    "ScoredFile",
    "check_format",
    "export_features",
    "score_file",
    "write_table",
]
