"""Scoring of files: one file in memory, or a dataset of any size in stages."""

from scoring_model.batch.dataset import DatasetRun, Shard, StageIncomplete, dataset_parts, score_dataset
from scoring_model.batch.engine import LostWorker
from scoring_model.batch.plan import Stage
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
    "DatasetRun",
    "ExportedFeatures",
    "LostWorker",
    "ScoredFile",
    "Shard",
    "Stage",
    "StageIncomplete",
    "check_format",
    "dataset_parts",
    "export_features",
    "score_dataset",
    "score_file",
    "write_table",
]
